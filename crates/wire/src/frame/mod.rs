//! Framing of streams: bytes pushed in, frames handed out, independent of where the bytes are cut. No protocol is known here.

mod aws;
mod base64;
mod json_array;
mod lines;
mod sse;

use crate::error::{DecodeError, DecodeErrorKind};

pub(crate) use aws::{JSON_EVENT, encode_message};
pub(crate) use base64::{decode as base64_decode, encode as base64_encode};

use self::aws::AwsFramer;
use self::json_array::JsonArrayFramer;
use self::lines::LineFramer;
use self::sse::SseFramer;

/// How a stream is cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON value a line.
    Ndjson,
    /// One JSON array whose entries are the frames.
    JsonArray,
    /// AWS event stream messages.
    Aws,
}

impl Framing {
    /// The content type of such a stream.
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
    /// The name of the event; empty if it has none.
    pub event: &'a str,
    /// Its payload.
    pub data: &'a [u8],
}

/// Takes frames; an error ends the stream.
pub(crate) type Sink<'a> = dyn FnMut(Frame<'_>) -> Result<(), DecodeError> + 'a;

/// The longest frame that is taken by default, in bytes.
pub const LONGEST_FRAME: usize = 64 << 20;

/// Cuts a stream into frames.
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
    /// A framer at the beginning of a stream.
    pub fn new(framing: Framing) -> Self {
        let kind = match framing {
            Framing::Sse => Kind::Sse(SseFramer::default()),
            Framing::Ndjson => Kind::Ndjson(LineFramer::default()),
            Framing::JsonArray => Kind::JsonArray(JsonArrayFramer::default()),
            Framing::Aws => Kind::Aws(AwsFramer::default()),
        };
        Self { kind, longest: LONGEST_FRAME }
    }

    /// The same, refusing frames of more bytes than this.
    #[must_use]
    pub fn with_longest(mut self, longest: usize) -> Self {
        self.longest = longest;
        self
    }

    /// Takes the next bytes and hands out the frames that are complete.
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

    /// The stream is over: hands out a last frame that only the end completes, and refuses half a frame.
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
