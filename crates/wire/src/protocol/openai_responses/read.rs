//! Items of `openai-responses`: decoding.

use serde_json::{Value, json};

use super::OWN;
use super::items::{CUSTOM_ID, DETAIL, synthetic_id};
use crate::error::DecodeError;
use crate::fields::{Fields, read_each};
use crate::neutral::{
    Audio, Block, Document, Extra, Image, Message, Other, ResultBlock, Role, Signature, Source, Text, Thinking,
    ToolCall, ToolOrigin, ToolResult, flat_name,
};

/// Adds an input item to the conversation.
pub(super) fn turn(value: Value, messages: &mut Vec<Message>) -> Result<(), DecodeError> {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let role = value.get("role").and_then(Value::as_str).unwrap_or_default();
    let (role, content, extra) = match (kind, role) {
        ("" | "message", "user" | "system" | "developer") => {
            let role = if role == "user" { Role::User } else { Role::System };
            let mut fields = Fields::of(value)?;
            for constant in ["type", "role"] {
                fields.take(constant);
            }
            let content = content(&mut fields)?;
            messages.push(Message { role, content, extra: Extra::of(OWN, fields.rest()) });
            return Ok(());
        }
        ("function_call_output" | "custom_tool_call_output", _) => {
            (Role::Tool, vec![Block::ToolResult(result(Fields::of(value)?)?)], Extra::default())
        }
        (kind, _) if kind.ends_with("_output") => (Role::Tool, vec![other(value)], Extra::default()),
        _ => (Role::Assistant, assistant_blocks(value, None)?, Extra::default()),
    };
    match messages.last_mut() {
        Some(last) if last.role == role => last.content.extend(content),
        _ => messages.push(Message { role, content, extra }),
    }
    Ok(())
}

fn other(value: Value) -> Block {
    Block::Other(Other { protocol: OWN, value })
}

/// The blocks of an assistant item. `place` is the index in a response, to recognize generated ids.
pub(super) fn assistant_blocks(value: Value, place: Option<usize>) -> Result<Vec<Block>, DecodeError> {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let role = value.get("role").and_then(Value::as_str);
    let assistant = role == Some("assistant");
    let known = match kind.as_str() {
        "message" | "" => assistant,
        "reasoning" => is_plain(value.get("summary")) && is_plain(value.get("content")),
        "function_call" | "custom_tool_call" => value.get("name").is_some_and(Value::is_string),
        _ => false,
    };
    if !known {
        return if value.is_object() { Ok(vec![other(value)]) } else { Err(DecodeError::shape("an item")) };
    }
    Ok(match kind.as_str() {
        "reasoning" => vec![Block::Thinking(thinking(item(value, "rs", place)?))],
        "function_call" => vec![Block::ToolCall(call(item(value, "fc", place)?, false))],
        "custom_tool_call" => vec![Block::ToolCall(call(item(value, CUSTOM_ID, place)?, true))],
        _ => {
            let mut fields = item(value, "msg", place)?;
            let mut blocks = content(&mut fields)?;
            // In a request, an empty message separates the items before and after it.
            if blocks.is_empty() && place.is_none() {
                blocks.push(Block::text(""));
            }
            let item = fields.rest();
            if let (Some(Block::Text(first)), false) = (blocks.first_mut(), item.is_empty()) {
                first.extra.insert(OWN, ITEM, Value::Object(item));
            }
            blocks
        }
    })
}

/// Decodes a function call or a custom tool call, with or without a namespace.
fn call(mut fields: Fields, custom: bool) -> ToolCall {
    let id = fields.text("call_id").unwrap_or_default();
    let name = fields.text("name").unwrap_or_default();
    let arguments = if custom {
        ToolCall::custom_arguments(&fields.text("input").unwrap_or_default())
    } else {
        fields.text("arguments").unwrap_or_default()
    };
    let namespace = fields.text("namespace").filter(|namespace| !namespace.is_empty());
    let origin = match &namespace {
        Some(namespace) => Some(ToolOrigin { custom, ..ToolOrigin::member(namespace, &name) }),
        None => custom.then(ToolOrigin::custom),
    };
    let name = namespace.map_or_else(|| name.clone(), |namespace| flat_name(&namespace, &name));
    ToolCall { id, name, arguments, origin, extra: Extra::of(OWN, fields.rest()), ..ToolCall::default() }
}

/// The field of the first text of a message that stores the fields of the item.
pub(super) const ITEM: &str = "item";

