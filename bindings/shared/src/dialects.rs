//! The dialects of a model, for adapters that fit the requests of other clients.

use polywire::Catalog;
use polywire::catalog::Ability;
use serde_json::{Value, json};

use crate::error::Error;

/// What the schemas of a model are fitted to, as plain data: `tool` and `output` are ids of dialects, or null where the surface has no
/// such slot; the flags say whether the dialect is one of strict schemas.
pub fn model_dialects(model: &str) -> Result<Value, Error> {
    let model = Catalog::built_in().resolve(model)?;
    let (row, slots) = (model.row(), &model.surface().dialects);
    let is_strict = row.can(Ability::Strict);
    let pick = |strict: &Option<String>, plain: &Option<String>| {
        let strict = strict.as_ref().filter(|_| is_strict);
        json!({"dialect": strict.or(plain.as_ref()), "strict": strict.is_some()})
    };
    Ok(json!({
        "model": model.name(),
        "tool": pick(&slots.tool_strict, &slots.tool),
        "output": pick(&slots.output_strict, &slots.output),
        "native_output": row.can(Ability::NativeOutput),
        "tools_with_output": row.can(Ability::ToolsWithOutput),
    }))
}
