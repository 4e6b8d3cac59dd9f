//! Objects: keys, colons, and what comes after a member.

use std::ops::Range;

use super::{Expect, Frame, Parser, Shape, Step};
use crate::options::{CutKey, Options};
use crate::repair::RepairKind;
use crate::salvage::source::{KeyLike, Source, is_word_byte, key_like};
use crate::tree::Kind;

impl Parser {
    pub(super) fn key(&mut self, source: &Source<'_>, options: &Options, byte: u8) -> Step {
        let place = self.place;
        match byte {
            b'"' => self.start_text(source, place, options),
            b'}' => self.close(place + 1),
            b']' if self.lists > 0 => self.close_missing(place),
            b')' if self.parens > 0 => self.close_missing(place),
            b',' | b';' | b']' | b')' => {
                self.note(if byte == b',' { RepairKind::Comma } else { RepairKind::Bracket }, None, place..place + 1);
                self.place = place + 1;
                Step::Next
            }
            b'[' if self.reopens_list() => self.reopen_list(place),
            b'{' if self.parent_is_list() && self.has_members() => self.close_missing(place),
            b'{' | b'[' | b':' => {
                self.note(RepairKind::Dropped, self.frames.last().map(|frame| frame.id), place..place + 1);
                self.place = place + 1;
                Step::Next
            }
            b'\\' if source.quote_at(place + 1).is_some() => self.start_text(source, place, options),
            0 if source.is_end(place) => self.end_of_source(source, options),
            _ if source.quote_at(place).is_some() => self.start_text(source, place, options),
            _ => self.bare_key(source, options),
        }
    }

    /// `"key": ["a"], ["b"]`: a list goes on after it was closed.
    pub(super) fn reopens_list(&self) -> bool {
        let last = self.frames.last().and_then(|frame| self.tree.last_child(frame.id));
        last.is_some_and(|id| matches!(self.tree.kind(id), Kind::List(_)))
    }

    pub(super) fn reopen_list(&mut self, place: usize) -> Step {
        let Some(id) = self.frames.last().and_then(|frame| self.tree.last_child(frame.id)) else { return Step::Next };
        self.note(RepairKind::Joined, Some(id), place..place + 1);
        if let Some(frame) = self.frames.last_mut() {
            frame.expect = Expect::Comma;
        }
        self.lists += 1;
        self.frames.push(Frame { id, shape: Shape::List, expect: Expect::Value, key: None, commas: 0 });
        self.place = place + 1;
        Step::Next
    }

    pub(super) fn parent_is_list(&self) -> bool {
        self.frames.iter().rev().nth(1).is_some_and(|frame| frame.shape == Shape::List)
    }

    pub(super) fn has_members(&self) -> bool {
        self.frames.last().is_some_and(|frame| self.tree.count(frame.id) > 0)
    }

    pub(super) fn bare_key(&mut self, source: &Source<'_>, options: &Options) -> Step {
        let start = self.place;
        let mut end = start;
        while !source.is_end(end) {
            let byte = source.at(end);
            let ends = matches!(byte, b':' | b',' | b'}' | b'{' | b'[' | b']' | b'\n' | b'=')
                || (matches!(byte, b'"' | b'\'' | 0xe2) && source.quote_at(end).is_some())
                || source.is_fence(end);
            if ends {
                break;
            }
            end += 1;
        }
        let raw = source.slice(start, end);
        let key = raw.trim_end();
        let stray = source.quote_at(end).filter(|_| raw.len() == key.len()).map_or(0, |(_, length)| length);
        let next = source.peek_space(end);
        let behind = source.peek_space(end + stray);
        let byte = source.at(next);
        let has_colon = source.at(behind) == b':' && stray > 0 || matches!(byte, b':' | b'=');
        let quoted = source.quote_at(next).is_some();
        let key_follows = quoted && key_like(source, next) == KeyLike::Yes;
        if source.was_touched() {
            return Step::More;
        }
        let span = start..start + key.len();
        if has_colon || (quoted && !key_follows && !key.contains(char::is_whitespace) && !key.is_empty()) {
            self.note(RepairKind::Bare, self.frames.last().map(|frame| frame.id), span.clone());
            self.place = if source.at(behind) == b':' && stray > 0 { end + stray } else { end };
            return self.key_read(key.to_owned(), span, true, options);
        }
        if source.is_end(end) && self.keeps_cut_key(options) && is_name(key) {
            self.place = end;
            return self.key_read(key.to_owned(), span, false, options);
        }
        // Words between members belong to nobody.
        let end = if end == start { start + source.char_at(start).map_or(1, char::len_utf8) } else { end };
        self.note(RepairKind::Dropped, self.frames.last().map(|frame| frame.id), start..end);
        self.place = end;
        Step::Next
    }

