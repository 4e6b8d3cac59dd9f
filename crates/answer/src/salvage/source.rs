//! The input of the parser: bytes, white space, quotes, and bounded lookahead.

use std::cell::Cell;

/// Maximum lookahead, so that parsing stays linear.
pub(crate) const LOOK: usize = 256;

/// Whether the text is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The text is complete.
    Final,
    /// More text may follow.
    Open,
}

/// The families of quotes. A text that one of a family opens is closed by one of the same family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Quote {
    Double,
    Single,
    Backtick,
    /// Typographic ones, as `“a”`.
    RoundDouble,
    /// Typographic ones, as `‘a’`.
    RoundSingle,
}

/// A text being read.
pub(crate) struct Source<'t> {
    text: &'t str,
    bytes: &'t [u8],
    end: End,
    /// Whether someone asked for what lies behind the end of a text that is still open.
    touched: Cell<bool>,
}

impl<'t> Source<'t> {
    pub(crate) fn new(text: &'t str, end: End) -> Self {
        Self { text, bytes: text.as_bytes(), end, touched: Cell::new(false) }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.end == End::Open
    }

    /// Whether the last look went behind the end of an open text; asking resets it.
    pub(crate) fn was_touched(&self) -> bool {
        self.touched.replace(false)
    }

    /// The byte at a place, 0 behind the end.
    pub(crate) fn at(&self, place: usize) -> u8 {
        if let Some(byte) = self.bytes.get(place) {
            return *byte;
        }
        if self.end == End::Open {
            self.touched.set(true);
        }
        0
    }

    pub(crate) fn is_end(&self, place: usize) -> bool {
        place >= self.bytes.len()
    }

