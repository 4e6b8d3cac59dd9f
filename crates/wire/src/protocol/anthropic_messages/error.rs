//! Errors of `anthropic-messages`.

use serde_json::{Value, json};

use crate::fault::{FOREIGN_CODE, FaultKind, Headers, WireError};
use crate::fields::Fields;
use crate::protocol::{EncodedError, aws_error};
use crate::surface::{Envelope, Surface};

/// The error type of each kind. The first row of a kind is used for encoding.
const ERROR_TYPES: &[(FaultKind, &str)] = &[
    (FaultKind::InvalidRequest, "invalid_request_error"),
    (FaultKind::Authentication, "authentication_error"),
    (FaultKind::Billing, "billing_error"),
    (FaultKind::Permission, "permission_error"),
    (FaultKind::NotFound, "not_found_error"),
    (FaultKind::TooLarge, "request_too_large"),
    (FaultKind::RateLimit, "rate_limit_error"),
    (FaultKind::Overloaded, "overloaded_error"),
    (FaultKind::Timeout, "timeout_error"),
    (FaultKind::Server, "api_error"),
    (FaultKind::ContextLength, "invalid_request_error"),
    (FaultKind::ContentFilter, "invalid_request_error"),
];

/// Kinds that share the type `invalid_request_error` and are identified by `details.error_code`.
const CODES: &[(FaultKind, &str)] =
    &[(FaultKind::ContextLength, "context_length_exceeded"), (FaultKind::ContentFilter, "content_filter")];

pub(super) fn body(error: &WireError) -> Value {
    let kind = ERROR_TYPES.iter().find(|(kind, _)| *kind == error.kind).map_or(error.kind.word(), |(_, word)| *word);
    let implied = CODES.iter().find(|(kind, _)| *kind == error.kind).map(|(_, code)| *code);
    let mut inner = json!({"type": kind, "message": error.message});
    // If the code identifies the kind, the code of another protocol is written to a field of its own.
    let foreign = error.code.as_deref().filter(|code| implied.is_some_and(|own| own != *code));
    let codes = [("error_code", implied.or(error.code.as_deref())), (FOREIGN_CODE, foreign)];
    let mut codes = codes.into_iter().filter_map(|(name, code)| Some((name.to_owned(), json!(code?)))).peekable();
    let details = match &error.details {
        details if codes.peek().is_none() => details.clone(),
        Some(Value::Object(details)) => Some(details.clone().into_iter().chain(codes).collect()),
        Some(_) | None => Some(codes.collect()),
    };
    if let (Some(inner), Some(details)) = (inner.as_object_mut(), details) {
        inner.insert("details".to_owned(), details);
    }
    json!({"type": "error", "error": inner, "request_id": error.request_id})
}

pub(super) fn encode(error: &WireError, surface: &Surface) -> EncodedError {
    if surface.envelope == Envelope::Invoke {
        return aws_error::encode(error);
    }
    let headers = error.request_id.iter().map(|id| ("request-id", id.clone())).collect();
    let status = if error.status == 0 { 500 } else { error.status };
    EncodedError { status, headers, body: super::super::json(&body(error)) }
}

pub(super) fn decode(status: u16, headers: &Headers<'_>, body: Value) -> Option<WireError> {
    if body.get("error").is_none() {
        return aws_error::decode(status, headers, body);
    }
    of_body(status, body)
}

pub(super) fn of_body(status: u16, body: Value) -> Option<WireError> {
    let mut body = Fields::of(body).ok()?;
    let mut error = body.object("error")?;
    let message = error.text("message")?;
    let word = error.text("type").unwrap_or_default();
    let mut details = error.object("details");
    let code = details.as_mut().and_then(|details| details.text("error_code"));
    let foreign = details.as_mut().and_then(|details| details.text(FOREIGN_CODE));
    let by_code = CODES.iter().find(|(_, known)| code.as_deref() == Some(known)).map(|(kind, _)| kind.clone());
    let known = ERROR_TYPES.iter().find(|(_, known)| *known == word).map(|(kind, _)| kind.clone());
    let implied = by_code.is_some();
    let of_status = || if status == 0 { FaultKind::Server } else { FaultKind::of_status(status) };
    let unknown = known.is_none().then_some(word).filter(|word| !word.is_empty());
    let rest = details.map(Fields::rest).filter(|rest| !rest.is_empty());
    Some(WireError {
        status,
        code: foreign.or_else(|| if implied { None } else { code.or(unknown) }),
        request_id: body.text("request_id"),
        details: rest.map(Value::Object),
        ..WireError::new(by_code.or(known).unwrap_or_else(of_status), message)
    })
}
