//! A value as tokens: what each means and what it is written as.

use serde_json::Value;

use crate::sample::dice::Dice;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    OpenObject,
    CloseObject,
    OpenList,
    CloseList,
    Comma,
    Colon,
    Key,
    Text,
    Number,
    Word,
    Space,
    /// What a fault added, which means nothing.
    Noise,
}

impl Kind {
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::OpenObject | Self::OpenList)
    }

    pub(super) fn is_close(self) -> bool {
        matches!(self, Self::CloseObject | Self::CloseList)
    }

    pub(super) fn is_noise(self) -> bool {
        matches!(self, Self::Space | Self::Noise)
    }
}

/// A token.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// JSON.
    pub(super) meant: String,
    pub(super) text: String,
}

impl Token {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, meant: text.clone(), text }
    }

    pub(super) fn noise(text: impl Into<String>) -> Self {
        Self { kind: Kind::Noise, meant: String::new(), text: text.into() }
    }

    /// Whether no fault touched it yet.
    pub(super) fn is_whole(&self) -> bool {
        self.meant == self.text
    }
}

/// How the white space is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Compact,
    /// A space behind commas and colons.
    Spaced,
    /// Lines, indented by so many spaces.
    Lines(usize),
}

impl Style {
    pub(super) fn pick(dice: &mut Dice) -> Self {
        match dice.below(4) {
            0 => Self::Compact,
            1 => Self::Spaced,
            2 => Self::Lines(2),
            _ => Self::Lines(4),
        }
    }
}

/// A value as tokens.
#[derive(Clone, Debug)]
pub(super) struct Tokens {
    pub(super) list: Vec<Token>,
    /// What closes the value where the text was cut.
    ending: String,
}

impl Tokens {
    pub(super) fn write(value: &Value, style: Style) -> Self {
        let mut tokens = Self { list: Vec::new(), ending: String::new() };
        tokens.push_value(value, style, 0);
        tokens
    }

    fn push(&mut self, kind: Kind, text: impl Into<String>) {
        self.list.push(Token::new(kind, text));
    }

    fn push_break(&mut self, style: Style, depth: usize) {
        if let Style::Lines(width) = style {
            self.push(Kind::Space, format!("\n{}", " ".repeat(width * depth)));
        }
    }

    fn push_value(&mut self, value: &Value, style: Style, depth: usize) {
        match value {
            Value::Null | Value::Bool(_) => self.push(Kind::Word, value.to_string()),
            Value::Number(number) => self.push(Kind::Number, number.to_string()),
            Value::String(_) => self.push(Kind::Text, value.to_string()),
            Value::Array(items) => {
                self.push(Kind::OpenList, "[");
                for (index, item) in items.iter().enumerate() {
                    self.push_separator(index, style, depth + 1);
                    self.push_value(item, style, depth + 1);
                }
                self.push_break(if items.is_empty() { Style::Compact } else { style }, depth);
                self.push(Kind::CloseList, "]");
            }
            Value::Object(members) => {
                self.push(Kind::OpenObject, "{");
                for (index, (key, member)) in members.iter().enumerate() {
                    self.push_separator(index, style, depth + 1);
                    self.push(Kind::Key, Value::from(key.as_str()).to_string());
                    self.push(Kind::Colon, ":");
                    if style != Style::Compact {
                        self.push(Kind::Space, " ");
                    }
                    self.push_value(member, style, depth + 1);
                }
                self.push_break(if members.is_empty() { Style::Compact } else { style }, depth);
                self.push(Kind::CloseObject, "}");
            }
        }
    }

    fn push_separator(&mut self, index: usize, style: Style, depth: usize) {
        if index > 0 {
            self.push(Kind::Comma, ",");
            if style == Style::Spaced {
                self.push(Kind::Space, " ");
            }
        }
        self.push_break(style, depth);
    }

    pub(super) fn text(&self) -> String {
        self.list.iter().map(|token| token.text.as_str()).collect()
    }

    /// The value that is meant.
    pub(super) fn value(&self) -> Option<Value> {
        let json: String = self.list.iter().map(|token| token.meant.as_str()).chain([self.ending.as_str()]).collect();
        serde_json::from_str(&json).ok()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Token> {
        self.list.get(index)
    }

    pub(super) fn kind(&self, index: usize) -> Option<Kind> {
        self.get(index).map(|token| token.kind)
    }

    /// The next token that is no noise.
    pub(super) fn next(&self, index: usize) -> Option<usize> {
        (index + 1..self.list.len()).find(|at| self.get(*at).is_some_and(|token| !token.kind.is_noise()))
    }

    /// The token before that is no noise.
    pub(super) fn before(&self, index: usize) -> Option<usize> {
        (0..index).rev().find(|at| self.get(*at).is_some_and(|token| !token.kind.is_noise()))
    }

    /// The kind of container that a token stands in.
    pub(super) fn parent(&self, index: usize) -> Option<Kind> {
        let mut depth = 0_usize;
        for token in self.list.iter().take(index).rev() {
            if token.kind.is_close() {
                depth += 1;
            } else if token.kind.is_open() {
                if depth == 0 {
                    return Some(token.kind);
                }
                depth -= 1;
            }
        }
        None
    }

    /// One of the untouched tokens that pass a test.
    pub(super) fn pick(&self, dice: &mut Dice, test: impl Fn(usize, &Token) -> bool) -> Option<usize> {
        let fitting: Vec<usize> = self
            .list
            .iter()
            .enumerate()
            .filter(|(index, token)| token.is_whole() && test(*index, token))
            .map(|(index, _)| index)
            .collect();
        dice.pick(&fitting).copied()
    }

    pub(super) fn set_text(&mut self, index: usize, text: impl Into<String>) {
        if let Some(token) = self.list.get_mut(index) {
            token.text = text.into();
        }
    }

    pub(super) fn set_meant(&mut self, index: usize, meant: impl Into<String>) {
        if let Some(token) = self.list.get_mut(index) {
            token.meant = meant.into();
        }
    }

    pub(super) fn insert(&mut self, index: usize, token: Token) {
        if index <= self.list.len() {
            self.list.insert(index, token);
        }
    }

    /// Behind a complete value, or inside a string, so that it is clear what arrived.
    pub(super) fn pick_cut(&self, dice: &mut Dice) -> Option<(usize, usize)> {
        let index = self.pick(dice, |index, token| {
            index > 2
                && match token.kind {
                    Kind::Text => token.text.len() > 8 && token.text.is_ascii() && !token.text.contains('\\'),
                    Kind::Comma => true,
                    _ => false,
                }
        })?;
        let length = match self.kind(index) {
            Some(Kind::Text) => 2 + dice.below(self.get(index)?.text.len().saturating_sub(4)),
            _ => 0,
        };
        Some((index, length))
    }

    /// Cuts the text inside a string, or behind a comma.
    pub(super) fn truncate(&mut self, (index, length): (usize, usize)) {
        let mut open = Vec::new();
        for token in self.list.iter().take(index) {
            if token.kind.is_open() {
                open.push(if token.kind == Kind::OpenObject { '}' } else { ']' });
            } else if token.kind.is_close() {
                open.pop();
            }
        }
        self.list.truncate(index + 1);
        if let Some(token) = self.list.last_mut() {
            if token.kind == Kind::Text {
                token.text.truncate(length);
                // Untouchable from now on: what it means is no longer what it says.
                token.meant = format!("{}\"", token.text);
            } else {
                token.meant = String::new();
            }
        }
        self.ending = open.into_iter().rev().collect();
    }
}
