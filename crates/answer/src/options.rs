//! The choices on which readers of broken JSON disagree, each named, each with one default.

/// Options of [`salvage`](crate::salvage) for inputs on which parsers of broken JSON disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// `{"a":}`: what the missing value is.
    pub missing_value: MissingValue,
    /// `{"a`: what happens to a truncated key.
    pub cut_key: CutKey,
    /// `[tru`: what happens to a truncated literal.
    pub cut_literal: CutLiteral,
    /// `hello`: whether plain text is a value.
    pub bare_text: BareText,
    /// `{"a":1}{"b":2}`: which of several equally good values is used.
    pub several: Several,
    /// `007`: what a number with leading zeros is.
    pub leading_zeros: LeadingZeros,
    /// `NaN`: what a number that JSON does not have is.
    pub not_a_number: NotANumber,
    /// `[1, ...]`: what an ellipsis is.
    pub ellipsis: Ellipsis,
    /// Maximum nesting; a deeper value is refused.
    pub max_depth: usize,
    /// The text is incomplete: a string at its end is still open, not badly closed.
    pub(crate) arriving: bool,
}

/// What a missing value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingValue {
    /// `null`.
    Null,
    /// The empty string.
    Empty,
    /// Nothing: the key is dropped.
    Drop,
}

/// What happens to a truncated key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutKey {
    /// It is a key whose value is missing.
    Keep,
    /// It is dropped.
    Drop,
    /// It is dropped, unless it is the only key and there is no schema: `{"a` is `{"a": null}`.
    KeepOnly,
}

/// What happens to a truncated literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutLiteral {
    /// It becomes a string.
    Text,
    /// It is completed: `tru` is `true`.
    Complete,
}

/// Whether plain text is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareText {
    /// One line of plain text is a string.
    Text,
    /// It is not a value.
    Refuse,
}

/// Which of several values is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    /// The first complete one, one in a fence before others; of lists that follow each other directly the last. Without a
    /// schema that expects one value, values that only commas or line breaks separate become a list.
    First,
    /// The last complete one; but a list as above.
    Last,
    /// All of them, as a list; the first if the schema expects one value.
    All,
}

/// What a number with leading zeros is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadingZeros {
    /// A string: an identifier would lose its zeros.
    Text,
    /// The number.
    Number,
}

/// What `NaN` and `Infinity` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotANumber {
    /// A string.
    Text,
    /// `null`.
    Null,
}

/// What an ellipsis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ellipsis {
    /// It stands for something that was left out.
    Drop,
    /// A string.
    Keep,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            missing_value: MissingValue::Null,
            cut_key: CutKey::KeepOnly,
            cut_literal: CutLiteral::Text,
            bare_text: BareText::Text,
            several: Several::First,
            leading_zeros: LeadingZeros::Text,
            not_a_number: NotANumber::Text,
            ellipsis: Ellipsis::Drop,
            max_depth: 512,
            arriving: false,
        }
    }
}

impl Options {
    /// The defaults for a text that is still arriving: what is cut short is left out or completed, never invented.
    pub fn partial() -> Self {
        Self {
            missing_value: MissingValue::Drop,
            cut_key: CutKey::Drop,
            cut_literal: CutLiteral::Complete,
            arriving: true,
            ..Self::default()
        }
    }

    /// The same, for a value that something is known of: a tool's arguments, or what a schema wants.
    pub(crate) fn of_known(&self) -> Self {
        let cut_key = if self.cut_key == CutKey::KeepOnly { CutKey::Drop } else { self.cut_key };
        Self { cut_key, ..self.clone() }
    }

    /// Sets what a missing value is.
    #[must_use]
    pub fn with_missing_value(mut self, choice: MissingValue) -> Self {
        self.missing_value = choice;
        self
    }

    /// Sets what happens to a truncated key.
    #[must_use]
    pub fn with_cut_key(mut self, choice: CutKey) -> Self {
        self.cut_key = choice;
        self
    }

    /// Sets what happens to a truncated literal.
    #[must_use]
    pub fn with_cut_literal(mut self, choice: CutLiteral) -> Self {
        self.cut_literal = choice;
        self
    }

    /// Sets whether plain text is a value.
    #[must_use]
    pub fn with_bare_text(mut self, choice: BareText) -> Self {
        self.bare_text = choice;
        self
    }

    /// Sets which of several values counts.
    #[must_use]
    pub fn with_several(mut self, choice: Several) -> Self {
        self.several = choice;
        self
    }

    /// Sets what a number with leading zeros is.
    #[must_use]
    pub fn with_leading_zeros(mut self, choice: LeadingZeros) -> Self {
        self.leading_zeros = choice;
        self
    }

    /// Sets what `NaN` and `Infinity` are.
    #[must_use]
    pub fn with_not_a_number(mut self, choice: NotANumber) -> Self {
        self.not_a_number = choice;
        self
    }

    /// Sets what an ellipsis is.
    #[must_use]
    pub fn with_ellipsis(mut self, choice: Ellipsis) -> Self {
        self.ellipsis = choice;
        self
    }

    /// Sets how deep the value may be nested, at most 512.
    #[must_use]
    pub fn with_max_depth(mut self, depth: usize) -> Self {
        self.max_depth = depth.min(512);
        self
    }
}
