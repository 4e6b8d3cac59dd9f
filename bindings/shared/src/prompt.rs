//! What the caller asks: a text, messages, or a neutral request.

use polywire::wire::{Block, Message, Request};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::settings::AskSettings;

/// A text is a prompt of the user; a list is messages; an object is a neutral request. The content of a message may be a text.
pub(crate) fn request(asked: Value) -> Result<Request, Error> {
    match asked {
        Value::String(prompt) => Ok(Request::user(prompt)),
        Value::Array(messages) => Ok(Request::new("", read_messages(messages)?)),
        Value::Object(mut members) => {
            let messages = match members.remove("messages") {
                Some(Value::Array(messages)) => read_messages(messages)?,
                Some(_) => return Err(invalid("expected a list").at("/messages")),
                None => Vec::new(),
            };
            members.entry("model").or_insert_with(|| Value::String(String::new()));
            members.insert("messages".to_owned(), Value::Array(Vec::new()));
            let request = Request::deserialize(Value::Object(members)).map_err(|error| invalid(&error.to_string()))?;
            Ok(Request { messages, ..request })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            Err(invalid("expected a text, a list of messages, or a request"))
        }
    }
}

/// The request with what the settings add.
pub(crate) fn request_with(asked: Value, settings: &AskSettings) -> Result<Request, Error> {
    let request = request(asked)?;
    Ok(match &settings.system {
        Some(system) => request.system(system.clone()),
        None => request,
    })
}

fn read_messages(messages: Vec<Value>) -> Result<Vec<Message>, Error> {
    let read = |(place, message): (usize, Value)| {
        let bad = |error: serde_json::Error| invalid(&error.to_string()).at(format!("/messages/{place}"));
        let message = match message {
            Value::Object(members) => Value::Object(with_blocks(members).map_err(bad)?),
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => other,
        };
        Message::deserialize(message).map_err(bad)
    };
    messages.into_iter().enumerate().map(read).collect()
}

/// The message with its text as a block.
fn with_blocks(mut message: Map<String, Value>) -> Result<Map<String, Value>, serde_json::Error> {
    if let Some(content) = message.get_mut("content")
        && let Value::String(text) = content
    {
        *content = serde_json::to_value([Block::text(std::mem::take(text))])?;
    }
    Ok(message)
}

fn invalid(why: &str) -> Error {
    Error::input("not-a-request", format!("the request cannot be read: {why}"))
}
