//! From a model's text to a value: strictly if it is JSON, else tolerantly, always on record.

mod edge;
mod find;
mod parser;
mod source;
mod strict;
mod strings;
mod words;

use std::ops::Range;

use serde_json::Value;

pub(crate) use edge::Place;
pub(crate) use find::{
    Candidate, Content, Found, Mended, THINKING, Whence, find, find_quoted, find_scalar, is_bracket_in_prose,
};
pub(crate) use parser::{Outcome, Parser};
pub(crate) use source::{End, Source};
pub(crate) use words::{Found as FoundNumber, number};

use crate::options::{Options, Several};
use crate::repair::{Repair, RepairKind};
use strict::Strict;

/// A value that was read from a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The value.
    pub value: Value,
    /// Every liberty that was taken; none if the text was JSON.
    pub repairs: Vec<Repair>,
    /// The bytes of the text that the value stands in.
    pub span: Range<usize>,
}

impl Salvaged {
    /// Whether the text ended before the value did: nothing that acts should act on it.
    pub fn is_truncated(&self) -> bool {
        self.repairs.iter().any(|repair| repair.kind == RepairKind::Truncated)
    }
}

/// Reads the value in a text. Valid JSON comes back exactly; a text without a value gives `None`.
///
/// ```
/// use polywire_answer::{Options, salvage};
///
/// let text = "Sure! ```json\n{'city': \"Paris\", days: 3,}\n```";
/// let salvaged = salvage(text, &Options::default()).unwrap();
/// assert_eq!(salvaged.value, serde_json::json!({"city": "Paris", "days": 3}));
/// assert!(salvage("]", &Options::default()).is_none());
/// ```
pub fn salvage(text: &str, options: &Options) -> Option<Salvaged> {
    let mut found = match read_strict(text) {
        Whole::Value(salvaged) => return Some(salvaged),
        Whole::No(trial) => find(text, options, trial),
    };
    if let Some(quoted) = find_quoted(text, &found.thinking) {
        return Some(settle(text, quoted, &found.thinking));
    }
    let scalar = if found.candidates.iter().all(|candidate| candidate.whence == Whence::Draft) || starts_quoted(text) {
        find_scalar(text, &found, options)
    } else {
        None
    };
    if let Some(scalar) = scalar {
        return Some(settle(text, scalar, &found.thinking));
    }
    choose(text, &mut found, options)
}

/// A text that is JSON from beginning to end.
pub(crate) enum Whole {
    Value(Salvaged),
    No(Trial),
}

/// Whether reading strictly is worth a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trial {
    Open,
    /// It was tried, and the text ended too soon.
    Failed,
}

pub(crate) fn read_strict(text: &str) -> Whole {
    let start = text.len() - text.trim_start().len();
    let Some(rest) = text.get(start..) else { return Whole::No(Trial::Open) };
    if !rest.starts_with(|char: char| matches!(char, '{' | '[' | '"' | '-' | '0'..='9' | 't' | 'f' | 'n')) {
        return Whole::No(Trial::Open);
    }
    if rest.starts_with(['{', '[']) && !rest.trim_end().ends_with(['}', ']']) && !strict::is_closed(rest) {
        return Whole::No(Trial::Failed);
    }
    match strict::read(rest) {
        Strict::Value(value, length) if rest.get(length..).is_some_and(|rest| rest.trim().is_empty()) => {
            Whole::Value(Salvaged { value, repairs: Vec::new(), span: start..start + length })
        }
        Strict::Cut => Whole::No(Trial::Failed),
        Strict::Value(..) | Strict::No => Whole::No(Trial::Open),
    }
}

pub(crate) fn starts_quoted(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['"', '\'', '“', '‘', '\\', '/']) && !text.starts_with("/*") && !text.starts_with("//")
}

/// Picks among several values where no schema does.
fn choose(text: &str, found: &mut Found, options: &Options) -> Option<Salvaged> {
    let thinking = std::mem::take(&mut found.thinking);
    let mut candidates = std::mem::take(&mut found.candidates);
    if candidates.iter().any(|candidate| candidate.whence != Whence::Draft) {
        candidates.retain(|candidate| candidate.whence != Whence::Draft);
    }
    if candidates.len() > 1 && (options.several == Several::All || are_chained(text, &candidates)) {
        return Some(join(text, candidates, &thinking));
    }
    let rank = |candidate: &Candidate| (candidate.is_complete(), candidate.is_structured(), !candidate.is_empty());
    let best = candidates.iter().map(rank).max()?;
    let mut indices =
        candidates.iter().enumerate().filter(|(_, candidate)| rank(candidate) == best).map(|(index, _)| index);
    let index = if options.several == Several::First { indices.next() } else { indices.next_back() }?;
    let chosen = candidates.swap_remove(index);
    let mut salvaged = settle(text, chosen, &thinking);
    for other in candidates.iter().filter(|candidate| rank(candidate) == best) {
        salvaged.repairs.push(Repair::new(RepairKind::OtherValue, "", Some(other.span.clone())));
    }
    Some(salvaged)
}

