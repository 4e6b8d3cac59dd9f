//! Parses a value: brackets, strings, bare words, or a missing value.

use std::ops::Range;

use super::noise::regex_end;
use super::{Expect, Frame, Outcome, Parser, Shape, Step};
use crate::options::{MissingValue, Options};
use crate::repair::RepairKind;
use crate::salvage::edge::{Around, Edge, Place};
use crate::salvage::source::{Quote, Source, is_word_byte, literal_at};
use crate::salvage::strings::{Scan, Scanned, Tail};
use crate::salvage::words::{classify, word_end};
use crate::tree::{Children, Kind, Node};

impl Parser {
    pub(super) fn value(&mut self, source: &Source<'_>, options: &Options, byte: u8) -> Step {
        let place = self.place;
        match byte {
            b'"' => self.start_text(source, place, options),
            b'{' => self.open(Shape::Object, place, options),
            b'[' => self.open(Shape::List, place, options),
            b'(' if self.opens_paren(source, place) => self.open(Shape::Paren, place, options),
            b'\\' if source.quote_at(place + 1).is_some() => self.start_text(source, place, options),
            b'}' | b']' | b',' | b')' if !self.frames.is_empty() => self.no_value(source, options, byte),
            0 if source.is_end(place) => self.end_of_source(source, options),
            _ if source.quote_at(place).is_some() => self.start_text(source, place, options),
            _ => self.word(source, options),
        }
    }

    pub(super) fn opens_paren(&self, source: &Source<'_>, place: usize) -> bool {
        let next = source.peek_space(place + 1);
        let byte = source.at(next);
        let starts =
            byte.is_ascii_digit() || matches!(byte, b'(' | b'[' | b'{' | b'-') || source.quote_at(next).is_some();
        starts || (byte == b')' && !self.frames.is_empty()) || literal_at(source, next)
    }

    pub(super) fn open(&mut self, shape: Shape, place: usize, options: &Options) -> Step {
        if self.frames.len() >= options.max_depth {
            return Step::Stop(Outcome::TooDeep);
        }
        let kind = match shape {
            Shape::Object => Kind::Object(Children::default()),
            Shape::List | Shape::Paren => Kind::List(Children::default()),
        };
        let mut node = Node::new(kind, place..place + 1);
        node.complete = false;
        let id = self.attach(node);
        *self.open_count(shape) += 1;
        if shape == Shape::Paren {
            self.note(RepairKind::Bracket, Some(id), place..place + 1);
        }
        let expect = if shape == Shape::Object { Expect::Key } else { Expect::Value };
        self.frames.push(Frame { id, shape, expect, key: None, commas: 0 });
        self.place = place + 1;
        Step::Next
    }

    pub(super) fn open_count(&mut self, shape: Shape) -> &mut usize {
        match shape {
            Shape::List => &mut self.lists,
            Shape::Object => &mut self.objects,
            Shape::Paren => &mut self.parens,
        }
    }

    pub(super) fn around(&self) -> Around {
        let place = match self.frames.last() {
            None => self.outside,
            Some(Frame { shape: Shape::Object, expect: Expect::Key, .. }) => Place::Key,
            Some(Frame { shape: Shape::Object, .. }) => Place::Member,
            Some(_) => Place::Item,
        };
        Around { place, lists: self.lists, objects: self.objects, parens: self.parens }
    }

    pub(super) fn start_text(&mut self, source: &Source<'_>, place: usize, options: &Options) -> Step {
        if let Some(step) = self.plain_text(source, place, options) {
            return step;
        }
        let scan = Scan::start(source, place, self.around());
        if source.was_touched() {
            return Step::More;
        }
        self.scan = scan;
        Step::Next
    }

    /// A text without anything special in it, which is what nearly all are: read at once.
    pub(super) fn plain_text(&mut self, source: &Source<'_>, place: usize, options: &Options) -> Option<Step> {
        let end = source.skip_plain(place + 1);
        if source.at(place) != b'"' || source.at(end) != b'"' || end == place + 1 {
            source.was_touched();
            return None;
        }
        let around = self.around();
        let ends = Edge::new(around, Quote::Double).is_end(source, end + 1);
        if source.was_touched() || !ends {
            return None;
        }
        self.place = end + 1;
        let span = place..end + 1;
        let text = source.slice(place + 1, end).to_owned();
        if around.place == Place::Key {
            return Some(self.key_read(text, span, true, options));
        }
        let id = self.attach(Node::new(Kind::Text(text), span));
        self.complete(id);
        Some(Step::Next)
    }

