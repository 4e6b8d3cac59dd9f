//! Requests of `anthropic-messages`: encoding.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::OWN;
use super::shapes::{
    BlockShape, Body, CacheShape, Choice, Content, FormatShape, OutputConfig, Piece, SourceShape, ToolShape, Turn,
};
use crate::neutral::{
    Block, Document, Image, Message, Output, Request, ResultBlock, Role, SchemaRef, Source, Text, Thinking,
    ThinkingMode, Tool, ToolCall, ToolChoice, ToolResult,
};
use crate::protocol::FORMAT_NAME;
use crate::protocol::claude::{self, ThinkingShape};
use crate::protocol::context::{ADDED, At, Context, DROPPED, DROPPED_NOTE, DROPPED_WIDER, MERGED, MOVED, REWRITTEN};
use crate::report::{Action, Effect};
use crate::surface::{Envelope, Medium, Quirk};

/// The `max_tokens` of a request without one; the protocol requires it.
const LIMIT: u64 = 4096;

/// The default `anthropic_version` of each envelope.
const VERSIONS: &[(Envelope, &str)] =
    &[(Envelope::ModelInUrl, "vertex-2023-10-16"), (Envelope::Invoke, "bedrock-2023-05-31")];

/// Fields that are in the body of an envelope; without one they are headers.
const ENVELOPE_FIELDS: &[&str] = &["anthropic_version", FEATURES];

/// The body field for beta features, in an envelope.
const FEATURES: &str = "anthropic_beta";

/// The header for beta features, without an envelope.
const FEATURES_HEADER: &str = "anthropic-beta";

pub(super) fn encode(ctx: &mut Context<'_>, request: &Request) -> Vec<u8> {
    let surface = ctx.surface;
    let limit = ctx.max_tokens(request).unwrap_or_else(|| {
        ctx.record(
            "limit",
            &At::ROOT.field("max_tokens"),
            ADDED,
            format!("`max_tokens` set to {LIMIT}: the request has none"),
        );
        LIMIT
    });
    let (mut extra, mut inner) = ctx.split_extra(&request.extra, &["metadata", "output_config", "thinking"]);
    if surface.envelope == Envelope::Plain {
        features(ctx, &mut extra);
        ctx.drop_envelope_fields(&mut extra, ENVELOPE_FIELDS);
    }
    let tools = tools(ctx, request);
    let tool_choice = choice(ctx, request, !tools.is_empty());
    let (thinking, effort) = thinking(ctx, request, limit, inner.shift_remove("thinking"));
    let format = format(ctx, request);
    let config = object(inner.shift_remove("output_config"));
    let has_config = effort.is_some() || format.is_some() || !config.is_empty();
    ctx.record_unsupported("frequency_penalty", request.frequency_penalty.as_ref());
    ctx.record_unsupported("presence_penalty", request.presence_penalty.as_ref());
    ctx.record_unsupported("seed", request.seed.as_ref());
    ctx.record_unsupported("metadata", Some(&request.metadata).filter(|labels| !labels.is_empty()));
    let mut metadata = object(inner.shift_remove("metadata"));
    if let Some(user) = ctx.parameter("user", request.user.as_ref()) {
        metadata.insert("user_id".to_owned(), json!(user));
    }
    let enveloped = surface.envelope != Envelope::Plain;
    let version = VERSIONS.iter().find(|(envelope, _)| *envelope == surface.envelope).map(|(_, version)| *version);
    let version =
        surface.version.as_deref().or(version).filter(|_| enveloped && !extra.contains_key("anthropic_version"));
    let stops = Some(request.stop.as_slice()).filter(|stop| !stop.is_empty());
    let (system, messages) = turns(ctx, request);
    super::super::json(&Body {
        anthropic_version: version,
        model: Some(request.model.as_str()).filter(|_| !enveloped),
        max_tokens: limit,
        system,
        messages,
        tools,
        tool_choice,
        thinking,
        output_config: has_config.then_some(OutputConfig { effort, format, extra: config }),
        temperature: sampling(ctx, "temperature", request.temperature),
        top_p: sampling(ctx, "top_p", request.top_p),
        top_k: sampling(ctx, "top_k", request.top_k),
        stop_sequences: ctx.parameter("stop", stops).unwrap_or_default(),
        stream: request.stream && surface.envelope != Envelope::Invoke,
        metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
        extra,
    })
}

