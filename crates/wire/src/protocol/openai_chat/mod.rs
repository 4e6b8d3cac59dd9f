//! `openai-chat`: `POST /v1/chat/completions` of `OpenAI` and of compatible servers.

pub(super) mod error;
mod read;
mod request;
mod response;
mod shapes;
mod stream;

use serde_json::Value;

use super::{Codec, Context, EncodedError, StreamReader, StreamWriter};
use crate::error::DecodeError;
use crate::fault::{Headers, WireError};
use crate::neutral::{MergeMode, Request, Response};
use crate::report::Changes;
use crate::surface::Surface;

/// The protocol of this module.
const OWN: super::Protocol = super::Protocol::OpenAiChat;

#[derive(Debug)]
pub(super) struct OpenAiChat;

impl Codec for OpenAiChat {
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

    /// Deltas of the message are appended, and arrays of the choice have an entry per token.
    fn mergeable_fields(&self) -> &'static [(&'static str, MergeMode)] {
        &[("message", MergeMode::ListsAndTexts), ("choice", MergeMode::Lists)]
    }

    fn landmarks(&self) -> &'static [&'static str] {
        &["finish_reason", "usage", "error"]
    }

    fn reader(&self) -> Box<dyn StreamReader> {
        Box::new(stream::Reader::default())
    }

    fn writer(&self, _surface: &Surface) -> Box<dyn StreamWriter> {
        Box::new(stream::Writer::default())
    }

    fn encode_error(&self, error: &WireError, _surface: &Surface) -> EncodedError {
        error::encode(error)
    }

    fn decode_error(&self, status: u16, _headers: &Headers<'_>, body: Value) -> Option<WireError> {
        error::decode(status, body)
    }
}