/// Whether only commas and line breaks stand between the values.
fn are_chained(text: &str, candidates: &[Candidate]) -> bool {
    candidates.windows(2).all(|pair| {
        let [one, two] = pair else { return false };
        let gap = text.get(one.span.end..two.span.start).unwrap_or_default();
        gap.contains([',', '\n']) && gap.trim_matches([',', ' ', '\n', '\r', '\t']).is_empty()
    })
}

fn join(text: &str, candidates: Vec<Candidate>, thinking: &[Range<usize>]) -> Salvaged {
    let span = candidates.first().map_or(0, |one| one.span.start)..candidates.last().map_or(0, |one| one.span.end);
    let full = candidates.iter().filter(|candidate| !candidate.is_empty()).count();
    let mut items = Vec::new();
    let mut repairs = Vec::new();
    for candidate in candidates {
        if candidate.is_empty() && full > 0 {
            repairs.push(Repair::new(RepairKind::OtherValue, "", Some(candidate.span)));
            continue;
        }
        if full == 1 {
            return settle(text, candidate, thinking);
        }
        let at = format!("/{}", items.len());
        let (value, inner) = content(candidate.content);
        repairs.extend(inner.into_iter().map(|repair| Repair { at: format!("{at}{}", repair.at), ..repair }));
        items.push(value);
    }
    repairs.push(Repair::new(RepairKind::SeveralValues, "", Some(span.clone())));
    Salvaged { value: Value::Array(items), repairs, span }
}

/// The value of a candidate and the repairs inside of it.
pub(crate) fn content(content: Content) -> (Value, Vec<Repair>) {
    match content {
        Content::Strict(value) => (value, Vec::new()),
        Content::Mended(mut mended) => {
            let repairs = repairs_of(&mended);
            (mended.tree.take_value(mended.root), repairs)
        }
    }
}

pub(crate) fn repairs_of(mended: &Mended) -> Vec<Repair> {
    let place = |noted: &parser::Noted| noted.node.map(|node| mended.tree.pointer(node)).unwrap_or_default();
    let noted = mended.noted.iter().map(|noted| Repair::new(noted.kind, place(noted), Some(noted.span.clone())));
    let repeated = mended.tree.repeated().into_iter().map(|node| {
        let span = mended.tree.get(node).map(|node| node.span.clone());
        Repair::new(RepairKind::DuplicateKey, mended.tree.pointer(node), span)
    });
    noted.chain(repeated).collect()
}

/// The repairs that taking a candidate out of its text means.
pub(crate) fn surroundings(text: &str, span: &Range<usize>, whence: Whence, thinking: &[Range<usize>]) -> Vec<Repair> {
    let mut repairs: Vec<Repair> = Vec::new();
    // A tag in a text of the value is no thinking.
    let thinking = || thinking.iter().filter(|block| !span.contains(&block.start));
    for block in thinking().filter(|block| !block.contains(&span.start)) {
        repairs.push(Repair::new(RepairKind::Thinking, "", Some(block.clone())));
    }
    let outside = |part: Range<usize>| {
        let words = text.get(part.clone()).unwrap_or_default();
        let alone = thinking().any(|block| block.start <= part.start && part.end <= block.end);
        !alone && words.contains(|char: char| !char.is_whitespace())
    };
    for part in [0..span.start, span.end..text.len()] {
        if !part.is_empty() && outside(part.clone()) {
            let kind = if whence == Whence::Fence { RepairKind::Fence } else { RepairKind::Prose };
            repairs.push(Repair::new(kind, "", Some(part)));
        }
    }
    repairs
}

fn settle(text: &str, candidate: Candidate, thinking: &[Range<usize>]) -> Salvaged {
    let mut repairs = surroundings(text, &candidate.span, candidate.whence, thinking);
    let span = candidate.span;
    let (value, inner) = content(candidate.content);
    repairs.extend(inner);
    Salvaged { value, repairs, span }
}
