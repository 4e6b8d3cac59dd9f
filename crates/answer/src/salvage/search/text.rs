//! Strings: every quote that could end one, and the places where its closing quote is missing.

use std::borrow::Cow;

use super::{Event, Last, Mode, Role, Search, State, Style, TextScan, Written, cost};
use crate::options::CutKey;
use crate::repair::RepairKind;
use crate::salvage::parser::comment_end;
use crate::salvage::source::{KeyLike, Quote, is_word_byte, key_like};
use crate::tree::Kind;

/// Places between two quotes at which the closing quote may be missing.
const MAX_ENDS: usize = 8;

impl Search<'_> {
    /// Looks for the next quote that may end a string.
    pub(super) fn scan_text(&mut self, state: State, scan: TextScan) {
        let mut place = state.place;
        let mut ends = 0;
        let mut state = state;
        loop {
            place = self.source.skip_plain(place);
            if self.source.is_end(place) {
                return self.cut_text(state, scan);
            }
            let byte = self.source.at(place);
            if byte == b'\\' {
                let quote = self.source.closing_len(scan.quote, place + 1).filter(|_| scan.style == Style::Escaped);
                if let Some(length) = quote {
                    self.end_text(state, scan, (place, place + 1 + length), Lack::Nothing);
                    return;
                }
                place += 1 + self.source.char_at(place + 1).map_or(1, char::len_utf8);
                if scan.style == Style::Escaped && self.source.at(place - 1) == b'\\' {
                    // What the escape is about is escaped, too.
                    place += usize::from(matches!(self.source.at(place), b'"' | b'\\'));
                }
                continue;
            }
            if let Some(length) = self.source.closing_len(scan.quote, place) {
                return self.at_quote(state, scan, place, length);
            }
            if ends < MAX_ENDS && scan.style != Style::Thrice && self.may_lack_quote(&state, scan, place, byte) {
                ends += 1;
                self.end_text(state, scan, (place, place), Lack::Quote);
                state.cost += if byte == b',' && scan.role != Role::Key { cost::PASSED_END } else { 0 };
            }
            place += 1;
            while !self.source.is_boundary(place) {
                place += 1;
            }
        }
    }

    fn at_quote(&mut self, state: State, scan: TextScan, place: usize, length: usize) {
        let is_nested = self.is_nested(scan, place);
        let needed = match scan.style {
            Style::Once | Style::Escaped => 1,
            Style::Twice => 2,
            Style::Thrice => 3,
        };
        let mut behind = place;
        let mut seen = 0;
        while seen < needed && self.source.closing_len(scan.quote, behind) == Some(length) {
            behind += length;
            seen += 1;
        }
        // A quote that could close is passed.
        let passed = self.inner_cost(scan, place, place + length);
        let passed = if is_nested { passed.min(cost::INNER_QUOTE) } else { passed };
        let inner = TextScan { inner: scan.inner.saturating_add(1), ..scan };
        if scan.inner < u8::MAX {
            let next = place + length;
            self.push(State { place: next, mode: Mode::Text(inner), cost: state.cost + passed, ..state });
        }
        if scan.role == Role::Key
            && let Some(equals) = self.source.slice(state.place, place).find('=')
        {
            let end = state.place + equals;
            self.end_text(state, scan, (end, end), Lack::Quote);
        }
        if seen == needed {
            self.end_text(state, scan, (place, behind), Lack::Nothing);
        }
    }

    /// Whether a brace that was opened inside the string is open at a place: its quotes are those of JSON inside the string.
    fn is_nested(&self, scan: TextScan, place: usize) -> bool {
        const NEAR: usize = 256;
        let from = scan.from.max(place.saturating_sub(NEAR));
        let depth = |depth: i32, byte: &u8| match byte {
            b'{' => depth + 1,
            b'}' => depth - 1,
            _ => depth,
        };
        self.source.bytes(from, place).iter().fold(0, depth) > 0
    }

    /// What it costs that a quote is a part of its string.
    fn inner_cost(&self, scan: TextScan, place: usize, behind: usize) -> u32 {
        if scan.style == Style::Thrice {
            return 0;
        }
        let before = self.source.slice(scan.from, place).chars().next_back();
        let after = self.source.char_at(behind);
        let is_word = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
        if scan.quote != Quote::Double && is_word(before) && is_word(after) {
            // An apostrophe.
            return 1;
        }
        let next = self.source.peek_space(behind);
        let closes = match self.source.at(next) {
            b'}' | b']' | b':' => true,
            b',' => {
                let after = self.source.peek_space(next + 1);
                let begins = self.source.quote_at(after).is_some() || matches!(self.source.at(after), b'{' | b'[');
                if !begins && !self.source.slice(next, after).contains('\n') {
                    return cost::INNER_QUOTE_BEFORE_COMMA;
                }
                true
            }
            _ => self.source.quote_at(next).is_some(),
        };
        let floor = scan.from;
        let opens = self
            .source
            .back_space(place, floor)
            .is_some_and(|before| matches!(self.source.at(before), b'{' | b'[' | b',' | b':' | b'"'));
        if closes || opens { cost::STRUCTURAL_INNER_QUOTE } else { cost::INNER_QUOTE }
    }

    /// Whether a closing quote may be missing before a place.
    fn may_lack_quote(&self, state: &State, scan: TextScan, place: usize, byte: u8) -> bool {
        match scan.role {
            Role::Key => byte == b':' && place > scan.from,
            Role::Value | Role::Join => {
                let in_object = self.container(state) == Some(super::Container::Object);
                match byte {
                    b',' | b'\n' => {
                        let mut next = self.source.peek_space(place + 1);
                        if self.source.is_comment(next) {
                            next = self.source.peek_space(comment_end(&self.source, next));
                        }
                        let begins = if in_object {
                            key_like(&self.source, next) == KeyLike::Yes
                        } else {
                            self.source.quote_at(next).is_some()
                                || matches!(self.source.at(next), b'{' | b'[')
                                || (byte == b',' && self.source.at(next).is_ascii_digit())
                        };
                        begins || (byte == b'\n' && matches!(self.source.at(next), b'}' | b']'))
                    }
                    b'}' | b']' => {
                        let next = self.source.peek_space(place + 1);
                        matches!(self.source.at(next), b',' | b'}' | b']')
                            // A bracket at the end of what has arrived may be part of the string.
                            || (self.source.is_end(next) && !self.options.arriving)
                            || self.source.slice(place + 1, next).contains('\n')
                            || self.is_last_fence(next)
                    }
                    _ => false,
                }
            }
        }
    }

    fn is_last_fence(&self, place: usize) -> bool {
        self.source.is_fence(place)
            && self.source.slice(place, self.source.len()).trim_matches(['`', ' ', '\n']).is_empty()
    }

    /// A string that ends: its content up to the first place, the text going on at the second.
    fn end_text(&mut self, mut state: State, scan: TextScan, (end, next): (usize, usize), lack: Lack) {
        let raw = self.source.slice(scan.from, end);
        let trimmed = raw.trim_end().trim_end_matches(['“', '”', '‘', '’']);
        state.place = next;
        let raw = match lack {
            Lack::Nothing => raw,
            Lack::LastQuote => {
                state.cost += cost::LAST_QUOTE;
                trimmed
            }
            Lack::Quote => {
                let is_other = trimmed.len() < raw.trim_end().len();
                state.cost += if is_other { cost::OTHER_CLOSING_QUOTE } else { cost::MISSING_QUOTE };
                trimmed
            }
        };
        if scan.inner % 2 == 1 && scan.style != Style::Thrice && !is_apostrophe(raw, scan.quote) {
            state.cost += cost::ODD_QUOTES;
        }
        let next_byte = self.source.at(self.source.peek_space(next));
        let is_delimited = matches!(next_byte, b',' | b'}' | b']' | b':') || self.source.is_end(next);
        if lack != Lack::Nothing || scan.inner > 0 || !is_delimited {
            state.cost += open_inside(raw);
        }
        let written = Written {
            quote: scan.quote,
            style: scan.style,
            inner: scan.inner,
            lacks_quote: lack != Lack::Nothing,
            complete: true,
        };
        self.text_read(state, scan, raw, (scan.start, next), written);
    }

    fn text_read(&mut self, mut state: State, scan: TextScan, raw: &str, whole: (usize, usize), written: Written) {
        let place = (scan.from, scan.from + raw.len());
        match scan.role {
            Role::Key => {
                let key = plain_text(raw, written).into_owned();
                self.key_read(state, key, Event::Key { raw: place, span: whole, written: Some(written) });
            }
            Role::Value => {
                if !self.guide.is_blind() {
                    let text = plain_text(raw, written).into_owned();
                    if written.inner > 0 || written.lacks_quote {
                        state.cost += self.swallowed_keys(&state, &text);
                    }
                    state.cost += self.guide.scalar_cost(state.child, &Kind::Text(text));
                }
                self.add(&mut state, Event::Text { raw: place, span: whole, written, join: false });
                self.value_read(state, Last::Text);
            }
            Role::Join => {
                self.add(&mut state, Event::Text { raw: place, span: whole, written, join: true });
                self.value_read(state, Last::Text);
            }
        }
    }

    /// A declared key with a colon inside a string: it is more likely a key.
    fn swallowed_keys(&self, state: &State, text: &str) -> u32 {
        let Some(shapes) = self.frame(state.frame).map(|frame| frame.shapes) else { return 0 };
        let swallows = text.match_indices(':').take(16).any(|(colon, _)| {
            let before = text.get(..colon).unwrap_or_default().trim_end().trim_end_matches(['"', '\'', '\\']);
            let word =
                before.rsplit(|char: char| matches!(char, '"' | '\'' | ',' | '{') || char.is_whitespace()).next();
            word.is_some_and(|word| {
                !word.is_empty() && self.guide.declares(shapes, word) && !self.has_key(state.frame, word)
            })
        });
        if swallows { cost::SWALLOWED_KEY } else { 0 }
    }

    /// The text ends inside a string.
    fn cut_text(&mut self, mut state: State, scan: TextScan) {
        let end = self.source.len();
        let raw = self.source.slice(scan.from, end);
        state.place = end;
        state.cost += cost::END_OF_TEXT;
        if scan.role == Role::Key {
            let keeps = match self.options.cut_key {
                CutKey::Keep => true,
                CutKey::Drop => false,
                CutKey::KeepOnly => {
                    self.frame(state.frame).is_some_and(|frame| frame.depth == 1 && frame.keys == super::NONE)
                }
            };
            if keeps {
                let key = raw.trim_end().to_owned();
                let place = (scan.from, scan.from + key.len());
                let written = Written {
                    quote: scan.quote,
                    style: scan.style,
                    inner: scan.inner,
                    lacks_quote: false,
                    complete: false,
                };
                self.key_read(state, key, Event::Key { raw: place, span: (scan.start, end), written: Some(written) });
                return;
            }
            let colon = if raw.contains(':') { cost::STRANGE_KEY } else { 0 };
            let length = u32::try_from(raw.len()).unwrap_or(u32::MAX).min(160) / 8;
            self.note(&mut state, RepairKind::Truncated, scan.start..end, colon + length);
            state.mode = Mode::After;
            return self.end_of_text(state);
        }
        let in_list = self.container(&state).is_some_and(|container| container != super::Container::Object);
        let in_list = in_list && !self.options.arriving;
        if in_list
            && let Some(comma) = raw.find(',').filter(|_| scan.inner == 0 && raw.trim_end().ends_with([']', '}']))
        {
            let mut split = state;
            split.cost -= cost::END_OF_TEXT;
            let end = scan.from + comma;
            self.end_text(split, scan, (end, end), Lack::LastQuote);
        }
        let written =
            Written { quote: scan.quote, style: scan.style, inner: scan.inner, lacks_quote: false, complete: false };
        // A cut string says little about what it should be.
        state.cost += u32::from(scan.inner % 2 == 1);
        self.text_read(state, scan, raw, (scan.start, end), written);
    }
}

fn plain_text(raw: &str, written: Written) -> Cow<'_, str> {
    if raw.contains('\\') { Cow::Owned(super::build::decode(raw, written).0) } else { Cow::Borrowed(raw) }
}

/// Whether a string lacks its closing quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Nothing,
    Quote,
    /// No other quote follows in the text.
    LastQuote,
}

fn is_apostrophe(raw: &str, quote: Quote) -> bool {
    quote != Quote::Double
        && raw.match_indices(['\'', '’']).all(|(place, mark)| {
            let before = raw.get(..place).and_then(|before| before.chars().next_back());
            let after = raw.get(place + mark.len()..).and_then(|after| after.chars().next());
            before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
        })
}

/// The cost of brackets that are open at the end of a string.
fn open_inside(raw: &str) -> u32 {
    let mut open = 0_u32;
    for byte in raw.bytes() {
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    cost::OPEN_INSIDE * open.min(2)
}

/// Whether a byte may stand in a name.
pub(super) fn is_name_byte(byte: u8) -> bool {
    is_word_byte(byte) || byte == b'.'
}
