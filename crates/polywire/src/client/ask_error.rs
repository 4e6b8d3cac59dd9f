//! The errors of requests for a value.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use polywire_wire::Response;

use super::asked::Attempt;
use super::error::{Failed, SendError};

/// The error of a request for a value, with every attempt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AskError {
    /// The kind of error.
    pub kind: AskErrorKind,
    /// Every attempt with a response, of all models.
    pub attempts: Vec<Attempt>,
    /// The models that failed before the last one.
    pub failed: Vec<Failed>,
}

/// The kind of an [`AskError`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskErrorKind {
    /// The schema is invalid or not supported.
    #[error("the schema cannot be used: {0}")]
    Schema(String),
    /// The request failed.
    #[error(transparent)]
    Send(SendError),
    /// The model or a content filter refused, with the text of the refusal.
    #[error("the model refused: {0}")]
    Refused(String),
    /// The response was truncated at a token limit.
    #[error("the response was truncated at the token limit")]
    Truncated,
    /// The model called tools. [`AskStream::outcome`](super::AskStream::outcome) and [`Client::run`](super::Client::run) accept
    /// calls.
    #[error("the model called tools instead of returning a value")]
    UnexpectedToolCalls(Box<Response>),
    /// Validation exceeded its step limit.
    #[error("validating the value is too expensive; simplify the schema")]
    TooCostly,
    /// No attempt returned a valid value.
    #[error("no valid value")]
    Invalid,
    /// The schema accepts the value, but it cannot be deserialized.
    #[error("the value is valid but cannot be deserialized: {0}")]
    Typed(#[source] Arc<serde_json::Error>),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if matches!(self.kind, AskErrorKind::Invalid) {
            let times = self.attempts.len();
            write!(f, " in {times} attempt{}", if times == 1 { "" } else { "s" })?;
            match self.attempts.last().and_then(|attempt| attempt.faults.first()) {
                None => {}
                Some(fault) if fault.at.is_empty() => write!(f, "; the whole value: {}", fault.detail)?,
                Some(fault) => write!(f, "; at `{}`: {}", fault.at, fault.detail)?,
            }
        }
        self.failed.iter().try_for_each(|failed| write!(f, "; before, {}: {}", failed.model, failed.why))
    }
}

impl Error for AskError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.kind.source()
    }
}

impl AskErrorKind {
    pub(super) fn with_attempts(self, attempts: Vec<Attempt>, failed: Vec<Failed>) -> AskError {
        AskError { kind: self, attempts, failed }
    }

    /// Returns `true` if the next model should be tried: after invalid values and the errors of [`SendError::should_fall_back`], not
    /// after refusals, truncated responses or tool calls.
    pub fn should_fall_back(&self) -> bool {
        match self {
            Self::Send(error) => error.should_fall_back(),
            Self::Invalid => true,
            Self::Schema(_)
            | Self::Refused(_)
            | Self::Truncated
            | Self::UnexpectedToolCalls(_)
            | Self::TooCostly
            | Self::Typed(_) => false,
        }
    }
}