    pub(super) fn scan_on(&mut self, source: &Source<'_>, options: &Options) -> Step {
        let Some(text) = &mut self.scan else { return Step::Next };
        let tail = if options.arriving || self.fuel == 0 { Tail::Open } else { Tail::Closed };
        let Scanned::Ended(ended) = text.advance(source, tail) else { return Step::More };
        let (start, place) = (text.start, text.stands());
        self.fuel = self.fuel.saturating_sub(text.place().saturating_sub(ended.next));
        let repairs = std::mem::take(&mut text.repairs);
        self.scan = None;
        self.place = ended.next;
        let span = start..ended.next;
        if place == Place::Key {
            for kind in repairs {
                self.note(kind, self.frames.last().map(|frame| frame.id), span.clone());
            }
            return self.key_read(ended.text, span, ended.complete, options);
        }
        if let Some(joined) = self.join.take() {
            self.note(RepairKind::Joined, Some(joined), span.clone());
            if let Some(Node { kind: Kind::Text(before), span: whole, .. }) = self.tree.get_mut(joined) {
                before.push_str(&ended.text);
                whole.end = span.end;
            }
            return Step::Next;
        }
        let mut node = Node::new(Kind::Text(ended.text), span.clone());
        node.complete = ended.complete;
        let id = self.attach(node);
        for kind in repairs {
            self.note(kind, Some(id), span.clone());
        }
        if ended.complete {
            self.complete(id);
        } else {
            self.note(RepairKind::Truncated, Some(id), span);
        }
        Step::Next
    }

    pub(super) fn word(&mut self, source: &Source<'_>, options: &Options) -> Step {
        let start = self.place;
        let mut call = start;
        while call < start + 64 && is_word_byte(source.at(call)) && source.at(call) < 0x80 {
            call += 1;
        }
        if call > start && source.at(call) == b'(' && self.opens_paren(source, call) {
            if source.was_touched() {
                return Step::More;
            }
            self.note(RepairKind::Bare, None, start..call);
            self.place = call;
            return Step::Next;
        }
        if source.was_touched() {
            return Step::More;
        }
        let around = self.around();
        let mut end = if source.at(start) == b'/' { regex_end(source, start) } else { None }
            .unwrap_or_else(|| word_end(source, start, around));
        if source.was_touched() {
            return Step::More;
        }
        let raw = source.slice(start, end);
        let word = raw.trim_end().trim_end_matches(',');
        if word.is_empty() {
            // Nothing that could be a word: pass over it, at least one character.
            end = end.max(start + source.char_at(start).map_or(1, char::len_utf8));
            self.note(RepairKind::Dropped, None, start..end);
            self.place = end;
            return if source.is_end(end) && self.frames.is_empty() {
                self.end_of_source(source, options)
            } else {
                Step::Next
            };
        }
        let cut =
            source.is_end(end) || (options.arriving && !source.is_open() && source.is_end(source.skip_space(end)));
        self.place = end;
        if source.quote_at(end).is_some_and(|(quote, _)| quote != Quote::Backtick)
            && !raw.ends_with(char::is_whitespace)
        {
            // A stray quote behind a word.
            self.place = end + source.quote_at(end).map_or(0, |(_, length)| length);
        }
        let span = start..start + word.len();
        if word == "-" {
            return self.lone_minus(options, span);
        }
        let read = classify(word, options, cut);
        let mut node = Node::new(read.kind, span.clone()).bare();
        node.complete = !cut || (self.frames.is_empty() && !source.is_open());
        let id = self.attach(node);
        self.complete(id);
        if let Some(kind) = read.repair {
            self.note(kind, Some(id), span);
        }
        Step::Next
    }

    /// A minus that no digit follows.
    pub(super) fn lone_minus(&mut self, options: &Options, span: Range<usize>) -> Step {
        if options.arriving {
            self.give_up_value(span);
            return Step::Next;
        }
        let id = self.attach(Node::new(Kind::Number(0.into()), span.clone()));
        self.note(RepairKind::MissingValue, Some(id), span);
        Step::Next
    }

    /// A value should stand here and does not.
    pub(super) fn no_value(&mut self, source: &Source<'_>, options: &Options, byte: u8) -> Step {
        let place = self.place;
        let in_object = self.frames.last().is_some_and(|frame| frame.shape == Shape::Object);
        if in_object {
            self.missing(options, place);
            return Step::Next;
        }
        if byte == b',' {
            self.note(RepairKind::Comma, None, place..place + 1);
            self.place = place + 1;
            return Step::Next;
        }
        self.after_item(source, options, byte)
    }

    pub(super) fn missing(&mut self, options: &Options, place: usize) {
        let kind = match options.missing_value {
            MissingValue::Null => Kind::Null,
            MissingValue::Empty => Kind::Text(String::new()),
            MissingValue::Drop => return self.give_up_value(place..place),
        };
        let mut node = Node::new(kind, place..place);
        node.complete = false;
        let id = self.attach(node);
        self.note(RepairKind::MissingValue, Some(id), place..place);
    }

    /// Leaves out the value that should come, and its key.
    pub(super) fn give_up_value(&mut self, span: Range<usize>) {
        let at = self.frames.last_mut().map(|frame| {
            frame.key = None;
            frame.expect = Expect::Comma;
            frame.id
        });
        self.note(RepairKind::Dropped, at, span);
    }
}
