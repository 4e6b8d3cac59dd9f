//! Finds the values of a text among prose, fences, reasoning and markup.

use std::ops::Range;

use serde_json::Value;

use super::Trial;
use super::edge::Place;
use super::parser::{Noted, Outcome, Parser};
use super::search::{Explained, MAX_STATES, explain};
use super::source::{End, KeyLike, Source, key_like};
use super::strict::{self, Strict};
use crate::options::{BareText, Options};
use crate::repair::RepairKind;
use crate::shape::Shapes;
use crate::tree::{Id, Kind, Notation, Tree};

/// Maximum values that are read.
pub(crate) const MAX_CANDIDATES: usize = 64;

/// Bytes of a value for which the cheapest reading is searched; a longer one is read in one pass.
const MAX_SEARCHED: usize = 24 << 10;

/// Tags around a model's reasoning.
pub(crate) const THINKING: &[&str] = &["think", "thinking", "thought", "reasoning", "reflection", "scratchpad"];

/// A value that was found.
pub(crate) struct Candidate {
    pub(crate) content: Content,
    /// Other readings of it, the likelier ones first.
    pub(crate) others: Vec<Mended>,
    pub(crate) span: Range<usize>,
    pub(crate) whence: Whence,
}

/// Where a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whence {
    Plain,
    Fence,
    /// In a block of reasoning.
    Draft,
}

/// What was read.
pub(crate) enum Content {
    /// Valid JSON.
    Strict(Value),
    Mended(Box<Mended>),
}

/// A value and the repairs it needed.
pub(crate) struct Mended {
    pub(crate) tree: Tree,
    pub(crate) root: Id,
    pub(crate) noted: Vec<Noted>,
}

impl Mended {
    /// Whether it was read with liberties that another reading might do without.
    fn is_doubtful(&self, text: &str) -> bool {
        let is_text = |node: Option<Id>| node.is_some_and(|node| matches!(self.tree.kind(node), Kind::Text(_)));
        // A string that the text ends in may have swallowed keys.
        let swallows = |span: &Range<usize>| {
            text.get(span.clone()).is_some_and(|text| ["\":", "':", ": "].iter().any(|mark| text.contains(mark)))
        };
        let is_certain = |noted: &Noted| {
            matches!(
                noted.kind,
                RepairKind::Comment
                    | RepairKind::Literal
                    | RepairKind::NumberForm
                    | RepairKind::Control
                    | RepairKind::Fence
                    | RepairKind::Ellipsis
            ) || (noted.kind == RepairKind::Truncated && !(is_text(noted.node) && swallows(&noted.span)))
        };
        !self.noted.iter().all(is_certain)
    }
}

impl Candidate {
    pub(crate) fn is_complete(&self) -> bool {
        match &self.content {
            Content::Strict(_) => true,
            Content::Mended(mended) => !mended.noted.iter().any(|noted| noted.kind == RepairKind::Truncated),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.content {
            Content::Strict(Value::Array(items)) => items.is_empty(),
            Content::Strict(Value::Object(members)) => members.is_empty(),
            Content::Strict(_) => false,
            Content::Mended(mended) => match mended.tree.kind(mended.root) {
                Kind::List(children) | Kind::Object(children) => children.count == 0,
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => false,
            },
        }
    }

    /// Whether it is more than a bracket in a sentence.
    pub(crate) fn is_structured(&self) -> bool {
        match &self.content {
            Content::Strict(Value::Array(items)) => items.iter().any(|item| !item.is_number()),
            Content::Strict(value) => value.is_object() && !self.is_empty(),
            Content::Mended(mended) => match mended.tree.kind(mended.root) {
                Kind::Object(children) => children.count > 0,
                Kind::List(_) => mended.tree.children(mended.root).any(|item| {
                    mended
                        .tree
                        .get(item)
                        .is_some_and(|node| node.notation == Notation::Plain && !matches!(node.kind, Kind::Number(_)))
                }),
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => false,
            },
        }
    }
}

/// All values of a text, in order.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) candidates: Vec<Candidate>,
    /// Blocks of reasoning.
    pub(crate) thinking: Vec<Range<usize>>,
    /// A value was nested too deeply.
    pub(crate) too_deep: bool,
    /// What was not looked at, because so many values stand before it.
    pub(crate) unread: Option<Range<usize>>,
    /// States that the search for cheaper readings took.
    pub(crate) states: usize,
}

