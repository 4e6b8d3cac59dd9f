//! `bedrock-converse`: `Converse` and `ConverseStream` of Amazon Bedrock. Response bodies have no id and no model.

mod error;
mod read;
mod request;
mod response;
mod shapes;
mod stream;

use serde_json::Value;

use super::{Codec, Context, EncodedError, StreamReader, StreamWriter};
use crate::error::DecodeError;
use crate::fault::{Headers, WireError};
use crate::frame::Framing;
use crate::neutral::{Request, Response};
use crate::report::Changes;
use crate::surface::Surface;

/// The protocol of this module.
const OWN: super::Protocol = super::Protocol::BedrockConverse;

#[derive(Debug)]
pub(super) struct BedrockConverse;

impl Codec for BedrockConverse {
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

    fn framing(&self, _surface: &Surface) -> Framing {
        Framing::Aws
    }

    fn model_in_url(&self, _surface: &Surface) -> bool {
        true
    }

    fn stream_in_url(&self, _surface: &Surface) -> bool {
        true
    }

    fn landmarks(&self) -> &'static [&'static str] {
        &[
            "messageStop",
            "metadata",
            "internalServerException",
            "modelStreamErrorException",
            "serviceUnavailableException",
            "throttlingException",
            "validationException",
        ]
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

    fn decode_error(&self, status: u16, headers: &Headers<'_>, body: Value) -> Option<WireError> {
        error::decode(status, headers, body)
    }
}
