//! Requests of `openai-chat`: decoding.

use serde_json::{Value, json};

use super::OWN;
use crate::error::{DecodeError, Within};
use crate::fields::{Fields, read_each};
use crate::neutral::{
    Audio, Block, Document, Effort, Extra, Function, Image, Message, Other, Output, Reasoning, Request, ResultBlock,
    Role, Source, Text, Thinking, Tool, ToolCall, ToolChoice, ToolOrigin, ToolResult,
};
use crate::protocol::format;
use crate::report::{Action, Changes, Effect};

pub(super) fn decode(body: Value, changes: &mut Changes) -> Result<Request, DecodeError> {
    let mut fields = Fields::of(body)?;
    let mut request = Request { model: fields.text("model").unwrap_or_default(), ..Request::default() };
    for (index, value) in fields.required_list("messages")?.into_iter().enumerate() {
        let turn = Fields::of(value).and_then(|turn| read_turn(turn, index, &mut request, changes));
        turn.within(index).within("messages")?;
    }
    if let Some(tools) = fields.list("tools") {
        request.tools = read_each("tools", tools, |_, value| Ok(read_tool(value)))?;
    }
    request.tool_choice = read_choice(&mut fields);
    request.parallel_tool_calls = fields.flag("parallel_tool_calls");
    request.output = read_format(&mut fields, changes);
    request.max_tokens = fields.count("max_completion_tokens").or_else(|| fields.count("max_tokens"));
    request.temperature = fields.number("temperature");
    request.top_p = fields.number("top_p");
    request.frequency_penalty = fields.number("frequency_penalty");
    request.presence_penalty = fields.number("presence_penalty");
    request.seed = fields.integer("seed");
    request.stop = fields.texts("stop").or_else(|| fields.text("stop").map(|one| vec![one])).unwrap_or_default();
    if let Some(effort) = fields.text("reasoning_effort") {
        request.reasoning = Some(Reasoning { effort: Some(Effort::from(effort)), ..Reasoning::default() });
    }
    request.stream = fields.flag("stream").unwrap_or(false);
    request.user = fields.text("user");
    if let Some(labels) = fields.object("metadata") {
        request.metadata = labels.rest().into_iter().map(|(name, value)| (name, plain(value))).collect();
    }
    if request.stream {
        // Absent `include_usage` is false; the encoder would request usage by default.
        match fields.take("stream_options") {
            Some(options) if options == json!({"include_usage": true}) => {}
            Some(Value::Object(mut options)) => {
                options.entry("include_usage").or_insert(json!(false));
                fields.put("stream_options", Value::Object(options));
            }
            options => fields.put("stream_options", options.unwrap_or_else(|| json!({"include_usage": false}))),
        }
    }
    request.extra = Extra::of(OWN, fields.rest());
    Ok(request)
}

fn plain(value: Value) -> String {
    if let Value::String(text) = value { text } else { value.to_string() }
}

fn read_turn(mut turn: Fields, index: usize, request: &mut Request, changes: &mut Changes) -> Result<(), DecodeError> {
    let role = turn.required_text("role")?;
    match role.as_str() {
        "system" | "developer" => {
            if role == "developer" {
                let renamed = (Action::Renamed, Effect::Same);
                changes.push(
                    "developer-role",
                    format!("/messages/{index}/role"),
                    renamed,
                    "role `developer` is read as `system`",
                );
            }
            let content = read_content(&mut turn)?;
            let extra = Extra::of(OWN, turn.rest());
            let leading = index == 0 && extra.is_empty();
            if leading && content.iter().all(|block| matches!(block, Block::Text(_))) {
                let text = |block| if let Block::Text(text) = block { Some(text) } else { None };
                request.system.extend(content.into_iter().filter_map(text));
            } else {
                request.messages.push(Message { role: Role::System, content, extra });
            }
        }
        "user" => {
            let content = read_content(&mut turn)?;
            request.messages.push(Message { role: Role::User, content, extra: Extra::of(OWN, turn.rest()) });
        }
        "assistant" => {
            let content = read_assistant(&mut turn)?;
            request.messages.push(Message { role: Role::Assistant, content, extra: Extra::of(OWN, turn.rest()) });
        }
        "tool" | "function" => {
            let result = Block::ToolResult(read_result(turn)?);
            match request.messages.last_mut() {
                Some(last) if last.role == Role::Tool => last.content.push(result),
                _ => request.messages.push(Message::new(Role::Tool, vec![result])),
            }
        }
        _ => return Err(DecodeError::shape("a known role").within("role")),
    }
    Ok(())
}

fn read_content(turn: &mut Fields) -> Result<Vec<Block>, DecodeError> {
    match turn.take("content") {
        None => Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![Block::text(text)]),
        Some(Value::Array(parts)) => read_each("content", parts, |_, part| read_part(part)),
        Some(_) => Err(DecodeError::shape("a string or an array").within("content")),
    }
}

