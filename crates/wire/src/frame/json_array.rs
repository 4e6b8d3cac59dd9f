//! A JSON array whose entries are the frames.

use super::{Frame, Sink, broken, too_long};
use crate::error::DecodeError;

/// Splits a JSON array into its entries by brackets and quotes. Entries are not validated.
#[derive(Debug, Default)]
pub(super) struct JsonArrayFramer {
    /// The incomplete entry.
    entry: Vec<u8>,
    /// The nesting depth inside the entry.
    depth: usize,
    place: Place,
    quote: Quote,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Inside,
    After,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    Outside,
    Inside,
    /// After a backslash inside a string.
    Escaped,
}

impl JsonArrayFramer {
    pub(super) fn push(&mut self, bytes: &[u8], longest: usize, sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        for &byte in bytes {
            match self.place {
                Place::Before => match byte {
                    b'[' => self.place = Place::Inside,
                    _ if byte.is_ascii_whitespace() => {}
                    // Some endpoints send one object instead of an array.
                    b'{' => {
                        self.place = Place::Inside;
                        self.inside(byte, sink)?;
                    }
                    _ => return Err(broken("expected `[` at the start of the stream")),
                },
                Place::Inside => self.inside(byte, sink)?,
                Place::After if byte.is_ascii_whitespace() => {}
                Place::After => return Err(broken("unexpected data after the end of the array")),
            }
            if self.entry.len() > longest {
                return Err(too_long(longest));
            }
        }
        Ok(())
    }

    fn inside(&mut self, byte: u8, sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        match (&self.quote, byte) {
            (Quote::Escaped, _) | (Quote::Outside, b'"') => self.quote = Quote::Inside,
            (Quote::Inside, b'\\') => self.quote = Quote::Escaped,
            (Quote::Inside, b'"') => self.quote = Quote::Outside,
            (Quote::Outside, b'{' | b'[') => self.depth += 1,
            (Quote::Outside, b',') if self.depth == 0 => return self.dispatch(sink),
            (Quote::Outside, b']') if self.depth == 0 => {
                self.place = Place::After;
                return self.dispatch(sink);
            }
            (Quote::Outside, b'}' | b']') => {
                let Some(depth) = self.depth.checked_sub(1) else {
                    return Err(broken("unexpected closing bracket"));
                };
                self.depth = depth;
            }
            (Quote::Inside | Quote::Outside, _) => {}
        }
        self.entry.push(byte);
        Ok(())
    }

    fn dispatch(&mut self, sink: &mut Sink<'_>) -> Result<(), DecodeError> {
        let data = self.entry.trim_ascii();
        let result = if data.is_empty() { Ok(()) } else { sink(Frame { event: "", data }) };
        self.entry.clear();
        result
    }

    pub(super) fn finish(&mut self) -> Result<(), DecodeError> {
        if self.entry.trim_ascii().is_empty() { Ok(()) } else { Err(broken("the stream ends inside an array entry")) }
    }
}
