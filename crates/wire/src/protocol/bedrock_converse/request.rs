//! Requests of `bedrock-converse`: encoding.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::OWN;
use super::shapes::{
    Block, Body, CachePoint, Choice, InferenceConfig, InputSchema, KnownTool, Media, OutputConfig, Piece, Reasoning,
    ReasoningText, S3Location, SchemaText, SourceShape, Structure, TextFormat, ToolConfig, ToolResultShape, ToolShape,
    ToolSpec, ToolUse, Turn,
};
use crate::neutral::{
    self, Cache, Document, Extra, Image, Message, Output, Request, ResultBlock, Role, SchemaRef, Source, Text, Tool,
    ToolChoice, ToolResult,
};
use crate::protocol::claude;
use crate::protocol::context::{ADDED, At, Context, DROPPED_NOTE, DROPPED_WIDER, MERGED, MOVED, REWRITTEN};
use crate::report::{Action, Effect};
use crate::surface::Medium;

/// Media types and their `format` values.
pub(super) const FORMATS: &[(&str, &str)] = &[
    ("application/pdf", "pdf"),
    ("text/plain", "txt"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/markdown", "md"),
    ("application/msword", "doc"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
    ("application/vnd.ms-excel", "xls"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
];

/// Fields of `extra` that are merged into nested objects.
const NESTED: [&str; 4] = ["inferenceConfig", "toolConfig", "outputConfig", "additionalModelRequestFields"];

/// The model-specific field for the thinking mode.
const THINKING: &str = "thinking";

/// The name of a document without one; the protocol requires it.
const DOCUMENT: &str = "document";

pub(super) fn encode(ctx: &mut Context<'_>, request: &Request) -> Vec<u8> {
    let (extra, mut inner) = ctx.split_extra(&request.extra, &NESTED);
    let mut inner = |name| if let Some(Value::Object(map)) = inner.shift_remove(name) { map } else { Map::new() };
    for (field, is_set) in [
        ("frequency_penalty", request.frequency_penalty.is_some()),
        ("presence_penalty", request.presence_penalty.is_some()),
        ("seed", request.seed.is_some()),
        ("user", request.user.is_some()),
    ] {
        ctx.record_unsupported(field, is_set.then_some(&()));
    }
    let mut model_fields = inner("additionalModelRequestFields");
    if let Some(top_k) = ctx.parameter("top_k", request.top_k) {
        model_fields.insert("top_k".to_owned(), json!(top_k));
    }
    let effort = thinking(ctx, request, &mut model_fields);
    let (text_format, output) = (format(ctx, request), inner("outputConfig"));
    let has_config = text_format.is_some() || effort.is_some() || !output.is_empty();
    let inference = InferenceConfig {
        max_tokens: ctx.max_tokens(request),
        temperature: ctx.parameter("temperature", request.temperature),
        top_p: ctx.parameter("top_p", request.top_p),
        stop_sequences: ctx.parameter("stop", Some(request.stop.as_slice()).filter(|stop| !stop.is_empty())),
        extra: inner("inferenceConfig"),
    };
    let inferred = inference.max_tokens.is_some()
        || inference.temperature.is_some()
        || inference.top_p.is_some()
        || inference.stop_sequences.is_some()
        || !inference.extra.is_empty();
    let tools = tools(ctx, request);
    let tool_choice = choice(ctx, request, !tools.is_empty());
    let tool_extra = inner("toolConfig");
    let (system, messages) = turns(ctx, request);
    super::super::json(&Body {
        messages,
        system,
        inference_config: inferred.then_some(inference),
        tool_config: (!tools.is_empty()).then_some(ToolConfig { tools, tool_choice, extra: tool_extra }),
        output_config: has_config.then_some(OutputConfig { text_format, effort, extra: output }),
        additional_model_request_fields: model_fields,
        request_metadata: ctx.parameter("metadata", Some(&request.metadata).filter(|map| !map.is_empty())),
        extra,
    })
}

/// Writes the thinking mode to the model-specific fields, and returns the effort for `outputConfig`.
fn thinking<'r>(ctx: &mut Context<'_>, request: &'r Request, fields: &mut Map<String, Value>) -> Option<Cow<'r, str>> {
    let reasoning = request.reasoning.as_ref()?;
    if *reasoning == neutral::Reasoning::default() {
        ctx.record("no-word", &At::ROOT.field("reasoning"), DROPPED_NOTE, "empty `reasoning` dropped");
    }
    let effort = claude::effort(ctx, request);
    let limit = request.max_tokens.or(ctx.surface.max_tokens).unwrap_or(u64::MAX);
    let extra = if let Some(Value::Object(rest)) = fields.shift_remove(THINKING) { rest } else { Map::new() };
    let kept = extra.clone();
    if let Some(thinking) = claude::thinking(ctx, reasoning, None, limit, extra) {
        fields.insert(THINKING.to_owned(), json!(thinking));
    } else if !kept.is_empty() {
        fields.insert(THINKING.to_owned(), Value::Object(kept));
    }
    effort
}

fn format<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Option<TextFormat<'r>> {
    let at = At::ROOT.field("output");
    match ctx.output(request)? {
        Output::Json => {
            ctx.record(
                "no-free-json",
                &at,
                DROPPED_WIDER,
                format!("JSON mode dropped: {} requires a schema", OWN.title()),
            );
            None
        }
        Output::Schema(format) => {
            if !format.is_strict() {
                ctx.record(
                    "always-strict",
                    &at,
                    (Action::Rewritten, Effect::Narrower),
                    format!("output format is strict: {} has no other", OWN.title()),
                );
            }
            let (name, description) = (format.name(), format.description());
            let json_schema = SchemaText { schema: format.schema().to_string(), name, description };
            Some(TextFormat { r#type: "json_schema", structure: Structure { json_schema } })
        }
    }
}

fn tools<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Vec<ToolShape<'r>> {
    let tools = At::ROOT.field("tools");
    let mut shapes = Vec::with_capacity(request.tools.len());
    for (index, tool) in request.tools.iter().enumerate() {
        let at = tools.entry(index);
        let function = match tool {
            Tool::Function(function) => function,
            Tool::Other(other) => {
                shapes.extend(ctx.other(&at, other).map(ToolShape::Other));
                continue;
            }
        };
        let json = function.schema().unwrap_or_else(|| {
            ctx.record(
                "no-parameters",
                &at.field("parameters"),
                ADDED,
                "`parameters` set to an object schema: the function has none",
            );
            SchemaRef::Value(Cow::Owned(json!({"type": "object"})))
        });
        ctx.record_as_function(&at, function.origin.as_ref());
        let description = function.description.as_deref().filter(|text| {
            if text.is_empty() {
                ctx.record("empty-text", &at.field("description"), DROPPED_NOTE, "empty description dropped");
            }
            !text.is_empty()
        });
        let strict = ctx.strict(&at, function.strict);
        let extra = ctx.extra(&at, &function.extra);
        let spec = ToolSpec { name: &function.name, description, input_schema: InputSchema { json }, strict, extra };
        shapes.push(ToolShape::Known(KnownTool::ToolSpec(spec)));
        let cache = function.cache.as_ref().map(|cache| KnownTool::CachePoint(CachePoint::of(cache)));
        shapes.extend(cache.map(ToolShape::Known));
    }
    shapes
}

fn choice(ctx: &mut Context<'_>, request: &Request, has_tools: bool) -> Option<Choice> {
    if has_tools {
        ctx.record_unsupported("parallel_tool_calls", request.parallel_tool_calls.as_ref());
    }
    let choice = ctx.tool_choice(request, has_tools)?;
    let choice = ctx.widen_choice(choice);
    match choice.as_ref() {
        ToolChoice::Tool(name) => Some(Choice::Tool { name: name.clone() }),
        ToolChoice::Required => Some(Choice::Any {}),
        ToolChoice::None => {
            ctx.record(
                "no-choice-none",
                &At::ROOT.field("tool_choice"),
                DROPPED_WIDER,
                "`tool_choice: none` dropped: Bedrock Converse has no such choice",
            );
            None
        }
        ToolChoice::Auto | ToolChoice::AnyOf(_) | ToolChoice::OneOf(_) => Some(Choice::Auto {}),
    }
}

/// The system instructions and the messages. Tool results are written at the start of the user message that follows them.
fn turns<'r>(ctx: &mut Context<'_>, request: &'r Request) -> (Vec<Piece<'r>>, Vec<Turn<'r>>) {
    let at = At::ROOT.field("system");
    let mut system = Vec::new();
    for (index, text) in request.system.iter().enumerate() {
        text_piece(ctx, &at.entry(index), text, &mut system);
    }
    let messages = At::ROOT.field("messages");
    let mut turns: Vec<Turn<'r>> = Vec::with_capacity(request.messages.len());
    let mut before: Option<&Message> = None;
    for (index, message) in request.messages.iter().enumerate() {
        let at = messages.entry(index);
        let extra = ctx.extra(&at, &message.extra);
        let mut content = Vec::with_capacity(message.content.len());
        let blocks = at.field("content");
        for (index, block) in message.content.iter().enumerate() {
            piece(ctx, &blocks.entry(index), block, message.role, &mut content);
        }
        match message.role {
            Role::System if turns.is_empty() => {
                let detail = "leading system message moved to the system instructions";
                ctx.record("leading-instruction", &at, MOVED, detail);
                system.extend(content);
                continue;
            }
            Role::System if content.is_empty() => {
                ctx.record("empty-turn", &at, DROPPED_NOTE, "empty system message dropped");
                continue;
            }
            Role::System => {
                let what = (Action::Rewritten, Effect::Narrower);
                ctx.record(
                    "instruction-as-user",
                    &at,
                    what,
                    "system message inside the conversation is sent as a user message",
                );
                for piece in &mut content {
                    if let Piece::Known(Block::Text(text)) = piece {
                        *text = Cow::Owned(format!("<system>{text}</system>"));
                    }
                }
                turns.push(Turn { role: "user", content, extra });
            }
            Role::Assistant => turns.push(Turn { role: "assistant", content, extra }),
            Role::User | Role::Tool => {
                let after = before.is_some_and(|before| before.role == Role::Tool && before.extra.get(OWN).is_none());
                match turns.last_mut() {
                    Some(results) if after && extra.is_none() => {
                        if content.is_empty() {
                            ctx.record("empty-turn", &at, DROPPED_NOTE, "empty message after tool results dropped");
                            continue;
                        }
                        if message.role == Role::Tool {
                            ctx.record("merged-results", &at, MERGED, "consecutive tool messages merged");
                        }
                        results.content.extend(content);
                    }
                    _ => turns.push(Turn { role: "user", content, extra }),
                }
            }
        }
        before = Some(message);
    }
    (system, turns)
}

fn text_piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, text: &'r Text, pieces: &mut Vec<Piece<'r>>) {
    ctx.drop_fields(at, &text.extra);
    ctx.drop_signature(at, text.signature.as_ref());
    pieces.push(Piece::Known(Block::Text(Cow::Borrowed(&text.text))));
    push_cache_point(text.cache.as_ref(), pieces);
}

/// Adds a `cachePoint` block after the block with the cache hint.
fn push_cache_point<'r>(cache: Option<&'r Cache>, pieces: &mut Vec<Piece<'r>>) {
    pieces.extend(cache.map(|cache| Piece::Known(Block::CachePoint(CachePoint::of(cache)))));
}

