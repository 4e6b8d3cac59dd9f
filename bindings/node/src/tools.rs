//! Tool lists.

use napi::Result;
use napi_derive::napi;
use polywire_bindings as bindings;
use polywire_bindings::{Call, Error, FitSettings, target};
use serde_json::{Value, json};

use crate::schema::CheckSettings;
use crate::text::{read_settings, read_value, thrown, written};

/// A fitted tool list.
#[napi]
pub struct ToolList(bindings::ToolList);

/// Fits a tool list of any shape.
#[napi]
pub fn fit_tools(tools: String, dialects: Vec<String>, settings: String) -> Result<ToolList> {
    let fit = || {
        let settings: FitSettings = read_settings(&settings)?;
        bindings::fit_tools(&read_value(&tools)?, &*target(&dialects)?, &settings.options())
    };
    Ok(ToolList(fit().map_err(thrown)?))
}

/// What a provider refuses of a tool list, as a list of JSON.
#[napi]
pub fn check_tools(tools: String, dialects: Vec<String>, settings: String) -> Result<String> {
    let check = || {
        let settings: CheckSettings = read_settings(&settings)?;
        bindings::check_tools(&read_value(&tools)?, &*target(&dialects)?, settings.ignored())
    };
    written(check().map_err(thrown)?)
}

#[napi]
impl ToolList {
    /// The list in the shape of the target.
    #[napi(getter)]
    pub fn tools(&self) -> Result<String> {
        written(self.0.tools())
    }

    /// Every tool.
    #[napi(getter)]
    pub fn entries(&self) -> Result<String> {
        let entries = self.0.entries().iter().map(|tool| {
            json!({
                "name": tool.name,
                "originalName": tool.original_name,
                "description": tool.description,
                "schema": tool.schema,
                "strict": tool.strict,
                "converts": tool.lens().is_some_and(|lens| !lens.is_identity()),
                "changes": tool.changes,
            })
        });
        written(entries.collect::<Value>())
    }

    /// Every change.
    #[napi(getter)]
    pub fn changes(&self) -> Result<String> {
        written(self.0.changes())
    }

    /// Whether every tool has the strict flag.
    #[napi(getter)]
    pub fn strict(&self) -> bool {
        self.0.strict()
    }

    /// A call back in the caller's name and schema.
    #[napi]
    pub fn decode(&self, name: String, arguments: String) -> Result<String> {
        call(read_value(&arguments).and_then(|arguments| self.0.decode(&name, arguments)))
    }

    /// The same from the text of the arguments.
    #[napi]
    pub fn decode_text(&self, name: String, arguments: String) -> Result<String> {
        call(self.0.decode_text(&name, &arguments))
    }

    /// A call as the model would have made it.
    #[napi]
    pub fn encode(&self, name: String, arguments: String) -> Result<String> {
        call(read_value(&arguments).and_then(|arguments| self.0.encode(&name, arguments)))
    }
}

fn call(call: std::result::Result<Call, Error>) -> Result<String> {
    let Call { name, arguments, .. } = call.map_err(thrown)?;
    written(json!({"name": name, "arguments": arguments}))
}
