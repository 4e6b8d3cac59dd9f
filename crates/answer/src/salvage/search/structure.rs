//! Steps between values: brackets, commas, colons, and what stands between them.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::guide::SetId;
use super::{
    BareScan, Container, Event, Frame, FrameId, Habit, KeyNode, Last, Mode, NONE, Role, Search, State, Style, TextScan,
    cost,
};
use crate::options::{Ellipsis, MissingValue};
use crate::repair::RepairKind;
use crate::salvage::parser::{comment_end, fence_end, hash_end};
use crate::salvage::source::{KeyLike, Quote, is_word_byte, key_like};
use crate::shape::Types;

impl Search<'_> {
    pub(super) fn expand(&mut self, mut state: State) {
        match state.mode {
            Mode::Text(scan) => return self.scan_text(state, scan),
            Mode::Bare(scan) => return self.scan_bare(state, scan),
            Mode::End => return self.finish(state),
            Mode::Value | Mode::Key | Mode::Colon | Mode::After => {}
        }
        self.skip(&mut state);
        match state.mode {
            Mode::Value => self.value(state),
            Mode::Key => self.key(state),
            Mode::Colon => self.colon(state),
            Mode::After => self.after(state),
            Mode::End | Mode::Text(_) | Mode::Bare(_) => {}
        }
    }

    /// Passes white space, comments, fences and ellipses.
    fn skip(&mut self, state: &mut State) {
        loop {
            let place = self.source.skip_space(state.place);
            state.place = place;
            let is_inside = state.frame.0 != NONE;
            let drops_ellipsis = self.options.ellipsis == Ellipsis::Drop && is_inside;
            let (kind, end, cost) = match self.source.at(place) {
                b'/' if self.source.is_comment(place) => {
                    (RepairKind::Comment, comment_end(&self.source, place), cost::COMMENT)
                }
                b'#' if is_inside => (RepairKind::Comment, hash_end(&self.source, place), cost::COMMENT),
                b'\\' if is_inside && matches!(self.source.at(place + 1), b'n' | b'r' | b't') => {
                    (RepairKind::Escape, place + 2, cost::COMMENT)
                }
                b'`' if is_inside && self.source.is_fence(place) && state.mode != Mode::Value => {
                    (RepairKind::Fence, fence_end(&self.source, place), cost::COMMENT)
                }
                b'.' if drops_ellipsis && self.is_ellipsis(place) => (RepairKind::Ellipsis, place + 3, cost::ELLIPSIS),
                0xe2 if drops_ellipsis && self.source.starts_with(place, "…") => {
                    (RepairKind::Ellipsis, place + 3, cost::ELLIPSIS)
                }
                _ => return,
            };
            self.note(state, kind, place..end, cost);
            state.place = end;
        }
    }

    fn is_ellipsis(&self, place: usize) -> bool {
        self.source.starts_with(place, "...") && {
            let next = self.source.peek_space(place + 3);
            matches!(self.source.at(next), b',' | b']' | b'}' | b')' | b'/' | b'"') || self.source.is_end(next)
        }
    }

    fn value(&mut self, mut state: State) {
        let place = state.place;
        let byte = self.source.at(place);
        match byte {
            0 if self.source.is_end(place) => self.end_of_text(state),
            b'{' => {
                let next = self.source.at(self.source.peek_space(place + 1));
                if next == b'"' || next == b'\'' || next.is_ascii_digit() {
                    self.open(state, Container::Set, cost::SET);
                }
                self.open(state, Container::Object, 0);
            }
            b'[' => self.open(state, Container::List, 0),
            b'(' => self.open(state, Container::Paren, cost::PARENTHESES),
            b'}' | b']' | b',' | b')' | b';' if state.frame.0 != NONE => self.no_value(state, byte),
            b':' => {
                self.note(&mut state, RepairKind::Colon, place..place + 1, cost::JUNK);
                state.place = place + 1;
                self.push(state);
            }
            _ => {
                self.open_text(state, Role::Value);
                let is_quote = self.source.quote_at(place).is_some();
                let is_escaped_quote = byte == b'\\' && self.source.quote_at(place + 1).is_some();
                if !is_quote && !is_escaped_quote {
                    self.call(state);
                    state.mode = Mode::Bare(BareScan { start: place });
                    self.push(state);
                }
            }
        }
    }

    /// `dict(a)`: the name of a call in front of its parentheses.
    fn call(&mut self, mut state: State) {
        let start = state.place;
        let mut end = start;
        while end < start + 64 && self.source.at(end) < 0x80 && is_word_byte(self.source.at(end)) {
            end += 1;
        }
        if end > start && self.source.at(end) == b'(' {
            self.note(&mut state, RepairKind::Bare, start..end, cost::CALL);
            state.place = end;
            self.push(state);
        }
    }

    /// A string may start here, in one style or several.
    pub(super) fn open_text(&mut self, state: State, role: Role) {
        let place = state.place;
        let is_escaped = self.source.at(place) == b'\\';
        let open = place + usize::from(is_escaped);
        let Some((quote, length)) = self.source.quote_at(open) else { return };
        let mut start = |style: Style, from: usize, cost: u32| {
            let scan = TextScan { start: place, from, quote, style, role, inner: 0 };
            self.push(State { place: from, mode: Mode::Text(scan), cost: state.cost + cost, ..state });
        };
        let mut state = state;
        if quote != Quote::Double {
            state.charge(Habit::Quotes, cost::OTHER_QUOTE);
        }
        if is_escaped {
            start(Style::Escaped, open + length, cost::ESCAPED_QUOTE);
            return;
        }
        let same = |at: usize| self.source.quote_at(at) == Some((quote, length));
        let second = same(open + length);
        let third = second && length == 1 && same(open + 2 * length);
        let word_behind = is_word_byte(self.source.at(open + 2 * length));
        let mut thrice = open + 3;
        if third {
            if quote == Quote::Backtick {
                thrice = self.source.peek_line(thrice).unwrap_or(thrice);
            }
            if self.source.at(thrice) == b'\n' {
                thrice += 1;
            }
        }
        let mut start = |style: Style, from: usize, cost: u32| {
            let scan = TextScan { start: place, from, quote, style, role, inner: 0 };
            self.push(State { place: from, mode: Mode::Text(scan), cost: state.cost + cost, ..state });
        };
        if second && !third && word_behind {
            start(Style::Twice, open + 2 * length, cost::REPEATED_QUOTE);
        }
        if third {
            start(Style::Thrice, thrice, cost::REPEATED_QUOTE);
        } else {
            start(Style::Once, open + length, 0);
        }
    }

    fn open(&mut self, mut state: State, container: Container, cost: u32) {
        let place = state.place;
        let depth = self.frame(state.frame).map_or(0, |frame| frame.depth) + 1;
        if depth > self.options.max_depth {
            return;
        }
        let (types, mode) = match container {
            Container::Object => (Types::OBJECT, Mode::Key),
            Container::List | Container::Set | Container::Paren => (Types::ARRAY, Mode::Value),
        };
        let shapes = state.child;
        state.cost += cost + if container == Container::Paren { 0 } else { self.guide.container_cost(shapes, types) };
        if cost > 0 {
            self.note(&mut state, RepairKind::Bracket, place..place + 1, 0);
        }
        self.add(&mut state, Event::Open(container, place));
        state.child = match container {
            Container::Object => SetId::ANY,
            Container::List | Container::Set => self.guide.item(shapes),
            Container::Paren => shapes,
        };
        state.frame = self.push_frame(state.frame, container, shapes, NONE, depth);
        state.place = place + 1;
        state.mode = mode;
        state.comma = false;
        state.last = Last::None;
        self.push(state);
    }

    fn push_frame(&mut self, parent: FrameId, container: Container, shapes: SetId, keys: u32, depth: usize) -> FrameId {
        let above = self.frame(parent).map_or(0, |frame| frame.hash);
        let hash = FixedState::default().hash_one((above, container, shapes));
        let id = FrameId(u32::try_from(self.frames.len()).unwrap_or(NONE));
        self.frames.push(Frame { parent, container, shapes, keys, has_foreign: false, is_implied: false, hash, depth });
        id
    }

    /// Whether the object of a state has a key.
    pub(super) fn has_key(&self, frame: FrameId, key: &str) -> bool {
        let mut at = self.frame(frame).map_or(NONE, |frame| frame.keys);
        while let Some(node) = self.keys.get(at as usize) {
            if node.key == key {
                return true;
            }
            at = node.before;
        }
        false
    }

    /// Whether an object further out declares a key and lacks it.
    fn is_declared_around(&self, frame: &Frame, key: &str) -> bool {
        let mut at = frame.parent;
        while let Some(outer) = self.frame(at) {
            if outer.container == Container::Object && self.guide.declares(outer.shapes, key) && !self.has_key(at, key)
            {
                return true;
            }
            at = outer.parent;
        }
        false
    }

    /// The list or object that was just opened lacks its closer.
    fn close_empty(&mut self, mut state: State) {
        let place = state.place;
        if self.frame(state.frame).is_some_and(|frame| frame.depth > 1) {
            self.note(&mut state, RepairKind::Bracket, place..place, cost::MISSING_CLOSER_OF_EMPTY);
            if let Some(closed) = self.close(state, place, true) {
                self.push(closed);
            }
        }
    }

    /// A key was read.
    pub(super) fn key_read(&mut self, mut state: State, key: String, event: Event) {
        let Some(frame) = self.frame(state.frame).cloned() else { return };
        if self.has_key(state.frame, &key) {
            state.cost += cost::REPEATED_KEY;
        }
        let is_clean =
            matches!(event, Event::Key { written: Some(written), .. } if written.inner == 0 && !written.lacks_quote);
        let is_strange = !is_clean
            && (key.is_empty() || key.len() > 80 || key.contains(['\n', '{', '}', '"']) || key.contains(": "));
        let member = self.guide.member(frame.shapes, &key);
        let is_foreign = !frame.has_foreign && !member.is_declared && self.is_declared_around(&frame, &key);
        state.cost += member.cost + if is_strange { cost::STRANGE_KEY } else { 0 };
        state.cost += if is_foreign { cost::FOREIGN_KEY } else { 0 };
        let before = frame.keys;
        let keys = u32::try_from(self.keys.len()).unwrap_or(NONE);
        self.keys.push(KeyNode { key, before });
        self.add(&mut state, event);
        state.frame = self.push_frame(frame.parent, frame.container, frame.shapes, keys, frame.depth);
        if let Some(new) = self.frames.last_mut() {
            new.has_foreign = frame.has_foreign || is_foreign;
            new.is_implied = frame.is_implied;
        }
        state.child = member.child;
        state.mode = Mode::Colon;
        state.comma = false;
        self.push(state);
    }

    /// A value was read that is no list or object.
    pub(super) fn value_read(&mut self, mut state: State, last: Last) {
        state.last = last;
        state.comma = false;
        state.mode = if state.frame.0 == NONE { Mode::End } else { Mode::After };
        if let Some(frame) = self.frame(state.frame).filter(|frame| frame.container != Container::Object) {
            // The next item is of the same kind.
            let (shapes, container) = (frame.shapes, frame.container);
            state.child = if container == Container::Paren { shapes } else { self.guide.item(shapes) };
        }
        self.push(state);
    }

    /// Closes the innermost list or object.
    fn close(&mut self, mut state: State, next: usize, complete: bool) -> Option<State> {
        let frame = self.frame(state.frame)?.clone();
        if frame.container == Container::Object && complete {
            let has = |key: &str| self.has_key(state.frame, key);
            state.cost += self.guide.missing_cost(frame.shapes, &has);
        }
        self.add(&mut state, Event::Close { next, complete });
        state.place = next;
        state.frame = frame.parent;
        state.comma = false;
        state.last = if frame.container == Container::List { Last::List } else { Last::Other };
        state.mode = if state.frame.0 == NONE { Mode::End } else { Mode::After };
        if let Some(parent) = self.frame(state.frame) {
            let (shapes, container) = (parent.shapes, parent.container);
            state.child = match container {
                Container::Object => SetId::ANY,
                Container::Paren => shapes,
                Container::List | Container::Set => self.guide.item(shapes),
            };
        }
        Some(state)
    }

    /// A value should stand here and does not.
    fn no_value(&mut self, mut state: State, byte: u8) {
        let place = state.place;
        if self.container(&state) == Some(Container::Object) {
            self.missing(&mut state, place);
            self.value_read(state, Last::Other);
            return;
        }
        if matches!(byte, b',' | b';') {
            let is_first = state.last == Last::None && !state.comma;
            if is_first {
                self.close_empty(state);
            }
            let cost = if is_first { cost::FIRST_COMMA } else { cost::EXTRA_COMMA };
            self.note(&mut state, RepairKind::Comma, place..place + 1, cost);
            state.place = place + 1;
            state.comma = true;
            self.push(state);
            return;
        }
        if state.comma {
            self.note(&mut state, RepairKind::Comma, place..place, cost::EXTRA_COMMA);
        }
        state.mode = Mode::After;
        self.push(state);
    }

    fn missing(&mut self, state: &mut State, place: usize) {
        if self.options.missing_value == MissingValue::Drop {
            self.add(state, Event::DropKey(place, place));
        } else {
            self.add(state, Event::Missing(place));
        }
        state.cost += cost::MISSING_VALUE;
    }

    fn key(&mut self, mut state: State) {
        let place = state.place;
        let byte = self.source.at(place);
        match byte {
            0 if self.source.is_end(place) => self.end_of_text(state),
            b'}' | b']' | b')' => {
                if state.comma {
                    self.note(&mut state, RepairKind::Comma, place..place, cost::EXTRA_COMMA);
                }
                state.mode = Mode::After;
                self.push(state);
            }
            b',' | b';' => {
                let is_first = state.last == Last::None && !state.comma;
                if is_first {
                    self.close_empty(state);
                }
                let cost = if is_first { cost::FIRST_COMMA } else { cost::EXTRA_COMMA };
                self.note(&mut state, RepairKind::Comma, place..place + 1, cost);
                state.place = place + 1;
                state.comma = true;
                self.push(state);
            }
            b'{' | b'[' | b':' | b'(' => {
                if byte == b'[' && state.last == Last::List {
                    self.reopen(state);
                }
                self.note(&mut state, RepairKind::Dropped, place..place + 1, cost::JUNK);
                state.place = place + 1;
                self.push(state);
            }
            _ => {
                self.open_text(state, Role::Key);
                if self.source.quote_at(place).is_none() {
                    self.bare_key(state);
                }
            }
        }
    }

    /// `"key": ["a"], ["b"]`: a list goes on after it was closed.
    fn reopen(&mut self, mut state: State) {
        let place = state.place;
        let depth = self.frame(state.frame).map_or(0, |frame| frame.depth) + 1;
        state.cost += cost::REOPENED;
        self.add(&mut state, Event::Reopen(place));
        state.frame = self.push_frame(state.frame, Container::List, SetId::ANY, NONE, depth);
        state.child = SetId::ANY;
        state.place = place + 1;
        state.mode = Mode::Value;
        state.comma = false;
        self.push(state);
    }

    fn colon(&mut self, mut state: State) {
        let place = state.place;
        let byte = self.source.at(place);
        let stray = self.source.quote_at(place).map(|(_, length)| place + length);
        if let Some(behind) = stray
            && self.source.at(self.source.peek_space(behind)) == b':'
        {
            let mut stray = state;
            self.note(&mut stray, RepairKind::Quote, place..behind, cost::STRAY_QUOTE);
            stray.place = behind;
            self.push(stray);
        }
        match byte {
            0 if self.source.is_end(place) => return self.end_of_text(state),
            b':' => state.place = place + 1,
            b'=' => {
                let end = place + 1 + usize::from(self.source.at(place + 1) == b'>');
                self.note(&mut state, RepairKind::Colon, place..end, 0);
                state.charge(Habit::Colons, cost::OTHER_COLON);
                state.place = end;
            }
            b',' | b'}' | b']' | b')' | b';' => {
                self.add(&mut state, Event::DropKey(place, place));
                state.cost += cost::LONE_KEY;
                state.mode = Mode::After;
                state.last = Last::Other;
                self.push(state);
                return;
            }
            _ => self.note(&mut state, RepairKind::Colon, place..place, cost::MISSING_COLON),
        }
        state.mode = Mode::Value;
        self.push(state);
    }

    fn after(&mut self, mut state: State) {
        let place = state.place;
        let byte = self.source.at(place);
        let Some(container) = self.container(&state) else { return };
        if self.source.is_end(place) {
            return self.end_of_text(state);
        }
        self.close_missing(state, container, byte);
        let next = if container == Container::Object { Mode::Key } else { Mode::Value };
        match byte {
            b',' | b';' => {
                if byte == b';' {
                    self.note(&mut state, RepairKind::Comma, place..place + 1, cost::OTHER_COMMA);
                }
                if container == Container::Paren {
                    self.add(&mut state, Event::Comma);
                }
                state.place = place + 1;
                state.mode = next;
                state.comma = true;
                self.push(state);
            }
            b'}' | b']' | b')' => self.closer(state, container, byte),
            b'+' if state.last == Last::Text && self.source.quote_at(self.source.peek_space(place + 1)).is_some() => {
                state.place = self.source.peek_space(place + 1);
                state.cost += cost::JOINED;
                self.open_text(state, Role::Join);
            }
            b':' if container != Container::Object && state.last == Last::Text => self.item_to_key(state),
            b':' | b'=' | b'*' | b'|' => self.drop_byte(state),
            _ => {
                self.stray_quote(state);
                if container == Container::Object && is_word_byte(byte) {
                    self.drop_words(state);
                }
                let starts_key = self.source.quote_at(place).is_some() || is_word_byte(byte) || byte == b'\\';
                if container == Container::Object && !starts_key {
                    if !matches!(byte, b'{' | b'[' | b'(') {
                        self.drop_byte(state);
                    } else if byte == b'[' && state.last == Last::List {
                        self.reopen(state);
                    }
                    return;
                }
                let by_line =
                    self.source.slice(place.saturating_sub(64), place).trim_end_matches([' ', '\t']).ends_with('\n');
                let cost = if by_line { cost::COMMA_BY_LINE } else { cost::MISSING_COMMA };
                self.note(&mut state, RepairKind::Comma, place..place, 0);
                state.charge(Habit::NoCommas, cost);
                state.mode = next;
                self.push(state);
            }
        }
    }

    /// Words behind a value that belong to nobody.
    fn drop_words(&mut self, mut state: State) {
        let place = state.place;
        let mut end = place;
        while end < place + 64 && (is_word_byte(self.source.at(end)) || matches!(self.source.at(end), b' ' | b'.')) {
            end += 1;
        }
        if matches!(self.source.at(end), b'}' | b',') {
            let length = u32::try_from(end - place).unwrap_or(u32::MAX) / 4;
            self.note(&mut state, RepairKind::Dropped, place..end, cost::JUNK + length);
            state.place = end;
            self.push(state);
        }
    }

    fn drop_byte(&mut self, mut state: State) {
        let place = state.place;
        let end = place + self.source.char_at(place).map_or(1, char::len_utf8);
        self.note(&mut state, RepairKind::Dropped, place..end, cost::JUNK);
        state.place = end;
        self.push(state);
    }

    /// A quote too many behind a value.
    fn stray_quote(&mut self, mut state: State) {
        let place = state.place;
        let Some((_, length)) = self.source.quote_at(place) else { return };
        let behind = self.source.peek_space(place + length);
        if matches!(self.source.at(behind), b',' | b'}' | b']') || self.source.is_end(behind) {
            let cost = if self.is_block(&state) { cost::STRAY_QUOTE_OF_BLOCK } else { cost::STRAY_QUOTE };
            self.note(&mut state, RepairKind::Quote, place..place + length, cost);
            state.place = place + length;
            self.push(state);
        }
    }

    /// Whether a string was read whose text begins on a line of its own.
    fn is_block(&self, state: &State) -> bool {
        let last = self.events.get(state.event.0 as usize).map(|node| node.event);
        matches!(last, Some(Event::Text { raw, .. }) if self.source.at(raw.0) == b'\n')
    }

    /// The closer of the innermost list or object is missing here.
    fn close_missing(&mut self, mut state: State, container: Container, byte: u8) {
        let place = state.place;
        let parent = self.frame(state.frame).and_then(|frame| self.frame(frame.parent)).map(|parent| parent.container);
        if parent.is_none() {
            return;
        }
        let before_closer = matches!(byte, b'}' | b']') && !closes(container, byte);
        let is_implied = self.frame(state.frame).is_some_and(|frame| frame.is_implied);
        let cost = match (before_closer, is_implied) {
            (true, true) => 0,
            (true, false) => cost::MISSING_CLOSER_BEFORE_CLOSER,
            (false, _) => cost::MISSING_CLOSER,
        };
        self.note(&mut state, RepairKind::Bracket, place..place, cost);
        if let Some(closed) = self.close(state, place, true) {
            self.push(closed);
        }
    }

    fn closer(&mut self, state: State, container: Container, byte: u8) {
        let place = state.place;
        let mut skipped = state;
        self.note(&mut skipped, RepairKind::Bracket, place..place + 1, cost::EXTRA_CLOSER);
        skipped.place = place + 1;
        if closes(container, byte) {
            // One closer too many is skipped where it stands, not instead of another.
            self.push(skipped);
            if let Some(closed) = self.close(state, place + 1, true) {
                self.push(closed);
            }
            return;
        }
        self.push(skipped);
        let mut wrong = state;
        self.note(&mut wrong, RepairKind::Bracket, place..place + 1, cost::WRONG_CLOSER);
        if let Some(closed) = self.close(wrong, place + 1, true) {
            self.push(closed);
        }
    }

    /// `["key": 1]`: an object in a list lacks its opening brace.
    fn item_to_key(&mut self, mut state: State) {
        let place = state.place;
        let Some(frame) = self.frame(state.frame) else { return };
        let (shapes, depth) = (frame.shapes, frame.depth + 1);
        let item = self.guide.item(shapes);
        state.cost += cost::MISSING_OPENER;
        self.add(&mut state, Event::Rekey(place));
        state.frame = self.push_frame(state.frame, Container::Object, item, NONE, depth);
        if let Some(frame) = self.frames.last_mut() {
            frame.is_implied = true;
        }
        state.child = SetId::ANY;
        state.place = place + 1;
        state.mode = Mode::Value;
        self.push(state);
    }

    /// The text ends inside the value.
    pub(super) fn end_of_text(&mut self, mut state: State) {
        let end = self.source.len();
        if state.mode == Mode::Colon || (state.mode == Mode::Value && self.container(&state) == Some(Container::Object))
        {
            self.missing(&mut state, end);
        }
        let depth = self.frame(state.frame).map_or(0, |frame| frame.depth);
        if depth > 0 {
            let cost = cost::END_OF_TEXT + u32::try_from(depth).unwrap_or(u32::MAX).min(40);
            self.note(&mut state, RepairKind::Truncated, end..end, cost);
        }
        while let Some(closed) = self.close(state, end, false) {
            state = closed;
        }
        state.place = end;
        state.mode = Mode::End;
        self.push(state);
    }

    /// The value ends here; what follows says whether that is likely.
    fn finish(&mut self, mut state: State) {
        let rest = self.source.skip_space(state.place);
        let goes_on = match self.source.at(rest) {
            b'"' | b']' | b'}' | b':' => true,
            b',' => {
                let next = self.source.peek_space(rest + 1);
                self.source.is_end(next)
                    || key_like(&self.source, next) == KeyLike::Yes
                    || matches!(self.source.at(next), b'"' | b'}' | b']' | b'{' | b'[')
                    || is_word_byte(self.source.at(next))
            }
            _ => self.closes_more(rest),
        };
        if goes_on {
            // Paid on a second visit, so that it is compared with what else costs as much.
            let cost = match self.source.at(rest) {
                b'}' | b']' if self.only_closers(rest) => cost::EXTRA_CLOSER,
                _ => cost::VALUE_GOES_ON,
            };
            let more = u32::try_from((self.source.len() - rest) / cost::BYTES_GOING_ON).unwrap_or(u32::MAX);
            let more = if cost == cost::VALUE_GOES_ON { more.min(cost::MAX_GOING_ON) } else { 0 };
            if !state.comma {
                state.comma = true;
                state.cost += cost + more;
                self.push(state);
                return;
            }
        }
        if self.goals.len() < 4 {
            self.goals.push(state);
        }
    }

    /// Whether more is closed than opened in what follows: it is no prose, but the rest of the value.
    fn closes_more(&self, place: usize) -> bool {
        const FAR: usize = 8 << 10;
        let rest = self.source.slice(place, self.source.len());
        let balance = |balance: i32, byte: u8| match byte {
            b'{' | b'[' => balance + 1,
            b'}' | b']' => balance - 1,
            _ => balance,
        };
        rest.len() < FAR && rest.bytes().fold(0, balance) < 0
    }

    fn only_closers(&self, place: usize) -> bool {
        self.source
            .slice(place, self.source.len())
            .trim_start_matches(['}', ']', ' ', '\n', '\r', '\t'])
            .trim_start_matches('`')
            .trim()
            .is_empty()
    }
}

fn closes(container: Container, byte: u8) -> bool {
    match container {
        Container::Object | Container::Set => byte == b'}',
        Container::List => byte == b']',
        Container::Paren => byte == b')',
    }
}