    pub(crate) fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or_default()
    }

    pub(crate) fn bytes(&self, from: usize, to: usize) -> &'t [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    pub(crate) fn starts_with(&self, place: usize, prefix: &str) -> bool {
        prefix.bytes().enumerate().all(|(offset, byte)| self.at(place + offset) == byte)
    }

    /// The character at a place.
    pub(crate) fn char_at(&self, place: usize) -> Option<char> {
        self.text.get(place..).and_then(|rest| rest.chars().next())
    }

    /// The length of the white space at a place: one character, or nothing.
    pub(crate) fn space_len(&self, place: usize) -> usize {
        match self.at(place) {
            b' ' | b'\n' | b'\r' | b'\t' | 0x0b | 0x0c => 1,
            0xc2 if matches!(self.at(place + 1), 0xa0 | 0x85) => 2,
            0xe1 if self.at(place + 1) == 0xa0 && self.at(place + 2) == 0x8e => 3,
            0xe2 if self.at(place + 1) == 0x80 && matches!(self.at(place + 2), 0x80..=0x8b | 0xa8 | 0xa9 | 0xaf) => 3,
            0xe2 if self.at(place + 1) == 0x81 && self.at(place + 2) == 0x9f => 3,
            0xe3 if self.at(place + 1) == 0x80 && self.at(place + 2) == 0x80 => 3,
            0xef if self.at(place + 1) == 0xbb && self.at(place + 2) == 0xbf => 3,
            _ => 0,
        }
    }

    /// Behind the white space at a place.
    pub(crate) fn skip_space(&self, mut place: usize) -> usize {
        loop {
            match self.space_len(place) {
                0 => return place,
                length => place += length,
            }
        }
    }

    /// Behind the white space at a place, but no further than one may look.
    pub(crate) fn peek_space(&self, place: usize) -> usize {
        let mut at = place;
        while at < place + LOOK {
            match self.space_len(at) {
                0 => return at,
                length => at += length,
            }
        }
        at
    }

    /// The place of the last byte before `place`, and not before `floor`, that is no ASCII white space.
    pub(crate) fn back_space(&self, place: usize, floor: usize) -> Option<usize> {
        let floor = floor.max(place.saturating_sub(LOOK));
        let before = self.bytes.get(floor..place)?;
        before.iter().rposition(|byte| !byte.is_ascii_whitespace()).map(|offset| floor + offset)
    }

    /// The quote at a place and its length.
    pub(crate) fn quote_at(&self, place: usize) -> Option<(Quote, usize)> {
        match self.at(place) {
            b'"' => Some((Quote::Double, 1)),
            b'\'' => Some((Quote::Single, 1)),
            b'`' => Some((Quote::Backtick, 1)),
            0xc2 if self.at(place + 1) == 0xb4 => Some((Quote::Backtick, 2)),
            0xe2 if self.at(place + 1) == 0x80 => match self.at(place + 2) {
                0x98..=0x9b => Some((Quote::RoundSingle, 3)),
                0x9c..=0x9f => Some((Quote::RoundDouble, 3)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The length of the quote at a place, if it can close what `open` opened.
    pub(crate) fn closing_len(&self, open: Quote, place: usize) -> Option<usize> {
        let (quote, length) = self.quote_at(place)?;
        let closes = match open {
            Quote::Double | Quote::Single => quote == open,
            Quote::RoundDouble => matches!(quote, Quote::RoundDouble | Quote::Double),
            Quote::RoundSingle | Quote::Backtick => {
                matches!(quote, Quote::RoundSingle | Quote::Single | Quote::Backtick)
            }
        };
        (closes && (open != Quote::Backtick || quote != Quote::Single)).then_some(length)
    }

    /// The first place from here that means something inside a text.
    pub(crate) fn skip_plain(&self, place: usize) -> usize {
        let rest = self.bytes.get(place..).unwrap_or_default();
        rest.iter().position(|byte| is_special(*byte)).map_or(self.len(), |offset| place + offset)
    }

    pub(crate) fn is_boundary(&self, place: usize) -> bool {
        self.is_end(place) || self.text.is_char_boundary(place)
    }

    /// The end of a line of nothing but a language, as behind a fence.
    pub(crate) fn peek_line(&self, place: usize) -> Option<usize> {
        let mut at = place;
        while at < place + 24 && (is_word_byte(self.at(at)) || matches!(self.at(at), b'+' | b'#' | b'.' | b' ' | b'\r'))
        {
            at += 1;
        }
        (self.at(at) == b'\n').then_some(at)
    }

    /// Where the closing brackets at the end of the text begin, behind `floor`; a fence behind them does not count.
    pub(crate) fn closers_at_end(&self, floor: usize) -> Option<usize> {
        let text = self.text.trim_end().trim_end_matches('`').trim_end();
        if !text.ends_with(['}', ']']) {
            return None;
        }
        let kept = text.trim_end_matches(|char: char| matches!(char, '}' | ']') || char.is_whitespace()).len();
        let run = self.skip_space(kept);
        (run > floor).then_some(run)
    }

    pub(crate) fn is_fence(&self, place: usize) -> bool {
        self.at(place) == b'`' && self.at(place + 1) == b'`' && self.at(place + 2) == b'`'
    }

    /// Whether a comment starts at a place.
    pub(crate) fn is_comment(&self, place: usize) -> bool {
        self.at(place) == b'/' && matches!(self.at(place + 1), b'/' | b'*')
    }

    /// Behind the quoted text that starts at a place, as far as one may look, whatever its quotes mean.
    pub(crate) fn peek_quoted(&self, place: usize) -> Option<usize> {
        let (open, length) = self.quote_at(place)?;
        let mut at = place + length;
        while at < place + LOOK && !self.is_end(at) {
            if self.at(at) == b'\\' {
                at += 2;
            } else if let Some(length) = self.closing_len(open, at) {
                return Some(at + length);
            } else {
                at += 1;
            }
        }
        // Behind the end of an open text there may be the quote.
        self.at(at);
        None
    }

    /// The place behind the colon, if a word and a colon stand at a place.
    pub(crate) fn peek_word_colon(&self, place: usize) -> Option<usize> {
        let mut at = place;
        while at < place + 64 && is_word_byte(self.at(at)) {
            at += 1;
        }
        if at == place {
            return None;
        }
        let stray = self.quote_at(at).map_or(0, |(_, length)| length);
        let colon = self.peek_space(at + stray);
        // `http://` is no key.
        (self.at(colon) == b':' && self.at(colon + 1) != b'/').then_some(colon + 1)
    }
}

/// Bytes at which the end of a text may depend.
fn is_special(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'{' | b'}' | b'[' | b']' | b',' | b':' | 0xc2 | 0xe2)
}

pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'-') || byte >= 0x80
}

/// How much what stands at a place looks like the next key of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyLike {
    Yes,
    /// A quoted text, but no colon: the colon may be missing.
    Maybe,
    No,
}

pub(crate) fn key_like(source: &Source<'_>, place: usize) -> KeyLike {
    if source.quote_at(place).is_none() {
        return if source.peek_word_colon(place).is_some() { KeyLike::Yes } else { KeyLike::No };
    }
    let Some(behind) = source.peek_quoted(place) else {
        // Cut off inside the key, or a text too long for one.
        return if source.is_end(place + LOOK) { KeyLike::Maybe } else { KeyLike::No };
    };
    let next = source.peek_space(behind);
    match source.at(next) {
        b':' => KeyLike::Yes,
        byte if is_word_byte(byte) && !byte.is_ascii_digit() && !literal_at(source, next) => KeyLike::No,
        b'.' | b'?' | b'!' | b';' | b')' => KeyLike::No,
        _ => KeyLike::Maybe,
    }
}

/// Whether a literal of JSON or Python stands at a place.
pub(crate) fn literal_at(source: &Source<'_>, place: usize) -> bool {
    let mut end = place;
    while end < place + 10 && is_word_byte(source.at(end)) {
        end += 1;
    }
    let word = source.slice(place, end);
    ["true", "false", "null", "none", "undefined"].iter().any(|literal| word.eq_ignore_ascii_case(literal))
}
