//! From a model's text to a value: strictly if it is JSON, otherwise tolerantly, with every repair recorded.

mod edge;
mod find;
mod parser;
mod search;
mod several;
mod source;
mod strict;
mod strings;
mod words;

use std::ops::Range;

use serde_json::Value;

pub(crate) use edge::Place;
pub(crate) use find::{
    Candidate, Content, Found, MAX_CANDIDATES, Mended, THINKING, Whence, find, find_quoted, find_scalar,
    is_bracket_in_prose,
};
pub(crate) use parser::{Noted, Outcome, Parser};
pub(crate) use several::{Others, by_preference};
pub(crate) use source::{End, Source};
pub(crate) use words::{Found as FoundNumber, number};

use crate::options::Options;
use crate::repair::{MAX_REPAIRS, Repair, RepairKind, Repairs};
use crate::tree::Tree;
use several::choose;
use strict::Strict;

/// A value that was read from a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The value.
    pub value: Value,
    /// Every repair; empty if the text was JSON.
    pub repairs: Vec<Repair>,
    /// The byte range of the value in the text.
    pub span: Range<usize>,
}

impl Salvaged {
    /// Whether the text ended before the value did. Do not act on such a value.
    pub fn is_truncated(&self) -> bool {
        self.repairs.iter().any(|repair| repair.kind == RepairKind::Truncated)
    }
}

/// Extracts the value of a text. Valid JSON is returned unchanged; a text without a value gives `None`.
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
        Whole::No(trial) => find(text, options, trial, None),
    };
    let settled = |candidate: Candidate, found: &Found| {
        let passed = Others::new(found).passed(&candidate.span);
        settle(text, candidate, &found.thinking, &passed)
    };
    if let Some(quoted) = find_quoted(text, &found.thinking) {
        return Some(settled(quoted, &found));
    }
    let scalar = if found.candidates.iter().all(|candidate| candidate.whence == Whence::Draft) || starts_quoted(text) {
        find_scalar(text, &found, options)
    } else {
        None
    };
    if let Some(scalar) = scalar {
        return Some(settled(scalar, &found));
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
    repairs_in(&mended.tree, &mended.noted)
}

/// The repairs that were noted in a tree, and its repeated keys.
pub(crate) fn repairs_in(tree: &Tree, noted: &[Noted]) -> Vec<Repair> {
    let mut repairs = Repairs::default();
    for noted in noted {
        let at = || noted.node.map(|node| tree.pointer(node)).unwrap_or_default();
        repairs.push_with(noted.kind, at, Some(&noted.span));
    }
    for node in tree.repeated(MAX_REPAIRS) {
        let span = tree.get(node).map(|node| &node.span);
        repairs.push_with(RepairKind::DuplicateKey, || tree.pointer(node), span);
    }
    repairs.into_list()
}

/// The repairs that taking a candidate out of its text means, given the other values that are passed over.
pub(crate) fn surroundings(
    text: &str,
    span: &Range<usize>,
    whence: Whence,
    thinking: &[Range<usize>],
    passed: &[Range<usize>],
) -> Vec<Repair> {
    let mut repairs = Repairs::default();
    // A tag in a text of the value is no thinking.
    let outside_value = |block: &&Range<usize>| !span.contains(&block.start);
    for block in thinking.iter().filter(outside_value).filter(|block| !block.contains(&span.start)) {
        repairs.push(RepairKind::Thinking, "", Some(block));
    }
    let is_thinking = |part: &Range<usize>| {
        // Blocks follow each other: only the first that ends behind the part can hold it.
        let first = thinking.partition_point(|block| block.end < part.end);
        thinking.get(first).filter(outside_value).is_some_and(|block| block.start <= part.start)
    };
    let is_outside = |part: &Range<usize>| {
        let words = text.get(part.clone()).unwrap_or_default();
        !is_thinking(part) && words.contains(|char: char| !char.is_whitespace())
    };
    let kind = if whence == Whence::Fence { RepairKind::Fence } else { RepairKind::Prose };
    let mut taken: Vec<&Range<usize>> = passed.iter().chain([span]).collect();
    taken.sort_by_key(|taken| taken.start);
    let starts = std::iter::once(0).chain(taken.iter().map(|taken| taken.end));
    let ends = taken.iter().map(|taken| taken.start).chain([text.len()]);
    for part in starts.zip(ends).map(|(start, end)| start..end).filter(is_outside) {
        repairs.push(kind, "", Some(&part));
    }
    for other in passed {
        repairs.push(RepairKind::OtherValue, "", Some(other));
    }
    repairs.into_list()
}

fn settle(text: &str, candidate: Candidate, thinking: &[Range<usize>], passed: &[Range<usize>]) -> Salvaged {
    let mut repairs = Repairs::default();
    repairs.extend(surroundings(text, &candidate.span, candidate.whence, thinking, passed));
    let span = candidate.span;
    let (value, inner) = content(candidate.content);
    repairs.extend(inner);
    Salvaged { value, repairs: repairs.into_list(), span }
}
