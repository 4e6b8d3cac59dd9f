//! Owns how the text of a pattern is cut into tokens: escapes, classes, groups and repeats. One pass, no recursion.

use std::collections::BTreeMap;
use std::str::Chars;

use super::groups::GroupTracker;
use super::token::{CharToken, EcmaMode, Group, PatternFindings, Token, TokenSpan};
use super::{Feature, Features, LARGE_BOUND};

/// A pattern in pieces.
pub(super) struct Parsed<'p> {
    pub(super) spots: Vec<TokenSpan<'p>>,
    pub(super) features: Features,
    pub(super) mode: EcmaMode,
}

/// Room for so many pieces is made at once.
const FEW_SPOTS: usize = 32;

impl<'p> Parsed<'p> {
    pub(super) fn read(pattern: &'p str) -> Self {
        let mut spots: Vec<TokenSpan<'p>> = Vec::with_capacity(pattern.len().min(FEW_SPOTS));
        let PatternFindings { features, mode } = scan(pattern, |spot| spots.push(spot));
        Self { spots, features, mode }
    }
}

/// Reads a pattern and hands out its pieces in turn.
pub(super) fn scan<'p>(pattern: &'p str, mut each: impl FnMut(TokenSpan<'p>)) -> PatternFindings {
    let mut reader = PatternReader {
        pattern,
        rest: pattern.chars(),
        findings: PatternFindings { features: Features::default(), mode: EcmaMode::Either },
        captures: 0,
        names: BTreeMap::new(),
    };
    let mut shape = GroupTracker::new();
    let (mut starts, mut ends, mut after_flags) = (false, false, true);
    loop {
        let start = reader.offset();
        let Some(token) = reader.token() else { break };
        // Python takes `(?i)` at the very start only, after nothing but its like.
        let flags = matches!(token, Token::Flags(_));
        if flags && !after_flags {
            reader.findings.not_python();
        }
        after_flags = flags;
        starts |= start == 0 && matches!(token, Token::Start);
        ends = start > 0 && matches!(token, Token::End);
        shape.add(&token, &mut reader.findings);
        each(TokenSpan { token, start, end: reader.offset() });
    }
    if !shape.finish(&mut reader.findings) || !starts || !ends {
        reader.findings.note(Feature::Unanchored);
    }
    reader.findings
}

/// Cuts a pattern into tokens and notes what their spelling gives away.
struct PatternReader<'p> {
    pattern: &'p str,
    rest: Chars<'p>,
    findings: PatternFindings,
    captures: usize,
    /// The number of each named group.
    names: BTreeMap<&'p str, usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EscapePosition {
    Class,
    Outside,
}

impl<'p> PatternReader<'p> {
    fn offset(&self) -> usize {
        self.pattern.len() - self.rest.as_str().len()
    }

