//! Why a request has no answer.

use std::fmt;
use std::time::Duration;

use polywire_wire::{Response, WireError};

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
            | Self::Unreadable { .. } => false,
        }
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
        }
    }
}

impl std::error::Error for SendError {}