/// Finds lists and objects.
pub(crate) fn find(text: &str, options: &Options, trial: Trial, shapes: Option<&Shapes>) -> Found {
    let mut finder = Finder {
        text,
        options,
        shapes,
        found: Found { thinking: thinking(text), ..Found::default() },
        first_word: text.len() - text.trim_start().len(),
        budget: text.len() * 8 + 4096,
        states_left: MAX_STATES,
        strict_budget: if trial == Trial::Failed { 0 } else { text.len() * 2 + 4096 },
    };
    finder.search();
    finder.found.states = MAX_STATES - finder.states_left;
    finder.found
}

/// The part of a text that a search may look at: up to a value's end as one pass saw it, and some more.
fn visible(text: &str, end: usize) -> &str {
    let mut end = end.saturating_add(MAX_SEARCHED / 4).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    text.get(..end).unwrap_or(text)
}

struct Finder<'t> {
    text: &'t str,
    options: &'t Options,
    /// What the value should be like.
    shapes: Option<&'t Shapes>,
    found: Found,
    /// Where the text begins that is no white space.
    first_word: usize,
    /// Bytes that may still be read, so that the whole search stays linear.
    budget: usize,
    strict_budget: usize,
    /// States that may still be searched for cheaper readings.
    states_left: usize,
}

