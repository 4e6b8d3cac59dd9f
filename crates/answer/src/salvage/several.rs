//! Several values in one text: chooses one, and records the others.

use std::cmp::Reverse;
use std::ops::Range;

use serde_json::Value;

use super::find::{Candidate, Content, Found, Whence};
use super::{Salvaged, content, settle};
use crate::options::{Options, Several};
use crate::repair::{Repair, RepairKind, Repairs};
use crate::tree::Kind;

/// Chooses among several values without a schema.
pub(super) fn choose(text: &str, found: &mut Found, options: &Options) -> Option<Salvaged> {
    let others = Others::new(found);
    let thinking = std::mem::take(&mut found.thinking);
    let mut candidates = std::mem::take(&mut found.candidates);
    if candidates.iter().any(|candidate| candidate.whence != Whence::Draft) {
        candidates.retain(|candidate| candidate.whence != Whence::Draft);
    }
    if candidates.len() > 1 && (options.several == Several::All || are_chained(text, &candidates)) {
        return Some(join(text, candidates, &thinking, &others));
    }
    let mut candidates = by_preference(text, candidates, options);
    candidates.sort_by_key(|candidate| Reverse(Looks::of(candidate)));
    let chosen = candidates.into_iter().next()?;
    let passed = others.passed(&chosen.span);
    Some(settle(text, chosen, &thinking, &passed))
}

/// Values that are equally good, in the order in which they are preferred: as [`Options::several`] says.
pub(crate) fn by_preference(text: &str, mut candidates: Vec<Candidate>, options: &Options) -> Vec<Candidate> {
    if options.several == Several::Last {
        candidates.reverse();
        return candidates;
    }
    let again: Vec<usize> = candidates.windows(2).filter_map(|pair| written_again(text, pair)).collect();
    let key = |candidate: &Candidate| (again.contains(&candidate.span.start), candidate.whence != Whence::Fence);
    candidates.sort_by_key(key);
    candidates
}

/// The start of a list right behind which another one stands: a model that begins a list anew means the new one, while
/// objects in a row are one as good as the other.
fn written_again(text: &str, pair: &[Candidate]) -> Option<usize> {
    let [one, two] = pair else { return None };
    let gap = text.get(one.span.end..two.span.start)?;
    (is_list(one) && is_list(two) && gap.trim_matches([' ', '\t']).is_empty()).then_some(one.span.start)
}

fn is_list(candidate: &Candidate) -> bool {
    match &candidate.content {
        Content::Strict(value) => value.is_array(),
        Content::Mended(mended) => matches!(mended.tree.kind(mended.root), Kind::List(_)),
    }
}

/// How much a candidate looks like what was meant; more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Looks {
    complete: bool,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Empty,
    /// It may be a bracket in a sentence.
    Bracket,
    Structured,
}

impl Looks {
    fn of(candidate: &Candidate) -> Self {
        let form = match (candidate.is_structured(), candidate.is_empty()) {
            (true, _) => Form::Structured,
            (false, false) => Form::Bracket,
            (false, true) => Form::Empty,
        };
        Self { complete: candidate.is_complete(), form }
    }
}

/// Where the values of a text stand, as long as it is open which one is taken.
#[derive(Clone)]
pub(crate) struct Others {
    values: Vec<(Range<usize>, Looks)>,
    /// What nobody looked at is passed over, whatever is taken.
    unread: Option<Range<usize>>,
}

impl Others {
    /// What was thought of is no value that could be missed.
    pub(crate) fn new(found: &Found) -> Self {
        let shown = found.candidates.iter().filter(|candidate| candidate.whence != Whence::Draft);
        let values = shown.map(|candidate| (candidate.span.clone(), Looks::of(candidate))).collect();
        Self { values, unread: found.unread.clone() }
    }

    /// Adds values that stand in no brackets.
    pub(crate) fn add(&mut self, spans: impl Iterator<Item = Range<usize>>) {
        let looks = Looks { complete: true, form: Form::Structured };
        self.values.extend(spans.map(|span| (span, looks)));
    }

    /// The values that are passed over when one is taken. A bracket in a sentence is none, unless one is taken.
    pub(crate) fn passed(&self, taken: &Range<usize>) -> Vec<Range<usize>> {
        let least = self.values.iter().find(|(span, _)| span == taken).map(|(_, looks)| *looks);
        let counts = |looks: &Looks| looks.form == Form::Structured || least.is_some_and(|least| *looks >= least);
        let values = self.values.iter().filter(|(_, looks)| counts(looks)).map(|(span, _)| span);
        let apart = |span: &&Range<usize>| span.end <= taken.start || taken.end <= span.start;
        values.chain(&self.unread).filter(apart).cloned().collect()
    }
}

/// Whether only commas and line breaks stand between the values.
fn are_chained(text: &str, candidates: &[Candidate]) -> bool {
    candidates.windows(2).all(|pair| {
        let [one, two] = pair else { return false };
        let gap = text.get(one.span.end..two.span.start).unwrap_or_default();
        gap.contains([',', '\n']) && gap.trim_matches([',', ' ', '\n', '\r', '\t']).is_empty()
    })
}

fn join(text: &str, candidates: Vec<Candidate>, thinking: &[Range<usize>], others: &Others) -> Salvaged {
    let span = candidates.first().map_or(0, |one| one.span.start)..candidates.last().map_or(0, |one| one.span.end);
    let full = candidates.iter().filter(|candidate| !candidate.is_empty()).count();
    let mut items = Vec::new();
    let mut repairs = Repairs::default();
    for candidate in candidates {
        if candidate.is_empty() && full > 0 {
            repairs.push(RepairKind::OtherValue, "", Some(&candidate.span));
            continue;
        }
        if full == 1 {
            let passed = others.passed(&candidate.span);
            return settle(text, candidate, thinking, &passed);
        }
        let at = format!("/{}", items.len());
        let (value, inner) = content(candidate.content);
        repairs.extend(inner.into_iter().map(|repair| Repair { at: format!("{at}{}", repair.at), ..repair }));
        items.push(value);
    }
    repairs.extend(others.passed(&span).into_iter().map(|other| Repair::new(RepairKind::OtherValue, "", Some(other))));
    repairs.push(RepairKind::SeveralValues, "", Some(&span));
    Salvaged { value: Value::Array(items), repairs: repairs.into_list(), span }
}
