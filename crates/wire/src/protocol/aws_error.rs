//! AWS errors, as responses or stream events: the exception type is a header, the message is in the body.

use serde_json::{Value, json};

use super::EncodedError;
use crate::fault::{FaultKind, Headers, WireError};
use crate::fields::Fields;

/// The exception type of each kind. The first row of a kind is used for encoding.
const EXCEPTIONS: &[(FaultKind, &str)] = &[
    (FaultKind::InvalidRequest, "ValidationException"),
    (FaultKind::Authentication, "UnrecognizedClientException"),
    (FaultKind::Billing, "ServiceQuotaExceededException"),
    (FaultKind::Permission, "AccessDeniedException"),
    (FaultKind::NotFound, "ResourceNotFoundException"),
    (FaultKind::TooLarge, "RequestEntityTooLargeException"),
    (FaultKind::RateLimit, "ThrottlingException"),
    (FaultKind::Overloaded, "ServiceUnavailableException"),
    (FaultKind::Timeout, "ModelTimeoutException"),
    (FaultKind::Server, "InternalServerException"),
    (FaultKind::Server, "ModelErrorException"),
    (FaultKind::Server, "ModelStreamErrorException"),
    (FaultKind::Overloaded, "ModelNotReadyException"),
    (FaultKind::Authentication, "ExpiredTokenException"),
    (FaultKind::ContextLength, "ValidationException"),
    (FaultKind::ContentFilter, "ValidationException"),
];

/// Kinds without an exception type, identified by the field `reason`.
const REASONS: &[(FaultKind, &str)] =
    &[(FaultKind::ContextLength, "CONTEXT_LENGTH_EXCEEDED"), (FaultKind::ContentFilter, "CONTENT_FILTER")];

/// The exception type of an error. AWS SDKs choose the class of the raised exception by it.
pub(super) fn exception_type(error: &WireError) -> &str {
    let own = EXCEPTIONS.iter().find(|(kind, _)| *kind == error.kind).map(|(_, word)| *word);
    error.code.as_deref().filter(|code| is_exception(code)).or(own).unwrap_or("InternalServerException")
}

/// True if a code is an exception type and not a code of another protocol.
fn is_exception(code: &str) -> bool {
    code.ends_with("Exception") && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The error body: the message, and the details that the exception type does not imply.
pub(super) fn body(error: &WireError) -> Value {
    let mut body = json!({"message": error.message});
    let reason = REASONS.iter().find(|(kind, _)| *kind == error.kind).map(|(_, reason)| *reason);
    let code = error.code.as_deref().filter(|code| !is_exception(code));
    if let Some(fields) = body.as_object_mut() {
        let optional = [("reason", reason), ("code", code)];
        fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
    }
    body
}

pub(super) fn encode(error: &WireError) -> EncodedError {
    let mut headers = vec![("x-amzn-errortype", exception_type(error).to_owned())];
    headers.extend(error.request_id.iter().map(|id| ("x-amzn-requestid", id.clone())));
    let status = if error.status == 0 { 500 } else { error.status };
    EncodedError { status, headers, body: super::json(&body(error)) }
}

pub(super) fn decode(status: u16, headers: &Headers<'_>, body: Value) -> Option<WireError> {
    let mut body = Fields::of(body).ok()?;
    let message = body.text("message").or_else(|| body.text("Message"))?;
    // The type is before the colon: `ValidationException:http://internal.amazon.com/…`.
    let exception = headers.get("x-amzn-errortype").map(str::to_owned).or_else(|| body.text("__type"));
    let name = exception
        .map(|name| name.split(':').next().unwrap_or_default().rsplit('#').next().unwrap_or_default().to_owned());
    let known = |name: &String| EXCEPTIONS.iter().find(|(_, word)| word.eq_ignore_ascii_case(name));
    let row = name.as_ref().and_then(known);
    let reason = body.peek("reason");
    let by_reason = REASONS.iter().find(|(_, known)| reason == Some(known));
    if by_reason.is_some() {
        body.take("reason");
    }
    let kind = by_reason.or(row).map_or_else(|| FaultKind::of_status(status), |(kind, _)| kind.clone());
    let own = EXCEPTIONS.iter().find(|(known, _)| *known == kind).map(|(_, word)| *word);
    let code = name.filter(|name| own.is_none_or(|own| !own.eq_ignore_ascii_case(name))).or_else(|| body.text("code"));
    let details = Some(body.rest()).filter(|rest| !rest.is_empty()).map(Value::Object);
    Some(WireError { status, code, details, ..WireError::new(kind, message) })
}

/// Decodes an exception event of a stream.
pub(super) fn of_event(name: &str, data: Value) -> WireError {
    let headers = [("x-amzn-errortype", name)];
    let fallback = data.to_string();
    decode(0, &Headers(&headers), data).unwrap_or_else(|| WireError {
        status: 0,
        code: Some(name.to_owned()),
        ..WireError::new(FaultKind::Server, fallback)
    })
}
