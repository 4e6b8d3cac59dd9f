//! Stop reasons: each protocol has one table, used for decoding and encoding.

use serde_json::Value;

use super::context::{At, Context, REWRITTEN};
use crate::neutral::{Response, StopReason};

/// Wire values and their stop reasons. The first row of a reason is used for encoding.
pub(super) type Table = [(&'static str, StopReason)];

/// The stop reason of a wire value.
pub(super) fn read(table: &Table, word: &str) -> StopReason {
    let known = table.iter().find(|(known, _)| *known == word);
    known.map_or_else(|| StopReason::Other(word.to_owned()), |(_, reason)| reason.clone())
}

/// The outcome of a response, which some wire values do not distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    /// Text.
    #[default]
    Text,
    /// Tool calls.
    Calls,
    /// A refusal.
    Refusal,
}

impl Ending {
    pub(super) fn of(response: &Response) -> Self {
        if response.refusal.is_some() {
            return Self::Refusal;
        }
        if response.calls().next().is_some() { Self::Calls } else { Self::Text }
    }

    pub(super) fn calls(some: bool) -> Self {
        if some { Self::Calls } else { Self::Text }
    }

    /// Keeps the more specific outcome.
    pub(super) fn update(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

/// Refines `EndTurn` for responses with tool calls or a refusal.
pub(super) fn resolve(reason: StopReason, ending: Ending) -> StopReason {
    match (reason, ending) {
        (StopReason::EndTurn, Ending::Refusal) => StopReason::Refusal,
        (StopReason::EndTurn, Ending::Calls) => StopReason::ToolUse,
        (reason, _) => reason,
    }
}

/// The wire value of a stop reason, if the protocol has one.
pub(super) fn wire_value<'r>(table: &Table, reason: &'r StopReason) -> Option<&'r str> {
    if let StopReason::Other(word) = reason {
        return Some(word);
    }
    table.iter().find(|(_, meant)| meant == reason).map(|(word, _)| *word)
}

/// The wire value for a response: the decoded one if it still matches the stop reason, or else the value of the reason, or else of the
/// nearest reason.
pub(super) fn write<'r>(ctx: &mut Context<'_>, table: &Table, field: &str, response: &'r Response) -> &'r str {
    let kept = response.extra.field(ctx.protocol, field).and_then(Value::as_str);
    let ending = Ending::of(response);
    let means = |word| resolve(read(table, word), ending);
    if let Some(word) = kept.filter(|word| means(word) == response.stop) {
        return word;
    }
    let (wanted, nearest) = (&response.stop, nearest(&response.stop));
    let word = wire_value(table, wanted).or_else(|| wire_value(table, nearest)).unwrap_or_default();
    if means(word) != *wanted {
        let detail = format!("stop reason `{wanted}` is sent as `{word}`");
        ctx.record("stop-reason", &At::ROOT.field("stop"), REWRITTEN, detail);
    }
    word
}

/// The nearest stop reason that every protocol supports.
fn nearest(reason: &StopReason) -> &'static StopReason {
    match reason {
        StopReason::EndTurn
        | StopReason::StopSequence
        | StopReason::Pause
        | StopReason::Malformed
        | StopReason::ToolUse
        | StopReason::Other(_) => &StopReason::EndTurn,
        StopReason::MaxTokens | StopReason::ContextLength => &StopReason::MaxTokens,
        StopReason::ContentFilter => &StopReason::Refusal,
        StopReason::Refusal => &StopReason::ContentFilter,
    }
}