/// Moves the beta features from the body to the header.
fn features(ctx: &mut Context<'_>, extra: &mut Map<String, Value>) {
    let listed = |value: &Value| match value {
        Value::Array(names) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        Value::String(names) => Some(vec![names.clone()]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let is_header_value =
        |name: &String| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    let names: Option<Vec<String>> = extra.get(FEATURES).and_then(listed);
    if let Some(names) = names.filter(|names| !names.is_empty() && names.iter().all(is_header_value)) {
        extra.shift_remove(FEATURES);
        let at = At::ROOT.field("extra");
        ctx.record(
            "feature-header",
            &at.field(OWN.name()).field(FEATURES),
            MOVED,
            "`anthropic_beta` moved to the `anthropic-beta` header",
        );
        ctx.headers.push((FEATURES_HEADER, names.join(",")));
    }
}

fn object(value: Option<Value>) -> Map<String, Value> {
    if let Some(Value::Object(map)) = value { map } else { Map::new() }
}

/// True for API versions that reject sampling parameters, documents of the assistant and citations of the user.
/// <https://platform.claude.com/docs/en/api/versioning>, read 2026-11.
fn since_2026_10(ctx: &Context<'_>) -> bool {
    let dated = |version: &&str| version.starts_with(|first: char| first.is_ascii_digit());
    ctx.surface.version.as_deref().filter(dated).is_some_and(|version| version >= "2026-10-21")
}

fn sampling<T>(ctx: &mut Context<'_>, field: &'static str, value: Option<T>) -> Option<T> {
    let value = ctx.parameter(field, value)?;
    if since_2026_10(ctx) {
        let detail = format!("`{field}` dropped: this version of the API does not accept it");
        ctx.record("refused-here", &At::ROOT.field(field), DROPPED_WIDER, detail);
        return None;
    }
    Some(value)
}

fn tools<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Vec<ToolShape<'r>> {
    let tools = At::ROOT.field("tools");
    let mut shapes = Vec::with_capacity(request.tools.len());
    for (index, tool) in request.tools.iter().enumerate() {
        let at = tools.entry(index);
        match tool {
            Tool::Function(function) => {
                ctx.record_as_function(&at, function.origin.as_ref());
                let input_schema = function.schema().unwrap_or_else(|| {
                    ctx.record(
                        "no-parameters",
                        &at.field("parameters"),
                        ADDED,
                        "`parameters` set to an object schema: the function has none",
                    );
                    SchemaRef::Value(Cow::Owned(json!({"type": "object"})))
                });
                shapes.push(ToolShape::Custom {
                    name: &function.name,
                    description: function.description.as_deref(),
                    input_schema,
                    strict: ctx.strict(&at, function.strict),
                    cache_control: CacheShape::of(function.cache.as_ref()),
                    extra: ctx.extra(&at, &function.extra),
                });
            }
            Tool::Other(other) => shapes.extend(ctx.other(&at, other).map(ToolShape::Other)),
        }
    }
    shapes
}

fn choice<'r>(ctx: &mut Context<'_>, request: &'r Request, has_tools: bool) -> Option<Choice<'r>> {
    let parallel = request.parallel_tool_calls.filter(|_| has_tools);
    let choice = ctx.tool_choice(request, has_tools).map(|choice| ctx.widen_choice(choice));
    let choice = choice.or_else(|| {
        parallel?;
        let at = At::ROOT.field("tool_choice");
        ctx.record("choice", &at, ADDED, "`tool_choice` set to `auto`: `disable_parallel_tool_use` needs one");
        Some(Cow::Owned(ToolChoice::Auto))
    })?;
    let (kind, name) = match choice {
        Cow::Borrowed(ToolChoice::Tool(name)) => ("tool", Some(Cow::Borrowed(name.as_str()))),
        Cow::Owned(ToolChoice::Tool(name)) => ("tool", Some(Cow::Owned(name))),
        Cow::Borrowed(choice) => (word(choice), None),
        Cow::Owned(choice) => (word(&choice), None),
    };
    let parallel = if kind == "none" && parallel.is_some() {
        let at = At::ROOT.field("parallel_tool_calls");
        ctx.record("no-tools", &at, DROPPED_NOTE, "`parallel_tool_calls` dropped: `tool_choice` is `none`");
        None
    } else {
        parallel
    };
    Some(Choice { r#type: kind, name, disable_parallel_tool_use: parallel.map(|parallel| !parallel) })
}

fn word(choice: &ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto | ToolChoice::AnyOf(_) => "auto",
        ToolChoice::None => "none",
        ToolChoice::Required | ToolChoice::OneOf(_) => "any",
        ToolChoice::Tool(_) => "tool",
    }
}

fn format<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Option<FormatShape<'r>> {
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
            if format.name() != FORMAT_NAME || format.description().is_some() {
                ctx.record(
                    "no-format-name",
                    &at,
                    DROPPED_NOTE,
                    format!("name and description of the output format dropped: {} has no field for them", OWN.title()),
                );
            }
            if !format.is_strict() {
                ctx.record(
                    "always-strict",
                    &at,
                    (Action::Rewritten, Effect::Narrower),
                    format!("output format is strict: {} has no other", OWN.title()),
                );
            }
            Some(FormatShape { r#type: "json_schema", schema: format.schema() })
        }
    }
}

/// The `thinking` object and the effort.
fn thinking<'r>(
    ctx: &mut Context<'_>,
    request: &'r Request,
    limit: u64,
    extra: Option<Value>,
) -> (Option<ThinkingShape<'r>>, Option<Cow<'r, str>>) {
    let Some(reasoning) = &request.reasoning else { return (None, None) };
    let at = At::ROOT.field("reasoning");
    let effort = claude::effort(ctx, request);
    let budgeted = ctx.surface.has_thinking_budget();
    let default_mode = if budgeted { ThinkingMode::Enabled } else { ThinkingMode::Adaptive };
    let thinking = claude::thinking(ctx, reasoning, Some(default_mode), limit, object(extra));
    let effort = effort.filter(|_| {
        if budgeted {
            ctx.record("no-effort", &at.field("effort"), REWRITTEN, "effort is sent as a thinking budget");
        }
        !budgeted
    });
    (thinking, effort)
}

