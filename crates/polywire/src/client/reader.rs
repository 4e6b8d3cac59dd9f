//! Reads a response body, whole or as a stream, up to a size limit. Only the assembled response of a stream is kept, unless the caller
//! requests the raw bytes.

use std::borrow::Cow;

use polywire_wire::{Assembler, Event, Framing, Protocol, Response, StreamDecoder};

use super::error::SendError;
use super::exchange::ReadSettings;
use super::mask::{Mask, MaskResult};
use super::mask_events::EventMask;
use super::options::RawBytes;
use crate::change::{Change, of_wire};
use crate::plan::Plan;

/// The replacement for a body in which a key cannot be masked.
const NOT_SHOWN: &[u8] = b"(not shown: it repeats a key that was sent)";

/// A decoded response, before it is restored.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) response: Response,
    /// The body or the stream, with [`RawBytes::Keep`].
    pub(super) raw: Option<String>,
    pub(super) changes: Vec<Change>,
    pub(super) retries: usize,
}

#[derive(Debug)]
pub(super) struct ResponseReader {
    /// The body. Empty for a stream, unless raw bytes are kept.
    bytes: Vec<u8>,
    received: usize,
    settings: ReadSettings,
    mask: Mask,
    stream: Option<StreamReader>,
}

#[derive(Debug)]
struct StreamReader {
    decoder: StreamDecoder,
    mask: EventMask,
    assembler: Assembler,
    framing: Framing,
    /// The number of events.
    events: usize,
    /// The first bytes of a character that was split between two chunks.
    open_character: Vec<u8>,
}

impl StreamReader {
    /// Rejects bytes that are not UTF-8. The last character may be incomplete.
    fn check_utf8(&mut self, bytes: &[u8]) -> Result<(), SendError> {
        if self.framing == Framing::Aws {
            return Ok(());
        }
        let text = match self.open_character.as_slice() {
            [] => Cow::Borrowed(bytes),
            begun => Cow::Owned([begun, bytes].concat()),
        };
        match std::str::from_utf8(&text) {
            Ok(_) => self.open_character.clear(),
            Err(error) if error.error_len().is_none() => {
                self.open_character = text.get(error.valid_up_to()..).unwrap_or_default().to_vec();
            }
            Err(_) => return Err(unreadable(&"it is not UTF-8")),
        }
        Ok(())
    }

    /// Decodes a chunk into masked events.
    fn decode(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SendError> {
        let events = self.decoder.push(bytes).map_err(|error| unreadable(&error))?;
        self.events += events.len();
        let events = self.mask.push(events);
        self.assemble(&events);
        Ok(events)
    }

    /// The last events of the stream.
    fn finish(&mut self) -> Result<Vec<Event>, SendError> {
        let events = self.decoder.finish().map_err(|error| unreadable(&error))?;
        self.events += events.len();
        let mut events = self.mask.push(events);
        events.extend(self.mask.finish());
        self.assemble(&events);
        Ok(events)
    }

    fn assemble(&mut self, events: &[Event]) {
        for event in events {
            self.assembler.push(event.clone());
        }
    }
}

impl ResponseReader {
    pub(super) fn new(plan: &Plan, settings: ReadSettings, mask: &Mask) -> Self {
        let framing = plan.protocol.framing(&plan.surface);
        let stream = || StreamReader {
            decoder: plan.protocol.stream_decoder(framing),
            mask: EventMask::new(mask.clone()),
            assembler: Assembler::default(),
            framing,
            events: 0,
            open_character: Vec::new(),
        };
        let stream = settings.stream.then(stream);
        Self { bytes: Vec::new(), received: 0, settings, mask: mask.clone(), stream }
    }

    pub(super) fn mask(&self) -> &Mask {
        &self.mask
    }

    /// The masked body.
    pub(super) fn body(&self) -> Cow<'_, [u8]> {
        self.mask.bytes(&self.bytes)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SendError> {
        self.received = self.received.saturating_add(bytes.len());
        if self.received > self.settings.max_response_bytes {
            return Err(SendError::TooLarge(self.settings.max_response_bytes));
        }
        if self.stream.is_none() || self.settings.raw_bytes == RawBytes::Keep {
            self.bytes.extend_from_slice(bytes);
        }
        let Some(stream) = &mut self.stream else { return Ok(Vec::new()) };
        stream.check_utf8(bytes)?;
        stream.decode(bytes)
    }

    pub(super) fn partial(&self) -> Response {
        self.stream.as_ref().map(|stream| stream.assembler.partial()).unwrap_or_default()
    }

    /// Decodes or assembles the response.
    pub(super) fn finish(&mut self, protocol: Protocol) -> Result<(Vec<Event>, Received), SendError> {
        let bytes = std::mem::take(&mut self.bytes);
        let shown = self.mask.bytes(&bytes);
        let kept = |bytes: &[u8]| {
            (self.settings.raw_bytes == RawBytes::Keep).then(|| String::from_utf8_lossy(bytes).into_owned())
        };
        let Some(mut stream) = self.stream.take() else {
            let decoded = crate::translate::decode(&shown, protocol).map_err(|error| unreadable(&error))?;
            let changes = decoded.changes.into_iter().map(of_wire).collect();
            // The bytes still contain a key that was only found after decoding.
            let value = self.mask.value(decoded.value);
            let (response, found) = value.unwrap_or_else(|| (Response::default(), MaskResult::Masked));
            let raw = kept(if found == MaskResult::Unchanged { &shown } else { NOT_SHOWN });
            return Ok((Vec::new(), Received { response, raw, changes, retries: 0 }));
        };
        let events = stream.finish()?;
        if stream.events == 0 && self.received > 0 {
            return Err(unreadable(&"there is no event of the protocol in it"));
        }
        let is_hidden = matches!(shown, Cow::Owned(_)) && stream.mask.cut == MaskResult::Unchanged;
        let raw = kept(if stream.mask.found == MaskResult::Unchanged || is_hidden { &shown } else { NOT_SHOWN });
        match stream.assembler.finish() {
            Ok(response) => Ok((events, Received { response, raw, changes: Vec::new(), retries: 0 })),
            Err(cut) => Err(match cut.error {
                Some(error) => SendError::Provider(Box::new(error)),
                None => SendError::Cut(Box::new(cut.response)),
            }),
        }
    }
}

fn unreadable(why: &dyn std::fmt::Display) -> SendError {
    SendError::Unreadable { content_type: String::new(), why: why.to_string() }
}
