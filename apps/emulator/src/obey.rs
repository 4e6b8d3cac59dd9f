//! What descriptions ask for beside the schema: limits that a provider does not take travel there, as `(keyword: value)`, choices that
//! it does not take as keys of which one is to be there, and a good model heeds them.

use serde::Deserialize as _;
use serde_json::{Map, Value};

/// How a description says that a key stands for each branch of a choice.
const ONE: &str = "(exactly one of these)";

/// The schema with what its descriptions ask for said as keywords, where the schema does not say it otherwise.
pub(crate) fn heeded(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut heeded: Map<String, Value> =
                map.iter().map(|(key, value)| (key.clone(), self::heeded(value))).collect();
            let description = map.get("description").and_then(Value::as_str).unwrap_or_default();
            let one = ["minProperties", "maxProperties"].into_iter().filter(|_| description.contains(ONE));
            for (word, value) in asides(description).chain(one.map(|word| (word, Value::from(1)))) {
                if !heeded.contains_key(word) {
                    heeded.insert(word.to_owned(), value);
                }
            }
            Value::Object(heeded)
        }
        Value::Array(items) => items.iter().map(heeded).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

/// The value without entries whose key was there before: no schema forbids them, and no good model writes them.
pub(crate) fn distinct(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut keys = Vec::new();
            let first = |item: &Value| {
                let Some(key) = item.get("key").cloned() else { return true };
                let new = !keys.contains(&key);
                keys.push(key);
                new
            };
            Value::Array(items.into_iter().filter(first).map(distinct).collect())
        }
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| (key, distinct(value))).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// The pairs `(word: JSON)` of a text.
fn asides(text: &str) -> impl Iterator<Item = (&str, Value)> {
    text.split('(').skip(1).filter_map(|aside| {
        let (word, rest) = aside.split_once(": ")?;
        let plain = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        // What follows the value is not looked at.
        let value = Value::deserialize(&mut serde_json::Deserializer::from_str(rest)).ok()?;
        plain.then_some((word, value))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::heeded;

    #[test]
    fn limits_in_descriptions_count() {
        let sent =
            json!({"type": "integer", "description": "How many (at most). (minimum: 1) (maximum: 9) (type: \"x\")"});
        let heeded = heeded(&json!({"items": sent}));
        assert_eq!((&heeded["items"]["minimum"], &heeded["items"]["maximum"]), (&json!(1), &json!(9)));
        assert_eq!(heeded["items"]["type"], "integer");
        let choice = self::heeded(&json!({"type": "object", "description": "Where (exactly one of these)"}));
        assert_eq!((&choice["minProperties"], &choice["maxProperties"]), (&json!(1), &json!(1)));
    }
}
