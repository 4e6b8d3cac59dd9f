//! Requests of `openai-chat`: encoding.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::OWN;
use super::shapes::{
    Allowed, Body, CallFunction, CallShape, Choice, Content, CustomCall, File, Format, FormatSchema, FunctionShape,
    ImageUrl, InputAudio, KnownPart, Named, NamedTool, Part, StreamOptions, ToolShape, Turn,
};
use crate::history;
use crate::neutral::{
    Audio, Block, Document, Image, Other, Output, Request, ResultBlock, Role, Source, Text, Thinking, Tool, ToolCall,
    ToolChoice, ToolOrigin,
};
use crate::protocol::context::{ADDED, At, Context, DROPPED, DROPPED_NOTE, DROPPED_WIDER, MERGED, MOVED, REWRITTEN};
use crate::surface::{Medium, Quirk};

/// The text before images and documents that a tool message cannot contain. The model sees it.
const MEDIA_MARKER: &str = "Attachments of the tool result above:";

pub(super) fn encode(ctx: &mut Context<'_>, request: &Request) -> Vec<u8> {
    let limit = ctx.max_tokens(request);
    let legacy = ctx.has(Quirk::LegacyMaxTokens);
    let tools = tools(ctx, request);
    let has_tools = !tools.is_empty();
    let parallel = request.parallel_tool_calls.filter(|_| has_tools);
    let extra = ctx.extra(&At::ROOT, &request.extra);
    let options = request.stream && !extra.is_some_and(|extra| extra.contains_key("stream_options"));
    ctx.record_unsupported("top_k", request.top_k.as_ref());
    let body = Body {
        model: &request.model,
        messages: turns(ctx, request),
        tools,
        tool_choice: choice(ctx, request, has_tools),
        parallel_tool_calls: ctx.parameter("parallel_tool_calls", parallel),
        response_format: format(ctx, request),
        max_completion_tokens: limit.filter(|_| !legacy),
        max_tokens: limit.filter(|_| legacy),
        temperature: ctx.parameter("temperature", request.temperature),
        top_p: ctx.parameter("top_p", request.top_p),
        frequency_penalty: ctx.parameter("frequency_penalty", request.frequency_penalty),
        presence_penalty: ctx.parameter("presence_penalty", request.presence_penalty),
        seed: ctx.parameter("seed", request.seed),
        stop: ctx.parameter("stop", Some(request.stop.as_slice()).filter(|stop| !stop.is_empty())),
        reasoning_effort: effort(ctx, request),
        stream: request.stream,
        stream_options: options.then_some(StreamOptions { include_usage: true }),
        metadata: ctx.parameter("metadata", Some(&request.metadata).filter(|map| !map.is_empty())),
        user: ctx.parameter("user", request.user.as_deref()),
        extra,
    };
    super::super::json(&body)
}

fn effort<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Option<Cow<'r, str>> {
    ctx.drop_visible(request);
    let effort = ctx.effort_alone(request);
    ctx.parameter("reasoning", effort).map(|effort| match effort {
        Cow::Borrowed(effort) => Cow::Borrowed(effort.word()),
        Cow::Owned(effort) => Cow::Owned(effort.into()),
    })
}

