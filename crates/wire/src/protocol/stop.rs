//! Why answers end: each protocol has a table of words, read in both directions by the same functions.

use serde_json::Value;

use super::context::{At, Context, REWRITTEN};
use crate::neutral::{Response, StopReason};

/// Words of a protocol and what they mean. The first word of a meaning is the one that is written.
pub(super) type Words = [(&'static str, StopReason)];

/// What a word means.
pub(super) fn read(words: &Words, word: &str) -> StopReason {
    let known = words.iter().find(|(known, _)| *known == word);
    known.map_or_else(|| StopReason::Other(word.to_owned()), |(_, reason)| reason.clone())
}

/// What an answer comes down to, which some words leave open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    /// It says something.
    #[default]
    Text,
    /// It calls tools.
    Calls,
    /// It refuses.
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

    /// Whichever says more.
    pub(super) fn update(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

/// What a word means in an answer that calls tools or refuses, where the protocol's own word does not tell.
pub(super) fn resolve(reason: StopReason, ending: Ending) -> StopReason {
    match (reason, ending) {
        (StopReason::EndTurn, Ending::Refusal) => StopReason::Refusal,
        (StopReason::EndTurn, Ending::Calls) => StopReason::ToolUse,
        (reason, _) => reason,
    }
}

/// The word of a reason, if the protocol has one.
pub(super) fn word<'r>(words: &Words, reason: &'r StopReason) -> Option<&'r str> {
    if let StopReason::Other(word) = reason {
        return Some(word);
    }
    words.iter().find(|(_, meant)| meant == reason).map(|(word, _)| *word)
}

/// The word to write for an answer: the very word that was read, if the answer still means it, else the protocol's word
/// for the reason, else the word of the nearest reason.
pub(super) fn write<'r>(ctx: &mut Context<'_>, words: &Words, field: &str, response: &'r Response) -> &'r str {
    let kept = response.extra.field(ctx.protocol, field).and_then(Value::as_str);
    let ending = Ending::of(response);
    let means = |word| resolve(read(words, word), ending);
    if let Some(word) = kept.filter(|word| means(word) == response.stop) {
        return word;
    }
    let (wanted, nearest) = (&response.stop, nearest(&response.stop));
    let word = word(words, wanted).or_else(|| word(words, nearest)).unwrap_or_default();
    if means(word) != *wanted {
        let detail = format!("stop reason `{wanted}` is sent as `{word}`");
        ctx.record("stop-reason", &At::ROOT.field("stop"), REWRITTEN, detail);
    }
    word
}

/// The reason that every protocol has a word for and that comes nearest.
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