    fn char(&mut self, char: char) -> CharToken<'p> {
        // Without the flag it is two characters.
        if char.len_utf16() > 1 {
            self.findings.only(EcmaMode::Unicode);
        }
        CharToken::Char(char)
    }

    fn eat(&mut self, text: &str) -> bool {
        let after = self.rest.as_str().strip_prefix(text);
        self.rest = after.map_or_else(|| self.rest.clone(), str::chars);
        after.is_some()
    }

    /// The longest run of such characters, but no more than `most`.
    fn eat_while(&mut self, most: usize, accept: impl Fn(char) -> bool) -> &'p str {
        let text = self.rest.as_str();
        let end = text.char_indices().take(most).take_while(|(_, char)| accept(*char)).last();
        let (run, after) = text.split_at(end.map_or(0, |(at, char)| at + char.len_utf8()));
        self.rest = after.chars();
        run
    }

    fn token(&mut self) -> Option<Token<'p>> {
        Some(match self.rest.next()? {
            '\\' => self.escape_outside(),
            '[' => self.class(),
            '(' => self.group(),
            ')' => Token::Close,
            '|' => Token::Bar,
            '^' => Token::Start,
            '$' => Token::End,
            '.' => Token::Any,
            '*' => self.repeat(0, None),
            '+' => self.repeat(1, None),
            '?' => self.repeat(0, Some(1)),
            '{' => self.braces(),
            char => {
                if matches!(char, ']' | '}') {
                    self.findings.only(EcmaMode::Legacy);
                }
                Token::One(self.char(char))
            }
        })
    }

    /// A repeat whose bounds are read, with the `?` or `+` that may follow.
    fn repeat(&mut self, min: u64, max: Option<u64>) -> Token<'p> {
        if !self.eat("?") && self.eat("+") {
            // Possessive: Python since 3.11, ECMA-262 never.
            self.findings.mode = EcmaMode::Neither;
        }
        Token::Repeat { min, max }
    }

    /// After `{`: a repeat, or the character itself.
    fn braces(&mut self) -> Token<'p> {
        let here = self.rest.clone();
        let low = self.eat_while(usize::MAX, |char| char.is_ascii_digit());
        let comma = self.eat(",");
        let high = if comma { self.eat_while(usize::MAX, |char| char.is_ascii_digit()) } else { low };
        let closed = self.eat("}");
        if !closed || low.is_empty() {
            // Python reads `{,5}` as a repeat.
            if closed && comma {
                self.findings.not_python();
            }
            self.rest = here;
            self.findings.only(EcmaMode::Legacy);
            return Token::One(CharToken::Char('{'));
        }
        let min = low.parse().unwrap_or(u64::MAX);
        let max = if high.is_empty() { None } else { Some(high.parse().unwrap_or(u64::MAX)) };
        if max.is_some_and(|max| max < min) {
            self.findings.broken();
        }
        // Python's own ceiling.
        if max.unwrap_or(min).max(min) >= u64::from(u32::MAX) {
            self.findings.not_python();
        }
        if max.unwrap_or(min).max(min) > LARGE_BOUND {
            self.findings.note(Feature::LargeRepeat);
        }
        self.repeat(min, max)
    }

    /// After `(`.
    fn group(&mut self) -> Token<'p> {
        if !self.eat("?") {
            self.captures += 1;
            return Token::Open(Group::Capture);
        }
        if self.eat(":") {
            return Token::Open(Group::Plain);
        }
        for (mark, group) in [("=", Group::Ahead), ("!", Group::Ahead), ("<=", Group::Behind), ("<!", Group::Behind)] {
            if self.eat(mark) {
                self.findings.note(Feature::Lookaround);
                return Token::Open(group);
            }
        }
        if self.eat("P=") {
            let name = self.eat_while(usize::MAX, |char| char != ')');
            self.findings.note(Feature::Backreference);
            self.findings.mode = EcmaMode::Neither;
            if !self.eat(")") {
                self.findings.not_python();
            }
            return Token::Backreference(self.names.get(name).copied().unwrap_or(usize::MAX));
        }
        let python = self.eat("P<");
        if python || self.eat("<") {
            let name = self.eat_while(usize::MAX, |char| char.is_ascii_alphanumeric() || char == '_');
            if name.is_empty() || name.starts_with(|char: char| char.is_ascii_digit()) || !self.eat(">") {
                self.findings.broken();
            }
            self.captures += 1;
            if self.names.insert(name, self.captures).is_some() || !python {
                self.findings.not_python();
            }
            return Token::Open(Group::Capture);
        }
        let flags = self.eat_while(usize::MAX, |char| char.is_ascii_alphabetic() || char == '-');
        if flags.is_empty() {
            self.findings.broken();
            return Token::Open(Group::Plain);
        }
        self.findings.note(Feature::InlineFlag);
        if self.eat(")") {
            if flags.contains('-') || !python_flags(flags) {
                self.findings.not_python();
            }
            return Token::Flags(flags);
        }
        if !self.eat(":") {
            self.findings.broken();
        } else if !python_flags(flags) {
            self.findings.not_python();
        }
        Token::Open(Group::Scoped(flags))
    }

    /// After `[`.
    fn class(&mut self) -> Token<'p> {
        let negated = self.eat("^");
        // `[]` and `[^]` are whole in ECMA-262; to Python the bracket is a member.
        if self.eat("]") {
            self.findings.not_python();
            return Token::Class { negated, items: Vec::new() };
        }
        let mut items = Vec::new();
        while !self.eat("]") {
            let Some(low) = self.class_member() else { break };
            if !self.rest.as_str().starts_with('-') || self.rest.as_str().starts_with("-]") {
                items.push((low, None));
                continue;
            }
            self.eat("-");
            let Some(high) = self.class_member() else { break };
            match (low, high) {
                (CharToken::Char(from), CharToken::Char(to)) => {
                    if from > to {
                        self.findings.broken();
                    }
                    items.push((low, Some(high)));
                }
                // Without the flag the dash is a member; with it, and in Python, this is an error.
                (CharToken::Char(_) | CharToken::Set(_) | CharToken::Property { .. }, _) => {
                    self.findings.only(EcmaMode::Legacy);
                    self.findings.not_python();
                    items.extend([(low, None), (CharToken::Char('-'), None), (high, None)]);
                }
            }
        }
        Token::Class { negated, items }
    }

    fn class_member(&mut self) -> Option<CharToken<'p>> {
        let Some(char) = self.rest.next() else {
            self.findings.broken();
            return None;
        };
        if char != '\\' {
            return Some(self.char(char));
        }
        match self.rest.clone().next() {
            Some('b') => {
                self.rest.next();
                Some(CharToken::Char('\u{8}'))
            }
            _ => Some(self.escape(EscapePosition::Class)),
        }
    }

    fn escape_outside(&mut self) -> Token<'p> {
        let mut ahead = self.rest.clone();
        match ahead.next() {
            Some(letter @ ('b' | 'B')) => {
                self.rest = ahead;
                self.findings.note(Feature::WordBoundary);
                Token::Boundary(letter)
            }
            Some(letter @ ('A' | 'Z')) => {
                self.rest = ahead;
                self.findings.mode = EcmaMode::Neither;
                Token::Boundary(letter)
            }
            Some('1'..='9') => {
                let digits = self.eat_while(usize::MAX, |char| char.is_ascii_digit());
                self.findings.note(Feature::Backreference);
                // Python reads three digits as an octal number.
                if digits.len() > 2 {
                    self.findings.not_python();
                }
                Token::Backreference(digits.parse().unwrap_or(usize::MAX))
            }
            Some('k') if ahead.as_str().starts_with('<') => {
                self.rest = ahead;
                self.eat_while(usize::MAX, |char| char != '>');
                self.findings.note(Feature::Backreference);
                self.findings.not_python();
                if !self.eat(">") {
                    self.findings.broken();
                }
                Token::Backreference(usize::MAX)
            }
            _ => Token::One(self.escape(EscapePosition::Outside)),
        }
    }

    /// After a backslash, where it stands for one character.
    fn escape(&mut self, place: EscapePosition) -> CharToken<'p> {
        let Some(char) = self.rest.next() else {
            self.findings.broken();
            return CharToken::Char('\\');
        };
        CharToken::Char(match char {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => return CharToken::Set(char),
            'p' | 'P' => return self.property(char),
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'a' => {
                self.findings.mode = EcmaMode::Neither;
                '\u{7}'
            }
            'x' => self.code(2),
            'u' => return self.unicode(),
            'c' => {
                self.findings.not_python();
                let letter = self.eat_while(1, |char| char.is_ascii_alphabetic()).bytes().next();
                if letter.is_none() {
                    self.findings.broken();
                }
                letter.map_or('c', |byte| char::from(byte & 0x1f))
            }
            '0' => {
                let octal = self.eat_while(2, |char| ('0'..='7').contains(&char));
                if !octal.is_empty() {
                    self.findings.only(EcmaMode::Legacy);
                }
                u8::from_str_radix(octal, 8).map_or('\0', char::from)
            }
            _ => {
                if char.is_ascii_alphanumeric() {
                    self.findings.broken();
                } else if !r"^$\.*+?()[]{}|/".contains(char) && (place == EscapePosition::Outside || char != '-') {
                    self.findings.only(EcmaMode::Legacy);
                }
                return self.char(char);
            }
        })
    }

    /// After `\p`.
    fn property(&mut self, letter: char) -> CharToken<'p> {
        self.findings.note(Feature::UnicodeClass);
        self.findings.not_python();
        self.findings.only(EcmaMode::Unicode);
        let open = self.eat("{");
        let name = if open { self.eat_while(usize::MAX, |char| char != '}') } else { "" };
        if !open || !self.eat("}") {
            self.findings.broken();
        }
        CharToken::Property { letter, name }
    }

    /// After `\u`: four digits, a pair of halves, or digits in braces.
    fn unicode(&mut self) -> CharToken<'p> {
        if self.eat("{") {
            self.findings.not_python();
            self.findings.only(EcmaMode::Unicode);
            let digits = self.eat_while(usize::MAX, |char| char.is_ascii_hexdigit());
            let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
            if !self.eat("}") || code.is_none() {
                self.findings.broken();
            }
            return CharToken::Char(code.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let mut ahead = self.rest.clone();
        let high = hex(&mut ahead, 4);
        let low = (ahead.next() == Some('\\') && ahead.next() == Some('u')).then(|| hex(&mut ahead, 4)).flatten();
        match (high, low) {
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                // Python compiles the halves of a pair, but finds them in no text.
                self.findings.not_python();
                self.rest = ahead;
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                self.char(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            _ => CharToken::Char(self.code(4)),
        }
    }

    /// Just so many hexadecimal digits.
    fn code(&mut self, digits: usize) -> char {
        let mut ahead = self.rest.clone();
        let code = hex(&mut ahead, digits).and_then(char::from_u32);
        if code.is_some() {
            self.rest = ahead;
        } else {
            self.findings.broken();
        }
        code.unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

fn hex(chars: &mut Chars<'_>, digits: usize) -> Option<u32> {
    (0..digits).try_fold(0, |code, _| Some(code * 16 + chars.next()?.to_digit(16)?))
}

/// Whether Python takes these inline flags; `x` is left out because it changes how the rest is read.
fn python_flags(flags: &str) -> bool {
    let (on, off) = flags.split_once('-').unwrap_or((flags, "i"));
    on.chars().all(|flag| "aimsu".contains(flag))
        && !(on.contains('a') && on.contains('u'))
        && !off.is_empty()
        && off.chars().all(|flag| "ims".contains(flag))
        && !(flags.contains('-') && on.chars().any(|flag| off.contains(flag)))
}
