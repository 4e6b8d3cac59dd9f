//! The tokens of a pattern, and what the tokenizer finds out.

use super::{Feature, Features};

/// One piece of a pattern.
#[derive(Debug)]
pub(super) enum Token<'p> {
    One(CharToken<'p>),
    /// `.`
    Any,
    /// Single members and ranges.
    Class {
        negated: bool,
        items: Vec<(CharToken<'p>, Option<CharToken<'p>>)>,
    },
    Start,
    End,
    /// `\b`, `\B`, and Python's `\A`, `\Z`: the letter.
    Boundary(char),
    Bar,
    Open(Group<'p>),
    Close,
    /// `(?i)`
    Flags(&'p str),
    Repeat {
        min: u64,
        max: Option<u64>,
    },
    /// By number, of a group that need not exist.
    Backreference(usize),
}

/// A token that matches one character.
#[derive(Clone, Copy, Debug)]
pub(super) enum CharToken<'p> {
    Char(char),
    /// `\d`, `\D`, `\s`, `\S`, `\w`, `\W`: the letter.
    Set(char),
    Property {
        letter: char,
        name: &'p str,
    },
}

/// The letters of a set, or those that it leaves out where its own letter is a capital, as they stand in a class.
pub(super) fn set_letters(letter: char) -> Option<&'static str> {
    match letter {
        'd' | 'D' => Some("0-9"),
        'w' | 'W' => Some("0-9A-Za-z_"),
        's' | 'S' => Some(r" \t\n\r\x0B\x0C\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\uFEFF"),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Group<'p> {
    Capture,
    Plain,
    Scoped(&'p str),
    Ahead,
    Behind,
}

/// A token and the position of its text.
#[derive(Debug)]
pub(super) struct TokenSpan<'p> {
    pub(super) token: Token<'p>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The modes of ECMA-262 in which a pattern means what it was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EcmaMode {
    Either,
    /// With the `u` flag, as JSON Schema wants it.
    Unicode,
    /// Without the flag: stray brackets and needless escapes are characters.
    Legacy,
    Neither,
}

/// The findings about a pattern so far.
#[derive(Debug)]
pub(super) struct PatternFindings {
    pub(super) features: Features,
    pub(super) mode: EcmaMode,
}

impl PatternFindings {
    pub(super) fn note(&mut self, feature: Feature) {
        self.features.insert(feature);
    }

    pub(super) fn not_python(&mut self) {
        self.note(Feature::NotPython);
    }

    /// What was read is so in that mode alone.
    pub(super) fn only(&mut self, mode: EcmaMode) {
        let free = self.mode == EcmaMode::Either || self.mode == mode;
        self.mode = if free { mode } else { EcmaMode::Neither };
    }

    /// No engine takes it.
    pub(super) fn broken(&mut self) {
        self.mode = EcmaMode::Neither;
        self.not_python();
    }
}
