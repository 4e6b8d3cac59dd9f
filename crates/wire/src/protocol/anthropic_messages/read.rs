//! Requests of `anthropic-messages`: decoding.

use serde_json::Value;

use super::OWN;
use crate::error::{DecodeError, Within};
use crate::fields::{Fields, read_each};
use crate::neutral::{
    Block, Cache, Document, Extra, Function, Image, Message, Other, RedactedThinking, Request, ResultBlock, Role,
    Signature, Source, Text, Thinking, Tool, ToolCall, ToolChoice, ToolResult,
};
use crate::protocol::claude;
use crate::report::Changes;

pub(super) fn decode(body: Value, changes: &mut Changes) -> Result<Request, DecodeError> {
    let mut fields = Fields::of(body)?;
    let mut request = Request { model: fields.text("model").unwrap_or_default(), ..Request::default() };
    request.system = match fields.take("system") {
        None => Vec::new(),
        Some(Value::String(text)) => vec![Text { text, ..Text::default() }],
        Some(Value::Array(blocks)) => read_each("system", blocks, |_, block| {
            if let Block::Text(text) = read_block(block)? { Ok(text) } else { Err(DecodeError::shape("a string")) }
        })?,
        Some(_) => return Err(DecodeError::shape("a string or an array").within("system")),
    };
    for (index, value) in fields.required_list("messages")?.into_iter().enumerate() {
        let turn = Fields::of(value).and_then(|turn| read_turn(turn, &mut request.messages));
        turn.within(index).within("messages")?;
    }
    if let Some(tools) = fields.list("tools") {
        request.tools = tools.into_iter().map(read_tool).collect();
    }
    read_choice(&mut fields, &mut request);
    claude::read_thinking(&mut fields, &mut request, "", changes);
    request.max_tokens = fields.count("max_tokens");
    request.temperature = fields.number("temperature");
    request.top_p = fields.number("top_p");
    request.top_k = fields.count("top_k");
    request.stop = fields.texts("stop_sequences").unwrap_or_default();
    request.stream = fields.flag("stream").unwrap_or(false);
    if let Some(mut metadata) = fields.object("metadata") {
        request.user = metadata.text("user_id");
        fields.put_rest("metadata", metadata);
    }
    request.extra = Extra::of(OWN, fields.rest());
    Ok(request)
}

/// Decodes a message; tool results in a user message become a message of their own.
fn read_turn(mut turn: Fields, messages: &mut Vec<Message>) -> Result<(), DecodeError> {
    let role = match turn.required_text("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return Err(DecodeError::shape("a known role").within("role")),
    };
    let content = match turn.take("content") {
        None => Vec::new(),
        Some(Value::String(text)) => vec![Block::text(text)],
        Some(Value::Array(blocks)) => read_each("content", blocks, |_, block| read_block(block))?,
        Some(_) => return Err(DecodeError::shape("a string or an array").within("content")),
    };
    let extra = Extra::of(OWN, turn.rest());
    let mut parts: Vec<Message> = Vec::new();
    for block in content {
        let role = if block.answers().is_some() { Role::Tool } else { role };
        match parts.last_mut() {
            Some(last) if last.role == role => last.content.push(block),
            _ => parts.push(Message::new(role, vec![block])),
        }
    }
    if parts.is_empty() {
        parts.push(Message::new(role, Vec::new()));
    }
    if let Some(last) = parts.last_mut() {
        last.extra = extra;
    }
    messages.extend(parts);
    Ok(())
}

/// Reads a content block; an unknown one becomes `Block::Other`.
pub(super) fn read_block(value: Value) -> Result<Block, DecodeError> {
    let text = |name: &str| value.get(name).is_some_and(Value::is_string);
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let known = match kind {
        "text" => text("text"),
        "image" | "document" => value.get("source").is_some_and(source_is_known),
        "thinking" => text("thinking"),
        "redacted_thinking" => text("data") && value.as_object().is_some_and(|block| block.len() == 2),
        "tool_use" => text("name"),
        "tool_result" => true,
        _ => false,
    };
    if !known {
        return if value.is_object() { Ok(other(value)) } else { Err(DecodeError::shape("a content block")) };
    }
    let kind = kind.to_owned();
    let mut fields = Fields::of(value)?;
    fields.take("type");
    let cache = read_cache(&mut fields);
    Ok(match kind.as_str() {
        "text" => {
            let text = fields.text("text").unwrap_or_default();
            Block::Text(Text { text, cache, signature: None, extra: Extra::of(OWN, fields.rest()) })
        }
        "image" => {
            let source = read_source(&mut fields);
            Block::Image(Image { source, detail: None, cache, extra: Extra::of(OWN, fields.rest()) })
        }
        "document" => {
            let (source, name) = (read_source(&mut fields), fields.text("title"));
            Block::Document(Document { source, name, cache, extra: Extra::of(OWN, fields.rest()) })
        }
        "thinking" => {
            let text = fields.text("thinking").unwrap_or_default();
            let signed = fields.text("signature").filter(|data| !data.is_empty());
            let signature = signed.map(|data| Signature { from: OWN, data });
            Block::Thinking(Thinking { text, signature, extra: Extra::of(OWN, fields.rest()) })
        }
        "redacted_thinking" => {
            let data = fields.text("data").unwrap_or_default();
            Block::RedactedThinking(RedactedThinking { signature: Signature { from: OWN, data } })
        }
        "tool_use" => Block::ToolCall(ToolCall {
            id: fields.text("id").unwrap_or_default(),
            name: fields.text("name").unwrap_or_default(),
            arguments: fields.take("input").map_or_else(String::new, plain),
            cache,
            extra: Extra::of(OWN, fields.rest()),
            ..ToolCall::default()
        }),
        _ => Block::ToolResult(read_result(fields, cache)?),
    })
}

