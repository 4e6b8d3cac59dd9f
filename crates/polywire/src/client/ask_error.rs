//! Why a value that was asked for did not come.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use polywire_wire::Response;

use super::asked::Attempt;
use super::error::{Failed, SendError};

/// Why there is no value, and every attempt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AskError {
    /// Why.
    pub kind: AskErrorKind,
    /// Every attempt that was answered, of all models.
    pub attempts: Vec<Attempt>,
    /// The models that were asked before the last one.
    pub failed: Vec<Failed>,
}

/// Why there is no value.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskErrorKind {
    /// The schema cannot be used.
    #[error("the schema cannot be used: {0}")]
    Schema(String),
    /// There is no answer.
    #[error(transparent)]
    Send(SendError),
    /// The model or a filter refused; the words are those of the refusal.
    #[error("the model refused: {0}")]
    Refused(String),
    /// The answer ended at a limit before the value did.
    #[error("the answer was cut off at the limit of tokens")]
    Truncated,
    /// The model called tools where only a value was asked for: [`AskStream::outcome`](super::AskStream::outcome) and
    /// [`Client::run`](super::Client::run) take calls.
    #[error("the model calls tools before it answers")]
    UnexpectedToolCalls(Box<Response>),
    /// Whether the schema accepts the value takes more steps than an answer may cost.
    #[error("the answer is too costly to judge by the schema; simplify the schema")]
    TooCostly,
    /// No attempt had a value that the schema accepts.
    #[error("no value that fits the schema")]
    Invalid,
    /// The schema accepts the value, but the type does not.
    #[error("the value is valid, but not one of the type: {0}")]
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
    pub(super) fn after(self, attempts: Vec<Attempt>, failed: Vec<Failed>) -> AskError {
        AskError { kind: self, attempts, failed }
    }

    /// Whether another model may do better: see [`SendError::should_fall_back`]. An answer that is never valid counts; one that was
    /// refused, cut off at a limit, or calls for tools does not.
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