/// The fields of an item without constants and without a generated id.
pub(super) fn item(value: Value, prefix: &str, place: Option<usize>) -> Result<Fields, DecodeError> {
    let mut fields = Fields::of(value)?;
    for constant in ["type", "role"] {
        fields.take(constant);
    }
    if matches!(fields.peek("status"), Some("completed" | "in_progress")) {
        fields.take("status");
    }
    if place.is_some_and(|place| fields.peek("id") == Some(&synthetic_id(prefix, place))) {
        fields.take("id");
    }
    Ok(fields)
}

fn thinking(mut fields: Fields) -> Thinking {
    let summary = texts(&mut fields, "summary");
    let text = if summary.is_empty() { texts(&mut fields, "content") } else { summary };
    let signature = fields.text("encrypted_content").map(|data| Signature { from: OWN, data });
    Thinking { text, signature, extra: Extra::of(OWN, fields.rest()) }
}

/// True if reasoning parts only have text. Other reasoning items become `Block::Other`.
fn is_plain(parts: Option<&Value>) -> bool {
    let plain = |part: &Value| {
        part.as_object().is_some_and(|part| part.keys().all(|key| matches!(key.as_str(), "type" | "text")))
    };
    parts.and_then(Value::as_array).is_none_or(|parts| parts.iter().all(plain))
}

/// Removes an array of parts and joins their texts.
fn texts(fields: &mut Fields, name: &str) -> String {
    let Some(parts) = fields.list(name) else { return String::new() };
    let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
    parts.iter().filter_map(text).collect::<Vec<_>>().join("\n\n")
}

fn content(fields: &mut Fields) -> Result<Vec<Block>, DecodeError> {
    match fields.take("content") {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Block::text(text)]),
        Some(Value::Array(parts)) => read_each("content", parts, |_, value| part(value)),
        Some(_) => Err(DecodeError::shape("a string or an array").within("content")),
    }
}

/// Reads a content part; an unknown one becomes `Block::Other`.
pub(super) fn part(value: Value) -> Result<Block, DecodeError> {
    let text = |name: &str| value.get(name).is_some_and(Value::is_string);
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let known = match kind {
        "input_text" | "output_text" => text("text"),
        "input_image" => text("image_url") || text("file_id"),
        "input_file" => text("file_id") || text("file_url") || text("file_data"),
        "input_audio" => ["data", "format"]
            .iter()
            .all(|name| value.get("input_audio").and_then(|audio| audio.get(name)).is_some_and(Value::is_string)),
        _ => false,
    };
    if !known {
        return if value.is_object() { Ok(other(value)) } else { Err(DecodeError::shape("a content part")) };
    }
    let kind = kind.to_owned();
    let mut part = Fields::of(value)?;
    part.take("type");
    Ok(match kind.as_str() {
        "input_image" => {
            let source = match part.text("image_url") {
                Some(url) => Source::url(url),
                None => Source::File { id: part.text("file_id").unwrap_or_default() },
            };
            let detail = part.text("detail").filter(|detail| detail != DETAIL);
            Block::Image(Image { source, detail, cache: None, extra: Extra::of(OWN, part.rest()) })
        }
        "input_file" => {
            let source = match (part.text("file_data"), part.text("file_url")) {
                (Some(data), _) => Source::url(data),
                (None, Some(url)) => Source::Url { url, media_type: None },
                (None, None) => Source::File { id: part.text("file_id").unwrap_or_default() },
            };
            let name = part.text("filename");
            Block::Document(Document { source, name, cache: None, extra: Extra::of(OWN, part.rest()) })
        }
        "input_audio" => {
            let mut audio = part.object("input_audio").unwrap_or_default();
            let format = audio.text("format").unwrap_or_default();
            let source = Source::base64(format!("audio/{format}"), audio.text("data").unwrap_or_default());
            part.put_rest("input_audio", audio);
            Block::Audio(Audio { source, extra: Extra::of(OWN, part.rest()) })
        }
        _ => {
            let text = part.text("text").unwrap_or_default();
            for empty in ["annotations", "logprobs"] {
                if let Some(list) = part.list(empty).filter(|list| !list.is_empty()) {
                    part.put(empty, json!(list));
                }
            }
            Block::Text(Text { text, extra: Extra::of(OWN, part.rest()), ..Text::default() })
        }
    })
}

fn result(mut fields: Fields) -> Result<ToolResult, DecodeError> {
    fields.take("type");
    let content = match fields.take("output") {
        None => Vec::new(),
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![ResultBlock::text(text)],
        Some(Value::Array(parts)) => read_each("output", parts, |_, value| {
            part(value)?.into_result().ok_or_else(|| DecodeError::shape("a content part of a tool result"))
        })?,
        Some(value) => vec![ResultBlock::Json { value }],
    };
    let call_id = fields.text("call_id").unwrap_or_default();
    Ok(ToolResult { call_id, content, extra: Extra::of(OWN, fields.rest()), ..ToolResult::default() })
}