/// Arguments as JSON text. Some clients send them as a string already.
fn plain(value: Value) -> String {
    if let Value::String(text) = value { text } else { value.to_string() }
}

fn other(value: Value) -> Block {
    Block::Other(Other { protocol: OWN, value })
}

fn read_cache(fields: &mut Fields) -> Option<Cache> {
    let mut cache = fields.object("cache_control")?;
    let ephemeral = cache.peek("type").is_some_and(|kind| kind == "ephemeral");
    let ttl = cache.text("ttl");
    let kind = cache.take("type");
    if ephemeral && cache.is_empty() {
        return Some(Cache { ttl });
    }
    for (name, value) in [("type", kind), ("ttl", ttl.map(Value::String))] {
        if let Some(value) = value {
            cache.put(name, value);
        }
    }
    fields.put_rest("cache_control", cache);
    None
}

fn source_is_known(source: &Value) -> bool {
    let text = |name: &str| source.get(name).is_some_and(Value::is_string);
    match source.get("type").and_then(Value::as_str) {
        Some("base64") => text("media_type") && text("data"),
        Some("text") => text("data"),
        Some("url") => text("url"),
        Some("file") => text("file_id"),
        _ => false,
    }
}

fn read_source(fields: &mut Fields) -> Source {
    let Some(mut source) = fields.object("source") else { return Source::default() };
    let kind = source.text("type").unwrap_or_default();
    let mut text = |name| source.text(name).unwrap_or_default();
    let read = match kind.as_str() {
        "base64" => Source::Base64 { media_type: text("media_type"), data: text("data") },
        "url" => Source::Url { url: text("url"), media_type: None },
        "file" => Source::File { id: text("file_id") },
        _ => Source::Text { text: text("data") },
    };
    if kind == "text" {
        source.take("media_type");
    }
    fields.put_rest("source", source);
    read
}

fn read_result(mut fields: Fields, cache: Option<Cache>) -> Result<ToolResult, DecodeError> {
    let call_id = fields.text("tool_use_id").unwrap_or_default();
    let content = match fields.take("content") {
        None => Vec::new(),
        Some(Value::String(text)) => vec![ResultBlock::text(text)],
        Some(Value::Array(blocks)) => read_each("content", blocks, |_, block| {
            read_block(block)?.into_result().ok_or_else(|| DecodeError::shape("a content block of a tool result"))
        })?,
        Some(value) => vec![ResultBlock::Json { value }],
    };
    let is_error = fields.flag("is_error").unwrap_or(false);
    Ok(ToolResult { call_id, content, is_error, cache, extra: Extra::of(OWN, fields.rest()) })
}

fn read_tool(value: Value) -> Tool {
    let custom = value.get("type").is_none_or(|kind| kind.is_null() || kind == "custom");
    let named = value.get("name").is_some_and(Value::is_string);
    if !custom || !named || value.get("input_schema").is_none() {
        return Tool::Other(Other { protocol: OWN, value });
    }
    let Ok(mut tool) = Fields::of(value) else { return Tool::Function(Function::default()) };
    tool.take("type");
    let cache = read_cache(&mut tool);
    Tool::Function(Function {
        name: tool.text("name").unwrap_or_default(),
        description: tool.text("description"),
        parameters: tool.take("input_schema"),
        written: None,
        origin: None,
        strict: tool.flag("strict"),
        cache,
        extra: Extra::of(OWN, tool.rest()),
    })
}

fn read_choice(fields: &mut Fields, request: &mut Request) {
    let Some(mut choice) = fields.object("tool_choice") else { return };
    request.parallel_tool_calls = choice.flag("disable_parallel_tool_use").map(|disabled| !disabled);
    request.tool_choice = match choice.peek("type") {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("any") => Some(ToolChoice::Required),
        Some("tool") => choice.text("name").map(ToolChoice::Tool),
        _ => None,
    };
    if request.tool_choice.is_some() {
        choice.take("type");
    }
    fields.put_rest("tool_choice", choice);
}
