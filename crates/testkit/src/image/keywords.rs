//! Helpers for reading and writing the keywords of images.

use polywire_schema::internals::Kw;
use serde_json::{Map, Value, json};

/// Words that say nothing of values but may be referred to.
const NAMES: [Kw; 4] = [Kw::Id, Kw::Anchor, Kw::DynamicAnchor, Kw::RecursiveAnchor];

/// The definition of a schema that refers to itself as a whole.
const WHOLE: &str = "image-of-all";

/// Where definitions stand.
pub(super) const DEFS: &str = "$defs";

/// Whether a schema says nothing of values but these words. A word that nobody knows says nothing.
pub(super) fn has_only_keywords(map: &Map<String, Value>, words: &[&str]) -> Option<()> {
    let is_silent = |key: &str| Kw::of(key).is_none_or(|kw| kw.is_annotation() && !NAMES.contains(&kw));
    map.keys().all(|key| words.contains(&key.as_str()) || is_silent(key)).then_some(())
}

/// The values of a schema that lists them.
pub(super) fn listed(map: &Map<String, Value>) -> Option<Vec<Value>> {
    has_only_keywords(map, &["type", "enum", "const"])?;
    match (map.get("enum"), map.get("const")) {
        (Some(Value::Array(values)), None) => Some(values.clone()),
        (None, Some(value)) => Some(vec![value.clone()]),
        _ => None,
    }
}

/// What a schema accepts values of that names no type.
const EVERY_TYPE: [&str; 6] = ["null", "boolean", "object", "array", "number", "string"];

/// Whether a schema accepts values of several types.
pub(super) fn is_mixed(map: &Map<String, Value>) -> bool {
    types(map).is_some() && listed(map).is_none()
}

/// The types of a schema that does not name just one.
pub(super) fn types(map: &Map<String, Value>) -> Option<Vec<&str>> {
    match map.get("type") {
        Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).collect()),
        None => Some(EVERY_TYPE.to_vec()),
        Some(_) => None,
    }
}

/// Whether a schema means the same in another document with the same definitions.
pub(super) fn is_relocatable(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().all(|(key, value)| match (key.as_str(), value) {
            ("$ref", Value::String(reference)) => reference.starts_with("#/$defs/"),
            ("$id" | "$anchor" | "$dynamicRef" | "$recursiveRef", Value::String(_)) => false,
            _ => is_relocatable(value),
        }),
        Value::Array(items) => items.iter().all(is_relocatable),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// A schema that refers to itself as a whole, with a definition to refer to.
pub(super) fn without_root_references(schema: Value) -> Value {
    let mut moved = schema;
    if !move_references(&mut moved) {
        return moved;
    }
    let mut defs = moved.as_object_mut().and_then(|map| map.remove(DEFS)).unwrap_or_else(|| json!({}));
    defs.as_object_mut().into_iter().for_each(|defs| _ = defs.insert(WHOLE.to_owned(), moved.take()));
    let mut out = reference_to(WHOLE);
    out.as_object_mut().into_iter().for_each(|out| _ = out.insert(DEFS.to_owned(), defs.take()));
    out
}

/// Whether there were references to the whole, which now lead to its definition.
fn move_references(schema: &mut Value) -> bool {
    match schema {
        Value::Object(map) => {
            let mut moved = false;
            for (key, value) in map.iter_mut() {
                match key.as_str() {
                    "$ref" if value == "#" => {
                        *value = json!(format!("#/$defs/{WHOLE}"));
                        moved = true;
                    }
                    "enum" | "const" => {}
                    _ => moved |= move_references(value),
                }
            }
            moved
        }
        Value::Array(items) => items.iter_mut().fold(false, |moved, item| move_references(item) | moved),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

pub(super) fn any_of(mut branches: Vec<Value>) -> Value {
    match branches.len() {
        0 => json!(false),
        1 => branches.remove(0),
        _ => json!({ (Kw::AnyOf.name()): branches }),
    }
}

pub(super) fn reference_to(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}
