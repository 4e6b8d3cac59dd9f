//! Decides whether a quote ends a string, by what follows it and by where the string is.

use super::source::{KeyLike, LOOK, Quote, Source, is_word_byte, key_like, literal_at};

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Key,
    /// The value of a key.
    Member,
    Item,
    Top,
}

/// What is around a text, as far as its end depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around {
    pub(crate) place: Place,
    /// Open lists, objects and parentheses.
    pub(crate) lists: usize,
    pub(crate) objects: usize,
    pub(crate) parens: usize,
}

/// What decides whether a quote ends a text, besides what stands behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) around: Around,
    pub(crate) quote: Quote,
    /// Brackets that are open inside of the text.
    pub(crate) braces: i32,
    pub(crate) brackets: i32,
}

impl Edge {
    pub(crate) fn new(around: Around, quote: Quote) -> Self {
        Self { around, quote, braces: 0, brackets: 0 }
    }

    /// Whether the quote before `behind` ends the text.
    pub(crate) fn is_end(&self, source: &Source<'_>, behind: usize) -> bool {
        let next = source.peek_space(behind);
        let byte = source.at(next);
        match self.around.place {
            Place::Key => Self::ends_key(source, next, byte),
            Place::Member => self.ends_member(source, behind, next, byte),
            Place::Item => self.ends_item(source, behind, next, byte),
            Place::Top => self.ends_top(source, behind, next, byte),
        }
    }

    /// Whether the quote at a place opens a whole item of a list.
    pub(crate) fn quotes_item(source: &Source<'_>, place: usize) -> bool {
        let Some(behind) = source.peek_quoted(place) else { return true };
        let next = source.peek_space(behind);
        matches!(source.at(next), b',' | b']' | b'}') || source.is_end(next)
    }

    /// Whether words and then a closing bracket follow, and no other quote: nothing is left that could end the text.
    fn is_last_quote(&self, source: &Source<'_>, place: usize) -> bool {
        let mut at = place;
        let mut closed = false;
        while at < place + LOOK && !source.is_end(at) {
            if source.closing_len(self.quote, at).is_some() {
                return false;
            }
            closed |= matches!(source.at(at), b'}' | b']');
            at += 1;
        }
        source.at(at);
        closed
    }

    fn ends_key(source: &Source<'_>, next: usize, byte: u8) -> bool {
        match byte {
            b':' | b'=' | b',' | b'}' | b'{' | b'[' | b']' => true,
            0 => source.is_end(next),
            _ if byte.is_ascii_digit() => true,
            _ if source.quote_at(next).is_some() => {
                let (_, length) = source.quote_at(next).unwrap_or((Quote::Double, 1));
                source.at(source.peek_space(next + length)) != b':'
            }
            _ => literal_at(source, next) || source.is_comment(next),
        }
    }

    fn ends_member(&self, source: &Source<'_>, behind: usize, next: usize, byte: u8) -> bool {
        match byte {
            b',' => {
                let after = source.peek_space(next + 1);
                match source.at(after) {
                    b'}' | b']' | b'{' | b'[' | b'.' | b',' | b'#' => true,
                    0 => source.is_end(after),
                    b'`' if source.is_fence(after) => true,
                    b'/' => source.is_comment(after),
                    b'\\' => source.quote_at(after + 1).is_some() || source.at(after + 1) == b'n',
                    _ if source.quote_at(after).is_some() => key_like(source, after) != KeyLike::No,
                    _ => source.peek_word_colon(after).is_some(),
                }
            }
            b':' => false,
            _ if byte != b'`' && source.quote_at(next).is_some() => {
                key_like(source, next) == KeyLike::Yes || !self.closes_next(source, next)
            }
            _ if is_word_byte(byte) => {
                (source.peek_word_colon(next).is_some() && (next > behind || byte.is_ascii_digit()))
                    || self.is_last_quote(source, next)
            }
            _ => self.ends_anywhere(source, behind, next, byte),
        }
    }

    fn ends_item(&self, source: &Source<'_>, behind: usize, next: usize, byte: u8) -> bool {
        match byte {
            b',' => {
                let after = source.peek_space(next + 1);
                let first = source.at(after);
                if source.quote_at(after).is_some() || !is_word_byte(first) || first.is_ascii_digit() {
                    return !matches!(first, b'?' | b'!' | b';' | b')');
                }
                literal_at(source, after) || !self.meets_quote(source, after)
            }
            b':' => true,
            _ if byte != b'`' && source.quote_at(next).is_some() => !self.closes_next(source, next),
            _ if byte.is_ascii_digit() => true,
            _ if is_word_byte(byte) => self.is_last_quote(source, next),
            _ => self.ends_anywhere(source, behind, next, byte),
        }
    }

    fn ends_top(&self, source: &Source<'_>, behind: usize, next: usize, byte: u8) -> bool {
        match byte {
            b',' | b':' => true,
            b'}' | b']' => self.braces <= 0 && self.brackets <= 0,
            _ if byte != b'`' && source.quote_at(next).is_some() => !self.closes_next(source, next),
            _ if is_word_byte(byte) => false,
            _ => self.ends_anywhere(source, behind, next, byte),
        }
    }

    /// What ends a text wherever it stands.
    fn ends_anywhere(&self, source: &Source<'_>, behind: usize, next: usize, byte: u8) -> bool {
        match byte {
            0 => source.is_end(next),
            b'}' if self.around.objects > 0 || self.around.lists > 0 => Self::closer_counts(source, next, self.braces),
            b']' if self.around.lists > 0 => Self::closer_counts(source, next, self.brackets),
            b'{' | b'[' => true,
            b')' => self.around.parens > 0,
            b'/' => source.is_comment(next),
            b'#' => next > behind,
            b'`' => source.is_fence(next) || self.quote != Quote::Backtick,
            b'+' => {
                let after = source.peek_space(next + 1);
                source.quote_at(after).is_some() || source.is_comment(after) || source.is_end(after)
            }
            b'\\' => matches!(source.at(next + 1), b'n' | b'r' | b't'),
            b'<' => source.at(next + 1) == b'/' || source.at(next + 1) == b'|',
            _ => false,
        }
    }

    /// Whether a closing bracket behind the quote closes something outside of the text.
    fn closer_counts(source: &Source<'_>, next: usize, opened: i32) -> bool {
        if opened <= 0 {
            return true;
        }
        let after = source.peek_space(next + 1);
        let line_break = source.slice(next + 1, after).contains('\n');
        line_break || matches!(source.at(after), b',' | b'}' | b']' | b'`') || source.is_end(after)
    }

    /// Whether the quote at `next` closes this text, so that the one before it does not.
    fn closes_next(&self, source: &Source<'_>, next: usize) -> bool {
        let Some(length) = source.closing_len(self.quote, next) else { return false };
        let after = source.peek_space(next + length);
        matches!(source.at(after), b',' | b'}' | b']') || source.is_end(after)
    }

    /// Whether a quote comes before the next delimiter.
    fn meets_quote(&self, source: &Source<'_>, place: usize) -> bool {
        let mut at = place;
        while at < place + LOOK && !source.is_end(at) {
            if source.closing_len(self.quote, at).is_some() {
                return source.back_space(at, place).is_none_or(|before| source.at(before) != b',');
            }
            if matches!(source.at(at), b',' | b']' | b'}' | b'\n') {
                return false;
            }
            at += 1;
        }
        source.at(at);
        false
    }
}
