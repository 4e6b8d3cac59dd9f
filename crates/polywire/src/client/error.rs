//! Why a request has no answer.

use std::fmt;
use std::time::Duration;

use polywire_wire::{FaultKind, Response, WireError};

use crate::plan::LossError;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SendError {
    /// A loss that the options do not allow.
    Loss(LossError),
    /// There is no key.
    MissingKey {
        /// The provider.
        provider: String,
        /// The environment variables that may hold one.
        variables: Vec<String>,
    },
    /// The address is not one to send to.
    Address(String),
    /// Nobody could be reached, or the connection failed.
    Connection(String),
    /// One exchange took too long.
    Timeout(Duration),
    /// Everything together took too long.
    Deadline(Duration),
    /// The answer has more bytes than this.
    TooLarge(usize),
    /// The answer ended before it was complete. What arrived is here.
    Cut(Box<Response>),
    /// The answer is none of the protocol's.
    Unreadable {
        /// What it says it is.
        content_type: String,
        /// What is wrong with it.
        why: String,
    },
    /// The provider answered with an error.
    Provider(Box<WireError>),
    /// None of several models answered.
    AllModelsFailed(Vec<Failed>),
}

/// A model that gave no answer, and why.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Failed {
    /// The model, as `provider/model`.
    pub model: String,
    /// Why it gave no answer.
    pub why: String,
    /// The error, where there is one beside the words: an answer that is not valid is none.
    pub error: Option<SendError>,
}

impl SendError {
    /// Whether the same request may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Timeout(_) | Self::Cut(_) => true,
            Self::Provider(error) => error.retryable(),
            Self::Loss(_)
            | Self::MissingKey { .. }
            | Self::Address(_)
            | Self::Deadline(_)
            | Self::TooLarge(_)
            | Self::Unreadable { .. }
            | Self::AllModelsFailed(_) => false,
        }
    }

    /// Whether another model may answer the same request: everything that is the fault of this one, of its provider, or of the
    /// way there. Not what is wrong with the request itself, what a filter refused, or a time that is over for all.
    pub fn should_fall_back(&self) -> bool {
        match self {
            Self::Loss(_)
            | Self::MissingKey { .. }
            | Self::Address(_)
            | Self::Connection(_)
            | Self::Timeout(_)
            | Self::TooLarge(_)
            | Self::Cut(_)
            | Self::Unreadable { .. } => true,
            Self::Deadline(_) | Self::AllModelsFailed(_) => false,
            Self::Provider(error) => match error.kind {
                FaultKind::InvalidRequest | FaultKind::ContentFilter => false,
                FaultKind::Authentication
                | FaultKind::Billing
                | FaultKind::Permission
                | FaultKind::NotFound
                | FaultKind::TooLarge
                | FaultKind::ContextLength
                | FaultKind::RateLimit
                | FaultKind::Overloaded
                | FaultKind::Timeout
                | FaultKind::Server
                | FaultKind::Other(_) => true,
            },
        }
    }

    /// One word for telemetry: `error.type`.
    pub(super) fn word(&self) -> String {
        let word = match self {
            Self::Loss(_) => "loss",
            Self::MissingKey { .. } => "missing_key",
            Self::Address(_) => "address",
            Self::Connection(_) => "connection",
            Self::Timeout(_) => "timeout",
            Self::Deadline(_) => "deadline",
            Self::TooLarge(_) => "too_large",
            Self::Cut(_) => "cut",
            Self::Unreadable { .. } => "unreadable",
            Self::AllModelsFailed(_) => "everyone",
            Self::Provider(error) => return error.kind.to_string(),
        };
        word.to_owned()
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(error) => error.fmt(f),
            Self::MissingKey { provider, variables } => {
                write!(f, "there is no key for {provider}; set {}", variables.join(" or "))
            }
            Self::Address(why) => f.write_str(why),
            Self::Connection(why) => write!(f, "the connection failed: {why}"),
            Self::Timeout(time) => write!(f, "no whole answer within {time:?}"),
            Self::Deadline(time) => write!(f, "no answer within {time:?} in all"),
            Self::TooLarge(limit) => write!(f, "the answer has more than {limit} bytes"),
            Self::Cut(_) => f.write_str("the answer ended before it was complete"),
            Self::Unreadable { content_type, why } => write!(f, "the answer ({content_type}) cannot be read: {why}"),
            Self::Provider(error) => error.fmt(f),
            Self::AllModelsFailed(failed) => {
                write!(f, "none of {} models answered", failed.len())?;
                failed.iter().try_for_each(|failed| write!(f, "; {}: {}", failed.model, failed.why))
            }
        }
    }
}

impl std::error::Error for SendError {}