/// The system instructions and the messages. Tool results are written at the start of the user message that follows them.
fn turns<'r>(ctx: &mut Context<'_>, request: &'r Request) -> (Option<Content<'r>>, Vec<Turn<'r>>) {
    let at = At::ROOT.field("system");
    let mut system: Vec<Piece<'r>> = Vec::new();
    for (index, text) in request.system.iter().enumerate() {
        system.push(text_piece(ctx, &at.entry(index), text));
    }
    let messages = At::ROOT.field("messages");
    let mut turns: Vec<Turn<'r>> = Vec::with_capacity(request.messages.len());
    let mut before: Option<&Message> = None;
    for (index, message) in request.messages.iter().enumerate() {
        let at = messages.entry(index);
        let extra = ctx.extra(&at, &message.extra);
        match message.role {
            Role::System if turns.is_empty() => {
                ctx.record(
                    "leading-instruction",
                    &at,
                    MOVED,
                    "leading system message moved to the system instructions",
                );
                let content = at.field("content");
                for (index, block) in message.content.iter().enumerate() {
                    let at = content.entry(index);
                    if let Block::Text(text) = block {
                        system.push(text_piece(ctx, &at, text));
                    } else {
                        ctx.drop_block(&at, block.kind(), "a system message");
                    }
                }
            }
            Role::System if message.content.is_empty() => {
                ctx.record("empty-turn", &at, DROPPED_NOTE, "empty system message dropped");
                continue;
            }
            Role::System => {
                let next = request.messages.get(index + 1).map(|next| next.role);
                let placed = follows_input(before) && matches!(next, None | Some(Role::Assistant));
                turns.push(Turn { extra, ..instruction(ctx, &at, message, placed) });
            }
            Role::Assistant => {
                let blocks = blocks(ctx, &at, &message.content, Side::Assistant);
                turns.push(Turn { role: "assistant", content: Content::of(blocks), extra });
            }
            Role::User | Role::Tool => {
                let side = if message.role == Role::User { Side::User } else { Side::Results };
                let blocks = blocks(ctx, &at, &message.content, side);
                let after_results =
                    before.is_some_and(|before| before.role == Role::Tool && before.extra.get(OWN).is_none());
                if after_results && side == Side::Results && extra.is_none() {
                    ctx.record("merged-results", &at, MERGED, "consecutive tool messages merged");
                }
                match turns.last_mut() {
                    Some(Turn { content: Content::Blocks(results), .. }) if after_results && extra.is_none() => {
                        if blocks.is_empty() {
                            ctx.record("empty-turn", &at, DROPPED_NOTE, "empty message after tool results dropped");
                            continue;
                        }
                        results.extend(blocks);
                    }
                    _ => turns.push(Turn { role: "user", content: Content::of(blocks), extra }),
                }
            }
        }
        before = Some(message);
    }
    ((!system.is_empty()).then(|| Content::of(system)), turns)
}

