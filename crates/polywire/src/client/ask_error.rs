//! Why a value that was asked for did not come.

use std::fmt;

use polywire_wire::Response;

use super::ask::Attempt;
use super::error::{Failed, SendError};

/// Why there is no value, and every attempt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AskError {
    /// Why.
    pub why: AskErrorKind,
    /// Every attempt that was answered, of all models.
    pub attempts: Vec<Attempt>,
    /// The models that were asked before the last one.
    pub failed: Vec<Failed>,
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskErrorKind {
    /// The schema is none.
    Schema(String),
    /// There is no answer.
    Send(SendError),
    /// The model or a filter refused; the words are those of the refusal.
    Refused(String),
    /// The answer ended at a limit before the value did.
    Truncated,
    /// The model wants tools called first. The calls are in the caller's names and shapes.
    ToolCalls(Box<Response>),
    /// Whether the schema accepts the value takes more steps than an answer may cost.
    TooCostly,
    /// No attempt had a value that the schema accepts.
    Invalid,
    /// The schema accepts the value, but the type does not.
    Typed(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            AskErrorKind::Schema(why) => write!(f, "the schema cannot be used: {why}"),
            AskErrorKind::Send(error) => error.fmt(f),
            AskErrorKind::Refused(words) => write!(f, "the model refused: {words}"),
            AskErrorKind::Truncated => f.write_str("the answer was cut off at the limit of tokens"),
            AskErrorKind::ToolCalls(_) => f.write_str("the model calls tools before it answers"),
            AskErrorKind::TooCostly => {
                f.write_str("the answer is too costly to judge by the schema; simplify the schema")
            }
            AskErrorKind::Invalid => {
                let times = self.attempts.len();
                let plural = if times == 1 { "" } else { "s" };
                write!(f, "no value that fits the schema in {times} attempt{plural}")?;
                let first = self.attempts.last().and_then(|attempt| attempt.faults.first());
                match first {
                    None => Ok(()),
                    Some(fault) if fault.at.is_empty() => write!(f, "; the whole value: {}", fault.detail),
                    Some(fault) => write!(f, "; at `{}`: {}", fault.at, fault.detail),
                }
            }
            AskErrorKind::Typed(why) => write!(f, "the value is valid, but not one of the type: {why}"),
        }?;
        self.failed.iter().try_for_each(|failed| write!(f, "; before, {}: {}", failed.model, failed.why))
    }
}

impl std::error::Error for AskError {}

impl AskErrorKind {
    pub(super) fn after(self, attempts: Vec<Attempt>, failed: Vec<Failed>) -> AskError {
        AskError { why: self, attempts, failed }
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
            | Self::ToolCalls(_)
            | Self::TooCostly
            | Self::Typed(_) => false,
        }
    }
}
