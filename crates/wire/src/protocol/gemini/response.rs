//! Responses of `gemini`.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::read::part as read_part;
use super::request::part;
use super::shapes::{Candidate, Content, EnvelopedResponse, ResponseBody};
use super::{ENVELOPE, OWN, enveloped};
use crate::error::{DecodeError, Within};
use crate::fields::{Fields, read_each};
use crate::history::synthetic_call_id;
use crate::neutral::{Block, Extra, Response, StopReason, Usage};
use crate::protocol::context::{At, Context, DROPPED, DROPPED_NOTE};
use crate::protocol::stop;
use crate::surface::Surface;

pub(super) const STOP_REASONS: &stop::Table = &[
    ("STOP", StopReason::EndTurn),
    ("MAX_TOKENS", StopReason::MaxTokens),
    ("SAFETY", StopReason::ContentFilter),
    ("RECITATION", StopReason::ContentFilter),
    ("BLOCKLIST", StopReason::ContentFilter),
    ("PROHIBITED_CONTENT", StopReason::ContentFilter),
    ("SPII", StopReason::ContentFilter),
    ("IMAGE_SAFETY", StopReason::ContentFilter),
    ("IMAGE_PROHIBITED_CONTENT", StopReason::ContentFilter),
    ("IMAGE_RECITATION", StopReason::ContentFilter),
    ("MODEL_ARMOR", StopReason::ContentFilter),
    ("JAILBREAK", StopReason::ContentFilter),
    ("MALFORMED_FUNCTION_CALL", StopReason::Malformed),
    ("MALFORMED_RESPONSE", StopReason::Malformed),
    ("UNEXPECTED_TOOL_CALL", StopReason::Malformed),
    ("CONTINUATION", StopReason::Pause),
    ("FINISH_REASON_UNSPECIFIED", StopReason::EndTurn),
    ("", StopReason::EndTurn),
];

/// Fields of `extra` that are written below the top level of the body.
pub(super) const NESTED: [&str; 4] = ["candidate", "candidates", "finishReason", ENVELOPE];

pub(super) fn encode(ctx: &mut Context<'_>, response: &Response) -> Vec<u8> {
    let (extra, mut inner) = ctx.split_extra(&response.extra, &NESTED);
    let word = finish(ctx, response);
    let message = finish_message(ctx, response, word);
    if response.stop_sequence.is_some() {
        ctx.record(
            "no-word",
            &At::ROOT.field("stop_sequence"),
            DROPPED_NOTE,
            format!("`stop_sequence` dropped: {} has no such field", OWN.title()),
        );
    }
    let at = At::ROOT.field("content");
    let mut parts = Vec::with_capacity(response.content.len());
    let mut number = 0;
    for (index, block) in response.content.iter().enumerate() {
        parts.extend(part(ctx, &at.entry(index), block, (0, number)));
        number += usize::from(block.as_call().is_some());
    }
    let blocked = parts.is_empty() && extra.contains_key("promptFeedback");
    let content = Content { role: Some("model"), parts, extra: None };
    let candidate = inner.shift_remove("candidate");
    let others = inner.shift_remove("candidates");
    let first = Candidate::First {
        content,
        finish_reason: Some(word),
        finish_message: message,
        index: 0,
        extra: candidate.as_ref().and_then(Value::as_object),
    };
    let mut candidates = if blocked { Vec::new() } else { vec![first] };
    candidates.extend(others.as_ref().and_then(Value::as_array).into_iter().flatten().map(Candidate::Other));
    let answer = ResponseBody {
        candidates,
        usage_metadata: response.usage.as_ref().map(|usage| usage_fields(ctx, usage)),
        model_version: &response.model,
        response_id: &response.id,
        extra,
    };
    wrap(ctx.surface, answer, inner.shift_remove(ENVELOPE))
}

/// The `finishReason`.
pub(super) fn finish<'r>(ctx: &mut Context<'_>, response: &'r Response) -> &'r str {
    let kept = response.extra.field(OWN, "finishReason").and_then(Value::as_str);
    let calls = response.calls().next().is_some();
    let still_meant = |word: &&str| read_stop(word, calls).0 == response.stop;
    kept.filter(still_meant).unwrap_or_else(|| stop::write(ctx, STOP_REASONS, "finishReason", response))
}

/// Wraps a response in the envelope of the surface.
pub(super) fn wrap<C: Serialize>(surface: &Surface, response: ResponseBody<'_, C>, fields: Option<Value>) -> Vec<u8> {
    if !enveloped(surface) {
        return super::super::json(&response);
    }
    let fields = if let Some(Value::Object(fields)) = fields { fields } else { Map::new() };
    super::super::json(&EnvelopedResponse { response, fields })
}

/// The refusal text, which is only valid with a content filter reason.
pub(super) fn finish_message<'r>(ctx: &mut Context<'_>, response: &'r Response, word: &str) -> Option<&'r str> {
    let refusal = response.refusal.as_deref()?;
    if stop::read(STOP_REASONS, word) == StopReason::ContentFilter {
        return Some(refusal);
    }
    ctx.record(
        "no-place",
        &At::ROOT.field("refusal"),
        DROPPED,
        "refusal text dropped: the finish reason is not a content filter",
    );
    None
}