/// True if a system message may follow: after a user message, tool results, or a message that ends in a server tool result.
/// <https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages>, read 2026-11 (ANT-REQ-09).
fn follows_input(before: Option<&Message>) -> bool {
    before.is_some_and(|before| match before.role {
        Role::User | Role::Tool => true,
        Role::System => false,
        Role::Assistant => before.content.last().is_some_and(|last| {
            let Block::Other(other) = last else { return false };
            other.value.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_tool_result"))
        }),
    })
}

/// A system message inside the conversation; a user message if the surface or the position does not allow it.
fn instruction<'r>(ctx: &mut Context<'_>, at: &At<'_>, message: &'r Message, placed: bool) -> Turn<'r> {
    if placed && ctx.has(Quirk::SystemMessages) {
        let blocks = blocks(ctx, at, &message.content, Side::User);
        return Turn { role: "system", content: Content::of(blocks), extra: None };
    }
    let what = (Action::Rewritten, Effect::Narrower);
    ctx.record("instruction-as-user", at, what, "system message inside the conversation is sent as a user message");
    let mut pieces = blocks(ctx, at, &message.content, Side::User);
    for piece in &mut pieces {
        if let Piece::Known(BlockShape::Text { text, .. }) = piece {
            *text = Cow::Owned(format!("<system>{text}</system>"));
        }
    }
    Turn { role: "user", content: Content::of(pieces), extra: None }
}

/// The kind of message that blocks are written for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Results,
    /// An assistant message of a request.
    Assistant,
    Response,
}

pub(super) fn blocks<'r>(ctx: &mut Context<'_>, at: &At<'_>, blocks: &'r [Block], side: Side) -> Vec<Piece<'r>> {
    let at = at.field("content");
    let mut pieces = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let at = at.entry(index);
        pieces.extend(piece(ctx, &at, block, side));
    }
    pieces
}

pub(super) fn piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, block: &'r Block, side: Side) -> Option<Piece<'r>> {
    let by_model = matches!(side, Side::Assistant | Side::Response);
    let placed = match block {
        Block::ToolResult(_) | Block::ToolResultReference(_) => side == Side::Results,
        Block::Thinking(_) | Block::RedactedThinking(_) | Block::ToolCall(_) => by_model,
        Block::Text(_) | Block::Other(_) => side != Side::Results,
        Block::Image(_) => side == Side::User,
        Block::Document(_) => side == Side::User || (side == Side::Assistant && !since_2026_10(ctx)),
        Block::Audio(_) => false,
    };
    if !placed {
        ctx.drop_block(at, block.kind(), "this message");
        return None;
    }
    match block {
        Block::Text(text) => Some(text_piece(ctx, at, text)),
        Block::Image(image) => image_piece(ctx, at, image),
        Block::Document(document) => document_piece(ctx, at, document),
        Block::Thinking(thinking) => thinking_piece(ctx, at, thinking, side),
        Block::RedactedThinking(redacted) => {
            let data = ctx.signature(at, Some(&redacted.signature))?;
            Some(Piece::Known(BlockShape::RedactedThinking { data }))
        }
        Block::ToolCall(call) => Some(call_piece(ctx, at, call)),
        Block::ToolResult(result) => Some(result_piece(ctx, at, result)),
        Block::ToolResultReference(reference) => {
            ctx.record_reference(at);
            Some(Piece::Known(BlockShape::ToolResult {
                tool_use_id: &reference.call_id,
                content: Some(Content::Text(Cow::Owned(reference.note()))),
                is_error: false,
                cache_control: None,
                extra: ctx.extra(at, &reference.extra),
            }))
        }
        Block::Other(other) => ctx.other(at, other).map(Piece::Other),
        Block::Audio(_) => None,
    }
}