    /// Whether a key at which the source ends is one.
    fn keeps_cut_key(&self, options: &Options) -> bool {
        match options.cut_key {
            CutKey::Keep => true,
            CutKey::Drop => false,
            CutKey::KeepOnly => self.frames.len() == 1 && !self.has_members(),
        }
    }

    pub(super) fn key_read(&mut self, key: String, span: Range<usize>, complete: bool, options: &Options) -> Step {
        if !complete && !self.keeps_cut_key(options) {
            // The rest of the key did not come: nobody knows which one it is.
            self.note(RepairKind::Truncated, self.frames.last().map(|frame| frame.id), span);
            return Step::Next;
        }
        let key = if complete { key } else { key.trim_end().to_owned() };
        if let Some(frame) = self.frames.last_mut() {
            frame.key = Some((key, span));
            frame.expect = Expect::Colon;
        }
        Step::Next
    }

    pub(super) fn colon(&mut self, source: &Source<'_>, options: &Options, byte: u8) -> Step {
        let place = self.place;
        let id = self.frames.last().map(|frame| frame.id);
        let mut expect = Expect::Value;
        match byte {
            b':' => self.place = place + 1,
            b'=' => {
                self.note(RepairKind::Colon, id, place..place + 1);
                self.place = place + 1 + usize::from(source.at(place + 1) == b'>');
            }
            0 if source.is_end(place) => return self.end_of_source(source, options),
            b',' | b'}' | b']' => {
                // A key alone is no member.
                let span =
                    self.frames.last().and_then(|frame| frame.key.as_ref()).map_or(place..place, |key| key.1.clone());
                self.note(RepairKind::Dropped, id, span);
                expect = Expect::Comma;
            }
            _ => self.note(RepairKind::Colon, id, place..place),
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.expect = expect;
            if expect == Expect::Comma {
                frame.key = None;
            }
        }
        Step::Next
    }

    pub(super) fn after_member(&mut self, source: &Source<'_>, options: &Options, byte: u8) -> Step {
        let place = self.place;
        match byte {
            b',' => {
                self.expect(Expect::Key);
                self.place = place + 1;
                self.note_trailing_comma(source, place);
                // Only a note depends on what was looked at.
                source.was_touched();
                Step::Next
            }
            b'}' => self.close(place + 1),
            b'+' if self.starts_join(source) => Step::Next,
            0 if source.is_end(place) => self.end_of_source(source, options),
            b']' if self.lists > 0 => self.close_missing(place),
            b'{' if self.parent_is_list() => self.close_missing(place),
            _ => {
                if byte == b';' || byte == b')' {
                    self.place = place + 1;
                } else if source.quote_at(place).is_some() || is_word_byte(byte) {
                    self.note(RepairKind::Comma, self.frames.last().map(|frame| frame.id), place..place);
                }
                self.expect(Expect::Key);
                Step::Next
            }
        }
    }

    pub(super) fn note_trailing_comma(&mut self, source: &Source<'_>, place: usize) {
        if matches!(source.at(source.peek_space(place + 1)), b'}' | b']') {
            self.note(RepairKind::Comma, self.frames.last().map(|frame| frame.id), place..place + 1);
        }
    }

    pub(super) fn expect(&mut self, expect: Expect) {
        if let Some(frame) = self.frames.last_mut() {
            frame.expect = expect;
        }
    }
}

fn is_name(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(is_word_byte)
}
