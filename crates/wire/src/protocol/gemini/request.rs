//! Requests of `gemini`: encoding.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::results::{Calls, result_part};
use super::shapes::{
    Blob, Body, Call, CallingConfig, Content, Declaration, Enveloped, FileData, FormatEntry, FormatShape, FormatText,
    GenerationConfig, Kept, KnownPart, Part, ThinkingConfig, ToolConfig, ToolShape,
};
use super::{ENVELOPE, OWN, enveloped, known};
use crate::history::synthetic_call_id;
use crate::neutral::{
    Block, Effort, Extra, Image, Message, Output, Request, Role, Source, Text, Thinking, ThinkingMode, Tool, ToolCall,
    ToolChoice,
};
use crate::protocol::FORMAT_NAME;
use crate::protocol::context::{ADDED, At, Context, DROPPED_NOTE, DROPPED_WIDER, MOVED, REWRITTEN};
use crate::report::{Action, Effect};
pub(super) use crate::surface::Medium;
use crate::surface::{Envelope, Quirk};

/// Request fields that are only valid in an envelope.
const ENVELOPE_FIELDS: &[&str] = &["session_id", "sessionId"];

pub(super) fn encode(ctx: &mut Context<'_>, request: &Request) -> Vec<u8> {
    let (mut extra, mut inner) = ctx.split_extra(&request.extra, &["generationConfig", "toolConfig", ENVELOPE]);
    if !enveloped(ctx.surface) {
        ctx.drop_envelope_fields(&mut extra, ENVELOPE_FIELDS);
    }
    let tools = tools(ctx, request);
    let has_functions = tools.iter().any(|tool| matches!(tool, ToolShape::Functions { .. }));
    let calling = choice(ctx, request, has_functions);
    let config = object(inner.shift_remove("toolConfig"));
    if request.parallel_tool_calls.is_some() && has_functions {
        ctx.record_unsupported("parallel_tool_calls", request.parallel_tool_calls.as_ref());
    }
    ctx.record_unsupported("user", request.user.as_ref());
    let generation_config = generation(ctx, request, object(inner.shift_remove("generationConfig")));
    let (system, contents) = contents(ctx, request);
    let role = (ctx.surface.envelope == Envelope::Agent).then_some("user");
    let body = Body {
        contents,
        system_instruction: (!system.is_empty()).then_some(Content { role, parts: system, extra: None }),
        tools,
        tool_config: (calling.is_some() || !config.is_empty())
            .then_some(ToolConfig { function_calling_config: calling, extra: config }),
        generation_config,
        labels: ctx.parameter("metadata", Some(&request.metadata).filter(|map| !map.is_empty())),
        extra,
    };
    if !enveloped(ctx.surface) {
        return super::super::json(&body);
    }
    let mut fields: Map<String, Value> =
        ctx.surface.envelope_fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    fields.extend(object(inner.shift_remove(ENVELOPE)));
    super::super::json(&Enveloped { model: &request.model, request: body, fields })
}

fn kept<'e>(ctx: &mut Context<'_>, at: &At<'_>, extra: &'e Extra) -> Kept<'e> {
    ctx.extra(at, extra).map(Cow::Borrowed)
}

fn object(value: Option<Value>) -> Map<String, Value> {
    if let Some(Value::Object(map)) = value { map } else { Map::new() }
}