fn read_part(value: Value) -> Result<Block, DecodeError> {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    let known = match kind {
        "text" => value.get("text").is_some_and(Value::is_string),
        "image_url" => value.pointer("/image_url/url").is_some_and(Value::is_string),
        "input_audio" => ["data", "format"]
            .iter()
            .all(|name| value.get("input_audio").and_then(|audio| audio.get(name)).is_some_and(Value::is_string)),
        "file" => value.get("file").is_some_and(|file| file.get("file_id").or(file.get("file_data")).is_some()),
        _ => false,
    };
    if !known {
        return if value.is_object() { Ok(other(value)) } else { Err(DecodeError::shape("a content part")) };
    }
    let kind = kind.to_owned();
    let mut part = Fields::of(value)?;
    part.take("type");
    Ok(match kind.as_str() {
        "text" => {
            let text = part.required_text("text")?;
            Block::Text(Text { text, extra: Extra::of(OWN, part.rest()), ..Text::default() })
        }
        "image_url" => {
            let mut image = part.object("image_url").ok_or_else(|| DecodeError::shape("an object"))?;
            let (source, detail) = (Source::url(image.required_text("url")?), image.text("detail"));
            part.put_rest("image_url", image);
            Block::Image(Image { source, detail, cache: None, extra: Extra::of(OWN, part.rest()) })
        }
        "input_audio" => {
            let mut audio = part.object("input_audio").ok_or_else(|| DecodeError::shape("an object"))?;
            let (format, data) = (audio.required_text("format")?, audio.required_text("data")?);
            part.put_rest("input_audio", audio);
            Block::Audio(Audio {
                source: Source::base64(format!("audio/{format}"), data),
                extra: Extra::of(OWN, part.rest()),
            })
        }
        _ => {
            let mut file = part.object("file").ok_or_else(|| DecodeError::shape("an object"))?;
            let source = match file.text("file_id") {
                Some(id) => Source::File { id },
                None => Source::url(file.text("file_data").unwrap_or_default()),
            };
            let name = file.text("filename");
            part.put_rest("file", file);
            Block::Document(Document { source, name, cache: None, extra: Extra::of(OWN, part.rest()) })
        }
    })
}

fn other(value: Value) -> Block {
    Block::Other(Other { protocol: OWN, value })
}

/// Decodes reasoning, text and tool calls of an assistant message.
pub(super) fn read_assistant(turn: &mut Fields) -> Result<Vec<Block>, DecodeError> {
    let mut content = Vec::new();
    let thought = turn.text("reasoning_content").or_else(|| turn.text("reasoning"));
    if let Some(text) = thought.filter(|text| !text.is_empty()) {
        content.push(Block::Thinking(Thinking { text, ..Thinking::default() }));
    }
    content.extend(read_content(turn)?);
    if let Some(calls) = turn.list("tool_calls") {
        content.extend(read_each("tool_calls", calls, |_, value| read_call(value))?);
    }
    Ok(content)
}

fn read_call(value: Value) -> Result<Block, DecodeError> {
    if value.pointer("/custom/name").is_some_and(Value::is_string) {
        return Ok(Block::ToolCall(read_custom_call(Fields::of(value)?)));
    }
    if !value.get("function").is_some_and(Value::is_object) {
        return if value.is_object() { Ok(other(value)) } else { Err(DecodeError::shape("a tool call")) };
    }
    let mut call = Fields::of(value)?;
    call.take("type");
    // Some clients assemble streams and leave the chunk index in the call.
    call.count("index");
    let id = call.text("id").unwrap_or_default();
    let mut function = call.object("function").ok_or_else(|| DecodeError::shape("an object"))?;
    let name = function.text("name").unwrap_or_default();
    let arguments = function.take("arguments").map(plain).unwrap_or_default();
    call.put_rest("function", function);
    Ok(Block::ToolCall(ToolCall { id, name, arguments, extra: Extra::of(OWN, call.rest()), ..ToolCall::default() }))
}

/// Decodes a custom tool call: its text becomes the argument `input`.
fn read_custom_call(mut call: Fields) -> ToolCall {
    call.take("type");
    call.count("index");
    let id = call.text("id").unwrap_or_default();
    let mut custom = call.object("custom").unwrap_or_default();
    let name = custom.text("name").unwrap_or_default();
    let arguments = ToolCall::custom_arguments(&custom.text("input").unwrap_or_default());
    call.put_rest("custom", custom);
    let (origin, extra) = (Some(ToolOrigin::custom()), Extra::of(OWN, call.rest()));
    ToolCall { id, name, arguments, origin, extra, ..ToolCall::default() }
}

