//! One exchange over HTTP: a plan out, the bytes of its answer in, whole or as events, up to a limit.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use polywire_wire::{Assembler, Event, Framing, Headers, Protocol, Response, StreamDecoder};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};

use super::address::Destination;
use super::error::SendError;
use super::mask::{Found, Mask};
use super::mask_events::EventMask;
use crate::change::Change;
use crate::plan::Plan;

/// What stands in the place of bytes in which a key cannot be hidden.
const NOT_SHOWN: &[u8] = b"(not shown: it repeats a key that was sent)";

/// Connections: to this machine without a proxy, and to others.
#[derive(Clone, Debug)]
pub(super) struct Http {
    near: reqwest::Client,
    far: reqwest::Client,
}

impl Http {
    pub(super) fn new() -> Result<Self, SendError> {
        // Who installed another provider of cryptography first keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirect would take the key elsewhere.
        let builder = || reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let failed = |error: reqwest::Error| SendError::Connection(error.to_string());
        Ok(Self { near: builder().no_proxy().build().map_err(failed)?, far: builder().build().map_err(failed)? })
    }

    /// The connections that lead to a place.
    pub(super) fn to(&self, to: &Destination) -> &reqwest::Client {
        if to.near { &self.near } else { &self.far }
    }

    /// Sends a plan and waits for the head of the answer.
    pub(super) async fn open(&self, plan: &Plan, to: &Destination, bounds: Bounds) -> Result<Exchange, SendError> {
        let http = self.to(to);
        let headers = to.headers(SystemTime::now())?;
        let answer = http.post(to.url.clone()).headers(headers).body(to.body.clone()).send().await;
        let answer = answer.map_err(|error| connection(&error))?;
        let most = u64::try_from(bounds.max_response_bytes).unwrap_or(u64::MAX);
        if answer.content_length().is_some_and(|length| length > most) {
            return Err(SendError::TooLarge(bounds.max_response_bytes));
        }
        let status = answer.status().as_u16();
        let stream = bounds.stream && (200..300).contains(&status);
        let reader = Reader::new(plan, stream, bounds.max_response_bytes, &to.mask);
        Ok(Exchange { status, protocol: plan.protocol, answer, reader })
    }
}

/// How an answer is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) stream: bool,
    pub(super) max_response_bytes: usize,
}

/// An answer as the provider gave it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) response: Response,
    /// The body, or the stream.
    pub(super) raw: Vec<u8>,
    pub(super) changes: Vec<Change>,
    pub(super) retries: usize,
}

/// An answer whose head has come.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) status: u16,
    protocol: Protocol,
    answer: reqwest::Response,
    reader: Reader,
}

/// What comes next of an answer.
#[derive(Debug)]
pub(super) enum Piece {
    Events(Vec<Event>),
    /// The end, with the events that came with it.
    End(Vec<Event>, Box<Received>),
}

impl Exchange {
    pub(super) async fn next(&mut self) -> Result<Piece, SendError> {
        loop {
            let mask = self.reader.mask.clone();
            let read = match self.answer.chunk().await {
                Ok(Some(bytes)) => self.reader.push(&bytes).map(Piece::Events),
                Ok(None) => self.end().map(|(events, received)| Piece::End(events, Box::new(received))),
                Err(_) => return Err(mask.error(SendError::Cut(Box::new(self.reader.partial())))),
            };
            match read.map_err(|error| mask.error(error.of_kind(self.answer.headers())))? {
                Piece::Events(events) if events.is_empty() => {}
                piece @ (Piece::Events(_) | Piece::End(..)) => return Ok(piece),
            }
        }
    }

    fn end(&mut self) -> Result<(Vec<Event>, Received), SendError> {
        if (200..300).contains(&self.status) {
            return std::mem::take(&mut self.reader).finish(self.protocol);
        }
        let headers = self.answer.headers();
        let pairs = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        // Before it is read, because a long text may be shortened in the middle of a key.
        let body = self.reader.mask.bytes(&self.reader.raw);
        let mut error = self.protocol.decode_error(self.status, Headers(&pairs), &body);
        let date = || headers.get(RETRY_AFTER).and_then(|value| until_date(value.to_str().ok()?, SystemTime::now()));
        error.retry_after_ms = error.retry_after_ms.or_else(date);
        Err(SendError::Provider(Box::new(error)))
    }
}

