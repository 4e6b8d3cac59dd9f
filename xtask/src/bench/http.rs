//! A small HTTP/1.1 client on one kept connection, for load from many threads.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// A server that says nothing for this time is taken for dead.
const SILENCE: Duration = Duration::from_mins(2);

/// One connection.
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    host: String,
    key: String,
}

/// A response. The body is read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Connection {
    /// Connects to a URL without a path.
    pub(crate) fn open(url: &str, key: &str) -> Result<Self> {
        let host = url.trim_start_matches("http://");
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        Ok(Self { reader: BufReader::with_capacity(4 << 10, stream), host: host.to_owned(), key: key.to_owned() })
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Result<Answer> {
        let Self { host, key, .. } = self;
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n");
        let request = format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
        self.reader.get_mut().write_all(request.as_bytes())?;
        self.read()
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            bail!("the connection ended");
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }

    fn read(&mut self) -> Result<Answer> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.context("the response has no status")?;
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            match line.split_once(": ") {
                Some(("content-length", value)) => length = value.parse()?,
                Some(("transfer-encoding", value)) => is_chunked = value == "chunked",
                _ => {}
            }
        }
        let mut body = Vec::new();
        if !is_chunked {
            body.resize(length, 0);
            self.reader.read_exact(&mut body)?;
            return Ok(Answer { status, body });
        }
        loop {
            let size = usize::from_str_radix(&self.line()?, 16)?;
            let start = body.len();
            body.resize(start + size, 0);
            self.reader.read_exact(body.get_mut(start..).unwrap_or_default())?;
            self.line()?;
            if size == 0 {
                return Ok(Answer { status, body });
            }
        }
    }
}
