//! Structured-output formats: the schema inside the request bodies and fragments that people have at hand.

use serde_json::Value;

/// The ways to the schema of an output, by provider: where the last key of a way is found, its value is the schema.
const WAYS: &[&[&str]] = &[
    &["response_format", "json_schema", "schema"],
    &["json_schema", "schema"],
    &["text", "format", "schema"],
    &["output_config", "format", "schema"],
    &["output_format", "schema"],
    &["format", "schema"],
    &["generationConfig", "responseJsonSchema"],
    &["generationConfig", "responseSchema"],
    &["generation_config", "response_json_schema"],
    &["generation_config", "response_schema"],
    &["responseJsonSchema"],
    &["responseSchema"],
    &["response_json_schema"],
    &["response_schema"],
    &["outputConfig", "textFormat", "structure", "jsonSchema", "schema"],
    &["textFormat", "structure", "jsonSchema", "schema"],
    &["response_format", "schema"],
    &["guided_json"],
];

/// The formats that must have a name.
const NAMED: &[&[&str]] = &[&["response_format", "json_schema"], &["json_schema"], &["text", "format"]];

/// The schema of a structured output.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OutputSchema {
    /// The schema.
    pub schema: Value,
    /// JSON Pointer of the schema in the document.
    pub at: String,
    /// The name of the format, if it has one.
    pub name: Option<String>,
}

/// Reads the schema of a structured output from a request body or a fragment of one: `response_format`, `text.format`,
/// `output_config.format`, `generationConfig`, or a bare format with name and schema. `None` means that the document is
/// something else, such as a bare schema.
///
/// ```
/// let body = serde_json::json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}});
/// let output = polywire_schema::read_output(&body).expect("an output");
/// assert_eq!(output.at, "/response_format/json_schema/schema");
/// ```
pub fn read_output(document: &Value) -> Option<OutputSchema> {
    let members = document.as_object()?;
    let found = |way: &&[&str]| {
        let (last, around) = way.split_last()?;
        let format = around.iter().try_fold(document, |value, key| value.get(key))?;
        let schema = format.get(last)?;
        let at: String = way.iter().flat_map(|key| ["/", key]).collect();
        // Bedrock wants the schema as JSON text.
        let schema = match schema.as_str() {
            Some(text) => serde_json::from_str(text).ok()?,
            None => schema.clone(),
        };
        // Without its name such a format is refused, so that having none is one that no rule takes.
        let name = name_of(format).or_else(|| NAMED.contains(&around).then(String::new));
        schema.is_object().then(|| OutputSchema { schema, at, name })
    };
    if let Some(output) = WAYS.iter().find_map(found) {
        return Some(output);
    }
    // A format on its own: a name and a schema, and no keyword that would make it a schema itself.
    let format = members.keys().all(|key| ["name", "schema", "strict", "description", "type"].contains(&key.as_str()));
    let schema = members.get("schema").filter(|schema| schema.is_object() && format)?;
    Some(OutputSchema { schema: schema.clone(), at: "/schema".to_owned(), name: name_of(document) })
}

/// The name that a format has beside its schema.
fn name_of(format: &Value) -> Option<String> {
    format.get("name").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read_output;

    #[test]
    fn a_schema_is_no_output_format() {
        let schema = json!({"type": "object", "properties": {"schema": {"type": "object"}}});
        assert!(read_output(&schema).is_none());
        assert_eq!(read_output(&json!({"name": "a", "strict": true, "schema": schema})).unwrap().schema, schema);
    }
}
