//! Responses of `anthropic-messages`.

use serde_json::{Map, Value, json};

use super::OWN;
use super::read::read_block;
use super::request::{Side, blocks};
use super::shapes::{ResponseBody, UsageShape};
use crate::error::DecodeError;
use crate::fields::{Fields, read_each};
use crate::neutral::{Extra, Response, StopReason, Usage};
use crate::protocol::context::{At, Context, DROPPED};
use crate::protocol::stop;

pub(super) const STOP_REASONS: &stop::Table = &[
    ("end_turn", StopReason::EndTurn),
    ("max_tokens", StopReason::MaxTokens),
    ("stop_sequence", StopReason::StopSequence),
    ("tool_use", StopReason::ToolUse),
    ("pause_turn", StopReason::Pause),
    ("refusal", StopReason::Refusal),
    ("model_context_window_exceeded", StopReason::ContextLength),
    ("", StopReason::EndTurn),
];

/// Fields of `extra` that are written below the top level of the body.
pub(super) const NESTED: [&str; 2] = ["stop_details", "stop_reason"];

pub(super) fn encode(ctx: &mut Context<'_>, response: &Response) -> Vec<u8> {
    let (extra, inner) = ctx.split_extra(&response.extra, &NESTED);
    let stop_reason = stop::write(ctx, STOP_REASONS, "stop_reason", response);
    super::super::json(&ResponseBody {
        id: &response.id,
        r#type: "message",
        role: "assistant",
        model: &response.model,
        content: blocks(ctx, &At::ROOT, &response.content, Side::Response),
        stop_reason: Some(stop_reason),
        stop_sequence: response.stop_sequence.as_deref(),
        stop_details: stop_details(ctx, response, inner.get("stop_details")),
        usage: response.usage.as_ref().map_or_else(UsageShape::default, |usage| usage_shape(ctx, usage)),
        extra,
    })
}

/// `stop_details`, with the refusal text.
pub(super) fn stop_details(ctx: &mut Context<'_>, response: &Response, kept: Option<&Value>) -> Option<Value> {
    let mut details = kept.cloned();
    if let Some(refusal) = &response.refusal {
        if !matches!(response.stop, StopReason::Refusal | StopReason::ContentFilter) {
            ctx.record(
                "no-place",
                &At::ROOT.field("refusal"),
                DROPPED,
                "refusal text dropped: the stop reason is not a refusal",
            );
            return details;
        }
        let mut words = if let Some(Value::Object(words)) = details { words } else { Map::new() };
        words.insert("type".to_owned(), json!("refusal"));
        words.entry("category").or_insert(Value::Null);
        words.insert("explanation".to_owned(), json!(refusal));
        details = Some(Value::Object(words));
    }
    details
}

pub(super) fn usage_shape(ctx: &mut Context<'_>, usage: &Usage) -> UsageShape {
    let extra = ctx.extra(&At::ROOT.field("usage"), &usage.extra).cloned().unwrap_or_default();
    UsageShape::of(usage, extra)
}

pub(super) fn decode(body: Value) -> Result<Response, DecodeError> {
    let mut fields = Fields::of(body)?;
    let content = read_each("content", fields.required_list("content")?, |_, block| read_block(block))?;
    let mut response = read_head(&mut fields);
    response.content = content;
    let calls = response.calls().next().is_some();
    let word = fields.text("stop_reason").unwrap_or_default();
    let (stop, kept) = read_stop(&word, calls);
    response.stop = stop;
    if let Some(word) = kept {
        fields.put("stop_reason", json!(word));
    }
    response.stop_sequence = fields.text("stop_sequence");
    response.refusal = read_refusal(&mut fields);
    response.extra = Extra::of(OWN, fields.rest());
    Ok(response)
}

/// Decodes the fields of `message_start`, which a whole response has too.
pub(super) fn read_head(fields: &mut Fields) -> Response {
    for constant in ["type", "role"] {
        fields.text(constant);
    }
    Response {
        id: fields.text("id").unwrap_or_default(),
        model: fields.text("model").unwrap_or_default(),
        usage: fields.object("usage").map(read_usage).filter(|usage| *usage != Usage::default()),
        ..Response::default()
    }
}

/// The stop reason of a wire value, and the wire value if it must be kept because the reason is written differently.
pub(super) fn read_stop(word: &str, calls: bool) -> (StopReason, Option<&str>) {
    let reason = stop::resolve(stop::read(STOP_REASONS, word), stop::Ending::calls(calls));
    let kept = (stop::wire_value(STOP_REASONS, &reason) != Some(word)).then_some(word);
    (reason, kept)
}

pub(super) fn read_refusal(fields: &mut Fields) -> Option<String> {
    let mut details = fields.object("stop_details")?;
    let words = (details.peek("type") == Some("refusal")).then(|| details.text("explanation")).flatten();
    if words.is_some() {
        details.take("type");
    }
    fields.put_rest("stop_details", details);
    words
}

pub(super) fn read_usage(mut usage: Fields) -> Usage {
    let mut count = |name| usage.count(name).unwrap_or(0);
    let (fresh, output) = (count("input_tokens"), count("output_tokens"));
    let (write, read) = (count("cache_creation_input_tokens"), count("cache_read_input_tokens"));
    let mut details = usage.object("output_tokens_details");
    let thought = details.as_mut().and_then(|details| details.count("thinking_tokens")).unwrap_or(0);
    if let Some(details) = details {
        usage.put_rest("output_tokens_details", details);
    }
    Usage {
        input_tokens: fresh.saturating_add(write).saturating_add(read),
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
        reasoning_tokens: thought,
        extra: Extra::of(OWN, usage.rest()),
    }
}
