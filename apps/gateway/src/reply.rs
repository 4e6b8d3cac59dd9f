//! HTTP responses: errors in the caller's protocol, JSON, and headers.

use axum::body::Body;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use polywire::wire::{FaultKind, Protocol, Surface, WireError};
use polywire::{TranslatedError, error_response};
use serde::Serialize;

pub(crate) type HttpResponse = Response<Body>;

/// An error of the gateway in the caller's protocol.
pub(crate) fn error(protocol: Protocol, kind: FaultKind, message: &str) -> HttpResponse {
    of_translated(error_response(protocol, kind, message))
}

/// An error with more than a kind and a message.
pub(crate) fn wire_error(protocol: Protocol, error: &WireError) -> HttpResponse {
    let encoded = protocol.encode_error(error, &Surface::default());
    let mut response = with_body(encoded.status, "application/json", encoded.body);
    for (name, value) in encoded.headers {
        put(&mut response, name, &value);
    }
    response
}

/// A translated error of a provider.
pub(crate) fn of_translated(error: TranslatedError) -> HttpResponse {
    let mut response = with_body(error.status, "application/json", error.body);
    for (name, value) in &error.headers {
        put(&mut response, name, value);
    }
    response
}

pub(crate) fn json(value: &impl Serialize) -> HttpResponse {
    json_with_status(200, value)
}

pub(crate) fn json_with_status(status: u16, value: &impl Serialize) -> HttpResponse {
    with_body(status, "application/json", serde_json::to_vec(value).unwrap_or_default())
}

pub(crate) fn text(status: u16, text: impl Into<String>) -> HttpResponse {
    with_body(status, "text/plain; charset=utf-8", text.into().into_bytes())
}

pub(crate) fn with_body(status: u16, kind: &'static str, body: impl Into<Body>) -> HttpResponse {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Adds a header. One that is no valid header is left out.
pub(crate) fn put(response: &mut HttpResponse, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
        response.headers_mut().insert(name, value);
    }
}