fn contents<'r>(ctx: &mut Context<'_>, request: &'r Request) -> (Vec<Part<'r>>, Vec<Content<'r>>) {
    let at = At::ROOT.field("system");
    let mut system: Vec<Part<'r>> = Vec::new();
    for (index, text) in request.system.iter().enumerate() {
        let at = at.entry(index);
        let part = text_part(ctx, &at, text);
        system.extend(known::part(ctx, &at, part));
    }
    if !ctx.surface.has_call_ids() && request.messages.iter().any(|message| message.calls().next().is_some()) {
        ctx.record(
            "no-call-ids",
            &At::ROOT.field("messages"),
            DROPPED_NOTE,
            "ids of calls and results dropped: this provider pairs them by order",
        );
    }
    let mut calls = Calls::default();
    let messages = At::ROOT.field("messages");
    let mut contents = Vec::with_capacity(request.messages.len());
    for (index, message) in request.messages.iter().enumerate() {
        let at = messages.entry(index);
        calls.add(index, message);
        let extra = ctx.extra(&at, &message.extra);
        let extra = known::of_content(ctx, &at, extra);
        match message.role {
            Role::System if contents.is_empty() => {
                let detail = "leading system message moved to the system instructions";
                ctx.record("leading-instruction", &at, MOVED, detail);
                let parts = parts(ctx, &at, message, index, &calls, &mut Vec::new());
                system.extend(parts);
            }
            Role::System => {
                let what = (Action::Rewritten, Effect::Narrower);
                ctx.record(
                    "instruction-as-user",
                    &at,
                    what,
                    "system message inside the conversation is sent as a user message",
                );
                let mut parts = parts(ctx, &at, message, index, &calls, &mut Vec::new());
                for part in &mut parts {
                    if let Part::Known(part) = part
                        && let Some(text) = &mut part.text
                    {
                        *text = Cow::Owned(format!("<system>{text}</system>"));
                    }
                }
                contents.push(Content { role: Some("user"), parts, extra });
            }
            Role::User | Role::Assistant | Role::Tool => {
                let role = if message.role == Role::Assistant { "model" } else { "user" };
                let mut after = Vec::new();
                let parts = parts(ctx, &at, message, index, &calls, &mut after);
                contents.push(Content { role: Some(role), parts, extra });
                if !after.is_empty() {
                    contents.push(Content { role: Some("user"), parts: after, extra: None });
                }
            }
        }
    }
    (system, contents)
}

/// The parts of a message; parts that need a separate message after it are added to `after`.
fn parts<'r>(
    ctx: &mut Context<'_>,
    at: &At<'_>,
    message: &'r Message,
    turn: usize,
    calls: &Calls<'r>,
    after: &mut Vec<Part<'r>>,
) -> Vec<Part<'r>> {
    let at = at.field("content");
    let mut parts = Vec::with_capacity(message.content.len());
    let mut number = 0;
    for (index, block) in message.content.iter().enumerate() {
        let at = at.entry(index);
        let placed = match block {
            Block::ToolResult(_) | Block::ToolResultReference(_) => message.role == Role::Tool,
            Block::Thinking(_) | Block::ToolCall(_) => message.role == Role::Assistant,
            Block::Text(_) | Block::Other(_) => message.role != Role::Tool,
            Block::Image(_) | Block::Audio(_) | Block::Document(_) => {
                matches!(message.role, Role::User | Role::Assistant)
            }
            Block::RedactedThinking(_) => false,
        };
        if !placed {
            ctx.drop_block(&at, block.kind(), "this message");
            continue;
        }
        let written = if block.answers().is_some() {
            result_part(ctx, &at, block, calls, after)
        } else {
            let place = (turn, number);
            number += usize::from(block.as_call().is_some());
            part(ctx, &at, block, place)
        };
        parts.extend(written.and_then(|part| known::part(ctx, &at, part)));
    }
    parts
}

/// The part of a block; `place` is the message index and call number of a tool call.
pub(super) fn part<'r>(
    ctx: &mut Context<'_>,
    at: &At<'_>,
    block: &'r Block,
    place: (usize, usize),
) -> Option<Part<'r>> {
    match block {
        Block::Text(text) => Some(text_part(ctx, at, text)),
        Block::Thinking(thinking) => Some(thinking_part(ctx, at, thinking)),
        Block::ToolCall(call) => Some(call_part(ctx, at, call, place)),
        Block::Image(image) => image_part(ctx, at, image),
        Block::Audio(audio) => {
            if !ctx.accepts(at, Medium::Audio) {
                return None;
            }
            let part = media(ctx, at, &audio.source, Medium::Audio, None)?;
            Some(Part::known(KnownPart { extra: kept(ctx, at, &audio.extra), ..part }))
        }
        Block::Document(document) => {
            if !ctx.accepts(at, Medium::Document) {
                return None;
            }
            ctx.drop_cache_hint(at, document.cache.as_ref());
            let part = media(ctx, at, &document.source, Medium::Document, document.name.as_deref())?;
            Some(Part::known(KnownPart { extra: kept(ctx, at, &document.extra), ..part }))
        }
        Block::Other(other) => ctx.other(at, other).map(|value| Part::Other(Cow::Borrowed(value))),
        Block::RedactedThinking(_) | Block::ToolResult(_) | Block::ToolResultReference(_) => {
            ctx.drop_block(at, block.kind(), "this message");
            None
        }
    }
}

