//! Server-sent events, by the rules of the HTML standard: fields by line, an empty line ends the event.

use super::lines::LineFramer;
use super::{Frame, Sink, too_long};
use crate::error::DecodeError;

/// Splits a stream of server-sent events into frames.
#[derive(Debug, Default)]
pub(super) struct SseFramer {
    lines: LineFramer,
    event: Pending,
}

/// The event that no empty line has ended yet.
#[derive(Debug, Default)]
struct Pending {
    name: String,
    data: Vec<u8>,
    /// The number of `data` lines, including empty ones.
    data_lines: usize,
    /// True after the first line, where a byte order mark is allowed.
    begun: bool,
}

impl SseFramer {
    pub(super) fn push(&mut self, bytes: &[u8], longest: usize, sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        let event = &mut self.event;
        self.lines.push(bytes, longest, &mut |line| event.line(line, longest, sink))
    }

    /// Passes on an event without a final empty line too: some providers omit it.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        let line = self.lines.take_rest();
        if !line.is_empty() {
            self.event.line(&line, usize::MAX, sink)?;
        }
        self.event.dispatch(sink)
    }
}

impl Pending {
    fn line(&mut self, line: &[u8], longest: usize, sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        let line = if std::mem::replace(&mut self.begun, true) {
            line
        } else {
            line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
        };
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => {
                let (name, value) = line.split_at(colon);
                let value = value.get(1..).unwrap_or_default();
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                if self.data.len().saturating_add(value.len()) > longest {
                    return Err(too_long(longest));
                }
                if self.data_lines > 0 {
                    self.data.push(b'\n');
                }
                self.data_lines += 1;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name.clear();
                self.name.push_str(&String::from_utf8_lossy(value));
            }
            // Ids, retry times and comments are not needed.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        let result = if self.data_lines == 0 { Ok(()) } else { sink(Frame { event: &self.name, data: &self.data }) };
        self.name.clear();
        self.data.clear();
        self.data_lines = 0;
        result
    }
}
