//! `openai-responses`: `POST /v1/responses`, also as Codex uses it (nothing is stored, reasoning is encrypted).

mod error;
mod items;
mod read;
mod read_stream;
mod request;
mod response;
mod shapes;
mod stream;
mod tools;

use serde_json::Value;

use super::{Codec, Context, EncodedError, StreamReader, StreamWriter};
use crate::error::DecodeError;
use crate::fault::{Headers, WireError};
use crate::neutral::{Request, Response};
use crate::report::Changes;
use crate::surface::Surface;

/// The protocol of this module.
const OWN: super::Protocol = super::Protocol::OpenAiResponses;

#[derive(Debug)]
pub(super) struct OpenAiResponses;

impl Codec for OpenAiResponses {
    fn encode_request(&self, ctx: &mut Context<'_>, request: &Request) -> Vec<u8> {
        request::encode(ctx, request)
    }

    fn decode_request(&self, body: Value, changes: &mut Changes) -> Result<Request, DecodeError> {
        request::decode(body, changes)
    }

    fn encode_response(&self, ctx: &mut Context<'_>, response: &Response) -> Vec<u8> {
        super::json(&response::encode(ctx, response))
    }

    fn decode_response(&self, body: Value, _changes: &mut Changes) -> Result<Response, DecodeError> {
        response::decode(body)
    }

    fn landmarks(&self) -> &'static [&'static str] {
        &["response.completed", "response.incomplete", "response.failed", "error"]
    }

    fn reader(&self) -> Box<dyn StreamReader> {
        Box::new(read_stream::Reader::default())
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