fn text_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, text: &'r Text) -> Part<'r> {
    ctx.drop_cache_hint(at, text.cache.as_ref());
    Part::known(KnownPart {
        text: Some(Cow::Borrowed(&text.text)),
        thought_signature: ctx.signature(at, text.signature.as_ref()),
        extra: kept(ctx, at, &text.extra),
        ..KnownPart::default()
    })
}

fn thinking_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, thinking: &'r Thinking) -> Part<'r> {
    Part::known(KnownPart {
        text: Some(Cow::Borrowed(&thinking.text)),
        thought: true,
        thought_signature: ctx.signature(at, thinking.signature.as_ref()),
        extra: kept(ctx, at, &thinking.extra),
        ..KnownPart::default()
    })
}

fn call_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, call: &'r ToolCall, (turn, number): (usize, usize)) -> Part<'r> {
    ctx.drop_cache_hint(at, call.cache.as_ref());
    ctx.record_as_function(at, call.origin.as_ref());
    // A generated id did not come from the provider.
    let is_synthetic = call.id == synthetic_call_id(turn, number);
    let id = Some(call.id.as_str()).filter(|_| !is_synthetic && ctx.surface.has_call_ids());
    Part::known(KnownPart {
        function_call: Some(Call { id, name: &call.name, args: ctx.arguments(at, call) }),
        thought_signature: ctx.signature(at, call.signature.as_ref()),
        extra: kept(ctx, at, &call.extra),
        ..KnownPart::default()
    })
}

pub(super) fn image_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, image: &'r Image) -> Option<Part<'r>> {
    if !ctx.accepts(at, Medium::Image) {
        return None;
    }
    ctx.drop_cache_hint(at, image.cache.as_ref());
    if image.detail.is_some() {
        ctx.record(
            "no-word",
            &at.field("detail"),
            DROPPED_WIDER,
            format!("`detail` dropped: {} has no such parameter", OWN.title()),
        );
    }
    let part = media(ctx, at, &image.source, Medium::Image, None)?;
    Some(Part::known(KnownPart { extra: kept(ctx, at, &image.extra), ..part }))
}

impl Medium {
    /// The kind of content of a media type.
    pub(super) fn of(media_type: &str) -> Self {
        match media_type.split('/').next() {
            Some("audio") => Self::Audio,
            Some("application" | "text") => Self::Document,
            _ => Self::Image,
        }
    }

    fn default_media_type(self) -> Option<&'static str> {
        match self {
            Self::Image => None,
            Self::Audio => Some("audio/wav"),
            Self::Document => Some("application/pdf"),
        }
    }
}

pub(super) fn media<'r>(
    ctx: &mut Context<'_>,
    at: &At<'_>,
    source: &'r Source,
    medium: Medium,
    display_name: Option<&'r str>,
) -> Option<KnownPart<'r>> {
    let media_type = match source {
        Source::Base64 { media_type, .. } => Some(media_type.as_str()),
        Source::Url { media_type, .. } => media_type.as_deref().or_else(|| {
            let default = medium.default_media_type()?;
            ctx.record(
                "media-type",
                &at.field("source"),
                ADDED,
                format!("media type set to {default}: the URL has none"),
            );
            Some(default)
        }),
        Source::File { .. } | Source::Text { .. } => None,
    };
    if media_type.is_some_and(|media_type| Medium::of(media_type) != medium) {
        ctx.record("medium", at, REWRITTEN, "kind of content is taken from its media type");
    }
    match source {
        Source::Base64 { media_type, data } => {
            let blob = Blob { mime_type: media_type, data, display_name };
            Some(KnownPart { inline_data: Some(blob), ..KnownPart::default() })
        }
        Source::Url { url, .. } => {
            let file = FileData { mime_type: media_type, file_uri: url, display_name };
            Some(KnownPart { file_data: Some(file), ..KnownPart::default() })
        }
        Source::Text { text } => {
            ctx.record("document-as-text", at, REWRITTEN, "plain text document is sent as text");
            Some(KnownPart { text: Some(Cow::Borrowed(text)), ..KnownPart::default() })
        }
        Source::File { .. } => {
            ctx.drop_source(at, medium, source);
            None
        }
    }
}

