//! Decoding and encoding of every protocol: requests, responses, streams and errors. One folder per protocol, with the same files.

mod anthropic_messages;
mod aws_error;
mod bedrock_converse;
mod claude;
mod context;
mod format;
mod gemini;
mod merge;
mod openai_chat;
mod openai_responses;
mod openai_usage;
mod seen_fields;
mod stop;
mod writer_state;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::DecodeError;
use crate::fault::{Headers, WireError};
use crate::frame::{Frame, Framing};
use crate::history;
use crate::neutral::{Event, MergeMode, Request, Response};
use crate::report::{Change, Changes};
use crate::stream::{StreamDecoder, StreamEncoder};
use crate::surface::Surface;
use crate::tap::StreamTap;

use self::context::Context;
use self::format::FORMAT_NAME;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// `POST /v1/chat/completions`
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// `POST /v1/responses`
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `POST /v1/messages`
    AnthropicMessages,
    /// `:generateContent`
    Gemini,
    /// `Converse` and `ConverseStream`
    BedrockConverse,
}

const NAMES: [(Protocol, &str); 5] = [
    (Protocol::OpenAiChat, "openai-chat"),
    (Protocol::OpenAiResponses, "openai-responses"),
    (Protocol::AnthropicMessages, "anthropic-messages"),
    (Protocol::Gemini, "gemini"),
    (Protocol::BedrockConverse, "bedrock-converse"),
];

/// An encoded body, with every change and loss.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Encoded {
    /// The body: JSON in UTF-8.
    pub body: Vec<u8>,
    /// Additional request headers, names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// Every change and loss, in order.
    pub changes: Vec<Change>,
}

impl Encoded {
    /// The body as a value.
    pub fn value(&self) -> Value {
        // The body comes from our own serializer; it is empty if that failed.
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A decoded value, with every change.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decoded<T> {
    /// The decoded value.
    pub value: T,
    /// Every change, in order.
    pub changes: Vec<Change>,
}

/// An encoded error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EncodedError {
    /// The HTTP status.
    pub status: u16,
    /// The response headers of the error.
    pub headers: Vec<(&'static str, String)>,
    /// The body: JSON in UTF-8.
    pub body: Vec<u8>,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 5] =
        [Self::OpenAiChat, Self::OpenAiResponses, Self::AnthropicMessages, Self::Gemini, Self::BedrockConverse];

    /// The name in configuration files and JSON.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(protocol, _)| *protocol == self).map_or("", |(_, name)| name)
    }

