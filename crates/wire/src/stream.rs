//! Streams read and written: frames of bytes into events, events into bytes.

use crate::error::DecodeError;
use crate::frame::{Frame, Framer, Framing};
use crate::neutral::Event;
use crate::protocol::{StreamReader, StreamWriter};
use crate::report::{Change, Changes};

/// Reads a stream: bytes in, events out, however the bytes are cut.
#[derive(Debug)]
pub struct StreamDecoder {
    framer: Framer,
    reader: Box<dyn StreamReader>,
    progress: Progress,
    /// What ended the stream for us, told after the events that came before it.
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

    /// The same, refusing frames of more bytes than this.
    #[must_use]
    pub fn with_longest_frame(mut self, longest: usize) -> Self {
        self.framer = self.framer.with_longest(longest);
        self
    }

    /// Takes the next bytes and gives the events that they complete. What cannot be read ends the stream: events before it
    /// are given first, then, and from then on, the error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, DecodeError> {
        self.read(|framer, sink| framer.push(bytes, sink))
    }

    fn read(
        &mut self,
        run: impl FnOnce(&mut Framer, &mut dyn FnMut(Frame<'_>) -> Result<(), DecodeError>) -> Result<(), DecodeError>,
    ) -> Result<Vec<Event>, DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut events = Vec::new();
        let reader = &mut self.reader;
        let read = run(&mut self.framer, &mut |frame| reader.frame(frame, &mut events));
        self.note(&events);
        match read {
            Ok(()) => Ok(events),
            Err(error) => {
                self.failed = Some(error.clone());
                if events.is_empty() { Err(error) } else { Ok(events) }
            }
        }
    }

    /// The stream is over. A stream that was cut gives no [`Event::End`], and [`Assembler`](crate::Assembler) says so.
    pub fn finish(&mut self) -> Result<Vec<Event>, DecodeError> {
        let mut events = self.read(|framer, sink| framer.finish(sink))?;
        if self.failed.is_none() && self.progress == Progress::Stopped {
            self.progress = Progress::Ended;
            events.push(Event::End);
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

/// Writes a stream: events in, bytes out.
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

    /// Writes the bytes of the next event behind others.
    pub fn write(&mut self, event: &Event, out: &mut Vec<u8>) {
        self.writer.event(event, out, &mut self.changes);
    }

    /// What could not be said as it was given, so far.
    pub fn changes(&self) -> &[Change] {
        self.changes.as_slice()
    }
}