fn tools<'r>(ctx: &mut Context<'_>, request: &'r Request) -> Vec<ToolShape<'r>> {
    let tools = At::ROOT.field("tools");
    let open_api = ctx.surface.uses_open_api_fields();
    let (mut functions, mut others) = (Vec::new(), Vec::new());
    for (index, tool) in request.tools.iter().enumerate() {
        let at = tools.entry(index);
        match tool {
            Tool::Function(function) => {
                if !others.is_empty() {
                    ctx.record("order", &at, MOVED, "function moved before the other tools");
                }
                ctx.drop_cache_hint(&at, function.cache.as_ref());
                ctx.record_as_function(&at, function.origin.as_ref());
                if let Some(strict) = function.strict {
                    let effect = if strict { DROPPED_WIDER } else { DROPPED_NOTE };
                    ctx.record(
                        "no-strict",
                        &at.field("strict"),
                        effect,
                        "`strict` dropped: Gemini functions have no such field",
                    );
                }
                let (open, json) = if open_api { (function.schema(), None) } else { (None, function.schema()) };
                let extra = ctx.extra(&at, &function.extra);
                let extra = known::of_function(ctx, &at, extra);
                functions.push(Declaration {
                    name: &function.name,
                    description: function.description.as_deref(),
                    parameters_json_schema: json,
                    parameters: open,
                    extra,
                });
            }
            Tool::Other(other) => others.extend(ctx.other(&at, other).map(ToolShape::Other)),
        }
    }
    let declared = (!functions.is_empty()).then_some(ToolShape::Functions { function_declarations: functions });
    declared.into_iter().chain(others).collect()
}

fn choice<'r>(ctx: &mut Context<'_>, request: &'r Request, has_functions: bool) -> Option<CallingConfig<'r>> {
    let choice = ctx.tool_choice(request, has_functions);
    let names = |names: Vec<Cow<'r, str>>, mode| CallingConfig { mode, allowed_function_names: names };
    let listed = |list: &'r [String]| list.iter().map(|name| Cow::Borrowed(name.as_str())).collect();
    let auto = if ctx.has(Quirk::ValidatedCalls) { "VALIDATED" } else { "AUTO" };
    let choice = match choice {
        None => return (has_functions && auto != "AUTO").then(|| names(Vec::new(), auto)),
        Some(Cow::Borrowed(choice)) => choice,
        Some(Cow::Owned(ToolChoice::Required)) => return Some(names(Vec::new(), "ANY")),
        Some(Cow::Owned(_)) => return Some(names(Vec::new(), auto)),
    };
    Some(match choice {
        ToolChoice::Auto => names(Vec::new(), auto),
        ToolChoice::None => names(Vec::new(), "NONE"),
        ToolChoice::Required => names(Vec::new(), "ANY"),
        ToolChoice::Tool(name) => names(vec![Cow::Borrowed(name)], "ANY"),
        ToolChoice::OneOf(list) => names(listed(list), "ANY"),
        ToolChoice::AnyOf(list) => names(listed(list), "VALIDATED"),
    })
}

fn generation<'r>(
    ctx: &mut Context<'_>,
    request: &'r Request,
    extra: Map<String, Value>,
) -> Option<GenerationConfig<'r>> {
    let limit = ctx.max_tokens(request);
    let config = GenerationConfig {
        temperature: ctx.parameter("temperature", request.temperature),
        top_p: ctx.parameter("top_p", request.top_p),
        top_k: ctx.parameter("top_k", request.top_k),
        max_output_tokens: limit,
        stop_sequences: ctx.parameter("stop", Some(request.stop.as_slice()).filter(|stop| !stop.is_empty())),
        frequency_penalty: ctx.parameter("frequency_penalty", request.frequency_penalty),
        presence_penalty: ctx.parameter("presence_penalty", request.presence_penalty),
        seed: ctx.parameter("seed", request.seed),
        format: format(ctx, request),
        thinking_config: thinking(ctx, request, limit),
        extra,
    };
    let has_config = config.temperature.is_some()
        || config.top_p.is_some()
        || config.top_k.is_some()
        || config.max_output_tokens.is_some()
        || config.stop_sequences.is_some()
        || config.frequency_penalty.is_some()
        || config.presence_penalty.is_some()
        || config.seed.is_some()
        || config.format != FormatShape::default()
        || config.thinking_config.is_some()
        || !config.extra.is_empty();
    has_config.then_some(config)
}

