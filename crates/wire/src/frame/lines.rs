//! Lines that end with CR, LF or CRLF, independent of how the bytes are split.

use super::too_long;
use crate::error::DecodeError;

/// Splits bytes into lines without their line endings.
#[derive(Debug, Default)]
pub(super) struct LineFramer {
    /// The start of an incomplete line.
    rest: Vec<u8>,
    /// True if the last byte was a CR, so that an LF now belongs to it.
    after_cr: bool,
}

impl LineFramer {
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        longest: usize,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(after) = bytes.strip_prefix(b"\n")
            {
                bytes = after;
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                if self.rest.len().saturating_add(bytes.len()) > longest {
                    return Err(too_long(longest));
                }
                self.rest.extend_from_slice(bytes);
                return Ok(());
            };
            let (line, ended) = bytes.split_at(end);
            self.after_cr = ended.first() == Some(&b'\r');
            bytes = ended.get(1..).unwrap_or_default();
            if self.rest.len().saturating_add(line.len()) > longest {
                return Err(too_long(longest));
            }
            if self.rest.is_empty() {
                sink(line)?;
            } else {
                self.rest.extend_from_slice(line);
                let whole = std::mem::take(&mut self.rest);
                sink(&whole)?;
                // Keep the capacity for the next incomplete line.
                self.rest = whole;
                self.rest.clear();
            }
        }
        Ok(())
    }

    pub(super) fn take_rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.rest)
    }
}
