//! Messages as lines, as on standard input and output: one message a line, of bounded length.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::message::Message;

/// One line of the input.
#[derive(Debug)]
pub(crate) enum Line {
    Message(Message),
    /// Something that is no message, and why.
    Noise {
        start: String,
        reason: String,
    },
    /// A line that is longer than allowed was skipped.
    TooLong {
        bytes: usize,
    },
}

/// So much of a line that is no message is shown.
const SHOWN: usize = 120;

/// Reads lines up to a length.
pub(crate) struct LineReader<R> {
    input: R,
    longest: usize,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, longest: usize) -> Self {
        Self { input, longest }
    }

    /// The next line that is not empty; `None` at the end of the input.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        loop {
            let mut line: Vec<u8> = Vec::new();
            let mut length = 0;
            loop {
                let chunk = self.input.fill_buf().await.ok()?;
                if chunk.is_empty() {
                    // Half a message at the end of the input is no message.
                    return (length > 0).then(|| self.finish(line, length)).flatten();
                }
                let end = chunk.iter().position(|byte| *byte == b'\n');
                let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
                length += part.len();
                if length <= self.longest {
                    line.extend_from_slice(part);
                } else {
                    line = Vec::new();
                }
                let read = part.len() + usize::from(end.is_some());
                self.input.consume(read);
                if end.is_some() {
                    break;
                }
            }
            if let Some(line) = self.finish(line, length) {
                return Some(line);
            }
        }
    }

    fn finish(&self, line: Vec<u8>, length: usize) -> Option<Line> {
        if length > self.longest {
            return Some(Line::TooLong { bytes: length });
        }
        let text = match String::from_utf8(line) {
            Ok(text) => text,
            Err(error) => {
                let start = String::from_utf8_lossy(error.as_bytes()).chars().take(SHOWN).collect();
                return Some(Line::Noise { start, reason: "it is not UTF-8".to_owned() });
            }
        };
        if text.trim().is_empty() {
            return None;
        }
        let start: String = text.chars().take(SHOWN).collect();
        Some(match Message::parse(text) {
            Ok(message) => Line::Message(message),
            Err(reason) => Line::Noise { start, reason },
        })
    }
}

/// Writes a message as a line.
pub(crate) async fn write_line(output: &mut (impl AsyncWrite + Unpin), message: &Message) -> std::io::Result<()> {
    // A message of a client over HTTP may have line breaks between its members.
    if message.text().contains('\n') {
        output.write_all(message.value().to_string().as_bytes()).await?;
    } else {
        output.write_all(message.text().as_bytes()).await?;
    }
    output.write_all(b"\n").await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::{Line, LineReader};

    async fn read(input: &[u8], longest: usize) -> Vec<String> {
        let mut reader = LineReader::new(input, longest);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await {
            lines.push(match line {
                Line::Message(message) => message.text().to_owned(),
                Line::Noise { start, .. } => format!("noise {start}"),
                Line::TooLong { bytes } => format!("{bytes} bytes"),
            });
        }
        lines
    }

    #[tokio::test]
    async fn noise_and_long_lines_are_told_apart_from_messages() {
        let input = b"starting...\n\n{\"id\":1,\"result\":{}}\r\n{\"id\":2,\"result\":\"0123456789\"}\n{\"id\":3";
        let lines = read(input, 24).await;
        assert_eq!(lines, ["noise starting...", "{\"id\":1,\"result\":{}}\r", "30 bytes", "noise {\"id\":3"]);
    }
}
