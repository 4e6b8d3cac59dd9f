//! Why a body could not be read.

use std::fmt;

/// Why a body could not be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    /// The way to the place, the innermost step first.
    path: Vec<String>,
    detail: String,
}

/// The kinds of [`DecodeError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The text is not JSON.
    Json,
    /// Something else stands where the protocol has a certain shape.
    Shape,
    /// A frame of a stream is broken or longer than the limit.
    Frame,
}

impl DecodeError {
    pub(crate) fn new(kind: DecodeErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, path: Vec::new(), detail: detail.into() }
    }

    pub(crate) fn json(error: &serde_json::Error) -> Self {
        Self::new(DecodeErrorKind::Json, error.to_string())
    }

    /// Something else stands where `wanted` must stand.
    pub(crate) fn shape(wanted: &str) -> Self {
        Self::new(DecodeErrorKind::Shape, format!("expected {wanted}"))
    }

    /// The same, seen from one step further out.
    #[must_use]
    pub(crate) fn within(mut self, step: impl fmt::Display) -> Self {
        self.path.push(step.to_string().replace('~', "~0").replace('/', "~1"));
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// The JSON Pointer of the place in the body.
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

/// Says where an error happened on its way out.
pub(crate) trait Within<T> {
    fn within(self, step: impl fmt::Display) -> Result<T, DecodeError>;
}

impl<T> Within<T> for Result<T, DecodeError> {
    fn within(self, step: impl fmt::Display) -> Self {
        self.map_err(|error| error.within(step))
    }
}