impl Finder<'_> {
    fn search(&mut self) {
        let bytes = self.text.as_bytes();
        let mut place = 0;
        let mut fence = Whence::Plain;
        while let Some(offset) =
            bytes.get(place..).and_then(|rest| rest.iter().position(|byte| matches!(byte, b'{' | b'[' | b'`')))
        {
            place += offset;
            if bytes.get(place) == Some(&b'`') {
                let ticks = bytes.get(place..).map_or(0, |rest| rest.iter().take_while(|byte| **byte == b'`').count());
                if ticks >= 3 {
                    fence = if fence == Whence::Plain { Whence::Fence } else { Whence::Plain };
                }
                place += ticks;
                continue;
            }
            let around_fence = self.text.get(place + 1..).is_some_and(|rest| rest.starts_with("```"));
            if around_fence {
                place += 1;
                continue;
            }
            if self.budget == 0 || self.found.too_deep || self.found.candidates.len() >= MAX_CANDIDATES {
                self.found.unread = Some(place..self.text.len());
                break;
            }
            place = match self.try_at(place, fence) {
                Some(candidate) => {
                    let end = candidate.span.end.max(place + 1);
                    self.found.candidates.push(candidate);
                    end
                }
                None => place + 1,
            };
        }
    }

    fn try_at(&mut self, place: usize, fence: Whence) -> Option<Candidate> {
        // Blocks follow each other, the last ones behind the place.
        let next = self.found.thinking.partition_point(|block| block.end <= place);
        let block = self.found.thinking.get(next).filter(|block| block.contains(&place)).cloned();
        let whence = if block.is_some() { Whence::Draft } else { fence };
        let limit = block.map_or(self.text.len(), |block| block.end);
        let text = self.text.get(..limit)?;
        let mut goes_on = false;
        if self.strict_budget > 0 {
            match strict::read(text.get(place..)?) {
                Strict::Value(value, length) if !self.goes_on(place + length) => {
                    let span = place..place + length;
                    return Some(Candidate { content: Content::Strict(value), others: Vec::new(), span, whence });
                }
                Strict::Value(..) => goes_on = true,
                Strict::Cut => self.strict_budget = 0,
                Strict::No => self.strict_budget = self.strict_budget.saturating_sub((limit - place) / 4),
            }
        }
        let mut limit = text;
        let mut candidate = self.mend(text, place, whence)?;
        if !candidate.is_complete() && fence == Whence::Fence && self.budget > 0 {
            // The fence may be what ended, not the text.
            let fence = text.get(place..).and_then(|rest| rest.find("\n```").or_else(|| rest.rfind("```")));
            let inside = fence.and_then(|fence| text.get(..place + fence));
            if let Some((inside, shorter)) = inside.and_then(|inside| Some((inside, self.mend(inside, place, whence)?)))
            {
                candidate = shorter;
                limit = inside;
            }
        }
        self.search_for_better(limit, &mut candidate, goes_on);
        Some(candidate)
    }

    /// `{"a", "b"}`: a list in braces.
    fn read_set(&mut self, text: &str, place: usize, whence: Whence) -> Option<Candidate> {
        let source = Source::new(text, End::Final);
        source.quote_at(source.peek_space(place + 1))?;
        let text = visible(text, (place + MAX_SEARCHED / 2).min(text.len()));
        let best = explain(text, place, self.options, self.shapes, &mut self.states_left).into_iter().next()?;
        let is_list = matches!(best.mended.tree.kind(best.mended.root), Kind::List(children) if children.count > 1)
            && text.get(..best.end).is_some_and(|read| read.ends_with('}'));
        let content = Content::Mended(Box::new(best.mended));
        is_list.then(|| Candidate { content, others: Vec::new(), span: place..best.end, whence })
    }

    /// Replaces a doubtful reading by the cheapest one.
    fn search_for_better(&mut self, text: &str, candidate: &mut Candidate, goes_on: bool) {
        let Range { start, end } = candidate.span;
        let Content::Mended(mended) = &candidate.content else { return };
        let is_wanted = self.shapes.is_some() || goes_on || mended.is_doubtful(text);
        if !is_wanted || end - start > MAX_SEARCHED || self.states_left == 0 {
            return;
        }
        let text = visible(text, end);
        let mut readings = explain(text, start, self.options, self.shapes, &mut self.states_left).into_iter();
        let Some(best) = readings.next() else { return };
        let is_tied = |other: &Explained| other.extra == 0;
        let mut others: Vec<Explained> = readings.collect();
        let ambiguous = others.first().is_some_and(is_tied);
        candidate.span.end = best.end.max(start + 1);
        let mut mended = best.mended;
        if ambiguous {
            mended.noted.push(Noted { kind: RepairKind::Ambiguous, node: None, span: candidate.span.clone() });
        }
        candidate.content = Content::Mended(Box::new(mended));
        candidate.others = others.drain(..).map(|other| other.mended).collect();
    }

    /// Whether an object goes on though it was closed.
    fn goes_on(&self, end: usize) -> bool {
        let source = Source::new(self.text, End::Final);
        let comma = source.peek_space(end);
        let next = source.peek_space(comma + 1);
        let key =
            source.at(comma) == b',' && source.quote_at(next).is_some() && key_like(&source, next) == KeyLike::Yes;
        key || is_closed_twice(&source, comma)
    }

    fn mend(&mut self, text: &str, place: usize, whence: Whence) -> Option<Candidate> {
        let source = Source::new(text, End::Final);
        let mut parser = Parser::new(place, Place::Top);
        let end = match parser.run(&source, self.options) {
            Outcome::Done(end) => end,
            Outcome::TooDeep => {
                self.found.too_deep = true;
                return None;
            }
            Outcome::More => return None,
        };
        self.budget = self.budget.saturating_sub(end - place);
        let root = parser.root?;
        let mended = Mended { tree: parser.tree, root, noted: parser.noted };
        let in_prose = self.first_word < place && whence != Whence::Fence;
        if is_junk(&mended.tree, root, &mended.noted, in_prose) {
            return if in_prose { None } else { self.read_set(text, place, whence) };
        }
        let content = Content::Mended(Box::new(mended));
        Some(Candidate { content, others: Vec::new(), span: place..end, whence })
    }
}

/// Whether more brackets are closed behind a comma or closer than are opened.
fn is_closed_twice(source: &Source<'_>, place: usize) -> bool {
    if !matches!(source.at(place), b',' | b'}' | b']') || source.len() - place > MAX_SEARCHED {
        return false;
    }
    let rest = source.slice(place, source.len());
    let rest = rest.split("```").next().unwrap_or_default();
    let (mut depth, mut is_quoted, mut last) = (0_i32, false, 0);
    for byte in rest.bytes() {
        match byte {
            b'"' if last != b'\\' => is_quoted = !is_quoted,
            b'{' | b'[' if !is_quoted => depth += 1,
            b'}' | b']' if !is_quoted => depth -= 1,
            _ => {}
        }
        if depth < 0 && byte != rest.as_bytes().first().copied().unwrap_or_default() {
            return true;
        }
        last = byte;
    }
    depth < 0 && source.at(place) == b','
}

