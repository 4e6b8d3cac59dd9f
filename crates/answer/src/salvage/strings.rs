//! Quoted strings: finds their end even if inner quotes are not escaped or the closing quote is missing.
//!
//! A scan never restarts. It remembers the first place where the string could have ended, so a missing quote costs one step
//! back, and it can continue when more text arrives.

use super::edge::{Around, Edge, Place};
use super::source::{KeyLike, Quote, Source, is_word_byte, key_like};
use crate::repair::RepairKind;

/// How a text is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Once,
    /// `""a""`.
    Twice,
    /// `"""a"""`, or three backticks.
    Thrice,
    /// `\"a\"`.
    Escaped,
}

/// A place to go back to: in the text, and how long the value was then.
#[derive(Clone, Copy, Debug)]
struct Mark {
    place: usize,
    length: usize,
    /// For the comma before a bare key: the place of the key's colon.
    colon: usize,
}

/// A text that was read to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) text: String,
    /// Where reading goes on.
    pub(crate) next: usize,
    pub(crate) complete: bool,
}

/// What a text is taken for that the source ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Still arriving.
    Open,
    /// Badly closed, if brackets stand at its end.
    Closed,
}

/// What a scan came to.
pub(crate) enum Scanned {
    Ended(Ended),
    More,
}

/// What a quote or an escape came to.
enum Passed {
    /// It is part of the text.
    On,
    Ended(Ended),
    /// More must be seen.
    More,
}

/// What the quote at a place is.
enum Verdict {
    End,
    Inner,
    /// The text ended before, where a quote is missing.
    Before(Mark),
}

/// A text being read.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    edge: Edge,
    /// The place of the opening quote.
    pub(crate) start: usize,
    style: Style,
    pub(crate) text: String,
    /// Behind what is in `text`.
    place: usize,
    comma: Option<Mark>,
    colon: Option<Mark>,
    /// The length of `text` up to its last escape: what is behind stands in the source as it is.
    raw_from: usize,
    pub(crate) repairs: Vec<RepairKind>,
}

impl Scan {
    /// Starts at a quote, which a backslash may precede.
    pub(crate) fn start(source: &Source<'_>, place: usize, around: Around) -> Option<Self> {
        let escaped = source.at(place) == b'\\';
        let open = place + usize::from(escaped);
        let (quote, length) = source.quote_at(open)?;
        let mut scan = Self {
            edge: Edge::new(around, quote),
            start: place,
            style: if escaped { Style::Escaped } else { Style::Once },
            text: String::new(),
            place: open + length,
            comma: None,
            colon: None,
            raw_from: 0,
            repairs: Vec::new(),
        };
        if quote != Quote::Double || escaped {
            scan.note(RepairKind::Quote);
        }
        if !escaped {
            scan.see_repeated(source, open, length);
        }
        Some(scan)
    }

    /// Doubled and tripled quotes.
    fn see_repeated(&mut self, source: &Source<'_>, open: usize, length: usize) {
        let same = |place: usize| source.quote_at(place) == Some((self.edge.quote, length));
        if !same(open + length) {
            return;
        }
        let third = open + 2 * length;
        if same(third) && length == 1 {
            self.style = Style::Thrice;
            self.place = third + length;
            if self.edge.quote == Quote::Backtick {
                // The rest of the line is a language.
                let line = source.peek_line(self.place);
                self.place = line.unwrap_or(self.place);
            }
            if source.at(self.place) == b'\n' {
                self.place += 1;
            }
        } else if is_word_byte(source.at(third)) && self.edge.quote != Quote::Backtick {
            self.style = Style::Twice;
            self.place = third;
        } else {
            return;
        }
        self.note(RepairKind::Quote);
    }

    pub(crate) fn stands(&self) -> Place {
        self.edge.around.place
    }

    /// How far the source was read.
    pub(crate) fn place(&self) -> usize {
        self.place
    }

    fn note(&mut self, kind: RepairKind) {
        if !self.repairs.contains(&kind) {
            self.repairs.push(kind);
        }
    }

    /// Reads on until the text ends or the source does.
    pub(crate) fn advance(&mut self, source: &Source<'_>, tail: Tail) -> Scanned {
        let mut run = self.place;
        loop {
            let place = source.skip_plain(self.place);
            self.place = place;
            if source.is_end(place) {
                self.text.push_str(source.slice(run, place));
                if source.is_open() {
                    return Scanned::More;
                }
                return Scanned::Ended(self.finish(source, tail));
            }
            let byte = source.at(place);
            if byte == b'\\' {
                self.text.push_str(source.slice(run, place));
                match self.escape(source, place) {
                    Passed::More => return Scanned::More,
                    Passed::Ended(ended) => return Scanned::Ended(ended),
                    Passed::On => {}
                }
                run = self.place;
                continue;
            }
            if let Some(length) = source.closing_len(self.edge.quote, place) {
                self.text.push_str(source.slice(run, place));
                run = place;
                match self.close(source, place, length) {
                    Passed::More => return Scanned::More,
                    Passed::Ended(ended) => return Scanned::Ended(ended),
                    Passed::On => {}
                }
            } else {
                self.see(source, byte, place, self.text.len() + (place - run));
            }
            self.place = place + 1;
            while !source.is_boundary(self.place) {
                self.place += 1;
            }
        }
    }