pub(super) fn piece<'r>(
    ctx: &mut Context<'_>,
    at: &At<'_>,
    block: &'r neutral::Block,
    role: Role,
    pieces: &mut Vec<Piece<'r>>,
) {
    let placed = match block {
        neutral::Block::ToolResult(_) | neutral::Block::ToolResultReference(_) => role == Role::Tool,
        neutral::Block::Thinking(_) | neutral::Block::RedactedThinking(_) | neutral::Block::ToolCall(_) => {
            role == Role::Assistant
        }
        neutral::Block::Text(_) | neutral::Block::Other(_) => role != Role::Tool,
        neutral::Block::Image(_) => matches!(role, Role::User | Role::Assistant),
        neutral::Block::Audio(_) | neutral::Block::Document(_) => role == Role::User,
    };
    if !placed {
        ctx.drop_block(at, block.kind(), "this message");
        return;
    }
    match block {
        neutral::Block::Text(text) => text_piece(ctx, at, text, pieces),
        neutral::Block::Image(image) => {
            let image_block = image_media(ctx, at, image);
            let is_sent = image_block.is_some();
            pieces.extend(image_block.map(|media| Piece::Known(Block::Image(media))));
            push_cache_point(image.cache.as_ref().filter(|_| is_sent), pieces);
        }
        neutral::Block::Audio(audio) => {
            if ctx.accepts(at, Medium::Audio) {
                let media = media(ctx, at, &audio.source, Medium::Audio, None, &audio.extra);
                pieces.extend(media.map(|media| Piece::Known(Block::Audio(media))));
            }
        }
        neutral::Block::Document(document) => {
            let media = document_media(ctx, at, document);
            let is_sent = media.is_some();
            pieces.extend(media.map(|media| Piece::Known(Block::Document(media))));
            push_cache_point(document.cache.as_ref().filter(|_| is_sent), pieces);
        }
        neutral::Block::Thinking(thinking) => {
            ctx.drop_fields(at, &thinking.extra);
            let signature = ctx.signature(at, thinking.signature.as_ref());
            let text = ReasoningText { text: &thinking.text, signature };
            pieces.push(Piece::Known(Block::ReasoningContent(Reasoning::ReasoningText(text))));
        }
        neutral::Block::RedactedThinking(redacted) => {
            let data = ctx.signature(at, Some(&redacted.signature));
            pieces.extend(data.map(|data| Piece::Known(Block::ReasoningContent(Reasoning::RedactedContent(data)))));
        }
        neutral::Block::ToolCall(call) => {
            ctx.drop_signature(at, call.signature.as_ref());
            ctx.record_as_function(at, call.origin.as_ref());
            let (input, extra) = (ctx.arguments(at, call), ctx.extra(at, &call.extra));
            let shape = ToolUse { id: &call.id, name: &call.name, input, extra };
            pieces.push(Piece::Known(Block::ToolUse(shape)));
            push_cache_point(call.cache.as_ref(), pieces);
        }
        neutral::Block::ToolResult(result) => {
            pieces.push(result_piece(ctx, at, result));
            push_cache_point(result.cache.as_ref(), pieces);
        }
        neutral::Block::ToolResultReference(reference) => {
            ctx.record_reference(at);
            pieces.push(Piece::Known(Block::ToolResult(ToolResultShape {
                tool_use_id: &reference.call_id,
                content: vec![Piece::Known(Block::Text(Cow::Owned(reference.note())))],
                status: None,
                extra: ctx.extra(at, &reference.extra),
            })));
        }
        neutral::Block::Other(other) => pieces.extend(ctx.other(at, other).map(Piece::Other)),
    }
}