fn tools<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Vec<ToolShape<'r>> {
    let tools = At::ROOT.field("tools");
    let functions = || request.tools.iter().filter_map(Tool::as_function);
    let mixed = ctx.has(Quirk::UniformStrict) && functions().any(|one| one.strict != Some(true));
    let mut shapes = Vec::with_capacity(request.tools.len());
    for (index, tool) in request.tools.iter().enumerate() {
        let at = tools.entry(index);
        match tool {
            Tool::Function(function) => {
                ctx.drop_cache_hint(&at, function.cache.as_ref());
                let custom = is_custom(ctx, &at, function.origin.as_ref());
                let function = FunctionShape {
                    name: &function.name,
                    description: function.description.as_deref(),
                    parameters: function.schema().filter(|_| !custom),
                    strict: if custom { None } else { strict(ctx, &at, function.strict, mixed) },
                    extra: ctx.extra(&at, &function.extra),
                };
                shapes.push(if custom {
                    ToolShape::Custom { r#type: "custom", custom: function }
                } else {
                    ToolShape::Function { r#type: "function", function }
                });
            }
            Tool::Other(other) => shapes.extend(ctx.other(&at, other).map(ToolShape::Other)),
        }
    }
    shapes
}

/// True if a tool or a call is written as a custom one. Namespace members become separate functions or custom tools.
pub(super) fn is_custom(ctx: &mut Context<'_>, at: &At<'_>, origin: Option<&ToolOrigin>) -> bool {
    let native = ctx.origin(origin).is_some_and(|origin| origin.custom);
    let as_function = origin.filter(|origin| !native || origin.namespace.is_some());
    let as_function = as_function.map(|origin| ToolOrigin { custom: origin.custom && !native, ..origin.clone() });
    ctx.record_as_function(at, as_function.as_ref());
    native
}

fn strict(ctx: &mut Context<'_>, at: &At<'_>, strict: Option<bool>, mixed: bool) -> Option<bool> {
    let wanted = ctx.strict(at, strict)?;
    if wanted && mixed {
        ctx.record(
            "uniform-strict",
            &at.field("strict"),
            DROPPED_WIDER,
            "`strict` set to false: this provider needs all tools to be strict or none, and one is not",
        );
        return Some(false);
    }
    Some(wanted)
}

fn choice<'r>(ctx: &mut Context<'_>, request: &'r Request, has_tools: bool) -> Option<Choice<'r>> {
    let required = if ctx.has(Quirk::RequiredIsAny) { "any" } else { "required" };
    let mut functions = request.tools.iter().filter_map(Tool::as_function);
    let custom: Vec<&str> = if functions.clone().any(|function| function.origin.is_some()) {
        let native = |origin: Option<&ToolOrigin>| ctx.origin(origin).is_some_and(|origin| origin.custom);
        functions.by_ref().filter(|function| native(function.origin.as_ref())).map(|one| one.name.as_str()).collect()
    } else {
        Vec::new()
    };
    let tool = |name: &'r String| {
        let (kind, named) = (custom.contains(&name.as_str()), Some(Named { name }));
        if kind {
            NamedTool { r#type: "custom", function: None, custom: named }
        } else {
            NamedTool { r#type: "function", function: named, custom: None }
        }
    };
    let allowed = |mode, names: &'r [String]| {
        let allowed_tools = Allowed { mode, tools: names.iter().map(tool).collect() };
        Choice::Allowed { r#type: "allowed_tools", allowed_tools }
    };
    let choice = match ctx.tool_choice(request, has_tools)? {
        Cow::Borrowed(choice) => choice,
        Cow::Owned(ToolChoice::Required) => return Some(Choice::Mode(required)),
        Cow::Owned(_) => return Some(Choice::Mode("auto")),
    };
    Some(match choice {
        ToolChoice::Auto => Choice::Mode("auto"),
        ToolChoice::None => Choice::Mode("none"),
        ToolChoice::Required => Choice::Mode(required),
        ToolChoice::Tool(name) => Choice::Tool(tool(name)),
        ToolChoice::AnyOf(names) => allowed("auto", names),
        ToolChoice::OneOf(names) => allowed("required", names),
    })
}

fn format<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Option<Format<'r>> {
    let at = At::ROOT.field("output");
    Some(match ctx.output(request)? {
        Output::Json if ctx.replaces_json_mode() => {
            let schema = Cow::Owned(json!({"type": "object"}));
            Format::JsonSchema { json_schema: FormatSchema { name: "json", description: None, schema, strict: false } }
        }
        Output::Json => Format::JsonObject { schema: None },
        Output::Schema(format) if ctx.has(Quirk::SchemaInFreeJson) => {
            ctx.record("schema-in-free-json", &at, REWRITTEN, "output schema is sent with `json_object`");
            Format::JsonObject { schema: Some(format.schema()) }
        }
        Output::Schema(format) => {
            let (schema, strict) = (Cow::Borrowed(format.schema()), format.is_strict());
            let description = format.description();
            Format::JsonSchema { json_schema: FormatSchema { name: format.name(), description, schema, strict } }
        }
    })
}

fn turns<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Vec<Turn<'r>> {
    let mut turns = Vec::with_capacity(request.messages.len() + 1);
    let system = ctx.surface.system_role();
    if !request.system.is_empty() {
        let at = At::ROOT.field("system");
        let content = texts(ctx, &at, &request.system);
        turns.extend(content.has_content().then_some(Turn { role: system, content, ..Turn::default() }));
    }
    let messages = At::ROOT.field("messages");
    let mut before = None;
    for (index, message) in request.messages.iter().enumerate() {
        let at = messages.entry(index);
        let extra = ctx.extra(&at, &message.extra);
        match message.role {
            Role::System => {
                let plain = message.content.iter().all(|block| matches!(block, Block::Text(_)));
                if turns.is_empty() && plain && extra.is_none() {
                    ctx.record(
                        "leading-instruction",
                        &at,
                        MOVED,
                        "leading system message moved to the system instructions",
                    );
                }
                let content = content(ctx, &at, &message.content, "a system message");
                if content.has_content() {
                    turns.push(Turn { role: system, content, extra, ..Turn::default() });
                } else {
                    ctx.record("empty-text", &at, DROPPED_NOTE, "empty system message dropped");
                }
            }
            Role::User => {
                let content = content(ctx, &at, &message.content, "a user message");
                turns.push(Turn { role: "user", content, extra, ..Turn::default() });
            }
            Role::Assistant => turns.push(Turn { extra, ..assistant(ctx, &at, &message.content, Side::Request) }),
            Role::Tool => {
                if before == Some(Role::Tool) {
                    ctx.record("merged-results", &at, MERGED, "consecutive tool messages merged");
                }
                for name in extra.into_iter().flat_map(serde_json::Map::keys) {
                    let detail = format!("`{name}` dropped: every tool result is a separate message");
                    ctx.record_field("no-place", &at, OWN, name, DROPPED, detail);
                }
                results(ctx, &at, &message.content, &mut turns);
            }
        }
        before = Some(message.role);
    }
    turns
}

