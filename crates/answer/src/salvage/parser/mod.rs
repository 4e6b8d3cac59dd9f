//! The tolerant parser of one value: a loop over an explicit stack, one step for each token.
//!
//! Every step looks ahead before it acts, so that an incomplete text is parsed only as far as it is certain.

mod list;
mod noise;
mod object;
mod value;

pub(crate) use noise::{comment_end, fence_end, hash_end};

use std::ops::Range;

use crate::options::Options;
use crate::repair::{MAX_REPAIRS, RepairKind};
use crate::salvage::edge::Place;
use crate::salvage::source::{KeyLike, Source, key_like};
use crate::salvage::strings::Scan;
use crate::tree::{Children, Id, Kind, Node, Tree};

/// What a frame on the stack is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    List,
    Object,
    /// A list in parentheses, or a value alone in them.
    Paren,
}

/// What comes next in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Key,
    Colon,
    Value,
    Comma,
}

#[derive(Clone, Debug)]
struct Frame {
    id: Id,
    shape: Shape,
    expect: Expect,
    key: Option<(String, Range<usize>)>,
    commas: u32,
}

/// The result of parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The value was read; it ends here.
    Done(usize),
    /// More text must come.
    More,
    /// It is nested too deeply.
    TooDeep,
}

/// A repair whose place is a node.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) kind: RepairKind,
    pub(crate) node: Option<Id>,
    pub(crate) span: Range<usize>,
}

/// How many bytes are read again because a quote was missing before them.
const MAX_BACK: usize = 1 << 20;

/// Reads one value.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    pub(crate) tree: Tree,
    pub(crate) root: Option<Id>,
    pub(crate) noted: Vec<Noted>,
    frames: Vec<Frame>,
    scan: Option<Scan>,
    place: usize,
    /// Where the root may stand: `Top`, or `Item` in a list without brackets.
    outside: Place,
    /// Steps back that are left. A bound keeps the whole reading linear.
    fuel: usize,
    /// An open text shorter than this is not worth another try.
    retry: usize,
    lists: usize,
    objects: usize,
    parens: usize,
    /// The text that the next one is joined to.
    join: Option<Id>,
    /// A text that a colon may make a key, or a plus the first part of a longer one.
    pending: Option<Id>,
    /// Nodes in the order in which they were completed.
    pub(crate) completed: Vec<Id>,
}

/// The result of a step.
enum Step {
    Next,
    More,
    Stop(Outcome),
}

impl Parser {
    pub(crate) fn new(place: usize, outside: Place) -> Self {
        Self {
            tree: Tree::default(),
            root: None,
            noted: Vec::new(),
            frames: Vec::new(),
            scan: None,
            place,
            outside,
            fuel: MAX_BACK,
            retry: 0,
            lists: 0,
            objects: 0,
            parens: 0,
            join: None,
            pending: None,
            completed: Vec::new(),
        }
    }

    /// A parser of a list that has no brackets.
    pub(crate) fn of_list(place: usize) -> Self {
        let mut parser = Self::new(place, Place::Item);
        let id = parser.tree.push(Node::new(Kind::List(Children::default()), place..place));
        parser.root = Some(id);
        parser.frames.push(Frame { id, shape: Shape::List, expect: Expect::Value, key: None, commas: 0 });
        parser
    }

    /// The text that is being read, and the key it will have, if it is no key itself.
    pub(crate) fn open_text(&self) -> Option<(Option<Id>, Option<&str>, &str)> {
        let scan = self.scan.as_ref().filter(|scan| scan.stands() != Place::Key && self.join.is_none())?;
        let frame = self.frames.last();
        Some((
            frame.map(|frame| frame.id),
            frame.and_then(|frame| frame.key.as_ref()).map(|key| key.0.as_str()),
            &scan.text,
        ))
    }

    /// Where the text starts that is being read.
    pub(crate) fn open_start(&self) -> usize {
        self.scan.as_ref().map_or(0, |scan| scan.start)
    }

    /// Reads on.
    pub(crate) fn run(&mut self, source: &Source<'_>, options: &Options) -> Outcome {
        if source.is_open() && source.len() < self.retry {
            return Outcome::More;
        }
        loop {
            match self.step(source, options) {
                Step::Next => {}
                Step::Stop(outcome) => return outcome,
                Step::More => {
                    // Whatever was looked at is looked at again: not before there is much more of it.
                    let seen = source.len().saturating_sub(self.place);
                    self.retry = if self.scan.is_none() && seen > 1024 { source.len() + seen } else { 0 };
                    return Outcome::More;
                }
            }
        }
    }

    /// A copy that has read on, where reading was put off until there is more.
    pub(crate) fn catch_up(&self, source: &Source<'_>, options: &Options) -> Option<Self> {
        (source.len() < self.retry).then(|| {
            let mut copy = Self { retry: 0, ..self.clone() };
            copy.run(source, options);
            copy
        })
    }

