//! Lists: what comes after an item.

use super::noise::comment_end;
use super::{Expect, Frame, Parser, Shape, Step};
use crate::options::Options;
use crate::repair::RepairKind;
use crate::salvage::source::Source;
use crate::salvage::strings::Scan;
use crate::tree::Kind;

impl Parser {
    pub(super) fn after_item(&mut self, source: &Source<'_>, options: &Options, byte: u8) -> Step {
        let place = self.place;
        let shape = self.frames.last().map_or(Shape::List, |frame| frame.shape);
        match byte {
            b',' => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.commas += 1;
                    frame.expect = Expect::Value;
                }
                self.place = place + 1;
                self.note_trailing_comma(source, place);
                source.was_touched();
                Step::Next
            }
            b']' if shape == Shape::List => self.close(place + 1),
            b')' if shape == Shape::Paren => self.close_paren(place),
            b'}' if self.objects > 0 => self.close_missing(place),
            b']' if self.lists > 0 => self.close_missing(place),
            b')' if self.parens > 0 => self.close_missing(place),
            b'}' | b']' | b')' => {
                // The wrong bracket closes, too, where the right one was never opened.
                self.note(RepairKind::Bracket, self.frames.last().map(|frame| frame.id), place..place + 1);
                self.close(place + 1)
            }
            b':' => self.item_to_key(place),
            b'+' if self.starts_join(source) => Step::Next,
            0 if source.is_end(place) => self.end_of_source(source, options),
            b';' => {
                self.place = place + 1;
                Step::Next
            }
            _ => {
                self.note(RepairKind::Comma, self.frames.last().map(|frame| frame.id), place..place);
                self.expect(Expect::Value);
                Step::Next
            }
        }
    }

    /// `["key": 1]`: an object in a list lacks its opening brace.
    pub(super) fn item_to_key(&mut self, place: usize) -> Step {
        let last = self.frames.last().and_then(|frame| self.tree.last_child(frame.id));
        self.place = place + 1;
        let key = last.and_then(|id| Some((id, self.tree.text_to_object(id)?)));
        let Some((id, key)) = key else {
            self.note(RepairKind::Dropped, None, place..place + 1);
            return Step::Next;
        };
        self.note(RepairKind::Bracket, Some(id), place..place);
        self.objects += 1;
        let span = self.tree.get(id).map_or(place..place, |node| node.span.clone());
        self.frames.push(Frame { id, shape: Shape::Object, expect: Expect::Value, key: Some((key, span)), commas: 0 });
        Step::Next
    }

    /// What stands behind a plus, and a comment behind it.
    pub(super) fn behind_plus(source: &Source<'_>, place: usize) -> usize {
        let next = source.peek_space(place + 1);
        if source.is_comment(next) { source.peek_space(comment_end(source, next)) } else { next }
    }

    /// `"a" + "b"`.
    pub(super) fn starts_join(&mut self, source: &Source<'_>) -> bool {
        let last = match self.frames.last() {
            Some(frame) => self.tree.last_child(frame.id),
            None => self.root,
        };
        let next = Self::behind_plus(source, self.place);
        let text = last.filter(|id| matches!(self.tree.kind(*id), Kind::Text(_)));
        if text.is_none() || (source.quote_at(next).is_none() && !source.is_end(next)) {
            return false;
        }
        self.place = next;
        if source.is_end(next) {
            return true;
        }
        self.join = text;
        self.scan = Scan::start(source, next, self.around());
        true
    }

    pub(super) fn close_paren(&mut self, place: usize) -> Step {
        let lone = self.frames.last().is_some_and(|frame| frame.commas == 0 && self.tree.count(frame.id) == 1);
        if let (true, Some(id)) = (lone, self.frames.last().map(|frame| frame.id)) {
            self.tree.unwrap_only(id);
        }
        self.close(place + 1)
    }
}