/// Content of texts only: a string, or an array if a text has provider-specific fields.
fn texts<'r>(ctx: &mut Context<'_>, at: &At<'_>, texts: &'r [Text]) -> Content<'r> {
    if texts.iter().any(|text| text.extra.get(OWN).is_some()) {
        return Content::Parts(
            texts.iter().enumerate().map(|(index, text)| text_part(ctx, &at.entry(index), text)).collect(),
        );
    }
    let plain = texts.iter().enumerate().map(|(index, text)| plain_text(ctx, &at.entry(index), text)).collect();
    Content::Text(ctx.join_texts(at, plain))
}

fn plain_text<'r>(ctx: &mut Context<'_>, at: &At<'_>, text: &'r Text) -> Cow<'r, str> {
    ctx.extra(at, &text.extra);
    ctx.drop_cache_hint(at, text.cache.as_ref());
    ctx.drop_signature(at, text.signature.as_ref());
    if text.text.is_empty() {
        ctx.record("empty-text", at, DROPPED_NOTE, "empty text dropped");
    }
    Cow::Borrowed(&text.text)
}

fn text_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, text: &'r Text) -> Part<'r> {
    ctx.drop_cache_hint(at, text.cache.as_ref());
    ctx.drop_signature(at, text.signature.as_ref());
    let extra = ctx.extra(at, &text.extra);
    Part::Known { part: KnownPart::Text { text: Cow::Borrowed(&text.text) }, extra }
}

