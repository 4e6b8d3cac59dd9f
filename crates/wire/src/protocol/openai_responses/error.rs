//! Errors of `openai-responses`: the bodies of `openai-chat`; stream events have the fields at the top level.

use serde_json::{Value, json};

use crate::fault::{FOREIGN_CODE, WireError};

pub(super) use crate::protocol::openai_chat::error::{decode, encode};

/// An error as an event of a stream.
pub(super) fn event(error: &WireError) -> Value {
    let body: Value = serde_json::from_slice(&encode(error).body).unwrap_or_default();
    let field = |name: &str| body.pointer(&format!("/error/{name}")).cloned().unwrap_or_default();
    let mut event = json!({
        "code": field("code"),
        "message": field("message"),
        "param": field("param"),
        "error_type": field("type"),
    });
    if let (Some(event), foreign @ Value::String(_)) = (event.as_object_mut(), field(FOREIGN_CODE)) {
        event.insert(FOREIGN_CODE.to_owned(), foreign);
    }
    event
}
