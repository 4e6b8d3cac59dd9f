//! Members of JSON values, whatever the values are.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// What a JSON Pointer leads to; `null` where it leads nowhere.
pub(crate) fn get<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or(&NULL)
}

/// A member to be changed. What is no object becomes one.
pub(crate) fn member_mut<'v>(value: &'v mut Value, key: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(members) => members.entry(key).or_insert(Value::Null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value,
    }
}