    fn step(&mut self, source: &Source<'_>, options: &Options) -> Step {
        if self.scan.is_some() {
            return self.scan_on(source, options);
        }
        let place = match source.at(self.place) {
            // Nothing to skip before what most often stands there.
            b'"' | b',' | b':' | b'{' | b'}' | b'[' | b']' | b'0'..=b'9' | b'a'..=b'z' => self.place,
            _ => self.skip(source, self.place, options),
        };
        let byte = source.at(place);
        self.look_ahead(source, byte, place);
        if source.was_touched() {
            return Step::More;
        }
        self.place = place;
        self.settle_pending(byte);
        match self.frames.last().map(|frame| (frame.shape, frame.expect)) {
            None if self.root.is_none() => self.value(source, options, byte),
            None => self.after_root(source, byte),
            Some((Shape::Object, Expect::Key)) => self.key(source, options, byte),
            Some((Shape::Object, Expect::Colon)) => self.colon(source, options, byte),
            Some((_, Expect::Value)) => self.value(source, options, byte),
            Some((Shape::Object, Expect::Comma)) => self.after_member(source, options, byte),
            Some(_) => self.after_item(source, options, byte),
        }
    }

    /// A scalar was read to its end. A text may still turn out to be a key or the first part of a longer text.
    fn complete(&mut self, id: Id) {
        if matches!(self.tree.kind(id), Kind::Text(_)) {
            self.pending = Some(id);
        } else {
            self.completed.push(id);
        }
    }

    /// What stands behind a text says whether the text is complete.
    fn settle_pending(&mut self, byte: u8) {
        if byte == b'+' {
            return;
        }
        let in_list = self.frames.last().is_some_and(|frame| frame.shape != Shape::Object);
        self.completed.extend(self.pending.take().filter(|_| !(in_list && byte == b':')));
    }

    /// Whether a node was read to its end.
    pub(crate) fn is_complete(&self, id: Id) -> bool {
        self.pending != Some(id) && self.tree.get(id).is_some_and(|node| node.complete)
    }

    fn attach(&mut self, mut node: Node) -> Id {
        let Some(frame) = self.frames.last_mut() else {
            let id = self.tree.push(node);
            self.root = Some(id);
            return id;
        };
        frame.expect = Expect::Comma;
        node.key = frame.key.take().map(|key| key.0);
        let parent = frame.id;
        self.tree.append(parent, node)
    }

    fn close(&mut self, next: usize) -> Step {
        self.place = next;
        if let Some(frame) = self.frames.pop() {
            *self.open_count(frame.shape) = self.open_count(frame.shape).saturating_sub(1);
            if let Some(node) = self.tree.get_mut(frame.id) {
                node.complete = true;
                node.span.end = next;
            }
            self.completed.push(frame.id);
        }
        Step::Next
    }

    /// A bracket that closes something further out stands here: this one is missing.
    fn close_missing(&mut self, place: usize) -> Step {
        self.note(RepairKind::Bracket, self.frames.last().map(|frame| frame.id), place..place);
        self.close(place)
    }

    /// The root is read; a second part of it may follow.
    fn after_root(&mut self, source: &Source<'_>, byte: u8) -> Step {
        let place = self.place;
        if byte == b'+' && self.starts_join(source) {
            return Step::Next;
        }
        let object = self.root.filter(|root| matches!(self.tree.kind(*root), Kind::Object(_)));
        if let (b',', Some(id)) = (byte, object) {
            let next = source.peek_space(place + 1);
            let goes_on = source.quote_at(next).is_some() && key_like(source, next) == KeyLike::Yes;
            if source.was_touched() {
                return Step::More;
            }
            if goes_on && self.tree.count(id) > 0 {
                self.note(RepairKind::Bracket, Some(id), place..place);
                self.objects += 1;
                if let Some(node) = self.tree.get_mut(id) {
                    node.complete = false;
                }
                self.frames.push(Frame { id, shape: Shape::Object, expect: Expect::Key, key: None, commas: 0 });
                self.place = place + 1;
                return Step::Next;
            }
        }
        Step::Stop(Outcome::Done(self.root_end()))
    }

    fn root_end(&self) -> usize {
        self.root.and_then(|root| self.tree.get(root)).map_or(self.place, |node| node.span.end)
    }

    /// The source ends inside the value.
    fn end_of_source(&mut self, source: &Source<'_>, options: &Options) -> Step {
        let end = source.len();
        let waiting = self.frames.last().and_then(|frame| Some((frame.id, frame.key.as_ref()?.0.as_str())));
        let twice = waiting.is_some_and(|(id, key)| {
            self.tree.children(id).any(|child| self.tree.get(child).and_then(|node| node.key.as_deref()) == Some(key))
        });
        if twice {
            self.give_up_value(end..end);
        } else if waiting.is_some() {
            self.missing(options, end);
        }
        if !self.frames.is_empty() {
            self.note(RepairKind::Truncated, self.frames.last().map(|frame| frame.id), end..end);
        }
        while let Some(frame) = self.frames.pop() {
            if let Some(node) = self.tree.get_mut(frame.id) {
                node.span.end = end;
            }
        }
        Step::Stop(Outcome::Done(end))
    }

    /// Looks at all that the meaning of a byte depends on, so that an open text is not read before it is there.
    fn look_ahead(&self, source: &Source<'_>, byte: u8, place: usize) {
        match byte {
            b'(' => {
                self.opens_paren(source, place);
            }
            b'=' => {
                source.at(place + 1);
            }
            b'\\' => {
                source.quote_at(place + 1);
            }
            b'+' => {
                let next = Self::behind_plus(source, place);
                source.starts_with(next, "\"\"\"");
                source.is_fence(next);
            }
            _ => {}
        }
    }

    pub(crate) fn note(&mut self, kind: RepairKind, node: Option<Id>, span: Range<usize>) {
        // That the text was cut is always said.
        if self.noted.len() < MAX_REPAIRS || kind == RepairKind::Truncated {
            self.noted.push(Noted { kind, node, span });
        }
    }
}
