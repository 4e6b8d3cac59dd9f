//! One exchange over HTTP: a plan out, the bytes of its answer in, whole or as events, up to a limit.

use std::future::poll_fn;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use http::{Method, StatusCode};
use polywire_wire::{Event, Headers, Protocol};

use super::address::Destination;
use super::error::SendError;
use super::options::RawBytes;
use super::reader::{Reader, Received};
use super::transport::{ByteStream, Transport, TransportError};
use crate::plan::Plan;

/// How an answer is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) stream: bool,
    pub(super) max_response_bytes: usize,
    pub(super) raw_bytes: RawBytes,
}

/// An answer whose head has come.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: ByteStream,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Answer {
    /// Sends a request and waits for the head of its answer.
    pub(super) async fn of(transport: &dyn Transport, to: &Destination, max_bytes: usize) -> Result<Self, SendError> {
        let mut request = http::Request::new(Bytes::from(to.body.clone()));
        let uri = to.url.as_str().parse().map_err(|_| SendError::Address("the address is not a URI".to_owned()))?;
        (*request.method_mut(), *request.uri_mut()) = (to.method.clone(), uri);
        *request.headers_mut() = to.headers(SystemTime::now())?;
        let (head, body) = transport.send(request).await.map_err(SendError::Connection)?.into_parts();
        let length = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > u64::try_from(max_bytes).unwrap_or(u64::MAX)) {
            return Err(SendError::TooLarge(max_bytes));
        }
        Ok(Self { status: head.status, headers: head.headers, body })
    }

    /// More of the body; none at its end.
    pub(super) async fn chunk(&mut self) -> Option<Result<Bytes, TransportError>> {
        poll_fn(|cx| self.body.as_mut().poll_next(cx)).await
    }

    /// What the answer says it is.
    pub(super) fn content_type(&self) -> &str {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        kind.unwrap_or("no content type")
    }

    /// The error of an answer, by its status, headers and body.
    pub(super) fn error(&self, protocol: Protocol, body: &[u8]) -> SendError {
        let pairs = self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let mut error = protocol.decode_error(self.status.as_u16(), Headers(&pairs), body);
        let date = || self.headers.get(RETRY_AFTER).and_then(|date| until_date(date.to_str().ok()?, SystemTime::now()));
        error.retry_after_ms = error.retry_after_ms.or_else(date);
        SendError::Provider(Box::new(error))
    }
}

/// A plan that was sent, and its answer as it arrives.
#[derive(Debug)]
pub(super) struct Exchange {
    protocol: Protocol,
    answer: Answer,
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
    /// Sends a plan and waits for the head of its answer.
    pub(super) async fn open(
        transport: &dyn Transport,
        plan: &Plan,
        to: &Destination,
        bounds: Bounds,
    ) -> Result<Self, SendError> {
        debug_assert_eq!(to.method, Method::POST, "plans are posted");
        let answer = Answer::of(transport, to, bounds.max_response_bytes).await;
        let answer = answer.map_err(|error| to.mask.error(error))?;
        let bounds = Bounds { stream: bounds.stream && answer.status.is_success(), ..bounds };
        Ok(Self { protocol: plan.protocol, reader: Reader::new(plan, bounds, &to.mask), answer })
    }

    pub(super) fn status(&self) -> u16 {
        self.answer.status.as_u16()
    }

    /// What the next bytes come to, which may be no event yet.
    pub(super) async fn next(&mut self) -> Result<Piece, SendError> {
        let read = match self.answer.chunk().await {
            Some(Ok(bytes)) => self.reader.push(&bytes).map(Piece::Events),
            None => self.end().map(|(events, received)| Piece::End(events, Box::new(received))),
            Some(Err(error)) => {
                tracing::debug!(error = %error.masked(self.reader.mask()), "the body broke off");
                Err(SendError::Cut(Box::new(self.reader.partial())))
            }
        };
        read.map_err(|error| self.reader.mask().error(error.of_content(self.answer.content_type())))
    }

    fn end(&mut self) -> Result<(Vec<Event>, Received), SendError> {
        if self.answer.status.is_success() {
            return self.reader.finish(self.protocol);
        }
        // Before it is read, because a long text may be shortened in the middle of a key.
        Err(self.answer.error(self.protocol, &self.reader.body()))
    }
}

/// The milliseconds from now to an HTTP date; none for one that is past.
fn until_date(text: &str, now: SystemTime) -> Option<u64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    let wait = date.duration_since(now).unwrap_or(Duration::ZERO);
    u64::try_from(wait.as_millis()).ok()
}

impl SendError {
    /// The error with what the answer said that it was.
    fn of_content(mut self, kind: &str) -> Self {
        if let Self::Unreadable { content_type, .. } = &mut self {
            kind.clone_into(content_type);
        }
        self
    }
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