fn text_piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, text: &'r Text) -> Piece<'r> {
    ctx.drop_signature(at, text.signature.as_ref());
    Piece::Known(BlockShape::Text {
        text: Cow::Borrowed(&text.text),
        cache_control: CacheShape::of(text.cache.as_ref()),
        extra: ctx.extra(at, &text.extra),
    })
}

fn source<'r>(ctx: &mut Context<'_>, at: &At<'_>, source: &'r Source, medium: Medium) -> Option<SourceShape<'r>> {
    match source {
        Source::Base64 { media_type, data } => Some(SourceShape::Base64 { media_type, data }),
        Source::Url { url, media_type } => {
            ctx.drop_media_type(at, media_type.as_ref());
            Some(SourceShape::Url { url })
        }
        Source::File { id } => Some(SourceShape::File { file_id: id }),
        Source::Text { text } if medium == Medium::Document => {
            Some(SourceShape::Text { media_type: "text/plain", data: text })
        }
        Source::Text { .. } => {
            ctx.drop_source(at, medium, source);
            None
        }
    }
}

fn image_piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, image: &'r Image) -> Option<Piece<'r>> {
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
    let source = source(ctx, at, &image.source, Medium::Image)?;
    let cache_control = CacheShape::of(image.cache.as_ref());
    Some(Piece::Known(BlockShape::Image { source, cache_control, extra: ctx.extra(at, &image.extra) }))
}

fn document_piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, document: &'r Document) -> Option<Piece<'r>> {
    if !ctx.accepts(at, Medium::Document) {
        return None;
    }
    let source = source(ctx, at, &document.source, Medium::Document)?;
    Some(Piece::Known(BlockShape::Document {
        source,
        title: document.name.as_deref(),
        cache_control: CacheShape::of(document.cache.as_ref()),
        extra: ctx.extra(at, &document.extra),
    }))
}

fn thinking_piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, thinking: &'r Thinking, side: Side) -> Option<Piece<'r>> {
    let signature = ctx.signature(at, thinking.signature.as_ref());
    if signature.is_none() && side == Side::Assistant {
        ctx.record(
            "unsigned-thinking",
            at,
            DROPPED,
            "reasoning dropped: Anthropic Messages requires its own signature",
        );
        return None;
    }
    let (signature, extra) = (signature.unwrap_or_default(), ctx.extra(at, &thinking.extra));
    Some(Piece::Known(BlockShape::Thinking { thinking: &thinking.text, signature, extra }))
}

fn call_piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, call: &'r ToolCall) -> Piece<'r> {
    ctx.record_as_function(at, call.origin.as_ref());
    ctx.drop_signature(at, call.signature.as_ref());
    Piece::Known(BlockShape::ToolUse {
        id: &call.id,
        name: &call.name,
        input: ctx.arguments(at, call),
        cache_control: CacheShape::of(call.cache.as_ref()),
        extra: ctx.extra(at, &call.extra),
    })
}

fn result_piece<'r>(ctx: &mut Context<'_>, at: &At<'_>, result: &'r ToolResult) -> Piece<'r> {
    let content = at.field("content");
    let mut pieces = Vec::with_capacity(result.content.len());
    for (index, block) in result.content.iter().enumerate() {
        let at = content.entry(index);
        let media = matches!(block, ResultBlock::Image(_) | ResultBlock::Document(_));
        if media && result.is_error {
            ctx.drop_block(&at, "image or document", "a failed tool result");
            continue;
        }
        match block {
            ResultBlock::Text(text) => pieces.push(text_piece(ctx, &at, text)),
            ResultBlock::Image(image) => pieces.extend(image_piece(ctx, &at, image)),
            ResultBlock::Document(document) => pieces.extend(document_piece(ctx, &at, document)),
            ResultBlock::Json { value } => {
                ctx.record("json-as-text", &at, REWRITTEN, "JSON result is sent as text");
                let text = Cow::Owned(value.to_string());
                pieces.push(Piece::Known(BlockShape::Text { text, cache_control: None, extra: None }));
            }
            ResultBlock::Other(other) => pieces.extend(ctx.other(&at, other).map(Piece::Other)),
        }
    }
    Piece::Known(BlockShape::ToolResult {
        tool_use_id: &result.call_id,
        content: (!pieces.is_empty()).then(|| Content::of(pieces)),
        is_error: result.is_error,
        cache_control: CacheShape::of(result.cache.as_ref()),
        extra: ctx.extra(at, &result.extra),
    })
}
