//! JSON text in and out, and errors as what JavaScript throws.

use polywire_bindings::{Error, settings};
use serde_json::{Value, json};

/// What the message of a thrown error starts with, followed by its record: see `readError` in `ts/errors.ts`.
const MARK: &str = "polywire:";

/// The error as JavaScript throws it.
pub(crate) fn thrown(error: Error) -> napi::Error {
    napi::Error::from_reason(format!("{MARK}{}", record(error)))
}

/// The error as plain data.
pub(crate) fn record(error: Error) -> Value {
    json!({
        "class": error.kind.class(),
        "code": error.code,
        "at": error.at,
        "message": error.message,
        "details": error.details,
    })
}

/// A value of JSON text.
pub(crate) fn read_value(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| Error::input("not-json", error.to_string()))
}

/// Settings of JSON text; the defaults, where it is empty.
pub(crate) fn read_settings<T: serde::de::DeserializeOwned + Default>(text: &str) -> Result<T, Error> {
    if text.is_empty() { Ok(T::default()) } else { settings(read_value(text)?) }
}

/// JSON text of plain data.
pub(crate) fn written(value: impl serde::Serialize) -> napi::Result<String> {
    serde_json::to_string(&value).map_err(|error| napi::Error::from_reason(error.to_string()))
}
