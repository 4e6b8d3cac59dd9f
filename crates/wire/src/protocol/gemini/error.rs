//! Errors of `gemini`.

use serde_json::{Value, json};

use crate::fault::{FaultKind, WireError, milliseconds};
use crate::fields::Fields;
use crate::protocol::EncodedError;

/// The `status` of each kind. The first row of a kind is used for encoding.
const STATUSES: &[(FaultKind, &str)] = &[
    (FaultKind::InvalidRequest, "INVALID_ARGUMENT"),
    (FaultKind::Authentication, "UNAUTHENTICATED"),
    (FaultKind::Billing, "FAILED_PRECONDITION"),
    (FaultKind::Permission, "PERMISSION_DENIED"),
    (FaultKind::NotFound, "NOT_FOUND"),
    (FaultKind::TooLarge, "OUT_OF_RANGE"),
    (FaultKind::RateLimit, "RESOURCE_EXHAUSTED"),
    (FaultKind::Overloaded, "UNAVAILABLE"),
    (FaultKind::Timeout, "DEADLINE_EXCEEDED"),
    (FaultKind::Server, "INTERNAL"),
    (FaultKind::Server, "UNKNOWN"),
    (FaultKind::Server, "DATA_LOSS"),
    (FaultKind::ContextLength, "INVALID_ARGUMENT"),
    (FaultKind::ContentFilter, "INVALID_ARGUMENT"),
];

/// Kinds without a `status`, identified by the `reason` of `ErrorInfo`.
const REASONS: &[(FaultKind, &str)] =
    &[(FaultKind::ContextLength, "CONTEXT_LENGTH_EXCEEDED"), (FaultKind::ContentFilter, "CONTENT_FILTER")];

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// The `domain` of `ErrorInfo` with the code of another protocol.
const FOREIGN: &str = "polywire";

/// True if a code is a `status` and not a code of another protocol.
fn is_status(code: &str) -> bool {
    code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

pub(super) fn encode(error: &WireError) -> EncodedError {
    let own = STATUSES.iter().find(|(kind, _)| *kind == error.kind).map_or("UNKNOWN", |(_, word)| *word);
    let word = error.code.as_deref().filter(|code| is_status(code)).unwrap_or(own);
    let mut details = match &error.details {
        Some(Value::Array(details)) => details.clone(),
        Some(other) => vec![other.clone()],
        None => Vec::new(),
    };
    if let Some((_, reason)) = REASONS.iter().find(|(kind, _)| *kind == error.kind) {
        details.push(json!({"@type": ERROR_INFO, "reason": reason}));
    }
    if let Some(code) = error.code.as_deref().filter(|code| !is_status(code)) {
        details.push(json!({"@type": ERROR_INFO, "reason": code, "domain": FOREIGN}));
    }
    if let Some(wait) = error.retry_after_ms {
        details.push(json!({"@type": RETRY_INFO, "retryDelay": format!("{}.{:03}s", wait / 1000, wait % 1000)}));
    }
    let status = if error.status == 0 { 500 } else { error.status };
    let mut body = json!({"code": status, "message": error.message, "status": word});
    if let (Some(body), false) = (body.as_object_mut(), details.is_empty()) {
        body.insert("details".to_owned(), Value::Array(details));
    }
    let headers = error.request_id.iter().map(|id| ("x-request-id", id.clone())).collect();
    EncodedError { status, headers, body: super::super::json(&json!({"error": body})) }
}

pub(super) fn decode(status: u16, body: Value) -> Option<WireError> {
    // Endpoints that stream a JSON array send errors in an array too.
    let body = if let Value::Array(list) = body { list.into_iter().next()? } else { body };
    let mut error = Fields::of(body).ok()?.object("error")?;
    let message = error.text("message")?;
    let word = error.text("status");
    error.take("code");
    let (mut wait, mut by_reason, mut foreign) = (None, None, None);
    let mut details = error.list("details").unwrap_or_default();
    details.retain(|detail| match detail.get("@type").and_then(Value::as_str) {
        Some(RETRY_INFO) => {
            let delay = detail.get("retryDelay").and_then(Value::as_str);
            let seconds = delay.and_then(|delay| delay.strip_suffix('s')?.parse().ok());
            wait = seconds.and_then(milliseconds);
            wait.is_none()
        }
        Some(ERROR_INFO) => {
            let reason = detail.get("reason").and_then(Value::as_str);
            if detail.get("domain").and_then(Value::as_str) == Some(FOREIGN) {
                foreign = reason.map(str::to_owned);
                return false;
            }
            let row = REASONS.iter().find(|(_, known)| reason == Some(known));
            by_reason = row.map(|(kind, _)| kind.clone()).or(by_reason.take());
            row.is_none()
        }
        _ => true,
    });
    let known = word.as_deref().and_then(|word| STATUSES.iter().find(|(_, known)| *known == word));
    let of_status = || if status == 0 { FaultKind::Server } else { FaultKind::of_status(status) };
    let kind = by_reason.or_else(|| known.map(|(kind, _)| kind.clone())).unwrap_or_else(of_status);
    let own = STATUSES.iter().find(|(known, _)| *known == kind).map(|(_, word)| *word);
    Some(WireError {
        status,
        code: foreign.or_else(|| word.filter(|word| own != Some(word))),
        retry_after_ms: wait,
        details: (!details.is_empty()).then_some(Value::Array(details)),
        ..WireError::new(kind, message)
    })
}
