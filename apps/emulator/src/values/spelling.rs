//! Schemas in the spelling of `OpenAPI` and protobuf, respelled as JSON Schema: types in capitals, `nullable`, keywords in snake case.

use serde_json::{Map, Value, json};

/// Keywords that hold one schema, a list of schemas, or a map of schemas. A keyword that is not listed holds data.
const ONE: &[&str] = &[
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LIST: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems", "items"];
const MAP: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "defs", "dependentSchemas"];

/// Spellings of protobuf's JSON that JSON Schema does not know.
const RESPELLED: &[(&str, &str)] = &[
    ("any_of", "anyOf"),
    ("one_of", "oneOf"),
    ("all_of", "allOf"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_properties", "minProperties"),
    ("max_properties", "maxProperties"),
    ("prefix_items", "prefixItems"),
    ("additional_properties", "additionalProperties"),
];

const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// The same schema with the keywords and types of JSON Schema.
pub(crate) fn as_json_schema(schema: &Value) -> Value {
    rewrite(schema, &|map| {
        let mut out = Map::new();
        let is_nullable = map.get("nullable") == Some(&Value::Bool(true));
        for (key, value) in map {
            let key = RESPELLED.iter().find(|(from, _)| *from == key).map_or(key.as_str(), |(_, to)| *to);
            let value = match key {
                "type" => types(value, is_nullable),
                "enum" if is_nullable => with_null(value),
                // Protobuf writes 64-bit numbers as text.
                "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => count(value),
                _ => value.clone(),
            };
            out.insert(key.to_owned(), value);
        }
        out
    })
}

fn types(value: &Value, is_nullable: bool) -> Value {
    let lower = |name: &str| {
        Some(name.to_ascii_lowercase()).filter(|lower| TYPES.contains(&lower.as_str())).unwrap_or(name.to_owned())
    };
    match value {
        Value::String(name) if is_nullable => json!([lower(name), "null"]),
        Value::String(name) => json!(lower(name)),
        Value::Array(names) => {
            names.iter().map(|name| name.as_str().map_or(name.clone(), |name| json!(lower(name)))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.clone(),
    }
}

fn with_null(values: &Value) -> Value {
    let mut values = values.as_array().cloned().unwrap_or_default();
    if !values.contains(&Value::Null) {
        values.push(Value::Null);
    }
    Value::Array(values)
}

fn count(value: &Value) -> Value {
    value.as_str().and_then(|text| text.parse::<u64>().ok()).map_or_else(|| value.clone(), |count| json!(count))
}

/// Applies a function to every schema of a schema, from the outside in. Data such as `enum` and `default` is not entered.
pub(super) fn rewrite(schema: &Value, change: &impl Fn(&Map<String, Value>) -> Map<String, Value>) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let mut map = change(map);
    for (key, value) in &mut map {
        let key = key.as_str();
        match value {
            Value::Object(entries) if MAP.contains(&key) => {
                for entry in entries.values_mut() {
                    *entry = rewrite(entry, change);
                }
            }
            Value::Object(_) if ONE.contains(&key) => *value = rewrite(value, change),
            Value::Array(entries) if LIST.contains(&key) => {
                for entry in entries {
                    *entry = rewrite(entry, change);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            }
        }
    }
    Value::Object(map)
}