fn format<'r>(ctx: &mut Context<'_>, request: &'r Request) -> FormatShape<'r> {
    let at = At::ROOT.field("output");
    let Some(output) = ctx.output(request) else { return FormatShape::default() };
    let schema = match output {
        Output::Json => None,
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
            Some(format.schema())
        }
    };
    if ctx.has(Quirk::ResponseFormat) {
        let text = FormatText { mime_type: "APPLICATION_JSON", schema };
        return FormatShape { entries: Some([FormatEntry { text }]), ..FormatShape::default() };
    }
    let open_api = ctx.surface.uses_open_api_fields();
    FormatShape {
        mime_type: Some("application/json"),
        json_schema: schema.filter(|_| !open_api),
        open_api: schema.filter(|_| open_api),
        entries: None,
    }
}

fn thinking(ctx: &mut Context<'_>, request: &Request, limit: Option<u64>) -> Option<ThinkingConfig> {
    let reasoning = request.reasoning.as_ref()?;
    let at = At::ROOT.field("reasoning");
    let mut config = ThinkingConfig { include_thoughts: reasoning.visible, ..ThinkingConfig::default() };
    let below = limit.filter(|_| ctx.has(Quirk::BudgetBelowLimit));
    // Without room for a budget, thinking is disabled.
    let budget = |tokens: Option<u64>| Some(i64::try_from(tokens.unwrap_or(0)).unwrap_or(i64::MAX));
    let effort = ctx.effort(request);
    let only_effort = |ctx: &mut Context<'_>| {
        if reasoning.budget_tokens.is_some() || reasoning.mode.is_some() {
            ctx.record("no-word", &at, DROPPED_WIDER, "thinking mode and budget dropped: only the effort is sent");
        }
    };
    match (effort.as_deref(), reasoning.budget_tokens, &reasoning.mode) {
        (Some(Effort::None), ..) => {
            ctx.record("effort", &at, REWRITTEN, "effort `none` is sent as a thinking budget of 0 tokens");
            config.thinking_budget = budget(ctx.budget(0, below));
        }
        (Some(effort), ..) if ctx.surface.has_thinking_budget() => {
            only_effort(ctx);
            let tokens = ctx.budgets().nearest(budget_of_effort(effort), below).unwrap_or(0);
            let what = (Action::Rewritten, Effect::Wider);
            ctx.record(
                "effort",
                &at.field("effort"),
                what,
                format!("effort is sent as a thinking budget of {tokens} tokens"),
            );
            config.thinking_budget = budget(Some(tokens));
        }
        (Some(effort), ..) => {
            only_effort(ctx);
            config.thinking_level = Some(effort.word().to_ascii_uppercase());
        }
        (None, Some(tokens), mode) => {
            if mode.is_some() {
                ctx.record(
                    "no-word",
                    &at.field("mode"),
                    DROPPED_WIDER,
                    "thinking mode dropped: only the budget is sent",
                );
            }
            config.thinking_budget = budget(ctx.budget(tokens, below));
        }
        (None, None, Some(ThinkingMode::Adaptive)) => config.thinking_budget = Some(-1),
        (None, None, Some(ThinkingMode::Disabled)) => {
            ctx.record("thinking-mode", &at, REWRITTEN, "disabled thinking is sent as a budget of 0 tokens");
            config.thinking_budget = budget(ctx.budget(0, below));
        }
        (None, None, Some(mode)) => {
            ctx.record(
                "no-word",
                &at.field("mode"),
                DROPPED_WIDER,
                format!("thinking mode `{mode}` dropped: Gemini has no such mode"),
            );
        }
        (None, None, None) => {}
    }
    if config == ThinkingConfig::default() {
        ctx.record("no-word", &at, DROPPED_NOTE, "empty `reasoning` dropped");
        return None;
    }
    Some(config)
}

fn budget_of_effort(effort: &Effort) -> u64 {
    match effort {
        Effort::None => 0,
        Effort::Minimal => 512,
        Effort::Low => 2048,
        Effort::Medium => 8192,
        Effort::High | Effort::XHigh | Effort::Max | Effort::Other(_) => 24_576,
    }
}