fn image_media<'r>(ctx: &mut Context<'_>, at: &At<'_>, image: &'r Image) -> Option<Media<'r>> {
    if !ctx.accepts(at, Medium::Image) {
        return None;
    }
    if image.detail.is_some() {
        ctx.record(
            "no-word",
            &at.field("detail"),
            DROPPED_WIDER,
            format!("`detail` dropped: {} has no such parameter", OWN.title()),
        );
    }
    media(ctx, at, &image.source, Medium::Image, None, &image.extra)
}

fn document_media<'r>(ctx: &mut Context<'_>, at: &At<'_>, document: &'r Document) -> Option<Media<'r>> {
    if !ctx.accepts(at, Medium::Document) {
        return None;
    }
    let name = document.name.as_deref().unwrap_or_else(|| {
        ctx.record(
            "document-name",
            &at.field("name"),
            ADDED,
            format!("document name set to `{DOCUMENT}`: Bedrock Converse requires one"),
        );
        DOCUMENT
    });
    if let Source::Text { text } = &document.source {
        let extra = ctx.extra(at, &document.extra);
        return Some(Media { name: Some(name), format: "txt", source: SourceShape::Text(text), extra });
    }
    media(ctx, at, &document.source, Medium::Document, Some(name), &document.extra)
}

fn media<'r>(
    ctx: &mut Context<'_>,
    at: &At<'_>,
    source: &'r Source,
    medium: Medium,
    name: Option<&'r str>,
    extra: &'r Extra,
) -> Option<Media<'r>> {
    let known = match source {
        Source::Base64 { media_type, data } => {
            let listed = FORMATS.iter().find(|(kind, _)| kind == media_type).map(|(_, format)| *format);
            let format =
                listed.or_else(|| media_type.strip_prefix("image/").or_else(|| media_type.strip_prefix("audio/")));
            format.map(|format| (format, SourceShape::Bytes(data)))
        }
        Source::Url { url, media_type: Some(media_type) } if url.starts_with("s3://") => {
            let format = media_type.rsplit('/').next().unwrap_or_default();
            Some((format, SourceShape::S3Location(S3Location { uri: url })))
        }
        Source::Url { .. } | Source::File { .. } | Source::Text { .. } => None,
    };
    let Some((format, source)) = known else {
        ctx.drop_source(at, medium, source);
        return None;
    };
    Some(Media { name, format, source, extra: ctx.extra(at, extra) })
}

