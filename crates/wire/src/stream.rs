//! Streams read and written: frames of bytes into events, events into bytes.

use crate::error::DecodeError;
use crate::frame::{Framer, Framing};
use crate::neutral::Event;
use crate::protocol::{StreamReader, StreamWriter};
use crate::report::{Change, Changes};

/// Reads a stream: bytes in, events out, however the bytes are cut.
#[derive(Debug)]
pub struct StreamDecoder {
    framer: Framer,
    reader: Box<dyn StreamReader>,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Running,
    Stopped,
    Ended,
}

impl StreamDecoder {
    pub(crate) fn new(framing: Framing, reader: Box<dyn StreamReader>) -> Self {
        Self { framer: Framer::new(framing), reader, progress: Progress::Running }
    }

    /// The same, refusing frames of more bytes than this.
    #[must_use]
    pub fn with_longest_frame(mut self, longest: usize) -> Self {
        self.framer = self.framer.with_longest(longest);
        self
    }

    /// Takes the next bytes and gives the events that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, DecodeError> {
        let mut events = Vec::new();
        let reader = &mut self.reader;
        self.framer.push(bytes, |frame| reader.frame(frame, &mut events))?;
        self.note(&events);
        Ok(events)
    }

    /// The stream is over. A stream that was cut gives no [`Event::End`], and [`Assembler`](crate::Assembler) says so.
    pub fn finish(&mut self) -> Result<Vec<Event>, DecodeError> {
        let mut events = Vec::new();
        let reader = &mut self.reader;
        self.framer.finish(|frame| reader.frame(frame, &mut events))?;
        self.note(&events);
        if self.progress == Progress::Stopped {
            self.progress = Progress::Ended;
            events.push(Event::End);
        }
        Ok(events)
    }

    fn note(&mut self, events: &[Event]) {
        // The end is among the last events if it is there at all.
        for event in events.iter().rev().take(8) {
            if matches!(event, Event::End) {
                self.progress = Progress::Ended;
                return;
            }
            if matches!(event, Event::Stop { .. }) && self.progress == Progress::Running {
                self.progress = Progress::Stopped;
                return;
            }
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

    /// What could not be said as it was given, so far.
    pub fn changes(&self) -> &[Change] {
        self.changes.as_slice()
    }
}