/// Whether what was read is no value after all, but a bracket in a sentence.
pub(crate) fn is_bracket_in_prose(parser: &Parser, in_prose: bool) -> bool {
    parser.root.is_some_and(|root| is_junk(&parser.tree, root, &parser.noted, in_prose))
}

fn is_junk(tree: &Tree, root: Id, noted: &[Noted], in_prose: bool) -> bool {
    let first_noted = noted.first().map(|noted| noted.kind);
    let noted = |kind: RepairKind| noted.iter().any(|noted| noted.kind == kind);
    let cut = noted(RepairKind::Truncated);
    match tree.kind(root) {
        Kind::Object(children) if children.count == 0 => noted(RepairKind::Dropped) || (cut && in_prose),
        Kind::Object(_) if cut => {
            // A brace in a sentence takes the rest of the text for its keys.
            let first = tree.children(root).next().and_then(|id| tree.get(id));
            let bare = matches!(first_noted, Some(RepairKind::Bare | RepairKind::Dropped));
            bare && first.and_then(|node| node.key.as_deref()).is_some_and(|key| key.contains(char::is_whitespace))
        }
        Kind::List(children) if children.count == 0 => in_prose && (cut || noted(RepairKind::Dropped)),
        Kind::List(_) if in_prose => tree.children(root).all(|item| {
            let node = tree.get(item);
            node.is_some_and(|node| node.notation == Notation::Bare && matches!(node.kind, Kind::Text(_)))
        }),
        Kind::List(_) | Kind::Object(_) | Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => false,
    }
}

/// The blocks of thinking. A closing tag without an opening one ends a block that began with the text; an opening tag
/// without a closing one begins a block that ends with it.
fn thinking(text: &str) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut place = 0;
    while let Some(offset) = text.get(place..).and_then(|rest| rest.find('<')) {
        place += offset;
        let rest = text.get(place + 1..).unwrap_or_default();
        let closing = rest.starts_with('/');
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let tag = THINKING.iter().find(|tag| {
            name.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
                && name.get(tag.len()..).is_some_and(|rest| rest.starts_with('>'))
        });
        if let Some(tag) = tag {
            let behind = place + 2 + usize::from(closing) + tag.len();
            match (closing, open) {
                (false, None) => open = Some(place),
                (true, Some(start)) => {
                    blocks.push(start..behind);
                    open = None;
                }
                (true, None) if blocks.is_empty() => blocks.push(0..behind),
                (false, Some(_)) | (true, None) => {}
            }
        }
        place += 1;
    }
    if let Some(start) = open {
        blocks.push(start..text.len());
    }
    blocks
}

/// Reads a text that holds neither list nor object: a number, a literal, a text, or several of them.
pub(crate) fn find_scalar(text: &str, found: &Found, options: &Options) -> Option<Candidate> {
    let outside = found.thinking.last().map_or(0, |block| block.end);
    let (start, end) = unfenced(text, outside);
    let inner = text.get(..end)?;
    let source = Source::new(inner, End::Final);
    let start = source.skip_space(start);
    if inner.get(start..)?.trim().is_empty() || inner.get(start..)?.starts_with(['{', '[', '}', ']']) {
        return None;
    }
    let mut parser = Parser::new(start, Place::Top);
    let Outcome::Done(mut behind) = parser.run(&source, options) else { return None };
    if separated(&source, behind) {
        parser = Parser::of_list(start);
        let Outcome::Done(all) = parser.run(&source, options) else { return None };
        behind = all;
        parser.noted.retain(|noted| noted.kind != RepairKind::Truncated);
        parser.note(RepairKind::SeveralValues, parser.root, start..all);
    }
    let mended = Mended { tree: parser.tree, root: parser.root?, noted: parser.noted };
    let fine = rest_is_noise(&source, behind) && scalar_is_sound(&mended, inner.get(start..)?, options);
    let whence = if end < text.len() { Whence::Fence } else { Whence::Plain };
    let content = Content::Mended(Box::new(mended));
    fine.then(|| Candidate { content, others: Vec::new(), span: start..behind, whence })
}