/// The milliseconds from now to an HTTP date; none for one that is past.
fn until_date(text: &str, now: SystemTime) -> Option<u64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    let wait = date.duration_since(now).unwrap_or(Duration::ZERO);
    u64::try_from(wait.as_millis()).ok()
}

pub(super) fn connection(error: &reqwest::Error) -> SendError {
    let mut why = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        why = error.to_string();
        cause = error.source();
    }
    SendError::Connection(if why.is_empty() { "no reason is known".to_owned() } else { why })
}

impl SendError {
    /// The error with what the answer said that it was.
    fn of_kind(mut self, headers: &HeaderMap) -> Self {
        if let Self::Unreadable { content_type, .. } = &mut self {
            let said = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            said.unwrap_or("no content type").clone_into(content_type);
        }
        self
    }
}

/// Reads the bytes of an answer, whole or as a stream, up to a limit.
#[derive(Debug, Default)]
struct Reader {
    raw: Vec<u8>,
    most: usize,
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
    /// How many bytes are known to be text.
    text: usize,
}

impl Arriving {
    /// Bytes that are no text are said so before anything is made of them. The last character may be cut in two.
    fn check(&mut self, raw: &[u8]) -> Result<(), SendError> {
        if self.framing == Framing::Aws {
            return Ok(());
        }
        let new = raw.get(self.text..).unwrap_or_default();
        match std::str::from_utf8(new) {
            Ok(_) => self.text = raw.len(),
            Err(error) if error.error_len().is_none() => self.text += error.valid_up_to(),
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
    fn new(plan: &Plan, stream: bool, most: usize, mask: &Mask) -> Self {
        let framing = plan.protocol.framing(&plan.surface);
        let arriving = || Arriving {
            decoder: plan.protocol.stream_decoder(framing),
            mask: EventMask::new(mask.clone()),
            assembler: Assembler::default(),
            framing,
            events: 0,
            text: 0,
        };
        Self { raw: Vec::new(), most, mask: mask.clone(), stream: stream.then(arriving) }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SendError> {
        if self.raw.len() + bytes.len() > self.most {
            return Err(SendError::TooLarge(self.most));
        }
        self.raw.extend_from_slice(bytes);
        let Some(arriving) = &mut self.stream else { return Ok(Vec::new()) };
        arriving.check(&self.raw)?;
        arriving.read(bytes)
    }

    fn partial(&self) -> Response {
        self.stream.as_ref().map(|arriving| arriving.assembler.partial()).unwrap_or_default()
    }

    fn finish(self, protocol: Protocol) -> Result<(Vec<Event>, Received), SendError> {
        let Self { raw, stream, mask, .. } = self;
        let Some(mut arriving) = stream else {
            let raw = mask.bytes(&raw).into_owned();
            let decoded = crate::translate::decode(&raw, protocol).map_err(|error| unreadable(&error))?;
            let changes = decoded.changes.into_iter().map(Change::from).collect();
            // A key that only shows once the answer is decoded is still in its bytes.
            let (response, found) = mask.value(decoded.value).unwrap_or_else(|| (Response::default(), Found::Keys));
            let raw = if found == Found::Nothing { raw } else { NOT_SHOWN.to_vec() };
            return Ok((Vec::new(), Received { response, raw, changes, retries: 0 }));
        };
        let events = arriving.finish()?;
        if arriving.events == 0 && !raw.is_empty() {
            return Err(unreadable(&"there is no event of the protocol in it"));
        }
        let shown = mask.bytes(&raw);
        let is_hidden = matches!(shown, Cow::Owned(_)) && arriving.mask.cut == Found::Nothing;
        let raw =
            if arriving.mask.found == Found::Nothing || is_hidden { shown.into_owned() } else { NOT_SHOWN.to_vec() };
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::until_date;

    #[test]
    fn a_wait_may_be_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(until_date("Sun, 06 Nov 1994 08:49:47 GMT", now), Some(10_000));
        assert_eq!(until_date("Sunday, 06-Nov-94 08:49:47 GMT", now), Some(10_000));
        assert_eq!(until_date("Sun, 06 Nov 1994 08:00:00 GMT", now), Some(0));
        assert_eq!(until_date("soon", now), None);
    }
}
