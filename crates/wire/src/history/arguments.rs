//! Repairs tool call arguments that are not a JSON object, for example after an interrupted stream.

use serde_json::{Value, json};

use crate::neutral::{Block, Message};
use crate::report::{Action, Changes, Effect};

pub(super) fn repair(messages: &mut [Message], changes: &mut Changes) {
    for (turn, message) in messages.iter_mut().enumerate() {
        for (index, block) in message.content.iter_mut().enumerate() {
            let Block::ToolCall(call) = block else { continue };
            let Some((new, detail)) = repaired(&call.arguments) else { continue };
            let at = format!("/messages/{turn}/content/{index}/arguments");
            changes.push("arguments", at, (Action::Rewritten, Effect::Same), detail);
            call.arguments = new;
        }
    }
}

/// Repaired arguments and the reason, unless they are a JSON object already.
fn repaired(text: &str) -> Option<(String, &'static str)> {
    if text.trim().is_empty() {
        return Some(("{}".to_owned(), "empty arguments are sent as `{}`"));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => None,
        // Arguments that were serialized twice.
        Ok(Value::String(inner)) if serde_json::from_str::<Value>(&inner).is_ok_and(|value| value.is_object()) => {
            Some((inner, "arguments were encoded as a JSON string: decoded"))
        }
        Ok(other) => {
            Some((json!({"value": other}).to_string(), "arguments are not a JSON object: wrapped in one as `value`"))
        }
        Err(_) => {
            let escaped = escape(text);
            if serde_json::from_str::<Value>(&escaped).is_ok_and(|value| value.is_object()) {
                return Some((escaped, "invalid escapes in arguments repaired"));
            }
            Some((json!({"text": text}).to_string(), "arguments are not JSON: wrapped in an object as `text`"))
        }
    }
}

/// Doubles every backslash that does not start a JSON escape.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut characters = text.chars().peekable();
    while let Some(one) = characters.next() {
        escaped.push(one);
        if one != '\\' {
            continue;
        }
        match characters.peek() {
            Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => escaped.extend(characters.next()),
            Some('u') => {
                let four: Vec<char> = characters.clone().skip(1).take(4).collect();
                if four.len() < 4 || !four.iter().all(char::is_ascii_hexdigit) {
                    escaped.push('\\');
                }
            }
            Some(_) | None => escaped.push('\\'),
        }
    }
    escaped
}