fn result_piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, result: &'r ToolResult) -> Piece<'r> {
    let inner = at.field("content");
    let mut content = Vec::with_capacity(result.content.len());
    for (index, block) in result.content.iter().enumerate() {
        let at = inner.entry(index);
        match block {
            ResultBlock::Text(text) => {
                ctx.drop_cache_hint(&at, text.cache.as_ref());
                ctx.drop_fields(&at, &text.extra);
                ctx.drop_signature(&at, text.signature.as_ref());
                content.push(Piece::Known(Block::Text(Cow::Borrowed(&text.text))));
            }
            ResultBlock::Json { value } if value.is_object() => {
                content.push(Piece::Known(Block::Json(Cow::Borrowed(value))));
            }
            ResultBlock::Json { value } => {
                ctx.record(
                    "json-not-an-object",
                    &at,
                    (Action::Wrapped, Effect::Same),
                    "JSON result is not an object: it is sent inside one, as `output`",
                );
                content.push(Piece::Known(Block::Json(Cow::Owned(json!({"output": value})))));
            }
            ResultBlock::Image(image) => {
                ctx.drop_cache_hint(&at, image.cache.as_ref());
                content.extend(image_media(ctx, &at, image).map(|media| Piece::Known(Block::Image(media))));
            }
            ResultBlock::Document(document) => {
                ctx.drop_cache_hint(&at, document.cache.as_ref());
                content.extend(document_media(ctx, &at, document).map(|media| Piece::Known(Block::Document(media))));
            }
            ResultBlock::Other(other) => content.extend(ctx.other(&at, other).map(Piece::Other)),
        }
    }
    if content.is_empty() {
        ctx.record("empty-result", at, REWRITTEN, "empty tool result is sent as the text `(no output)`");
        content.push(Piece::Known(Block::Text(Cow::Borrowed("(no output)"))));
    }
    let status = result.is_error.then_some("error");
    let extra = ctx.extra(at, &result.extra);
    Piece::Known(Block::ToolResult(ToolResultShape { tool_use_id: &result.call_id, content, status, extra }))
}