/// The JSON text that a text is: as a whole, behind the thinking, or inside a fence.
pub(crate) fn find_quoted(text: &str, thinking: &[Range<usize>]) -> Option<Candidate> {
    // Tags of thinking may stand in the text, too, and so may backticks.
    let starts = [0, thinking.last().map_or(0, |block| block.end)];
    let plain = starts.into_iter().find_map(|start| quoted_at(text, start..text.len(), Whence::Plain));
    plain.or_else(|| {
        starts.into_iter().find_map(|start| {
            let start = fence_inside(text, start)?;
            let end = text.rfind("```").filter(|end| *end >= start).unwrap_or(text.len());
            quoted_at(text, start..end, Whence::Fence)
        })
    })
}

fn quoted_at(text: &str, place: Range<usize>, whence: Whence) -> Option<Candidate> {
    let inner = text.get(place.clone())?;
    let quoted = inner.trim();
    if quoted.len() < 2 || !quoted.starts_with('"') || !quoted.ends_with('"') {
        return None;
    }
    let start = place.start + inner.len() - inner.trim_start().len();
    match strict::read(quoted) {
        Strict::Value(value @ Value::String(_), length) if length == quoted.len() => {
            let span = start..start + length;
            Some(Candidate { content: Content::Strict(value), others: Vec::new(), span, whence })
        }
        Strict::Value(..) | Strict::Cut | Strict::No => None,
    }
}

/// The inside of the last fence, or everything.
fn unfenced(text: &str, from: usize) -> (usize, usize) {
    let inside = fence_inside(text, from).and_then(|start| Some((start, start + text.get(start..)?.find("```")?)));
    inside.unwrap_or((from, text.len()))
}

/// Behind the line of the first fence.
fn fence_inside(text: &str, from: usize) -> Option<usize> {
    let open = from + text.get(from..)?.find("```")?;
    let fence = text.get(open..)?;
    let ticks = fence.len() - fence.trim_start_matches('`').len();
    Some(fence.get(ticks..).and_then(|line| line.find('\n')).map_or(open + ticks, |line| open + ticks + line + 1))
}

/// Whether another value follows, behind a comma or on a line of its own.
fn separated(source: &Source<'_>, place: usize) -> bool {
    let next = source.skip_space(place);
    if source.is_end(next) {
        return false;
    }
    match source.at(next) {
        b',' => !source.is_end(source.skip_space(next + 1)),
        b'/' if source.is_comment(next) => false,
        _ => source.slice(place, next).contains('\n'),
    }
}

fn rest_is_noise(source: &Source<'_>, place: usize) -> bool {
    let rest = source.slice(place, source.len()).trim();
    rest.starts_with("/*")
        || rest.starts_with("//")
        || rest.trim_matches([',', ';', ')', '`', ' ', '\n', '\\']).is_empty()
}

fn scalar_is_sound(mended: &Mended, text: &str, options: &Options) -> bool {
    let odd = |char: char| char.is_control() && !matches!(char, '\n' | '\r' | '\t' | '\u{8}' | '\u{c}');
    let word_is_sound = |id: Id| {
        let Some(node) = mended.tree.get(id) else { return false };
        match (&node.kind, node.notation) {
            (Kind::Text(word), Notation::Bare) => {
                options.bare_text == BareText::Text
                    && word.contains(char::is_alphanumeric)
                    && (word.starts_with('/') || !word.contains(['{', '}', '[', ']']))
            }
            (Kind::Text(word), Notation::Plain) => {
                !word.contains(odd) && (!word.contains("\\u") || text.contains("\\\\u"))
            }
            (Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Object(_), _) => true,
        }
    };
    match mended.tree.kind(mended.root) {
        Kind::List(children) => {
            let words = mended.tree.children(mended.root).all(|item| {
                let prose = mended.tree.get(item).is_some_and(|node| {
                    node.notation == Notation::Bare && matches!(&node.kind, Kind::Text(word) if word.contains(' '))
                });
                word_is_sound(item) && !prose
            });
            children.count == 0 || words
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Object(_) => word_is_sound(mended.root),
    }
}
