//! Reads the bytes of an answer, whole or as a stream, up to a limit. Of a stream only the answer that it comes to is kept, unless the
//! caller asked for its bytes.

use std::borrow::Cow;

use polywire_wire::{Assembler, Event, Framing, Protocol, Response, StreamDecoder};

use super::error::SendError;
use super::exchange::Bounds;
use super::mask::{Found, Mask};
use super::mask_events::EventMask;
use super::options::RawBytes;
use crate::change::{Change, of_wire};
use crate::plan::Plan;

/// What stands in the place of bytes in which a key cannot be hidden.
const NOT_SHOWN: &[u8] = b"(not shown: it repeats a key that was sent)";

/// An answer as the provider gave it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) response: Response,
    /// The body, or the stream, where it was to be kept.
    pub(super) raw: Option<String>,
    pub(super) changes: Vec<Change>,
    pub(super) retries: usize,
}

#[derive(Debug)]
pub(super) struct Reader {
    /// The body; of a stream, what is kept of it.
    bytes: Vec<u8>,
    received: usize,
    bounds: Bounds,
    mask: Mask,
    stream: Option<Arriving>,
}

#[derive(Debug)]
struct Arriving {
    decoder: StreamDecoder,
    mask: EventMask,
    assembler: Assembler,
    framing: Framing,
    /// How many events came.
    events: usize,
    /// The first bytes of a character whose last bytes have not come yet.
    open_character: Vec<u8>,
}

impl Arriving {
    /// Refuses bytes that are no text before anything is made of them. The last character may be cut in two.
    fn check(&mut self, bytes: &[u8]) -> Result<(), SendError> {
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

    /// The events of some bytes, without keys.
    fn read(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SendError> {
        let events = self.decoder.push(bytes).map_err(|error| unreadable(&error))?;
        self.events += events.len();
        let events = self.mask.push(events);
        self.assemble(&events);
        Ok(events)
    }

    /// The events at the end.
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

impl Reader {
    pub(super) fn new(plan: &Plan, bounds: Bounds, mask: &Mask) -> Self {
        let framing = plan.protocol.framing(&plan.surface);
        let arriving = || Arriving {
            decoder: plan.protocol.stream_decoder(framing),
            mask: EventMask::new(mask.clone()),
            assembler: Assembler::default(),
            framing,
            events: 0,
            open_character: Vec::new(),
        };
        let stream = bounds.stream.then(arriving);
        Self { bytes: Vec::new(), received: 0, bounds, mask: mask.clone(), stream }
    }

    pub(super) fn mask(&self) -> &Mask {
        &self.mask
    }

    /// The body without keys.
    pub(super) fn body(&self) -> Cow<'_, [u8]> {
        self.mask.bytes(&self.bytes)
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SendError> {
        self.received = self.received.saturating_add(bytes.len());
        if self.received > self.bounds.max_response_bytes {
            return Err(SendError::TooLarge(self.bounds.max_response_bytes));
        }
        if self.stream.is_none() || self.bounds.raw_bytes == RawBytes::Keep {
            self.bytes.extend_from_slice(bytes);
        }
        let Some(arriving) = &mut self.stream else { return Ok(Vec::new()) };
        arriving.check(bytes)?;
        arriving.read(bytes)
    }

    pub(super) fn partial(&self) -> Response {
        self.stream.as_ref().map(|arriving| arriving.assembler.partial()).unwrap_or_default()
    }

    /// The whole answer. What was read is used up.
    pub(super) fn finish(&mut self, protocol: Protocol) -> Result<(Vec<Event>, Received), SendError> {
        let bytes = std::mem::take(&mut self.bytes);
        let shown = self.mask.bytes(&bytes);
        let kept = |bytes: &[u8]| {
            (self.bounds.raw_bytes == RawBytes::Keep).then(|| String::from_utf8_lossy(bytes).into_owned())
        };
        let Some(mut arriving) = self.stream.take() else {
            let decoded = crate::translate::decode(&shown, protocol).map_err(|error| unreadable(&error))?;
            let changes = decoded.changes.into_iter().map(of_wire).collect();
            // A key that only shows once the answer is decoded is still in its bytes.
            let value = self.mask.value(decoded.value);
            let (response, found) = value.unwrap_or_else(|| (Response::default(), Found::Keys));
            let raw = kept(if found == Found::Nothing { &shown } else { NOT_SHOWN });
            return Ok((Vec::new(), Received { response, raw, changes, retries: 0 }));
        };
        let events = arriving.finish()?;
        if arriving.events == 0 && self.received > 0 {
            return Err(unreadable(&"there is no event of the protocol in it"));
        }
        let is_hidden = matches!(shown, Cow::Owned(_)) && arriving.mask.cut == Found::Nothing;
        let raw = kept(if arriving.mask.found == Found::Nothing || is_hidden { &shown } else { NOT_SHOWN });
        match arriving.assembler.finish() {
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