/// The content of a user or system message.
fn content<'r>(ctx: &mut Context<'_>, at: &At<'_>, blocks: &'r [Block], place: &'static str) -> Content<'r> {
    let at = at.field("content");
    let plain = |block: &Block| matches!(block, Block::Text(text) if text.extra.get(OWN).is_none());
    if blocks.iter().all(plain) {
        let mut texts = Vec::with_capacity(blocks.len());
        for (index, block) in blocks.iter().enumerate() {
            if let Block::Text(text) = block {
                texts.push(plain_text(ctx, &at.entry(index), text));
            }
        }
        return Content::Text(ctx.join_texts(&at, texts));
    }
    let mut parts = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let at = at.entry(index);
        match block {
            Block::Text(text) => parts.push(text_part(ctx, &at, text)),
            Block::Image(image) => parts.extend(image_part(ctx, &at, image)),
            Block::Audio(audio) => parts.extend(audio_part(ctx, &at, audio)),
            Block::Document(document) => parts.extend(document_part(ctx, &at, document)),
            Block::Other(other) => parts.extend(ctx.other(&at, other).map(Part::Other)),
            Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::ToolCall(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_) => ctx.drop_block(&at, block.kind(), place),
        }
    }
    parts_or_text(ctx, &at, parts)
}

/// An array of parts, or a string if all parts are plain text.
fn parts_or_text<'r>(ctx: &mut Context<'_>, at: &At<'_>, parts: Vec<Part<'r>>) -> Content<'r> {
    let plain = |part: &Part<'_>| matches!(part, Part::Known { part: KnownPart::Text { .. }, extra: None });
    if !parts.iter().all(plain) {
        return Content::Parts(parts);
    }
    let text = |part| match part {
        Part::Known { part: KnownPart::Text { text }, .. } => Some(text),
        Part::Known { .. } | Part::Other(_) => None,
    };
    let texts: Vec<_> = parts.into_iter().filter_map(text).collect();
    if let [empty] = texts.as_slice()
        && empty.is_empty()
    {
        ctx.record("empty-text", at, DROPPED_NOTE, "empty text dropped");
    }
    Content::Text(ctx.join_texts(at, texts))
}

fn image_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, image: &'r Image) -> Option<Part<'r>> {
    if !ctx.accepts(at, Medium::Image) {
        return None;
    }
    ctx.drop_cache_hint(at, image.cache.as_ref());
    let url = match &image.source {
        Source::Base64 { media_type, data } => Cow::Owned(format!("data:{media_type};base64,{data}")),
        Source::Url { url, media_type } => {
            ctx.drop_media_type(at, media_type.as_ref());
            Cow::Borrowed(url.as_str())
        }
        Source::File { .. } | Source::Text { .. } => {
            ctx.drop_source(at, Medium::Image, &image.source);
            return None;
        }
    };
    let part = KnownPart::ImageUrl { image_url: ImageUrl { url, detail: image.detail.as_deref() } };
    Some(Part::Known { part, extra: ctx.extra(at, &image.extra) })
}

fn audio_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, audio: &'r Audio) -> Option<Part<'r>> {
    if !ctx.accepts(at, Medium::Audio) {
        return None;
    }
    let known = match &audio.source {
        Source::Base64 { media_type, data } => media_type.strip_prefix("audio/").map(|format| (format, data)),
        Source::Url { .. } | Source::File { .. } | Source::Text { .. } => None,
    };
    let Some((format, data)) = known else {
        ctx.drop_source(at, Medium::Audio, &audio.source);
        return None;
    };
    let mp3 = "mp3";
    let format = if format == "mpeg" {
        ctx.record("audio-format", &at.field("source"), REWRITTEN, "audio format `mpeg` is sent as `mp3`");
        mp3
    } else {
        format
    };
    let part = KnownPart::InputAudio { input_audio: InputAudio { data, format } };
    Some(Part::Known { part, extra: ctx.extra(at, &audio.extra) })
}