pub(super) fn usage_fields(ctx: &mut Context<'_>, usage: &Usage) -> Map<String, Value> {
    let at = At::ROOT.field("usage");
    let extra = ctx.extra(&at, &usage.extra).cloned().unwrap_or_default();
    if usage.cache_write_tokens > 0 {
        ctx.record(
            "no-word",
            &at.field("cache_write_tokens"),
            DROPPED_NOTE,
            "`cache_write_tokens` dropped: Gemini usage has no such field",
        );
    }
    let counts = [
        ("promptTokenCount", usage.input_tokens),
        ("cachedContentTokenCount", usage.cache_read_tokens),
        ("candidatesTokenCount", usage.output_tokens.saturating_sub(usage.reasoning_tokens)),
        ("thoughtsTokenCount", usage.reasoning_tokens),
        ("totalTokenCount", usage.input_tokens.saturating_add(usage.output_tokens)),
    ];
    let sent = counts
        .into_iter()
        .filter(|(name, count)| *count > 0 || !name.starts_with(['c', 't']) || *name == "candidatesTokenCount");
    sent.map(|(name, count)| (name.to_owned(), json!(count))).chain(extra).collect()
}

/// Splits a body into the response and the fields of its envelope.
pub(super) fn unwrap(body: Value) -> Result<(Fields, Fields), DecodeError> {
    let mut fields = Fields::of(body)?;
    if !fields.has("candidates")
        && let Some(inner) = fields.object("response")
    {
        return Ok((inner, fields));
    }
    Ok((fields, Fields::default()))
}

pub(super) fn decode(body: Value) -> Result<Response, DecodeError> {
    let (mut fields, envelope) = unwrap(body)?;
    let mut response = read_head(&mut fields);
    let mut candidates = fields.list("candidates").unwrap_or_default().into_iter();
    if let Some(first) = candidates.next() {
        read_candidate(first, &mut response, &mut fields).within(0).within("candidates")?;
    } else if fields.has("promptFeedback") {
        response.stop = StopReason::ContentFilter;
    }
    let others: Vec<Value> = candidates.collect();
    if !others.is_empty() {
        fields.put("candidates", Value::Array(others));
    }
    fields.put_rest(ENVELOPE, envelope);
    response.extra = Extra::of(OWN, fields.rest());
    Ok(response)
}

/// Decodes the fields that every chunk repeats.
pub(super) fn read_head(fields: &mut Fields) -> Response {
    Response {
        id: fields.text("responseId").unwrap_or_default(),
        model: fields.text("modelVersion").unwrap_or_default(),
        usage: fields.object("usageMetadata").map(read_usage),
        ..Response::default()
    }
}

fn read_candidate(candidate: Value, response: &mut Response, top: &mut Fields) -> Result<(), DecodeError> {
    let mut candidate = Fields::of(candidate)?;
    let mut calls = 0;
    for (index, value) in take_parts(&mut candidate).into_iter().enumerate() {
        let mut block = read_part(value).within(index).within("parts").within("content")?;
        if let Block::ToolCall(call) = &mut block {
            if call.id.is_empty() {
                call.id = synthetic_call_id(0, calls);
            }
            calls += 1;
        }
        response.content.push(block);
    }
    let word = candidate.text("finishReason").unwrap_or_default();
    let (reason, kept) = read_stop(&word, calls > 0);
    response.refusal = read_refusal(&mut candidate, &reason);
    response.stop = reason;
    if kept {
        top.put("finishReason", json!(word));
    }
    candidate.count("index");
    top.put_rest("candidate", candidate);
    Ok(())
}

/// Removes the parts of a candidate; a truncated candidate may have no content.
pub(super) fn take_parts(candidate: &mut Fields) -> Vec<Value> {
    let Some(mut content) = candidate.object("content") else { return Vec::new() };
    content.text("role");
    let parts = content.list("parts").unwrap_or_default();
    candidate.put_rest("content", content);
    parts
}

/// The stop reason of a wire value, and whether the wire value must be kept because the reason is written differently.
pub(super) fn read_stop(word: &str, calls: bool) -> (StopReason, bool) {
    let reason = stop::resolve(stop::read(STOP_REASONS, word), stop::Ending::calls(calls));
    // Models of other providers behind this protocol end tool calls with `OTHER`.
    let reason = if calls && word == "OTHER" { StopReason::ToolUse } else { reason };
    let written = if reason == StopReason::ToolUse { Some("STOP") } else { stop::wire_value(STOP_REASONS, &reason) };
    let kept = written != Some(word);
    (reason, kept)
}

pub(super) fn read_refusal(candidate: &mut Fields, reason: &StopReason) -> Option<String> {
    if *reason == StopReason::ContentFilter { candidate.text("finishMessage") } else { None }
}

fn read_usage(mut usage: Fields) -> Usage {
    let mut count = |name| usage.count(name).unwrap_or(0);
    let thought = count("thoughtsTokenCount");
    let read = Usage {
        input_tokens: count("promptTokenCount"),
        output_tokens: count("candidatesTokenCount").saturating_add(thought),
        cache_read_tokens: count("cachedContentTokenCount"),
        cache_write_tokens: 0,
        reasoning_tokens: thought,
        extra: Extra::default(),
    };
    usage.count("totalTokenCount");
    Usage { extra: Extra::of(OWN, usage.rest()), ..read }
}

pub(super) fn each_part(parts: Vec<Value>) -> Result<Vec<Block>, DecodeError> {
    read_each("parts", parts, |_, value| read_part(value))
}
