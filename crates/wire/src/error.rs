//! Errors of decoding.

use std::fmt;

/// A body that could not be decoded, with the location of the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    /// Segments of the JSON Pointer, innermost first.
    path: Vec<String>,
    detail: String,
}

/// The kinds of [`DecodeError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The text is not JSON.
    Json,
    /// A value does not have the type that the protocol requires.
    Shape,
    /// A stream frame is malformed or exceeds the size limit.
    Frame,
}

impl DecodeError {
    pub(crate) fn new(kind: DecodeErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, path: Vec::new(), detail: detail.into() }
    }

    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::new(DecodeErrorKind::Json, error.to_string())
    }

    pub(crate) fn shape(wanted: &str) -> Self {
        Self::new(DecodeErrorKind::Shape, format!("expected {wanted}"))
    }

    /// Prepends a segment to the path.
    #[must_use]
    pub(crate) fn within(mut self, step: impl fmt::Display) -> Self {
        self.path.push(step.to_string().replace('~', "~0").replace('/', "~1"));
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// JSON Pointer to the location in the body.
    pub fn at(&self) -> String {
        self.path.iter().rev().fold(String::new(), |at, step| format!("{at}/{step}"))
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, " (at `{}`)", self.at()) }
    }
}

impl std::error::Error for DecodeError {}

/// Adds a path segment to the error of a result.
pub(crate) trait Within<T> {
    fn within(self, step: impl fmt::Display) -> Result<T, DecodeError>;
}

impl<T> Within<T> for Result<T, DecodeError> {
    fn within(self, step: impl fmt::Display) -> Self {
        self.map_err(|error| error.within(step))
    }
}