fn document_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, document: &'r Document) -> Option<Part<'r>> {
    if !ctx.accepts(at, Medium::Document) {
        return None;
    }
    ctx.drop_cache_hint(at, document.cache.as_ref());
    let filename = document.name.as_deref();
    let part = match &document.source {
        Source::Base64 { media_type, data } => {
            let data = Some(format!("data:{media_type};base64,{data}"));
            KnownPart::File { file: File { data, filename, id: None } }
        }
        Source::File { id } => KnownPart::File { file: File { id: Some(id), filename, data: None } },
        Source::Text { text } => {
            ctx.record("document-as-text", at, REWRITTEN, "plain text document is sent as text");
            KnownPart::Text { text: Cow::Borrowed(text) }
        }
        Source::Url { .. } => {
            ctx.drop_source(at, Medium::Document, &document.source);
            return None;
        }
    };
    Some(Part::Known { part, extra: ctx.extra(at, &document.extra) })
}

/// The body that an assistant message is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response,
}

/// An assistant message: reasoning, then text, then calls, because the protocol has one field for each.
pub(super) fn assistant<'r>(ctx: &mut Context<'_>, at: &At<'_>, blocks: &'r [Block], side: Side) -> Turn<'r> {
    let outer = at;
    let at = at.field("content");
    let (mut thoughts, mut texts, mut parts, mut calls) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let own_part = |other: &Other| other.protocol == OWN && !is_call(&other.value);
    let listed = blocks.iter().any(|block| {
        matches!(block, Block::Text(text) if text.extra.get(OWN).is_some())
            || matches!(block, Block::Other(other) if own_part(other))
    });
    let mut latest = 0;
    for (index, block) in blocks.iter().enumerate() {
        let at = at.entry(index);
        let rank = match block {
            Block::Thinking(thinking) => {
                thoughts.extend(thinking_text(ctx, &at, thinking, side));
                0
            }
            Block::Text(text) if listed => {
                parts.push(text_part(ctx, &at, text));
                1
            }
            Block::Text(text) => {
                texts.push(plain_text(ctx, &at, text));
                1
            }
            Block::ToolCall(call) => {
                calls.push(call_shape(ctx, &at, call));
                2
            }
            Block::Other(other) if is_call(&other.value) => {
                calls.extend(ctx.other(&at, other).map(CallShape::Other));
                2
            }
            Block::Other(other) => {
                parts.extend(ctx.other(&at, other).map(Part::Other));
                1
            }
            Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::RedactedThinking(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_) => {
                ctx.drop_block(&at, block.kind(), "an assistant message");
                latest
            }
        };
        if rank < latest {
            ctx.record("order", &at, MOVED, "block moved: reasoning comes before text, and text before tool calls");
        }
        latest = latest.max(rank);
    }
    let thought = (!thoughts.is_empty()).then(|| ctx.join_texts(outer, thoughts));
    let replay = side == Side::Request && !calls.is_empty() && ctx.has(Quirk::ReasoningReplay);
    let thought = thought.or_else(|| replay.then_some(Cow::Borrowed("")));
    let content = match (parts.is_empty(), texts.is_empty()) {
        (false, _) => parts_or_text(ctx, &at, parts),
        (true, false) => Content::Text(ctx.join_texts(&at, texts)),
        (true, true) if calls.is_empty() => Content::Text(Cow::Borrowed("")),
        (true, true) if side == Side::Request && ctx.has(Quirk::NoNullContent) => {
            ctx.record(
                "null-content",
                outer,
                REWRITTEN,
                "`content` is sent as an empty string: this provider does not accept `null`",
            );
            Content::Text(Cow::Borrowed(""))
        }
        (true, true) => Content::Null,
    };
    let named_otherwise = ctx.has(Quirk::ReasoningField);
    let (reasoning, reasoning_content) = if named_otherwise { (thought, None) } else { (None, thought) };
    Turn { role: "assistant", content, reasoning, reasoning_content, tool_calls: calls, ..Turn::default() }
}

/// True if a provider-specific block belongs to `tool_calls`.
fn is_call(value: &Value) -> bool {
    value.get("id").is_some()
}

