//! What a stream of events says about itself: where it was, and when to come back. The frames themselves are read by `polywire`'s framer.

use std::time::Duration;

/// How long to wait where the server does not say.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);
/// A server must not keep a request waiting for ever.
const LONGEST_RETRY: Duration = Duration::from_mins(1);
/// Lines of ids are short; a longer line is data.
const LONGEST_LINE: usize = 4096;

/// The place in a stream of events.
#[derive(Debug, Default)]
pub(super) struct StreamPlace {
    /// The id of the last event.
    pub(super) last_id: Option<String>,
    retry: Option<Duration>,
    line: Vec<u8>,
    is_long: bool,
}

impl StreamPlace {
    /// Reads a part of the stream.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        for byte in chunk {
            match byte {
                b'\n' | b'\r' => self.end_line(),
                _ if self.line.len() == LONGEST_LINE => self.is_long = true,
                _ => self.line.push(*byte),
            }
        }
    }

    /// How long to wait before the stream is taken up again.
    pub(super) fn retry(&self) -> Duration {
        self.retry.unwrap_or(DEFAULT_RETRY).min(LONGEST_RETRY)
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_long = std::mem::take(&mut self.is_long);
        let Ok(text) = String::from_utf8(line) else { return };
        let Some((field, value)) = text.split_once(':').filter(|_| !is_long) else { return };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            // An id that no header can hold cannot be sent back.
            "id" if value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) => self.last_id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::StreamPlace;

    #[test]
    fn chunks_do_not_matter() {
        let stream = b"id: a-1\nretry: 500\ndata: {\"id\": \"x\"}\n\nid:b\r\ndata: id: no\r\n\r\nretry: soon\n";
        let mut whole = StreamPlace::default();
        whole.push(stream);
        let mut bytewise = StreamPlace::default();
        for byte in stream {
            bytewise.push(&[*byte]);
        }
        for place in [whole, bytewise] {
            assert_eq!((place.last_id.as_deref(), place.retry()), (Some("b"), Duration::from_millis(500)));
        }
    }
}
