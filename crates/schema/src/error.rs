//! Why a schema could not be read.

use std::fmt;

use crate::json::{ExceededBound, JsonError};

/// Why a schema could not be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    kind: ReadErrorKind,
    at: String,
    detail: String,
}

/// The kinds of [`ReadError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// The text is not JSON, or has a key twice.
    Json,
    /// A value that is no schema where one is needed.
    NotASchema,
    /// The document has more values than the limits allow.
    TooLarge,
    /// The document is nested more deeply than the limits allow.
    TooDeep,
    /// There is no dialect of that id.
    UnknownDialect,
    /// A dangling reference, with [`Unresolved::Refuse`](crate::Unresolved).
    Unresolved,
}

impl ReadError {
    pub(crate) fn new(kind: ReadErrorKind, at: String, detail: impl Into<String>) -> Self {
        Self { kind, at, detail: detail.into() }
    }

    pub(crate) fn json(error: &JsonError) -> Self {
        let kind = match error.exceeded {
            None => ReadErrorKind::Json,
            Some(ExceededBound::Values) => ReadErrorKind::TooLarge,
            Some(ExceededBound::Depth) => ReadErrorKind::TooDeep,
        };
        Self::new(kind, String::new(), error.to_string())
    }

    pub(crate) fn unknown_dialect(id: &str) -> Self {
        Self::new(ReadErrorKind::UnknownDialect, String::new(), format!("`{id}` is not a dialect"))
    }

    /// The kind of error.
    pub fn kind(&self) -> ReadErrorKind {
        self.kind
    }

    /// The JSON Pointer of the place.
    pub fn at(&self) -> &str {
        &self.at
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        if self.at.is_empty() { Ok(()) } else { write!(f, " (at `{}`)", self.at) }
    }
}

impl std::error::Error for ReadError {}
