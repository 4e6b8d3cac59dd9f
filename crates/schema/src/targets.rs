//! Named entry points: one function for each built-in dialect, with the default options. They only name what
//! [`fit`](crate::fit) does with the dialect of that id (R-A3).

use serde_json::Value;

use crate::dialect::dialect;
use crate::error::ReadError;
use crate::fit::{FitOptions, Fitted, fit};

macro_rules! targets {
    ($($name:ident $id:literal;)*) => { $(
        #[doc = concat!("Fits a schema to the dialect `", $id, "`.")]
        pub fn $name(schema: &Value) -> Result<Fitted, ReadError> {
            named(schema, $id)
        }
    )*

        #[cfg(test)]
        const IDS: &[&str] = &[$($id),*];
    };
}

targets! {
    anthropic "anthropic";
    anthropic_strict "anthropic-strict";
    azure_strict "azure-strict";
    bedrock "bedrock";
    cca "cca";
    cerebras_strict "cerebras-strict";
    deepseek_strict "deepseek-strict";
    fireworks "fireworks";
    gemini "gemini";
    gemini_openapi "gemini-openapi";
    groq_strict "groq-strict";
    llamacpp "llamacpp";
    lmstudio "lmstudio";
    mcp "mcp";
    mistral "mistral";
    moonshot "moonshot";
    ollama "ollama";
    openai "openai";
    openai_responses "openai-responses";
    openai_strict "openai-strict";
    openrouter "openrouter";
    portable "portable";
    together "together";
    vertex_openapi "vertex-openapi";
    vllm "vllm";
    xai "xai";
}

fn named(schema: &Value, id: &str) -> Result<Fitted, ReadError> {
    match dialect(id) {
        Some(dialect) => fit(schema, dialect, &FitOptions::default()),
        None => Err(ReadError::unknown_dialect(id)),
    }
}

#[cfg(test)]
mod tests {
    use super::IDS;
    use crate::dialects;

    /// R-A3.
    #[test]
    fn r_a3_every_built_in_dialect_has_an_entry_point() {
        let built_in: Vec<&str> = dialects().map(crate::Dialect::id).collect();
        assert_eq!(IDS, built_in);
    }
}
