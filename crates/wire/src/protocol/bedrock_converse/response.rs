//! Responses of `bedrock-converse`.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::OWN;
use super::read::blocks;
use super::request::piece;
use super::shapes::{Block, Output, Piece, ResponseBody, Turn};
use crate::error::{DecodeError, Within};
use crate::fields::Fields;
use crate::neutral::{Extra, Response, Role, StopReason, Usage};
use crate::protocol::context::{At, Context, DROPPED_NOTE, REWRITTEN};
use crate::protocol::stop;

pub(super) const STOP_REASONS: &stop::Table = &[
    ("end_turn", StopReason::EndTurn),
    ("tool_use", StopReason::ToolUse),
    ("max_tokens", StopReason::MaxTokens),
    ("stop_sequence", StopReason::StopSequence),
    ("content_filtered", StopReason::ContentFilter),
    ("guardrail_intervened", StopReason::ContentFilter),
    ("malformed_model_output", StopReason::Malformed),
    ("malformed_tool_use", StopReason::Malformed),
    ("model_context_window_exceeded", StopReason::ContextLength),
    ("", StopReason::EndTurn),
];

pub(super) fn encode(ctx: &mut Context<'_>, response: &Response) -> Vec<u8> {
    let (mut extra, _) = ctx.split_extra(&response.extra, &["stopReason"]);
    let stop_reason = stop::write(ctx, STOP_REASONS, "stopReason", response);
    record_unsupported(ctx, response);
    let at = At::ROOT.field("content");
    let mut content = Vec::with_capacity(response.content.len());
    for (index, block) in response.content.iter().enumerate() {
        piece(ctx, &at.entry(index), block, Role::Assistant, &mut content);
    }
    if let Some(words) = &response.refusal {
        content.push(Piece::Known(Block::Text(Cow::Borrowed(words))));
    }
    super::super::json(&ResponseBody {
        output: Output { message: Turn { role: "assistant", content, extra: None } },
        stop_reason,
        usage: response.usage.as_ref().map_or_else(|| counts(&Usage::default()), |usage| usage_fields(ctx, usage)),
        metrics: extra.shift_remove("metrics").unwrap_or_else(|| json!({"latencyMs": 0})),
        extra,
    })
}

/// Records the parts of a response that the protocol does not support.
pub(super) fn record_unsupported(ctx: &mut Context<'_>, response: &Response) {
    if response.refusal.is_some() {
        ctx.record("refusal-as-text", &At::ROOT.field("refusal"), REWRITTEN, "refusal is sent as text");
    }
    if response.stop_sequence.is_some() {
        ctx.record(
            "no-word",
            &At::ROOT.field("stop_sequence"),
            DROPPED_NOTE,
            format!("`stop_sequence` dropped: {} has no such field", OWN.title()),
        );
    }
}

pub(super) fn usage_fields(ctx: &mut Context<'_>, usage: &Usage) -> Map<String, Value> {
    let at = At::ROOT.field("usage");
    let extra = ctx.extra(&at, &usage.extra).cloned().unwrap_or_default();
    if usage.reasoning_tokens > 0 {
        ctx.record(
            "no-word",
            &at.field("reasoning_tokens"),
            DROPPED_NOTE,
            "`reasoning_tokens` dropped: Bedrock Converse usage has no such field",
        );
    }
    let mut fields = counts(usage);
    fields.extend(extra);
    fields
}

fn counts(usage: &Usage) -> Map<String, Value> {
    let (read, write) = (usage.cache_read_tokens, usage.cache_write_tokens);
    let fresh = usage.input_tokens.saturating_sub(read.saturating_add(write));
    let counts = [
        ("inputTokens", fresh),
        ("outputTokens", usage.output_tokens),
        ("totalTokens", usage.input_tokens.saturating_add(usage.output_tokens)),
        ("cacheReadInputTokens", read),
        ("cacheWriteInputTokens", write),
    ];
    counts.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
}

pub(super) fn decode(body: Value) -> Result<Response, DecodeError> {
    let mut fields = Fields::of(body)?;
    let mut output = fields.object("output").ok_or_else(|| DecodeError::shape("an object").within("output"))?;
    let mut message = output.object("message").unwrap_or_default();
    let list = message.list("content").unwrap_or_default();
    let content = blocks("content", list).within("message").within("output")?;
    message.take("role");
    output.put_rest("message", message);
    fields.put_rest("output", output);
    let mut response = Response { content, ..Response::default() };
    let word = fields.text("stopReason").unwrap_or_default();
    let (reason, kept) = read_stop(&word, response.calls().next().is_some());
    response.stop = reason;
    if kept {
        fields.put("stopReason", json!(word));
    }
    response.usage = fields.object("usage").map(read_usage).filter(|usage| *usage != Usage::default());
    drop_metrics(&mut fields);
    response.extra = Extra::of(OWN, fields.rest());
    Ok(response)
}

/// Drops the placeholder latency of our own encoder.
pub(super) fn drop_metrics(fields: &mut Fields) {
    if let Some(metrics) = fields.take("metrics").filter(|metrics| *metrics != json!({"latencyMs": 0})) {
        fields.put("metrics", metrics);
    }
}

/// The stop reason of a wire value, and whether the wire value must be kept because the reason is written differently.
pub(super) fn read_stop(word: &str, calls: bool) -> (StopReason, bool) {
    let reason = stop::resolve(stop::read(STOP_REASONS, word), stop::Ending::calls(calls));
    let kept = stop::wire_value(STOP_REASONS, &reason) != Some(word);
    (reason, kept)
}

pub(super) fn read_usage(mut usage: Fields) -> Usage {
    let mut count = |name| usage.count(name).unwrap_or(0);
    let (fresh, output) = (count("inputTokens"), count("outputTokens"));
    let (read, write) = (count("cacheReadInputTokens"), count("cacheWriteInputTokens"));
    count("totalTokens");
    Usage {
        input_tokens: fresh.saturating_add(read).saturating_add(write),
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
        reasoning_tokens: 0,
        extra: Extra::of(OWN, usage.rest()),
    }
}
