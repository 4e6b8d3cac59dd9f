//! Requests of `bedrock-converse`: decoding.

use serde_json::Value;

use super::OWN;
use super::request::FORMATS;
use crate::error::{DecodeError, Within};
use crate::fields::{Fields, read_each};
use crate::neutral::{
    Audio, Block, Cache, Document, Effort, Extra, Function, Image, Message, Other, Output, OutputFormat,
    RedactedThinking, Request, ResultBlock, Role, Signature, Source, Text, Thinking, Tool, ToolCall, ToolChoice,
    ToolResult,
};
use crate::protocol::{claude, format};
use crate::report::Changes;

pub(super) fn decode(body: Value, changes: &mut Changes) -> Result<Request, DecodeError> {
    let mut fields = Fields::of(body)?;
    let mut request = Request { model: fields.text("modelId").unwrap_or_default(), ..Request::default() };
    for block in blocks("system", fields.list("system").unwrap_or_default())? {
        if let Block::Text(text) = block {
            request.system.push(text);
        } else {
            request.messages.push(Message::new(Role::System, vec![block]));
        }
    }
    for (index, value) in fields.required_list("messages")?.into_iter().enumerate() {
        let turn = Fields::of(value).and_then(|turn| read_turn(turn, &mut request.messages));
        turn.within(index).within("messages")?;
    }
    if let Some(mut config) = fields.object("toolConfig") {
        for tool in config.list("tools").unwrap_or_default() {
            read_tool(tool, &mut request.tools);
        }
        request.tool_choice = read_choice(&mut config);
        fields.put_rest("toolConfig", config);
    }
    if let Some(mut config) = fields.object("inferenceConfig") {
        request.max_tokens = config.count("maxTokens");
        request.temperature = config.number("temperature");
        request.top_p = config.number("topP");
        request.stop = config.texts("stopSequences").unwrap_or_default();
        fields.put_rest("inferenceConfig", config);
    }
    read_thinking(&mut fields, &mut request, changes);
    if let Some(labels) = fields.object("requestMetadata") {
        let plain = |value| if let Value::String(text) = value { text } else { value.to_string() };
        request.metadata = labels.rest().into_iter().map(|(name, value)| (name, plain(value))).collect();
    }
    request.extra = Extra::of(OWN, fields.rest());
    Ok(request)
}

fn read_turn(mut turn: Fields, messages: &mut Vec<Message>) -> Result<(), DecodeError> {
    let role = match turn.required_text("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return Err(DecodeError::shape("a known role").within("role")),
    };
    let content = blocks("content", turn.list("content").unwrap_or_default())?;
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
        last.extra = Extra::of(OWN, turn.rest());
    }
    messages.extend(parts);
    Ok(())
}

/// Decodes blocks; a `cachePoint` becomes the cache hint of the block before it.
pub(super) fn blocks(name: &str, list: Vec<Value>) -> Result<Vec<Block>, DecodeError> {
    let mut blocks: Vec<Block> = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        if let Some(cache) = read_cache(&value)
            && let Some(slot) = blocks.last_mut().and_then(cache_of)
            && slot.is_none()
        {
            *slot = Some(cache);
            continue;
        }
        blocks.push(block(value).within(index).within(name)?);
    }
    Ok(blocks)
}

