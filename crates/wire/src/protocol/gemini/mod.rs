//! `gemini`: `:generateContent` and `:streamGenerateContent` of AI Studio and Vertex, and the envelopes of Cloud Code Assist.

mod error;
mod known;
mod read;
mod request;
mod response;
mod results;
mod shapes;
mod stream;

use serde_json::Value;

use super::{Codec, Context, EncodedError, StreamReader, StreamWriter};
use crate::error::DecodeError;
use crate::fault::{Headers, WireError};
use crate::neutral::{Request, Response};
use crate::report::Changes;
use crate::surface::{Envelope, Surface};

/// The protocol of this module.
const OWN: super::Protocol = super::Protocol::Gemini;

/// The key of the envelope fields in `extra`.
const ENVELOPE: &str = "envelope";

#[derive(Debug)]
pub(super) struct Gemini;

fn enveloped(surface: &Surface) -> bool {
    matches!(surface.envelope, Envelope::CodeAssist | Envelope::Agent)
}

impl Codec for Gemini {
    fn encode_request(&self, ctx: &mut Context<'_>, request: &Request) -> Vec<u8> {
        request::encode(ctx, request)
    }

    fn decode_request(&self, body: Value, changes: &mut Changes) -> Result<Request, DecodeError> {
        read::decode(body, changes)
    }

    fn encode_response(&self, ctx: &mut Context<'_>, response: &Response) -> Vec<u8> {
        response::encode(ctx, response)
    }

    fn decode_response(&self, body: Value, _changes: &mut Changes) -> Result<Response, DecodeError> {
        response::decode(body)
    }

    fn model_in_url(&self, surface: &Surface) -> bool {
        !enveloped(surface)
    }

    fn stream_in_url(&self, _surface: &Surface) -> bool {
        true
    }

    fn landmarks(&self) -> &'static [&'static str] {
        &["finishReason", "usageMetadata", "error"]
    }

    fn reader(&self) -> Box<dyn StreamReader> {
        Box::new(stream::Reader::default())
    }

    fn writer(&self, surface: &Surface) -> Box<dyn StreamWriter> {
        Box::new(stream::Writer::new(surface))
    }

    fn encode_error(&self, error: &WireError, _surface: &Surface) -> EncodedError {
        error::encode(error)
    }

    fn decode_error(&self, status: u16, _headers: &Headers<'_>, body: Value) -> Option<WireError> {
        error::decode(status, body)
    }
}
