//! Converts a request, response or stream between protocols. A request is planned for the target, including its tools and history. A
//! response or stream is only decoded and encoded, because the plan of its request is not known.

use std::fmt;

use polywire_wire::{
    Assembler, DecodeError, Decoded, Event, Framing, IncompleteStream, Protocol, Request, Response, Surface,
};
use serde_json::Value;

use crate::catalog::{Catalog, ResolveError};
use crate::change::{Change, of_wire};
use crate::plan::LossError;
use crate::translation::{TranslateOptions, Translation};

/// The kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BodyKind {
    /// A request.
    Request,
    /// A whole response.
    Response,
    /// A streamed response.
    Stream,
}

/// A converted body, with every change and loss.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Translated {
    /// The body or stream.
    pub body: Vec<u8>,
    /// Every change and loss.
    pub changes: Vec<Change>,
}

/// The error of a body that cannot be converted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TranslateError {
    /// The body is not JSON.
    Json(String),
    /// The body is not valid in the source protocol.
    Decode(DecodeError),
    /// The catalog has no provider that serves the target protocol.
    Resolve(ResolveError),
    /// The plan has losses that the options refuse.
    Loss(LossError),
}

impl fmt::Display for TranslateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => write!(f, "the body is not JSON: {error}"),
            Self::Decode(error) => error.fmt(f),
            Self::Resolve(error) => error.fmt(f),
            Self::Loss(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TranslateError {}

impl Translated {
    /// Creates a converted body with its changes.
    pub fn new(body: Vec<u8>, changes: Vec<Change>) -> Self {
        Self { body, changes }
    }
}

impl From<DecodeError> for TranslateError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

/// Converts a request, response or stream between protocols.
///
/// ```
/// use polywire::wire::Protocol;
/// use polywire::{BodyKind, translate};
///
/// let body = br#"{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}"#;
/// let chat = translate(body, Protocol::OpenAiChat, Protocol::OpenAiResponses, BodyKind::Request).unwrap();
/// let body: serde_json::Value = serde_json::from_slice(&chat.body).unwrap();
/// assert_eq!(body["input"][0]["role"], "user");
/// ```
pub fn translate(body: &[u8], from: Protocol, to: Protocol, kind: BodyKind) -> Result<Translated, TranslateError> {
    match kind {
        BodyKind::Request => request(body, from, to),
        BodyKind::Response => {
            let decoded = decode(body, from)?;
            let encoded = to.encode_response(&decoded.value, &Surface::default());
            let changes = decoded.changes.into_iter().chain(encoded.changes).map(of_wire).collect();
            Ok(Translated { body: encoded.body, changes })
        }
        BodyKind::Stream => {
            let mut encoder = to.stream_encoder(&Surface::default());
            let bytes = decode_events(body, from)?.iter().flat_map(|event| encoder.push(event)).collect();
            Ok(Translated { body: bytes, changes: encoder.changes().iter().cloned().map(of_wire).collect() })
        }
    }
}

fn request(body: &[u8], from: Protocol, to: Protocol) -> Result<Translated, TranslateError> {
    let asked = decode_request(body, from)?.value.model;
    let model = Catalog::built_in().of_protocol(to, &asked).map_err(TranslateError::Resolve)?;
    let translation = Translation::new(body, from, &model, &TranslateOptions::default())?;
    let sent = translation.request();
    Ok(Translated::new(sent.body.get().as_bytes().to_vec(), sent.changes.to_vec()))
}

/// Decodes a request.
pub fn decode_request(body: &[u8], from: Protocol) -> Result<Decoded<Request>, TranslateError> {
    Ok(from.decode_request(json(body)?)?)
}

/// Decodes a whole response.
pub fn decode(body: &[u8], from: Protocol) -> Result<Decoded<Response>, TranslateError> {
    Ok(from.decode_response(json(body)?)?)
}

/// Decodes the events of a stream.
pub fn decode_events(body: &[u8], from: Protocol) -> Result<Vec<Event>, TranslateError> {
    // A recorded stream without framing is a JSON array.
    let list = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let framing = if list { Framing::JsonArray } else { from.framing(&Surface::default()) };
    let mut decoder = from.stream_decoder(framing);
    let mut events = decoder.push(body)?;
    events.extend(decoder.finish()?);
    Ok(events)
}

/// Decodes a stream and assembles the response; the inner error has the received part of an interrupted stream.
pub fn decode_stream(body: &[u8], from: Protocol) -> Result<Result<Response, Box<IncompleteStream>>, TranslateError> {
    let mut assembler = Assembler::default();
    decode_events(body, from)?.into_iter().for_each(|event| assembler.push(event));
    Ok(assembler.finish())
}

fn json(body: &[u8]) -> Result<Value, TranslateError> {
    serde_json::from_slice(body).map_err(|error| TranslateError::Json(error.to_string()))
}