fn read_result(mut turn: Fields) -> Result<ToolResult, DecodeError> {
    let call_id = turn.text("tool_call_id").unwrap_or_default();
    let content = match turn.take("content") {
        None => Vec::new(),
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![ResultBlock::text(text)],
        Some(Value::Array(parts)) => read_each("content", parts, |_, part| {
            read_part(part)?.into_result().ok_or_else(|| DecodeError::shape("a content part of a tool result"))
        })?,
        Some(value) => vec![ResultBlock::Json { value }],
    };
    Ok(ToolResult { call_id, content, extra: Extra::of(OWN, turn.rest()), ..ToolResult::default() })
}

fn read_tool(value: Value) -> Tool {
    let only = |kind: &str| value.as_object().is_some_and(|tool| tool.keys().all(|key| key == "type" || key == kind));
    if only("custom") && value.pointer("/custom/name").is_some_and(Value::is_string) {
        let custom = Fields::of(value).ok().and_then(|mut tool| tool.object("custom"));
        return Tool::Function(read_custom_tool(custom.unwrap_or_default()));
    }
    let outer = only("function");
    let named = value.pointer("/function/name").is_some_and(Value::is_string);
    if !outer || !named {
        return Tool::Other(Other { protocol: OWN, value });
    }
    let Some(mut function) = Fields::of(value).ok().and_then(|mut tool| tool.object("function")) else {
        return Tool::Other(Other { protocol: OWN, value: Value::Null });
    };
    Tool::Function(Function {
        name: function.text("name").unwrap_or_default(),
        description: function.text("description"),
        parameters: function.take("parameters"),
        written: None,
        origin: None,
        strict: function.flag("strict"),
        cache: None,
        extra: Extra::of(OWN, function.rest()),
    })
}

fn read_custom_tool(mut custom: Fields) -> Function {
    Function {
        name: custom.text("name").unwrap_or_default(),
        description: custom.text("description"),
        parameters: Some(ToolOrigin::custom_parameters()),
        origin: Some(ToolOrigin::custom()),
        extra: Extra::of(OWN, custom.rest()),
        ..Function::default()
    }
}

fn read_choice(fields: &mut Fields) -> Option<ToolChoice> {
    let choice = fields.take("tool_choice")?;
    let known = match choice.as_str() {
        Some("auto") => Some(ToolChoice::Auto),
        Some("none") => Some(ToolChoice::None),
        Some("required" | "any") => Some(ToolChoice::Required),
        Some(_) => None,
        None => match choice.get("type").and_then(Value::as_str) {
            Some("function") => {
                choice.pointer("/function/name").and_then(Value::as_str).map(|name| ToolChoice::Tool(name.to_owned()))
            }
            Some("custom") => {
                choice.pointer("/custom/name").and_then(Value::as_str).map(|name| ToolChoice::Tool(name.to_owned()))
            }
            Some("allowed_tools") => read_allowed(choice.get("allowed_tools")),
            _ => None,
        },
    };
    if known.is_none() {
        fields.put("tool_choice", choice);
    } else if choice.is_object() {
        let read = ["/type", "/function/name", "/custom/name", "/allowed_tools/mode", "/allowed_tools/tools"];
        fields.put_unread("tool_choice", choice, &read);
    }
    known
}

fn read_allowed(allowed: Option<&Value>) -> Option<ToolChoice> {
    let allowed = allowed?;
    let name = |tool: &Value| {
        Some(tool.pointer("/function/name").or_else(|| tool.pointer("/custom/name"))?.as_str()?.to_owned())
    };
    let names = allowed.get("tools")?.as_array()?.iter().map(name).collect::<Option<Vec<_>>>()?;
    match allowed.get("mode")?.as_str()? {
        "auto" => Some(ToolChoice::AnyOf(names)),
        "required" => Some(ToolChoice::OneOf(names)),
        _ => None,
    }
}

fn read_format(fields: &mut Fields, changes: &mut Changes) -> Option<Output> {
    let format = fields.take("response_format")?;
    let kind = format.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let known = match kind.as_str() {
        "text" => return None,
        "json_object" if format.as_object().is_some_and(|format| format.len() == 1) => Some(Output::Json),
        "json_schema" => {
            let named = format.get("json_schema");
            let made = named.and_then(|named| format::read_named(named, "/response_format/json_schema", changes));
            made.map(Output::Schema)
        }
        // Some servers accept a schema with `json_object`.
        "json_object" => format::read_named(&format, "/response_format", changes).map(Output::Schema),
        _ => None,
    };
    if known.is_none() {
        fields.put("response_format", format);
    } else {
        let inner = ["name", "schema", "strict", "description"].map(|name| format!("/json_schema/{name}"));
        let outer: &[&str] = if kind == "json_object" { &["/type", "/schema"] } else { &["/type"] };
        let read: Vec<&str> = inner.iter().map(String::as_str).chain(outer.iter().copied()).collect();
        fields.put_unread("response_format", format, &read);
    }
    known
}