    /// Notes what a byte inside the text means for its end.
    fn see(&mut self, source: &Source<'_>, byte: u8, place: usize, length: usize) {
        let mark = Mark { place, length, colon: 0 };
        match byte {
            b'{' => self.edge.braces += 1,
            b'}' => self.edge.braces -= 1,
            b'[' => self.edge.brackets += 1,
            b']' => self.edge.brackets -= 1,
            b':' if self.edge.around.place == Place::Key && self.colon.is_none() => self.colon = Some(mark),
            b',' if self.comma.is_none() => match self.edge.around.place {
                Place::Item => self.comma = Some(mark),
                Place::Member => {
                    let key = source.peek_space(place + 1);
                    if let Some(behind) = source.peek_word_colon(key) {
                        self.comma = Some(Mark { colon: behind - 1, ..mark });
                    }
                }
                Place::Key | Place::Top => {}
            },
            0..0x20 => self.note(RepairKind::Control),
            _ => {}
        }
    }

    /// Decides about a quote.
    fn close(&mut self, source: &Source<'_>, place: usize, length: usize) -> Passed {
        let behind = match self.style {
            Style::Once | Style::Escaped => place + length,
            Style::Twice | Style::Thrice => {
                let count = if self.style == Style::Twice { 2 } else { 3 };
                let mut at = place;
                let mut seen = 0;
                while seen < count && source.closing_len(self.edge.quote, at) == Some(length) {
                    at += length;
                    seen += 1;
                }
                let whole = seen == count && source.closing_len(self.edge.quote, at).is_none();
                if source.was_touched() {
                    return Passed::More;
                }
                if !whole {
                    return Passed::On;
                }
                if self.style == Style::Thrice {
                    if self.text.ends_with('\n') {
                        self.text.pop();
                    }
                    self.text = dedent(&self.text);
                }
                return Passed::Ended(self.end(at));
            }
        };
        let verdict = self.judge(source, place, behind);
        if source.was_touched() {
            return Passed::More;
        }
        match verdict {
            Verdict::End => Passed::Ended(self.end(behind)),
            Verdict::Inner => {
                self.note(RepairKind::InnerQuote);
                Passed::On
            }
            Verdict::Before(mark) => Passed::Ended(self.end_before(mark)),
        }
    }

    fn end(&mut self, next: usize) -> Ended {
        let tail = self.text.get(self.raw_from..).unwrap_or_default();
        if self.style != Style::Thrice && tail.ends_with('\n') {
            let kept = self.raw_from + tail.trim_end().len();
            self.text.truncate(kept);
            self.note(RepairKind::Trimmed);
        }
        Ended { text: std::mem::take(&mut self.text), next, complete: true }
    }

    fn end_before(&mut self, mark: Mark) -> Ended {
        self.text.truncate(mark.length);
        self.text.truncate(self.text.trim_end().len());
        self.note(RepairKind::Quote);
        Ended { text: std::mem::take(&mut self.text), next: mark.place, complete: true }
    }

    /// The source ended inside the text.
    fn finish(&mut self, source: &Source<'_>, tail: Tail) -> Ended {
        if let (Place::Key, Some(mark)) = (self.edge.around.place, self.colon) {
            return self.end_before(mark);
        }
        let closers =
            if tail == Tail::Open || self.style == Style::Thrice { None } else { source.closers_at_end(self.start) };
        if let (Some(closers), Place::Member | Place::Item) = (closers, self.edge.around.place) {
            if let Some(mark) = self.comma {
                return self.end_before(mark);
            }
            let length = self.text.len().saturating_sub(source.len() - closers);
            if self.text.is_char_boundary(length) && self.raw_from <= length {
                let ended = self.end_before(Mark { place: closers, length, colon: 0 });
                let text = ended.text.trim_end_matches(['“', '”', '‘', '’']).to_owned();
                return Ended { text, ..ended };
            }
        }
        Ended { text: std::mem::take(&mut self.text), next: source.len(), complete: false }
    }

    /// What the quote at `place` is, given what stands behind it.
    fn judge(&self, source: &Source<'_>, place: usize, behind: usize) -> Verdict {
        let ends = self.edge.is_end(source, behind);
        if ends || self.style == Style::Escaped {
            return Verdict::End;
        }
        self.missing_before(source, place, behind).map_or(Verdict::Inner, Verdict::Before)
    }

    /// The place at which the text ended, if this quote opens the next one.
    fn missing_before(&self, source: &Source<'_>, place: usize, behind: usize) -> Option<Mark> {
        if self.edge.around.place == Place::Key {
            return self.colon;
        }
        let before = source.back_space(place, self.start + 1)?;
        let opens_next = match self.edge.around.place {
            Place::Item => {
                !is_delimiter(source.at(behind)) && source.space_len(behind) == 0 && Edge::quotes_item(source, place)
            }
            Place::Member => key_like(source, place) == KeyLike::Yes,
            Place::Key | Place::Top => false,
        };
        match source.at(before) {
            b',' if opens_next => {
                let length = self.text.len().checked_sub(place - before)?;
                Some(Mark { place: before, length, colon: 0 })
            }
            b':' => self.comma.filter(|mark| mark.colon == before && self.edge.around.place == Place::Member),
            _ => None,
        }
    }

