//! What a provider answers instead of an answer: one neutral error, its kinds told apart by rows.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::neutral::open_words;

/// An error that a provider answered, in no provider's words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WireError {
    /// The HTTP status; 0 for an error inside a stream.
    #[serde(default)]
    pub status: u16,
    /// What kind of error it is.
    pub kind: FaultKind,
    /// The provider's own code or type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The provider's words.
    pub message: String,
    /// The part of the request that is at fault, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// How long to wait before asking again, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The provider's id of the exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The rest of what the provider said, unread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

open_words! {
    /// The kinds of errors that callers tell apart.
    FaultKind {
        /// The request is not valid.
        InvalidRequest = "invalid_request",
        /// The key is missing or wrong.
        Authentication = "authentication",
        /// The account has no credit left.
        Billing = "billing",
        /// The key may not do this.
        Permission = "permission",
        /// There is no such model or address.
        NotFound = "not_found",
        /// The body is too large.
        TooLarge = "too_large",
        /// The conversation is longer than the model's context.
        ContextLength = "context_length",
        /// A filter of the provider refused it.
        ContentFilter = "content_filter",
        /// Too many requests or tokens in a short time.
        RateLimit = "rate_limit",
        /// The provider has no capacity.
        Overloaded = "overloaded",
        /// The provider took too long.
        Timeout = "timeout",
        /// The provider failed.
        Server = "server",
    }
}

/// The field for the code of another protocol, where the protocol's own says the kind.
pub(crate) const FOREIGN_CODE: &str = "provider_code";

impl FaultKind {
    /// The kind of an error that only its status is known of.
    pub fn of_status(status: u16) -> Self {
        let row = BY_STATUS.iter().find(|(known, _)| *known == status);
        match (row, status) {
            (Some((_, kind)), _) => kind.clone(),
            (None, 500..) => Self::Server,
            (None, _) => Self::InvalidRequest,
        }
    }

    /// The status that an error of this kind has when nobody says another.
    pub fn status(&self) -> u16 {
        BY_STATUS.iter().find(|(_, kind)| kind == self).map_or(400, |(status, _)| *status)
    }
}

/// The first row of a kind is its own status.
static BY_STATUS: &[(u16, FaultKind)] = &[
    (400, FaultKind::InvalidRequest),
    (401, FaultKind::Authentication),
    (402, FaultKind::Billing),
    (403, FaultKind::Permission),
    (404, FaultKind::NotFound),
    (408, FaultKind::Timeout),
    (413, FaultKind::TooLarge),
    (429, FaultKind::RateLimit),
    (500, FaultKind::Server),
    (503, FaultKind::Overloaded),
    (504, FaultKind::Timeout),
    (529, FaultKind::Overloaded),
];

/// Words by which providers tell kinds of one status apart, in codes and in messages. The first row that is found counts.
static BY_WORDS: &[(&str, FaultKind)] = &[
    ("context_length_exceeded", FaultKind::ContextLength),
    ("maximum context length", FaultKind::ContextLength),
    ("prompt is too long", FaultKind::ContextLength),
    ("input is too long", FaultKind::ContextLength),
    ("exceed context limit", FaultKind::ContextLength),
    ("exceeds the maximum number of tokens", FaultKind::ContextLength),
    ("exceeds the context window", FaultKind::ContextLength),
    ("content_filter", FaultKind::ContentFilter),
    ("content_policy_violation", FaultKind::ContentFilter),
    ("content filtering policy", FaultKind::ContentFilter),
    ("content management policy", FaultKind::ContentFilter),
    ("responsibleaipolicyviolation", FaultKind::ContentFilter),
    ("insufficient_quota", FaultKind::Billing),
    ("credit balance is too low", FaultKind::Billing),
    ("overloaded", FaultKind::Overloaded),
];

impl WireError {
    /// An error of a kind, with the status that belongs to it.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let status = kind.status();
        let message = message.into();
        Self { status, kind, code: None, message, param: None, retry_after_ms: None, request_id: None, details: None }
    }

    /// Whether the same request may succeed later.
    pub fn retryable(&self) -> bool {
        match self.kind {
            FaultKind::RateLimit | FaultKind::Overloaded | FaultKind::Timeout | FaultKind::Server => true,
            FaultKind::InvalidRequest
            | FaultKind::Authentication
            | FaultKind::Billing
            | FaultKind::Permission
            | FaultKind::NotFound
            | FaultKind::TooLarge
            | FaultKind::ContextLength
            | FaultKind::ContentFilter
            | FaultKind::Other(_) => false,
        }
    }

    /// The error with its kind told by status, code and words, and with what the headers say.
    #[must_use]
    pub(crate) fn classified(mut self, headers: &Headers<'_>) -> Self {
        let texts = [self.code.as_deref(), Some(self.message.as_str())];
        let words = texts.into_iter().flatten().collect::<Vec<_>>().join("\n").to_ascii_lowercase();
        if let Some((_, kind)) = BY_WORDS.iter().find(|(needle, _)| words.contains(needle)) {
            self.kind = kind.clone();
        }
        self.retry_after_ms = self.retry_after_ms.or_else(|| headers.retry_after_ms());
        if self.request_id.is_none() {
            let names = ["request-id", "x-request-id", "x-amzn-requestid"];
            self.request_id = names.into_iter().find_map(|name| headers.get(name)).map(str::to_owned);
        }
        self
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = if self.message.is_empty() { "the provider gave no message" } else { &self.message };
        write!(f, "{message} ({}", self.kind)?;
        if self.status != 0 {
            write!(f, ", status {}", self.status)?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for WireError {}

/// The headers of an answer, names in any case.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a>(pub &'a [(&'a str, &'a str)]);

impl<'a> Headers<'a> {
    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// How long to wait: `retry-after-ms`, or `retry-after` in seconds. A date needs a clock and is left to the caller.
    fn retry_after_ms(&self) -> Option<u64> {
        let exact = self.get("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
        let seconds = || self.get("retry-after").and_then(|text| text.trim().parse::<f64>().ok());
        exact.map(|ms| ms / 1000.0).or_else(seconds).and_then(milliseconds)
    }
}

/// Seconds as whole milliseconds, if they are a time to wait.
pub(crate) fn milliseconds(seconds: f64) -> Option<u64> {
    let limit = 1e9;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
    (seconds.is_finite() && (0.0..limit).contains(&seconds)).then(|| (seconds * 1000.0).round() as u64)
}
