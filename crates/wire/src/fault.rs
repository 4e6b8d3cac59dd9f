//! The neutral form of provider errors. Tables map statuses and messages to kinds.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::neutral::open_words;

/// An error response of a provider, in neutral form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WireError {
    /// The HTTP status; 0 for an error inside a stream.
    #[serde(default)]
    pub status: u16,
    /// The kind of the error.
    pub kind: FaultKind,
    /// The provider's own code or type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The provider's message.
    pub message: String,
    /// The request parameter that caused the error, if the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The delay before a retry, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The provider's request id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The remaining fields of the error body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

open_words! {
    /// The kinds of provider errors.
    FaultKind {
        /// The request is not valid.
        InvalidRequest = "invalid_request",
        /// The key is missing or wrong.
        Authentication = "authentication",
        /// The account has no credit left.
        Billing = "billing",
        /// The key lacks the permission.
        Permission = "permission",
        /// The model or URL does not exist.
        NotFound = "not_found",
        /// The body is too large.
        TooLarge = "too_large",
        /// The conversation is longer than the model's context.
        ContextLength = "context_length",
        /// A content filter of the provider rejected the request.
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

/// The field for the error code of another protocol, where the protocol's own code determines the kind.
pub(crate) const FOREIGN_CODE: &str = "provider_code";

impl FaultKind {
    /// The kind of an error by its HTTP status.
    pub fn of_status(status: u16) -> Self {
        let row = BY_STATUS.iter().find(|(known, _)| *known == status);
        match (row, status) {
            (Some((_, kind)), _) => kind.clone(),
            (None, 500..) => Self::Server,
            (None, _) => Self::InvalidRequest,
        }
    }

    /// The default HTTP status of the kind.
    pub fn status(&self) -> u16 {
        BY_STATUS.iter().find(|(_, kind)| kind == self).map_or(400, |(status, _)| *status)
    }
}

/// The first row of a kind is its default status.
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

/// Substrings of codes and messages that identify a kind more precisely than the status. The first match wins.
static BY_SUBSTRING: &[(&str, FaultKind)] = &[
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
    /// Creates an error with the default status of its kind.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let status = kind.status();
        let message = message.into();
        Self { status, kind, code: None, message, param: None, retry_after_ms: None, request_id: None, details: None }
    }

    /// True if the same request may succeed later.
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

    /// Refines the kind by code and message, and adds the retry delay and request id of the headers.
    #[must_use]
    pub(crate) fn classified(mut self, headers: &Headers<'_>) -> Self {
        let texts = [self.code.as_deref(), Some(self.message.as_str())];
        let words = texts.into_iter().flatten().collect::<Vec<_>>().join("\n").to_ascii_lowercase();
        if let Some((_, kind)) = BY_SUBSTRING.iter().find(|(needle, _)| words.contains(needle)) {
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

/// Response headers; names are case-insensitive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headers<'a>(pub &'a [(&'a str, &'a str)]);

impl<'a> Headers<'a> {
    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// The delay of `retry-after-ms`, or of `retry-after` in seconds. A date needs a clock and is left to the caller.
    fn retry_after_ms(&self) -> Option<u64> {
        let exact = self.get("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
        let seconds = || self.get("retry-after").and_then(|text| text.trim().parse::<f64>().ok());
        exact.map(|ms| ms / 1000.0).or_else(seconds).and_then(milliseconds)
    }
}

/// Seconds as whole milliseconds, if they are a plausible delay.
pub(crate) fn milliseconds(seconds: f64) -> Option<u64> {
    let limit = 1e9;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
    (seconds.is_finite() && (0.0..limit).contains(&seconds)).then(|| (seconds * 1000.0).round() as u64)
}