    /// Reads an escape, inside of which the source may end.
    fn escape(&mut self, source: &Source<'_>, place: usize) -> Passed {
        let mut slash = place;
        if self.style == Style::Escaped {
            if let Some(length) = source.closing_len(self.edge.quote, place + 1) {
                return Passed::Ended(self.end(place + 1 + length));
            }
            if source.at(place + 1) == b'\\' {
                // What the escape is about is escaped, too: `\\\"` is a quote and `\\\\` one backslash.
                let escaped = source.at(place + 2) == b'\\' && matches!(source.at(place + 3), b'"' | b'\\');
                slash = place + 1 + usize::from(escaped);
                if source.was_touched() {
                    // Which backslash escapes is told by what is still to come.
                    self.place = place;
                    return Passed::More;
                }
            }
        }
        let byte = source.at(slash + 1);
        let plain = match byte {
            b'"' | b'\\' | b'/' => Some(char::from(byte)),
            b'\'' | b'`' => {
                self.note(RepairKind::Escape);
                Some(char::from(byte))
            }
            b'\n' => {
                self.note(RepairKind::Escape);
                Some('\n')
            }
            b'n' => Some('\n'),
            b'r' => Some('\r'),
            b't' => Some('\t'),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            _ => None,
        };
        let length = match (plain, byte) {
            (Some(char), _) => {
                self.text.push(char);
                2
            }
            (None, b'u') => match unicode(source, slash) {
                Unicode::Char(char, length) => {
                    self.text.push(char);
                    length
                }
                Unicode::Cut => 0,
                Unicode::Bad => {
                    self.note(RepairKind::Escape);
                    self.text.push_str("\\u");
                    2
                }
            },
            (None, _) if source.is_end(slash + 1) => 0,
            (None, _) => {
                // A backslash that escapes nothing is a backslash: paths and patterns are full of them.
                self.note(RepairKind::Escape);
                self.text.push('\\');
                1
            }
        };
        if source.was_touched() {
            self.place = place;
            return Passed::More;
        }
        self.raw_from = self.text.len();
        if length == 0 {
            return Passed::Ended(Ended { text: std::mem::take(&mut self.text), next: source.len(), complete: false });
        }
        self.place = slash + length;
        Passed::On
    }
}

/// Lines without the indent that all of them share. Lines of white space become empty.
pub(crate) fn dedent(text: &str) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let is_blank = |line: &&str| line.trim().is_empty();
    let shared = text.lines().filter(|line| !is_blank(line)).map(indent).min().unwrap_or(0);
    let lines = text.split('\n').map(|line| if is_blank(&line) { "" } else { line.get(shared..).unwrap_or(line) });
    lines.collect::<Vec<_>>().join("\n")
}

/// What a `\u` escape gives.
enum Unicode {
    Char(char, usize),
    /// The source ends inside of it.
    Cut,
    Bad,
}

fn unicode(source: &Source<'_>, slash: usize) -> Unicode {
    let Some(high) = hex(source, slash + 2) else {
        let digits = (slash + 2..slash + 6).take_while(|place| source.at(*place).is_ascii_hexdigit()).count();
        return if source.is_end(slash + 2 + digits) { Unicode::Cut } else { Unicode::Bad };
    };
    if (0xd800..0xdc00).contains(&high) {
        let low =
            if source.at(slash + 6) == b'\\' && source.at(slash + 7) == b'u' { hex(source, slash + 8) } else { None };
        return match low {
            Some(low @ 0xdc00..0xe000) => {
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                char::from_u32(code).map_or(Unicode::Bad, |char| Unicode::Char(char, 12))
            }
            _ if cut_at(source, slash + 6) => Unicode::Cut,
            _ => Unicode::Char(char::REPLACEMENT_CHARACTER, 6),
        };
    }
    Unicode::Char(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

/// Whether the source ends inside an escape that starts at a place.
fn cut_at(source: &Source<'_>, place: usize) -> bool {
    let mut expected = [b'\\', b'u'].into_iter();
    let mut at = place;
    while !source.is_end(at) && at < place + 6 {
        let byte = source.at(at);
        if !expected.next().map_or(byte.is_ascii_hexdigit(), |wanted| wanted == byte) {
            return false;
        }
        at += 1;
    }
    source.is_end(at)
}

fn hex(source: &Source<'_>, place: usize) -> Option<u32> {
    let mut code = 0;
    for offset in 0..4 {
        code = code * 16 + char::from(source.at(place + offset)).to_digit(16)?;
    }
    Some(code)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b',' | b':' | b'[' | b']' | b'{' | b'}' | b'(' | b')' | b'/' | b'+' | 0)
}
