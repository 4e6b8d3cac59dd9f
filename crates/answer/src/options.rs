//! The choices on which readers of broken JSON disagree, each named, each with one default.

/// How [`salvage`](crate::salvage) decides what a text leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// `{"a":}`: what the missing value is.
    pub missing_value: MissingValue,
    /// `{"a`: what becomes of a key at which the text ends.
    pub cut_key: CutKey,
    /// `[tru`: what becomes of a literal at which the text ends.
    pub cut_literal: CutLiteral,
    /// `hello`: whether a text without any notation is a value.
    pub bare_text: BareText,
    /// `{"a":1}{"b":2}`: which of several values counts, where all are equally good.
    pub several: Several,
    /// `007`: what a number with leading zeros is.
    pub leading_zeros: LeadingZeros,
    /// `NaN`: what a number that JSON does not have is.
    pub not_a_number: NotANumber,
    /// `[1, ...]`: what an ellipsis is.
    pub ellipsis: Ellipsis,
    /// How deep the value may be nested; what is deeper is no value.
    pub max_depth: usize,
    /// The text is still arriving: a text at its end is open, not badly closed.
    pub(crate) arriving: bool,
}

/// What a missing value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingValue {
    /// `null`.
    Null,
    /// The empty text.
    Empty,
    /// Nothing: the key goes, too.
    Drop,
}

/// What becomes of a key at which the text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutKey {
    /// It is a key whose value is missing.
    Keep,
    /// It goes.
    Drop,
    /// It goes, unless it is all that there is and no schema says what it should be: `{"a` is `{"a": null}`.
    KeepOnly,
}

/// What becomes of a literal at which the text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutLiteral {
    /// It is a text.
    Text,
    /// It is completed: `tru` is `true`.
    Complete,
}

/// Whether a text without any notation is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareText {
    /// One line of words is a text.
    Text,
    /// It is no value.
    Refuse,
}

/// Which of several values counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    /// The first complete one, one in a fence before others; of lists that follow each other directly the last. Where
    /// no schema wants one value, those that only commas or line breaks separate are a list.
    First,
    /// The last complete one; but a list as above.
    Last,
    /// All of them, as a list; the first where a schema wants one.
    All,
}

/// What a number with leading zeros is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadingZeros {
    /// A text: an identifier would lose its zeros.
    Text,
    /// The number.
    Number,
}

/// What `NaN` and `Infinity` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotANumber {
    /// A text.
    Text,
    /// `null`.
    Null,
}

/// What an ellipsis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ellipsis {
    /// It stands for something that was left out.
    Drop,
    /// A text.
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

    /// Sets what becomes of a key at which the text ends.
    #[must_use]
    pub fn with_cut_key(mut self, choice: CutKey) -> Self {
        self.cut_key = choice;
        self
    }

    /// Sets what becomes of a literal at which the text ends.
    #[must_use]
    pub fn with_cut_literal(mut self, choice: CutLiteral) -> Self {
        self.cut_literal = choice;
        self
    }

    /// Sets whether a text without any notation is a value.
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
