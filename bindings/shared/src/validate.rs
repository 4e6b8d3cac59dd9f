//! Values judged by the caller's schema.

use polywire::answer::validate;
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};

/// The value, if the schema accepts it.
pub fn accept(value: Value, schema: &Value) -> Result<Value, Error> {
    let faults = validate(&value, schema)?;
    let Some(first) = faults.first() else { return Ok(value) };
    let place = if first.at.is_empty() { "the value".to_owned() } else { format!("`{}`", first.at) };
    let message = format!("the schema does not accept {place}: {}", first.detail);
    Err(Error::new(ErrorKind::Answer, "invalid", message).at(first.at.clone()).with("errors", json!(faults)))
}
