//! Stream decoder (bytes to events) and stream encoder (events to bytes).

use crate::error::DecodeError;
use crate::frame::{Frame, Framer, Framing};
use crate::neutral::Event;
use crate::protocol::{StreamReader, StreamWriter};
use crate::report::{Change, Changes};

/// Decodes a stream: bytes in, events out, independent of how the bytes are split.
#[derive(Debug)]
pub struct StreamDecoder {
    framer: Framer,
    reader: Box<dyn StreamReader>,
    progress: Progress,
    /// The error that ended decoding, returned after the events that precede it.
    failed: Option<DecodeError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Running,
    Stopped,
    Ended,
}

impl StreamDecoder {
    pub(crate) fn new(framing: Framing, reader: Box<dyn StreamReader>) -> Self {
        Self { framer: Framer::new(framing), reader, progress: Progress::Running, failed: None }
    }

    /// Sets the size limit of a frame in bytes.
    #[must_use]
    pub fn with_longest_frame(mut self, longest: usize) -> Self {
        self.framer = self.framer.with_longest(longest);
        self
    }

    /// Decodes the next bytes and returns the events that they complete. A decoding error ends the stream: the events before it are
    /// returned first, and every later call returns the error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, DecodeError> {
        let mut events = Vec::new();
        match self.push_into(bytes, &mut events) {
            Err(error) if events.is_empty() => Err(error),
            Ok(()) | Err(_) => Ok(events),
        }
    }

    /// Decodes the next bytes and appends the events that they complete to `events`, also if there is an error.
    pub fn push_into(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), DecodeError> {
        self.read(events, |framer, sink| framer.push(bytes, sink))
    }

    fn read(
        &mut self,
        events: &mut Vec<Event>,
        run: impl FnOnce(&mut Framer, &mut dyn FnMut(Frame<'_>) -> Result<(), DecodeError>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let (reader, known) = (&mut self.reader, events.len());
        let read = run(&mut self.framer, &mut |frame| reader.frame(frame, events));
        self.failed = read.as_ref().err().cloned();
        self.note(events.get(known..).unwrap_or_default());
        read
    }

    /// Ends the stream. A stream that ended early yields no [`Event::End`], and [`Assembler`](crate::Assembler) returns an error.
    pub fn finish(&mut self) -> Result<Vec<Event>, DecodeError> {
        let mut events = Vec::new();
        match self.read(&mut events, |framer, sink| framer.finish(sink)) {
            Err(error) if events.is_empty() => return Err(error),
            Ok(()) if self.progress == Progress::Stopped => {
                self.progress = Progress::Ended;
                events.push(Event::End);
            }
            Ok(()) | Err(_) => {}
        }
        Ok(events)
    }

    fn note(&mut self, events: &[Event]) {
        if events.iter().any(|event| matches!(event, Event::End)) {
            self.progress = Progress::Ended;
        } else if self.progress == Progress::Running && events.iter().any(|event| matches!(event, Event::Stop { .. })) {
            self.progress = Progress::Stopped;
        }
    }
}

/// Encodes a stream: events in, bytes out.
#[derive(Debug)]
pub struct StreamEncoder {
    writer: Box<dyn StreamWriter>,
    changes: Changes,
}

impl StreamEncoder {
    pub(crate) fn new(writer: Box<dyn StreamWriter>) -> Self {
        Self { writer, changes: Changes::default() }
    }

    /// The bytes of the next event.
    pub fn push(&mut self, event: &Event) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.writer.event(event, &mut bytes, &mut self.changes);
        bytes
    }

    /// Appends the bytes of the next event to `out`.
    pub fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.writer.event(event, out, &mut self.changes);
    }

    /// Every change and loss so far.
    pub fn changes(&self) -> &[Change] {
        self.changes.as_slice()
    }
}