fn cache_of(block: &mut Block) -> Option<&mut Option<Cache>> {
    match block {
        Block::Text(block) => Some(&mut block.cache),
        Block::Image(block) => Some(&mut block.cache),
        Block::Document(block) => Some(&mut block.cache),
        Block::ToolCall(block) => Some(&mut block.cache),
        Block::ToolResult(block) => Some(&mut block.cache),
        Block::Audio(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::ToolResultReference(_)
        | Block::Other(_) => None,
    }
}

fn read_cache(value: &Value) -> Option<Cache> {
    let point = value.as_object().filter(|block| block.len() == 1)?.get("cachePoint")?.as_object()?;
    let plain = point.keys().all(|key| matches!(key.as_str(), "type" | "ttl"));
    let ttl = point.get("ttl").and_then(Value::as_str).map(str::to_owned);
    (plain && point.get("type").and_then(Value::as_str) == Some("default")).then_some(Cache { ttl })
}

/// Reads a content block; an unknown one becomes `Block::Other`.
pub(super) fn block(value: Value) -> Result<Block, DecodeError> {
    let single = value.as_object().filter(|object| object.len() == 1).and_then(|object| object.keys().next()).cloned();
    let Some(kind) = single.filter(|kind| is_known(kind, value.get(kind))) else {
        return if value.is_object() { Ok(other(value)) } else { Err(DecodeError::shape("a content block")) };
    };
    let mut outer = Fields::of(value)?;
    if kind == "text" {
        return Ok(Block::text(outer.text("text").unwrap_or_default()));
    }
    let mut fields = outer.object(&kind).unwrap_or_default();
    Ok(match kind.as_str() {
        "image" => {
            let source = read_source(&mut fields, "image");
            Block::Image(Image { source, detail: None, cache: None, extra: Extra::of(OWN, fields.rest()) })
        }
        "audio" => {
            let source = read_source(&mut fields, "audio");
            Block::Audio(Audio { source, extra: Extra::of(OWN, fields.rest()) })
        }
        "document" => {
            let (source, name) = (read_source(&mut fields, "application"), fields.text("name"));
            Block::Document(Document { source, name, cache: None, extra: Extra::of(OWN, fields.rest()) })
        }
        "toolUse" => Block::ToolCall(ToolCall {
            id: fields.text("toolUseId").unwrap_or_default(),
            name: fields.text("name").unwrap_or_default(),
            arguments: fields.take("input").map_or_else(|| "{}".to_owned(), |input| input.to_string()),
            extra: Extra::of(OWN, fields.rest()),
            ..ToolCall::default()
        }),
        "toolResult" => Block::ToolResult(result(fields)?),
        _ => {
            if let Some(data) = fields.text("redactedContent") {
                return Ok(Block::RedactedThinking(RedactedThinking { signature: Signature { from: OWN, data } }));
            }
            let mut inner = fields.object("reasoningText").unwrap_or_default();
            let signature = inner.text("signature").map(|data| Signature { from: OWN, data });
            let text = inner.text("text").unwrap_or_default();
            fields.put_rest("reasoningText", inner);
            Block::Thinking(Thinking { text, signature, extra: Extra::of(OWN, fields.rest()) })
        }
    })
}

fn is_known(kind: &str, value: Option<&Value>) -> bool {
    let has = |pointer: &str| value.and_then(|value| value.pointer(pointer)).is_some_and(Value::is_string);
    match kind {
        "text" => value.is_some_and(Value::is_string),
        "image" | "audio" | "document" => has("/source/bytes") || has("/source/text") || has("/source/s3Location/uri"),
        "toolUse" => has("/name"),
        "toolResult" => value.is_some_and(Value::is_object),
        "reasoningContent" => {
            has("/redactedContent") && value.and_then(Value::as_object).is_some_and(|block| block.len() == 1)
                || has("/reasoningText/text")
        }
        _ => false,
    }
}

fn other(value: Value) -> Block {
    Block::Other(Other { protocol: OWN, value })
}

fn read_source(fields: &mut Fields, family: &str) -> Source {
    let format = fields.text("format").unwrap_or_default();
    let listed = FORMATS.iter().find(|(_, known)| *known == format && family == "application");
    let media_type = listed.map_or_else(|| format!("{family}/{format}"), |(kind, _)| (*kind).to_owned());
    let mut source = fields.object("source").unwrap_or_default();
    let read = if let Some(data) = source.text("bytes") {
        Source::Base64 { media_type, data }
    } else if let Some(text) = source.text("text") {
        Source::Text { text }
    } else {
        let mut location = source.object("s3Location").unwrap_or_default();
        let url = location.text("uri").unwrap_or_default();
        source.put_rest("s3Location", location);
        Source::Url { url, media_type: Some(media_type) }
    };
    fields.put_rest("source", source);
    read
}

fn result(mut fields: Fields) -> Result<ToolResult, DecodeError> {
    let list = fields.list("content").unwrap_or_default();
    let content = read_each("content", list, |_, value| {
        if let Some(json) = value.get("json").filter(|_| value.as_object().is_some_and(|object| object.len() == 1)) {
            return Ok(ResultBlock::Json { value: json.clone() });
        }
        block(value)?.into_result().ok_or_else(|| DecodeError::shape("a content block of a tool result"))
    })?;
    let call_id = fields.text("toolUseId").unwrap_or_default();
    let status = fields.text("status");
    let is_error = status.as_deref() == Some("error");
    Ok(ToolResult { call_id, content, is_error, cache: None, extra: Extra::of(OWN, fields.rest()) })
}

fn read_tool(value: Value, tools: &mut Vec<Tool>) {
    if let Some(cache) = read_cache(&value)
        && let Some(Tool::Function(last)) = tools.last_mut()
        && last.cache.is_none()
    {
        last.cache = Some(cache);
        return;
    }
    let alone = value.as_object().is_some_and(|tool| tool.len() == 1);
    if !alone || !value.pointer("/toolSpec/name").is_some_and(Value::is_string) {
        tools.push(Tool::Other(Other { protocol: OWN, value }));
        return;
    }
    let Ok(mut outer) = Fields::of(value) else { return };
    let mut spec = outer.object("toolSpec").unwrap_or_default();
    let mut schema = spec.object("inputSchema").unwrap_or_default();
    let parameters = schema.take("json");
    spec.put_rest("inputSchema", schema);
    tools.push(Tool::Function(Function {
        name: spec.text("name").unwrap_or_default(),
        description: spec.text("description"),
        parameters,
        written: None,
        origin: None,
        strict: spec.flag("strict"),
        cache: None,
        extra: Extra::of(OWN, spec.rest()),
    }));
}

fn read_choice(config: &mut Fields) -> Option<ToolChoice> {
    let choice = config.take("toolChoice")?;
    let name = choice.pointer("/tool/name").and_then(Value::as_str).map(str::to_owned);
    let (known, read) = if choice.get("auto").is_some() {
        (Some(ToolChoice::Auto), "/auto")
    } else if choice.get("any").is_some() {
        (Some(ToolChoice::Required), "/any")
    } else {
        (name.map(ToolChoice::Tool), "/tool/name")
    };
    if known.is_none() {
        config.put("toolChoice", choice);
    } else {
        config.put_unread("toolChoice", choice, &[read]);
    }
    known
}

fn read_thinking(fields: &mut Fields, request: &mut Request, changes: &mut Changes) {
    if let Some(mut model) = fields.object("additionalModelRequestFields") {
        request.top_k = model.count("top_k");
        claude::read_thinking(&mut model, request, "/additionalModelRequestFields", changes);
        fields.put_rest("additionalModelRequestFields", model);
    }
    let Some(mut config) = fields.object("outputConfig") else { return };
    if let Some(effort) = config.text("effort") {
        request.reasoning.get_or_insert_default().effort = Some(Effort::from(effort));
    }
    if let Some(format) = config.take("textFormat") {
        match read_format(&format, changes) {
            Some(made) => {
                request.output = Some(Output::Schema(made));
                let inner = ["schema", "name", "description"].map(|name| format!("/structure/jsonSchema/{name}"));
                let read: Vec<&str> = inner.iter().map(String::as_str).chain(["/type"]).collect();
                config.put_unread("textFormat", format, &read);
            }
            None => config.put("textFormat", format),
        }
    }
    fields.put_rest("outputConfig", config);
}

fn read_format(format: &Value, changes: &mut Changes) -> Option<OutputFormat> {
    let inner = format.pointer("/structure/jsonSchema")?;
    let schema: Value = serde_json::from_str(inner.get("schema")?.as_str()?).ok()?;
    if !schema.is_object() {
        return None;
    }
    let name = format::name(inner, "/outputConfig/textFormat/structure/jsonSchema", changes);
    let description = inner.get("description").and_then(Value::as_str).map(str::to_owned);
    OutputFormat::strict(name, schema).ok().map(|made| made.with_description(description))
}

pub(super) fn empty_text() -> Block {
    Block::Text(Text::default())
}
