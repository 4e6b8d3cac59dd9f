//! `anthropic-messages`: `POST /v1/messages`, versions 2023-06-01 and 2026-10-21, and its envelopes: the model in the URL
//! (Vertex), and Bedrock's `InvokeModel` with AWS frames.

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
use crate::neutral::{MergeMode, Request, Response};
use crate::report::Changes;
use crate::surface::{Envelope, Surface};

/// The protocol of this module.
const OWN: super::Protocol = super::Protocol::AnthropicMessages;

#[derive(Debug)]
pub(super) struct AnthropicMessages;

impl Codec for AnthropicMessages {
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

    fn framing(&self, surface: &Surface) -> Framing {
        if surface.envelope == Envelope::Invoke { Framing::Aws } else { Framing::Sse }
    }

    fn model_in_url(&self, surface: &Surface) -> bool {
        surface.envelope != Envelope::Plain
    }

    fn stream_in_url(&self, surface: &Surface) -> bool {
        surface.envelope == Envelope::Invoke
    }

    fn mergeable_fields(&self) -> &'static [(&'static str, MergeMode)] {
        &stream::MERGEABLE_FIELDS
    }

    fn landmarks(&self) -> &'static [&'static str] {
        &["message_delta", "message_stop", "error"]
    }

    fn reader(&self) -> Box<dyn StreamReader> {
        Box::new(stream::Reader::default())
    }

    fn writer(&self, surface: &Surface) -> Box<dyn StreamWriter> {
        Box::new(stream::Writer::new(surface))
    }

    fn encode_error(&self, error: &WireError, surface: &Surface) -> EncodedError {
        error::encode(error, surface)
    }

    fn decode_error(&self, status: u16, headers: &Headers<'_>, body: Value) -> Option<WireError> {
        error::decode(status, headers, body)
    }
}