    /// The name of the API in messages to users.
    pub fn title(self) -> &'static str {
        match self {
            Self::OpenAiChat => "OpenAI Chat Completions",
            Self::OpenAiResponses => "OpenAI Responses",
            Self::AnthropicMessages => "Anthropic Messages",
            Self::Gemini => "Gemini",
            Self::BedrockConverse => "Bedrock Converse",
        }
    }

    /// The protocol with this name.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(protocol, _)| *protocol)
    }

    /// Repairs a conversation that the protocol would reject on this surface, and returns every change. A valid conversation is not
    /// changed.
    pub fn repair_history(self, request: &mut Request, surface: &Surface) -> Vec<Change> {
        history::repair(request, self, surface)
    }

    /// Encodes a request.
    pub fn encode_request(self, request: &Request, surface: &Surface) -> Encoded {
        let mut ctx = Context::new(self, surface);
        let body = self.codec().encode_request(&mut ctx, request);
        ctx.encoded(body)
    }

    /// Decodes a request, in any envelope of the protocol.
    pub fn decode_request(self, body: Value) -> Result<Decoded<Request>, DecodeError> {
        let mut changes = Changes::default();
        let value = self.codec().decode_request(body, &mut changes)?;
        Ok(Decoded { value, changes: changes.into_vec() })
    }

    /// Encodes a response.
    pub fn encode_response(self, response: &Response, surface: &Surface) -> Encoded {
        let mut ctx = Context::new(self, surface);
        let body = self.codec().encode_response(&mut ctx, response);
        ctx.encoded(body)
    }

    /// Decodes a response, in any envelope of the protocol.
    pub fn decode_response(self, body: Value) -> Result<Decoded<Response>, DecodeError> {
        let mut changes = Changes::default();
        let value = self.codec().decode_response(body, &mut changes)?;
        Ok(Decoded { value, changes: changes.into_vec() })
    }

    /// Creates a decoder for a stream with this framing.
    pub fn stream_decoder(self, framing: Framing) -> StreamDecoder {
        StreamDecoder::new(framing, self.codec().reader())
    }

    /// Creates a stream encoder.
    pub fn stream_encoder(self, surface: &Surface) -> StreamEncoder {
        StreamEncoder::new(self.codec().writer(surface))
    }

    /// Creates an observer for a forwarded stream with this framing.
    pub fn stream_tap(self, framing: Framing) -> StreamTap {
        StreamTap::new(self, framing, self.codec().landmarks())
    }

    pub(crate) fn stream_reader(self) -> Box<dyn StreamReader> {
        self.codec().reader()
    }

    /// The stream framing of the surface.
    pub fn framing(self, surface: &Surface) -> Framing {
        self.codec().framing(surface)
    }

    /// True if the model is in the URL and not in the body.
    pub fn model_in_url(self, surface: &Surface) -> bool {
        self.codec().model_in_url(surface)
    }

    /// True if the streaming flag is in the URL and not in the body.
    pub fn stream_in_url(self, surface: &Surface) -> bool {
        self.codec().stream_in_url(surface)
    }

    /// Encodes an error.
    pub fn encode_error(self, error: &WireError, surface: &Surface) -> EncodedError {
        let mut encoded = self.codec().encode_error(error, surface);
        if let Some(wait) = error.retry_after_ms {
            encoded.headers.push(("retry-after", wait.div_ceil(1000).to_string()));
            encoded.headers.push(("retry-after-ms", wait.to_string()));
        }
        encoded
    }

    /// Decodes an error. A body that is not an error of the protocol becomes the message.
    pub fn decode_error(self, status: u16, headers: Headers<'_>, body: &[u8]) -> WireError {
        let value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let error = self.codec().decode_error(status, &headers, value).unwrap_or_else(|| {
            let text = String::from_utf8_lossy(body);
            let message = text.trim().chars().take(MAX_MESSAGE_CHARS).collect::<String>();
            WireError { status, ..WireError::new(crate::FaultKind::of_status(status), message) }
        });
        error.classified(&headers)
    }

    /// How a provider-specific field that arrives several times is merged.
    pub(crate) fn merge_mode(self, field: &str) -> MergeMode {
        self.codec()
            .mergeable_fields()
            .iter()
            .find(|(name, _)| *name == field)
            .map_or(MergeMode::Replace, |(_, mode)| *mode)
    }

    fn codec(self) -> &'static dyn Codec {
        match self {
            Self::OpenAiChat => &openai_chat::OpenAiChat,
            Self::AnthropicMessages => &anthropic_messages::AnthropicMessages,
            Self::OpenAiResponses => &openai_responses::OpenAiResponses,
            Self::Gemini => &gemini::Gemini,
            Self::BedrockConverse => &bedrock_converse::BedrockConverse,
        }
    }
}

/// The maximum length of a message made from an unknown error body, in characters.
const MAX_MESSAGE_CHARS: usize = 2000;

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The interface of a protocol module.
trait Codec {
    fn encode_request(&self, ctx: &mut Context<'_>, request: &Request) -> Vec<u8>;
    fn decode_request(&self, body: Value, changes: &mut Changes) -> Result<Request, DecodeError>;
    fn encode_response(&self, ctx: &mut Context<'_>, response: &Response) -> Vec<u8>;
    fn decode_response(&self, body: Value, changes: &mut Changes) -> Result<Response, DecodeError>;
    fn framing(&self, _surface: &Surface) -> Framing {
        Framing::Sse
    }
    fn model_in_url(&self, _surface: &Surface) -> bool {
        false
    }
    fn stream_in_url(&self, _surface: &Surface) -> bool {
        false
    }
    /// Provider-specific fields that arrive in pieces.
    fn mergeable_fields(&self) -> &'static [(&'static str, MergeMode)] {
        &[]
    }
    /// Names of events and fields that only occur in frames with usage, the end or an error.
    fn landmarks(&self) -> &'static [&'static str];
    fn reader(&self) -> Box<dyn StreamReader>;
    fn writer(&self, surface: &Surface) -> Box<dyn StreamWriter>;
    fn encode_error(&self, error: &WireError, surface: &Surface) -> EncodedError;
    fn decode_error(&self, status: u16, headers: &Headers<'_>, body: Value) -> Option<WireError>;
}

/// Converts frames of one protocol to events.
pub(crate) trait StreamReader: Send + std::fmt::Debug {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<Event>) -> Result<(), DecodeError>;
}

/// Converts events to the bytes of one protocol's stream.
pub(crate) trait StreamWriter: Send + std::fmt::Debug {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>, changes: &mut Changes);
}

/// Serializes a value that has string keys only, which cannot fail.
fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// Serializes a value and merges duplicate keys, if it may have some.
fn json_merged<T: Serialize>(value: &T, has_duplicates: bool) -> Vec<u8> {
    if has_duplicates { merge::merge_duplicate_keys(json(value)) } else { json(value) }
}

/// Writes one server-sent event.
fn sse<T: Serialize>(event: &str, data: &T, out: &mut Vec<u8>) {
    if !event.is_empty() {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(event.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    if serde_json::to_writer(&mut *out, data).is_ok() {
        out.extend_from_slice(b"\n\n");
    }
}
