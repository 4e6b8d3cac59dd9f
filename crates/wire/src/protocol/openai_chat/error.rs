//! Errors of `openai-chat`, and of compatible servers with other error bodies.

use serde_json::{Value, json};

use crate::fault::{FOREIGN_CODE, FaultKind, WireError};
use crate::fields::Fields;
use crate::protocol::EncodedError;

/// The `type` and `code` of each kind. The first row of a kind is used for encoding.
const ERROR_TYPES: &[(FaultKind, &str, Option<&str>)] = &[
    (FaultKind::InvalidRequest, "invalid_request_error", None),
    (FaultKind::Authentication, "authentication_error", Some("invalid_api_key")),
    (FaultKind::Billing, "insufficient_quota", Some("insufficient_quota")),
    (FaultKind::Permission, "permission_error", None),
    (FaultKind::NotFound, "not_found_error", Some("model_not_found")),
    (FaultKind::TooLarge, "request_too_large", None),
    (FaultKind::ContextLength, "invalid_request_error", Some("context_length_exceeded")),
    (FaultKind::ContentFilter, "invalid_request_error", Some("content_filter")),
    (FaultKind::RateLimit, "rate_limit_error", Some("rate_limit_exceeded")),
    (FaultKind::Overloaded, "overloaded_error", None),
    (FaultKind::Timeout, "timeout_error", None),
    (FaultKind::Server, "server_error", None),
];

pub(in crate::protocol) fn encode(error: &WireError) -> EncodedError {
    let row = ERROR_TYPES.iter().find(|(kind, ..)| *kind == error.kind);
    let (kind, own) = row.map_or((error.kind.word(), None), |(_, kind, code)| (*kind, *code));
    // If the status implies another kind, the protocol's own code is needed to identify this one.
    let deciding = own.filter(|_| FaultKind::of_status(error.status) != error.kind);
    let code = deciding.or(error.code.as_deref()).or(own);
    let mut body = json!({"message": error.message, "type": kind, "param": error.param, "code": code});
    if let Some(body) = body.as_object_mut() {
        if let Some(Value::Object(details)) = &error.details {
            body.extend(details.clone());
        }
        if let Some(foreign) = error.code.as_deref().filter(|code| deciding.is_some_and(|own| own != *code)) {
            body.insert(FOREIGN_CODE.to_owned(), json!(foreign));
        }
    }
    let body = super::super::json(&json!({"error": body}));
    let headers = error.request_id.iter().map(|id| ("x-request-id", id.clone())).collect();
    EncodedError { status: if error.status == 0 { 500 } else { error.status }, headers, body }
}

pub(in crate::protocol) fn decode(status: u16, body: Value) -> Option<WireError> {
    let mut body = Fields::of(body).ok()?;
    let mut error = match body.take("error") {
        Some(Value::Object(error)) => Fields::of(Value::Object(error)).ok()?,
        Some(Value::String(message)) => Fields::of(json!({"message": message})).ok()?,
        _ => body,
    };
    let detail = error.has("detail").then(|| error.take("detail")).flatten();
    let message = error.text("message").or_else(|| detail.map(plain))?;
    let kind = error.text("type");
    let code = error.take("code").map(plain);
    let row = ERROR_TYPES.iter().find(|(_, known, known_code)| {
        kind.as_deref() == Some(known) && (known_code.is_none() || code.as_deref() == *known_code)
    });
    let by_words = row.map(|(kind, ..)| kind.clone());
    let of_status = || if status == 0 { FaultKind::Server } else { FaultKind::of_status(status) };
    let by_code = ERROR_TYPES.iter().find(|(_, _, known)| known.is_some() && *known == code.as_deref());
    let kind_found = by_code.map(|(kind, ..)| kind.clone()).or_else(|| by_words.filter(|_| status == 0));
    let found = kind_found.unwrap_or_else(of_status);
    let own = ERROR_TYPES.iter().find(|(kind, ..)| *kind == found);
    let implied =
        own.is_some_and(|(_, known, known_code)| kind.as_deref() == Some(known) && code.as_deref() == *known_code);
    let param = error.text("param");
    let foreign = error.text(FOREIGN_CODE);
    let rest = error.rest();
    Some(WireError {
        status,
        code: foreign.or_else(|| if implied { None } else { code.or(kind) }),
        param,
        details: (!rest.is_empty()).then_some(Value::Object(rest)),
        ..WireError::new(found, message)
    })
}

fn plain(value: Value) -> String {
    if let Value::String(text) = value { text } else { value.to_string() }
}
