//! Errors in the caller's protocol: the provider's, and our own.

use polywire_wire::{EncodedError, FaultKind, Headers, Protocol, Surface, WireError};

use super::{Translation, carried_headers};
use crate::translate::TranslateError;

/// An error in the caller's protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TranslatedError {
    /// The HTTP status.
    pub status: u16,
    /// Headers that the caller needs, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Translation {
    /// Brings an error of the provider back into the caller's protocol.
    pub fn error(&self, status: u16, headers: &[(&str, &str)], body: &[u8]) -> TranslatedError {
        let inner = &*self.inner;
        let carried = carried_headers(headers.iter().copied());
        if inner.is_same_protocol() && inner.surface.envelope == inner.plan.surface.envelope {
            return TranslatedError { status, headers: carried, body: body.to_vec() };
        }
        let error = inner.plan.protocol.decode_error(status, Headers(headers), body);
        let mut translated = TranslatedError::from(inner.from.encode_error(&error, &inner.surface));
        for (name, value) in carried {
            if translated.headers.iter().all(|(known, _)| *known != name) {
                translated.headers.push((name, value));
            }
        }
        translated
    }
}

/// An error of our own, such as a missing key or a model that nobody knows, in the words of a protocol.
///
/// ```
/// use polywire::error_response;
/// use polywire::wire::{FaultKind, Protocol};
///
/// let error = error_response(Protocol::AnthropicMessages, FaultKind::NotFound, "no model `gpt-9`");
/// assert_eq!(error.status, 404);
/// let body: serde_json::Value = serde_json::from_slice(&error.body).unwrap();
/// assert_eq!(body["error"]["type"], "not_found_error");
/// ```
pub fn error_response(protocol: Protocol, kind: FaultKind, message: &str) -> TranslatedError {
    protocol.encode_error(&wire_error(kind, message), &Surface::default()).into()
}

/// An error of our own in the neutral form.
pub(super) fn wire_error(kind: FaultKind, message: &str) -> WireError {
    WireError {
        status: kind.status(),
        kind,
        code: None,
        message: message.to_owned(),
        param: None,
        retry_after_ms: None,
        request_id: None,
        details: None,
    }
}

impl From<EncodedError> for TranslatedError {
    fn from(error: EncodedError) -> Self {
        let headers = error.headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { status: error.status, headers, body: error.body }
    }
}

impl TranslateError {
    /// The error as an answer in the caller's protocol.
    pub fn to_response(&self, protocol: Protocol) -> TranslatedError {
        let kind = match self {
            Self::Json(_) | Self::Decode(_) | Self::Loss(_) => FaultKind::InvalidRequest,
            Self::Resolve(_) => FaultKind::NotFound,
        };
        error_response(protocol, kind, &self.to_string())
    }
}
