//! What stands without quotes: literals, numbers, words, and keys.

use super::text::is_name_byte;
use super::{BareScan, Container, Event, Habit, Last, Mode, NONE, Search, State, cost};
use crate::options::CutKey;
use crate::repair::RepairKind;
use crate::salvage::edge::{Around, Place};
use crate::salvage::source::{KeyLike, Quote, is_word_byte, key_like};
use crate::salvage::words::{classify, number_end};
use crate::tree::Kind;

impl State {
    fn charge_scalar(&mut self, repair: Option<RepairKind>, bare: u32) {
        match repair {
            None => {}
            Some(RepairKind::Literal) => self.charge(Habit::Literals, cost::OTHER_LITERAL),
            Some(RepairKind::Bare) => self.charge(Habit::BareWords, bare),
            Some(_) => self.cost += cost::OTHER_NUMBER,
        }
    }
}

impl Search<'_> {
    /// Looks for the next place where a value without quotes may end.
    pub(super) fn scan_bare(&mut self, mut state: State, scan: BareScan) {
        let start = scan.start;
        let fresh = state.place == start;
        if fresh {
            self.scan_token(state, start);
        }
        let container = self.container(&state);
        let mut at = if fresh { start } else { state.place };
        let mut depth = 0_usize;
        while !self.source.is_end(at) {
            let byte = self.source.at(at);
            match byte {
                b'(' | b'{' | b'[' if at > start => {
                    depth += 1;
                    state.cost += if byte == b'(' { 0 } else { cost::BARE_BRACKET };
                }
                b')' | b'}' | b']' if depth > 0 => depth -= 1,
                b'}' | b']' => return self.end_words(state, start, at),
                b')' if container == Some(Container::Paren) => return self.end_words(state, start, at),
                b';' | b'<' if at > start && depth == 0 && (byte == b';' || self.source.at(at + 1) == b'/') => {
                    return self.end_words(state, start, at);
                }
                b',' | b'\n' if depth == 0 && at > start => {
                    self.end_words(state, start, at);
                    let next = self.source.peek_space(at + 1);
                    let read = self.source.slice(start, at);
                    let is_prose = container == Some(Container::Object)
                        && matches!(classify(read.trim_end(), self.options, false).kind, Kind::Text(_))
                        && key_like(&self.source, next) == KeyLike::No
                        && !matches!(self.source.at(next), b'}' | b']' | b'{' | b'[');
                    let price = match byte {
                        _ if is_prose => cost::BARE_PROSE,
                        b',' => cost::BARE_COMMA,
                        _ => cost::BARE_LINE,
                    };
                    self.go_on(state, scan, at + 1, price);
                    return;
                }
                b'/' if at > start && self.source.is_comment(at) && self.source.at(at - 1).is_ascii_whitespace() => {
                    return self.end_words(state, start, at);
                }
                b'`' if self.source.is_fence(at) => return self.end_words(state, start, at),
                b'\\' if at > start && matches!(self.source.at(at + 1), b'"') => {
                    return self.end_words(state, start, at);
                }
                b' ' if depth == 0 && self.source.peek_word_colon(at + 1).is_some() => {
                    // A key may follow without a comma.
                    self.end_words(state, start, at);
                }
                b'"' | b'\'' | 0xe2 if depth == 0 && at > start => {
                    if let Some((quote, length)) = self.source.quote_at(at) {
                        let letter = |place: usize| is_word_byte(self.source.at(place));
                        if quote != Quote::Double && letter(at - 1) && letter(at + length) {
                            at += length;
                            continue;
                        }
                        let is_prose = self.source.at(at - 1) == b' ' && letter(at + length)
                            || letter(at - 1) && self.source.at(at + length) == b' ';
                        let price = if is_prose { cost::BARE_LINE } else { cost::STRUCTURAL_INNER_QUOTE };
                        self.end_at_quote(state, start, at, length);
                        self.go_on(state, scan, at + length, price);
                        return;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.end_words(state, start, self.source.len());
    }

    fn go_on(&mut self, state: State, scan: BareScan, place: usize, cost: u32) {
        self.push(State { place, mode: Mode::Bare(scan), cost: state.cost + cost, ..state });
    }

    /// A number or literal, which white space ends.
    fn scan_token(&mut self, state: State, start: usize) {
        let place = match self.container(&state) {
            Some(Container::Object) => Place::Member,
            Some(_) => Place::Item,
            None => Place::Top,
        };
        let around = Around { place, lists: 1, objects: 1, parens: 1 };
        if let Some(end) = number_end(&self.source, start, around) {
            self.end_word(state, start, end);
        }
        let mut end = start;
        while end < start + 24 && is_word_byte(self.source.at(end)) {
            end += 1;
        }
        let word = self.source.slice(start, end);
        let behind = self.source.at(end);
        let separated = behind.is_ascii_whitespace() || behind == b'"' || behind == b'/';
        if !word.is_empty() && separated && !matches!(classify(word, self.options, false).kind, Kind::Text(_)) {
            self.end_word(state, start, end);
        }
    }

    /// A scalar of one word.
    fn end_word(&mut self, mut state: State, start: usize, end: usize) {
        let word = self.source.slice(start, end);
        let read = classify(word, self.options, false);
        state.charge_scalar(read.repair, cost::BARE_WORD);
        state.cost += self.guide.scalar_cost(state.child, &read.kind);
        state.place = end;
        let cut = self.options.arriving && self.source.is_end(self.source.skip_space(end));
        self.add(&mut state, Event::Word { start, end, cut });
        self.value_read(state, Last::Other);
    }

    /// Words up to a delimiter.
    fn end_words(&mut self, mut state: State, start: usize, at: usize) {
        let raw = self.source.slice(start, at);
        let words = raw.trim_end();
        if words.is_empty() {
            return;
        }
        let is_cut =
            self.source.is_end(at) || (self.options.arriving && self.source.is_end(self.source.skip_space(at)));
        if words == "-" && self.options.arriving {
            self.note(&mut state, RepairKind::Dropped, start..at, cost::MISSING_VALUE);
            state.place = at;
            state.mode = Mode::After;
            return self.end_of_text(state);
        }
        let end = start + words.len();
        state.place = at;
        let read = classify(words, self.options, is_cut);
        let is_name = words.bytes().all(is_name_byte);
        state.charge_scalar(read.repair, if is_name { cost::BARE_WORD } else { cost::BARE_WORDS });
        let first = words.split_whitespace().next().unwrap_or_default();
        let begins_as_scalar = || !matches!(classify(first, self.options, false).kind, Kind::Text(_));
        if read.repair == Some(RepairKind::Bare) && first.len() < words.len() && begins_as_scalar() {
            state.cost += cost::BARE_SCALAR_WORDS;
        }
        state.cost += self.guide.scalar_cost(state.child, &read.kind);
        let last = if matches!(read.kind, Kind::Text(_)) { Last::Text } else { Last::Other };
        self.add(&mut state, Event::Word { start, end, cut: is_cut });
        self.value_read(state, last);
    }

    /// A quote inside words: it closes a string whose opening quote is missing, or opens what follows.
    fn end_at_quote(&mut self, state: State, start: usize, at: usize, length: usize) {
        let words = self.source.slice(start, at);
        let mut closed = state;
        closed.place = at + length;
        closed.cost += cost::MISSING_QUOTE - 2;
        if !self.guide.is_blind() {
            closed.cost += self.guide.scalar_cost(state.child, &Kind::Text(words.to_owned()));
        }
        self.add(&mut closed, Event::Words { start, end: at, lost_quote: true });
        self.value_read(closed, Last::Text);
        if words.ends_with(char::is_whitespace) {
            self.end_words(state, start, at);
        }
    }

    /// A key without quotes, or without the first one.
    pub(super) fn bare_key(&mut self, state: State) {
        let start = state.place;
        let mut at = start;
        while !self.source.is_end(at) && at < start + 256 {
            let byte = self.source.at(at);
            let ends = matches!(byte, b':' | b',' | b'}' | b'{' | b'[' | b']' | b'\n' | b'=' | b'(' | b';')
                || (matches!(byte, b'"' | b'\'' | b'\\' | 0xe2)
                    && self.source.quote_at(at + usize::from(byte == b'\\')).is_some());
            if ends {
                break;
            }
            at += 1;
        }
        let raw = self.source.slice(start, at);
        let key = raw.trim_end();
        let next = self.source.peek_space(at);
        let mut read = state;
        let span = (start, start + key.len());
        let price = if key.bytes().all(is_name_byte) { cost::BARE_KEY } else { cost::BARE_WORDS_KEY };
        let event = Event::Key { raw: span, span, written: None };
        if self.source.is_end(at) {
            return self.cut_key(state, span, event, key);
        }
        if !key.is_empty() {
            if let Some((_, length)) = self.source.quote_at(at) {
                // The opening quote is missing.
                if raw.len() == key.len() {
                    let mut closed = state;
                    closed.cost += cost::MISSING_QUOTE - 3;
                    closed.place = at + length;
                    self.key_read(closed, key.to_owned(), event);
                }
                if key.bytes().all(is_name_byte) && self.source.at(self.source.peek_space(at + length)) != b':' {
                    read.charge(Habit::BareKeys, price);
                    read.place = at;
                    self.key_read(read, key.to_owned(), event);
                }
            } else if matches!(self.source.at(next), b':' | b'=') {
                read.charge(Habit::BareKeys, price);
                read.place = at;
                self.key_read(read, key.to_owned(), event);
            } else if let Some(word) = key.split_whitespace().next().filter(|word| word.bytes().all(is_name_byte)) {
                // The colon may be missing, too.
                let end = start + word.len();
                read.charge(Habit::BareKeys, price);
                read.place = end;
                let (raw, word) = ((start, end), word.to_owned());
                if end < at || matches!(self.source.at(at), b'{' | b'[') {
                    self.key_read(read, word, Event::Key { raw, span: raw, written: None });
                }
            }
        }
        // Words between members belong to nobody.
        let end = if at == start { start + self.source.char_at(start).map_or(1, char::len_utf8) } else { at };
        let mut dropped = state;
        let length = u32::try_from(end - start).unwrap_or(u32::MAX).min(60) / 4;
        self.note(&mut dropped, RepairKind::Dropped, start..end, cost::JUNK + length);
        dropped.place = end;
        self.push(dropped);
    }

    /// The text ends inside a key.
    fn cut_key(&mut self, mut state: State, span: (usize, usize), event: Event, key: &str) {
        let is_only = self.frame(state.frame).is_some_and(|frame| frame.depth == 1 && frame.keys == NONE);
        let keeps = match self.options.cut_key {
            CutKey::Keep => true,
            CutKey::Drop => false,
            CutKey::KeepOnly => is_only,
        };
        state.place = self.source.len();
        if keeps && !key.is_empty() && key.bytes().all(is_word_byte) {
            state.cost += cost::BARE_KEY;
            self.key_read(state, key.to_owned(), event);
            return;
        }
        self.note(&mut state, RepairKind::Dropped, span.0..span.1, cost::END_OF_TEXT);
        state.mode = Mode::After;
        self.end_of_text(state);
    }
}