fn thinking_text<'r>(ctx: &mut Context<'_>, at: &At<'_>, thinking: &'r Thinking, side: Side) -> Option<Cow<'r, str>> {
    if side == Side::Request && ctx.surface.rejects_reasoning() {
        ctx.record("refused-here", at, DROPPED, "reasoning dropped: this provider does not accept it in requests");
        return None;
    }
    ctx.drop_fields(at, &thinking.extra);
    ctx.drop_signature(at, thinking.signature.as_ref());
    if thinking.text.is_empty() {
        ctx.record("empty-text", at, DROPPED_NOTE, "empty reasoning dropped");
    }
    Some(Cow::Borrowed(&thinking.text))
}

fn call_shape<'r>(ctx: &mut Context<'_>, at: &At<'_>, call: &'r ToolCall) -> CallShape<'r> {
    ctx.drop_cache_hint(at, call.cache.as_ref());
    ctx.drop_signature(at, call.signature.as_ref());
    if is_custom(ctx, at, call.origin.as_ref()) {
        let (custom, extra) = (CustomCall { name: &call.name, input: call.custom_input() }, ctx.extra(at, &call.extra));
        return CallShape::Custom { id: &call.id, r#type: "custom", custom, extra };
    }
    CallShape::Function {
        id: &call.id,
        r#type: "function",
        function: CallFunction { name: &call.name, arguments: &call.arguments },
        extra: ctx.extra(at, &call.extra),
    }
}

/// Tool results, one message each; their images and documents follow in a user message.
fn results<'r>(ctx: &mut Context<'_>, at: &At<'_>, blocks: &'r [Block], turns: &mut Vec<Turn<'r>>) {
    let at = at.field("content");
    let mut media = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let at = at.entry(index);
        match block {
            Block::ToolResult(result) => {
                ctx.drop_cache_hint(&at, result.cache.as_ref());
                let extra = ctx.extra(&at, &result.extra);
                let (text, attached) = ctx.result_text(&at, result);
                let text = ctx.error_text(&at, result, text);
                if text.is_empty() && !result.content.is_empty() {
                    ctx.record("empty-text", &at, DROPPED_NOTE, "empty text dropped");
                }
                media.extend(attached.into_iter().map(|block| (index, block)));
                let (content, tool_call_id) = (Content::Text(text), Some(result.call_id.as_str()));
                turns.push(Turn { role: "tool", content, tool_call_id, extra, ..Turn::default() });
            }
            Block::ToolResultReference(reference) => {
                ctx.record_reference(&at);
                let extra = ctx.extra(&at, &reference.extra);
                let (content, tool_call_id) =
                    (Content::Text(Cow::Owned(reference.note())), Some(reference.call_id.as_str()));
                turns.push(Turn { role: "tool", content, tool_call_id, extra, ..Turn::default() });
            }
            Block::Text(_)
            | Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::ToolCall(_)
            | Block::Other(_) => ctx.drop_block(&at, block.kind(), "a tool message"),
        }
    }
    if media.is_empty() {
        return;
    }
    let text = Cow::Borrowed(MEDIA_MARKER);
    let mut parts = vec![Part::Known { part: KnownPart::Text { text }, extra: None }];
    for (index, block) in media {
        let at = at.entry(index);
        ctx.record("media-after-result", &at, MOVED, "attachment of a tool result moved to a user message after it");
        match block {
            ResultBlock::Image(image) => parts.extend(image_part(ctx, &at, image)),
            ResultBlock::Document(document) => parts.extend(document_part(ctx, &at, document)),
            ResultBlock::Text(_) | ResultBlock::Json { .. } | ResultBlock::Other(_) => {}
        }
    }
    let content = parts_or_text(ctx, &at, parts);
    if let Some(bridge) = history::bridge(OWN, ctx.surface) {
        let detail = "assistant message added: a user message may not follow a tool message";
        ctx.record("user-after-tool", &at, ADDED, detail);
        let content = Content::Text(Cow::Borrowed(bridge));
        turns.push(Turn { role: "assistant", content, ..Turn::default() });
    }
    turns.push(Turn { role: "user", content, ..Turn::default() });
}
