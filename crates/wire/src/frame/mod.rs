//! Stream framing: bytes in, frames out, independent of how the bytes are split. Knows no protocol.

mod aws;
mod base64;
mod json_array;
mod lines;
mod sse;

use serde::Deserialize;

use crate::error::{DecodeError, DecodeErrorKind};

pub(crate) use aws::{encode_event, encode_exception};
pub(crate) use base64::{decode as base64_decode, encode as base64_encode};

use self::aws::AwsFramer;
use self::json_array::JsonArrayFramer;
use self::lines::LineFramer;
use self::sse::SseFramer;

/// The framing of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON value per line.
    Ndjson,
    /// One JSON array whose entries are the frames.
    JsonArray,
    /// AWS event stream messages.
    Aws,
}

impl Framing {
    /// The `Content-Type` of a stream with this framing.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream",
            Self::Ndjson => "application/x-ndjson",
            Self::JsonArray => "application/json",
            Self::Aws => "application/vnd.amazon.eventstream",
        }
    }
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The event name; empty if there is none.
    pub event: &'a str,
    /// The payload.
    pub data: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Parses the payload as a shape that most frames have; `None` if this one has another.
    pub(crate) fn plain<T: Deserialize<'a>>(&self) -> Option<T> {
        // Checking the text once is faster than checking each of its strings.
        serde_json::from_str(std::str::from_utf8(self.data).ok()?).ok()
    }
}

/// Receives frames; an error ends the stream.
pub(crate) type Sink<'a> = dyn FnMut(Frame<'_>) -> Result<(), DecodeError> + 'a;

/// The default size limit of a frame, in bytes.
pub const LONGEST_FRAME: usize = 64 << 20;

/// Splits a stream into frames.
#[derive(Debug)]
pub struct Framer {
    kind: Kind,
    longest: usize,
}

#[derive(Debug)]
enum Kind {
    Sse(SseFramer),
    Ndjson(LineFramer),
    JsonArray(JsonArrayFramer),
    Aws(AwsFramer),
}

impl Framer {
    /// Creates a framer for the start of a stream.
    pub fn new(framing: Framing) -> Self {
        let kind = match framing {
            Framing::Sse => Kind::Sse(SseFramer::default()),
            Framing::Ndjson => Kind::Ndjson(LineFramer::default()),
            Framing::JsonArray => Kind::JsonArray(JsonArrayFramer::default()),
            Framing::Aws => Kind::Aws(AwsFramer::default()),
        };
        Self { kind, longest: LONGEST_FRAME }
    }

    /// Sets the size limit of a frame in bytes.
    #[must_use]
    pub fn with_longest(mut self, longest: usize) -> Self {
        self.longest = longest;
        self
    }

    /// Splits the next bytes and passes complete frames to `sink`.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut sink: impl FnMut(Frame<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        match &mut self.kind {
            Kind::Sse(framer) => framer.push(bytes, self.longest, &mut sink),
            Kind::Ndjson(framer) => framer.push(bytes, self.longest, &mut |line| {
                if line.trim_ascii().is_empty() { Ok(()) } else { sink(Frame { event: "", data: line }) }
            }),
            Kind::JsonArray(framer) => framer.push(bytes, self.longest, &mut sink),
            Kind::Aws(framer) => framer.push(bytes, self.longest, &mut sink),
        }
    }

    /// Ends the stream: passes on a frame that only the end completes, and fails on an incomplete frame.
    pub fn finish(&mut self, mut sink: impl FnMut(Frame<'_>) -> Result<(), DecodeError>) -> Result<(), DecodeError> {
        match &mut self.kind {
            Kind::Sse(framer) => framer.finish(&mut sink),
            Kind::Ndjson(framer) => {
                let line = framer.take_rest();
                if line.trim_ascii().is_empty() { Ok(()) } else { sink(Frame { event: "", data: &line }) }
            }
            Kind::JsonArray(framer) => framer.finish(),
            Kind::Aws(framer) => framer.finish(),
        }
    }
}

fn broken(detail: &str) -> DecodeError {
    DecodeError::new(DecodeErrorKind::Frame, detail)
}

fn too_long(longest: usize) -> DecodeError {
    DecodeError::new(DecodeErrorKind::Frame, format!("a frame is longer than {longest} bytes"))
}
