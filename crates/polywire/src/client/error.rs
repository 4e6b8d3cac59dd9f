//! Why a request has no answer.

use std::time::Duration;

use polywire_wire::{FaultKind, Response, WireError};

use super::transport::TransportError;
use crate::plan::LossError;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// A loss that the options do not allow.
    #[error(transparent)]
    Loss(LossError),
    /// There is no key.
    #[error("there is no key for {provider}; set {}", variables.join(" or "))]
    MissingKey {
        /// The provider.
        provider: String,
        /// The environment variables that may hold one.
        variables: Vec<String>,
    },
    /// A source of credentials gave none.
    #[error("there are no credentials for {provider}: {source}")]
    Credentials {
        /// The provider.
        provider: String,
        /// Why there are none.
        source: TransportError,
    },
    /// The address, or something else of the request's head, is not one to send.
    #[error("{0}")]
    Address(String),
    /// The host could not be reached, or the connection failed.
    #[error("the connection failed: {0}")]
    Connection(#[source] TransportError),
    /// No answer began within the time for it.
    #[error("no answer began within {0:?}")]
    FirstByteTimeout(Duration),
    /// The answer began and then fell silent.
    #[error("nothing more of the answer came within {0:?}")]
    IdleTimeout(Duration),
    /// Everything together took too long.
    #[error("no answer within {0:?} in all")]
    Deadline(Duration),
    /// The answer has more bytes than this.
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    /// The answer ended before it was complete. What arrived is here.
    #[error("the answer ended before it was complete")]
    Cut(Box<Response>),
    /// The answer is none of the protocol's.
    #[error("the answer ({content_type}) cannot be read: {why}")]
    Unreadable {
        /// What it says it is.
        content_type: String,
        /// What is wrong with it.
        why: String,
    },
    /// The provider answered with an error.
    #[error(transparent)]
    Provider(Box<WireError>),
    /// None of several models answered.
    #[error("none of {} models answered{}", .0.len(), Listed(.0))]
    AllModelsFailed(Vec<Failed>),
}

struct Listed<'a>(&'a [Failed]);

impl std::fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|failed| write!(f, "; {}: {}", failed.model, failed.why))
    }
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
            Self::Connection(_)
            | Self::FirstByteTimeout(_)
            | Self::IdleTimeout(_)
            | Self::Cut(_)
            | Self::Credentials { .. } => true,
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
            | Self::Credentials { .. }
            | Self::Connection(_)
            | Self::FirstByteTimeout(_)
            | Self::IdleTimeout(_)
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
            Self::Credentials { .. } => "credentials",
            Self::FirstByteTimeout(_) | Self::IdleTimeout(_) => "timeout",
            Self::Deadline(_) => "deadline",
            Self::TooLarge(_) => "too_large",
            Self::Cut(_) => "cut",
            Self::Unreadable { .. } => "unreadable",
            Self::AllModelsFailed(_) => "all_models_failed",
            Self::Provider(error) => return error.kind.to_string(),
        };
        word.to_owned()
    }
}
