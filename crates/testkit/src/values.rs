//! Comparing and showing JSON values, and the tokens of JSON Pointers.

use serde_json::Value;

/// How many characters of a value are shown.
const MAX_SHOWN: usize = 200;

/// Whether two values are equal, `1` and `1.0` being one number.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, own)| y.get(key).is_some_and(|other| equal(own, other)))
        }
        _ => a == b,
    }
}

/// The JSON text of a value, cut after 200 characters.
pub fn shortened(value: &Value) -> String {
    shortened_text(&value.to_string())
}

/// A text, cut after 200 characters.
pub(crate) fn shortened_text(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A key as a token of a JSON Pointer.
#[cfg(feature = "prove")]
pub(crate) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
