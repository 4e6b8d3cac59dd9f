//! The errors of sending a request.

use std::time::Duration;

use polywire_wire::{FaultKind, Response, WireError};

use super::transport::TransportError;
use crate::plan::LossError;

/// The error of a request without a response.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The plan has losses that the options refuse.
    #[error(transparent)]
    Loss(LossError),
    /// No API key is set.
    #[error("no API key for {provider}; set {}", variables.join(" or "))]
    MissingKey {
        /// The provider.
        provider: String,
        /// The environment variables that are read for a key.
        variables: Vec<String>,
    },
    /// A [`Credentials`](super::Credentials) source failed.
    #[error("no credentials for {provider}: {source}")]
    Credentials {
        /// The provider.
        provider: String,
        /// The error of the source.
        source: TransportError,
    },
    /// The URL, a header or the envelope of the request is invalid or not allowed.
    #[error("{0}")]
    Address(String),
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Connection(#[source] TransportError),
    /// No response started within [`ClientOptions::first_byte_timeout`](super::ClientOptions::first_byte_timeout).
    #[error("no response started within {0:?}")]
    FirstByteTimeout(Duration),
    /// The response stalled for [`ClientOptions::idle_timeout`](super::ClientOptions::idle_timeout).
    #[error("the response stalled for {0:?}")]
    IdleTimeout(Duration),
    /// The call exceeded its deadline.
    #[error("the deadline of {0:?} was exceeded")]
    Deadline(Duration),
    /// The response is larger than this number of bytes.
    #[error("the response is larger than {0} bytes")]
    TooLarge(usize),
    /// The response was interrupted. It holds the received part.
    #[error("the response ended before it was complete")]
    Cut(Box<Response>),
    /// The response is not valid in the protocol.
    #[error("the response ({content_type}) cannot be decoded: {why}")]
    Unreadable {
        /// Its `content-type`.
        content_type: String,
        /// The decoding error.
        why: String,
    },
    /// The provider returned an error.
    #[error(transparent)]
    Provider(Box<WireError>),
    /// All models of a list failed.
    #[error("all {} models failed{}", .0.len(), FailedList(.0))]
    AllModelsFailed(Vec<Failed>),
}

struct FailedList<'a>(&'a [Failed]);

impl std::fmt::Display for FailedList<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|failed| write!(f, "; {}: {}", failed.model, failed.why))
    }
}

/// A model that failed, and its error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Failed {
    /// The model, as `provider/model`.
    pub model: String,
    /// The error message.
    pub why: String,
    /// The error; `None` if the model responded but its value was invalid.
    pub error: Option<SendError>,
}

impl SendError {
    /// Returns `true` if the same request may succeed later.
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

    /// Returns `true` if the next model should be tried: after errors of this model, its provider or the connection, not after
    /// invalid requests, content filters or an exceeded deadline.
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

    /// The `error.type` attribute of spans.
    pub(super) fn error_type(&self) -> String {
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
