//! Decoding of output formats, shared by all protocols.

use serde_json::Value;

use crate::fields::Fields;
use crate::neutral::OutputFormat;
use crate::report::{Action, Changes, Effect};

/// The name of an output format without one.
pub(super) const FORMAT_NAME: &str = "output";

/// Decodes an object with `schema`, `name`, `strict` and `description`, if it has a schema. Some clients omit the name or send an
/// empty one; such a format gets a default name, and the change is recorded.
pub(super) fn read_named(format: &Value, at: &str, changes: &mut Changes) -> Option<OutputFormat> {
    let schema = format.get("schema").filter(|schema| schema.is_object())?.clone();
    let strict = format.get("strict").and_then(Value::as_bool).unwrap_or(false);
    let name = name(format, at, changes);
    let made = if strict { OutputFormat::strict(name, schema) } else { OutputFormat::best_effort(name, schema) };
    let description = format.get("description").and_then(Value::as_str).map(str::to_owned);
    made.ok().map(|made| made.with_description(description))
}

/// The name of a format, or the default name.
pub(super) fn name<'f>(format: &'f Value, at: &str, changes: &mut Changes) -> &'f str {
    let name = format.get("name").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| {
        let detail = format!("output format named `{FORMAT_NAME}`: the request has no name for it");
        changes.push("format-name", format!("{at}/name"), (Action::Added, Effect::Same), detail);
        FORMAT_NAME
    })
}

/// Removes and decodes a format without a name: `{"type": "json_schema", "schema": …}`. Other values stay.
pub(super) fn take_unnamed(fields: &mut Fields, field: &str) -> Option<OutputFormat> {
    let mut format = fields.object(field)?;
    let schema = match format.peek("type") {
        Some("json_schema") => format.object("schema").map(|schema| Value::Object(schema.rest_with_nulls())),
        Some(_) | None => None,
    };
    if schema.is_some() {
        format.take("type");
    }
    fields.put_rest(field, format);
    schema.and_then(|schema| OutputFormat::strict(FORMAT_NAME, schema).ok())
}
