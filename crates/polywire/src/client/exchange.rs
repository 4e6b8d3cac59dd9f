//! One HTTP exchange: sends a plan and reads the response body, whole or as events, up to a size limit.

use std::future::poll_fn;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use http::{Method, StatusCode};
use polywire_wire::{Event, Headers, Protocol};

use super::address::Destination;
use super::error::SendError;
use super::options::RawBytes;
use super::reader::{Received, ResponseReader};
use super::transport::{ByteStream, Transport, TransportError};
use crate::plan::Plan;

/// The settings for reading a response.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadSettings {
    pub(super) stream: bool,
    pub(super) max_response_bytes: usize,
    pub(super) raw_bytes: RawBytes,
}

/// An HTTP response whose body has not been read.
pub(super) struct HttpResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: ByteStream,
}

impl std::fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).finish_non_exhaustive()
    }
}

impl HttpResponse {
    /// Sends a request and waits for the response head.
    pub(super) async fn send(transport: &dyn Transport, to: &Destination, max_bytes: usize) -> Result<Self, SendError> {
        let mut request = http::Request::new(to.body.clone());
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

    /// The next chunk of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Option<Result<Bytes, TransportError>> {
        poll_fn(|cx| self.body.as_mut().poll_next(cx)).await
    }

    /// The `content-type` header.
    pub(super) fn content_type(&self) -> &str {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        kind.unwrap_or("no content type")
    }

    /// Decodes an error response.
    pub(super) fn error(&self, protocol: Protocol, body: &[u8]) -> SendError {
        Self::decode_error(self.status, &self.headers, protocol, body)
    }

    /// Decodes an error response from its parts.
    pub(super) fn decode_error(status: StatusCode, headers: &HeaderMap, protocol: Protocol, body: &[u8]) -> SendError {
        let pairs = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let mut error = protocol.decode_error(status.as_u16(), Headers(&pairs), body);
        let date = || headers.get(RETRY_AFTER).and_then(|date| until_date(date.to_str().ok()?, SystemTime::now()));
        error.retry_after_ms = error.retry_after_ms.or_else(date);
        SendError::Provider(Box::new(error))
    }
}

/// A plan that was sent, and its response.
#[derive(Debug)]
pub(super) struct Exchange {
    protocol: Protocol,
    response: HttpResponse,
    reader: ResponseReader,
}

/// The result of reading a chunk.
#[derive(Debug)]
pub(super) enum ResponseChunk {
    Events(Vec<Event>),
    /// The end of the response, with the last events.
    End(Vec<Event>, Box<Received>),
}

impl Exchange {
    /// Sends a plan and waits for the response head.
    pub(super) async fn open(
        transport: &dyn Transport,
        plan: &Plan,
        to: &Destination,
        settings: ReadSettings,
    ) -> Result<Self, SendError> {
        debug_assert_eq!(to.method, Method::POST, "plans are posted");
        let response = HttpResponse::send(transport, to, settings.max_response_bytes).await;
        let response = response.map_err(|error| to.mask.error(error))?;
        let settings = ReadSettings { stream: settings.stream && response.status.is_success(), ..settings };
        Ok(Self { protocol: plan.protocol, reader: ResponseReader::new(plan, settings, &to.mask), response })
    }

    pub(super) fn status(&self) -> u16 {
        self.response.status.as_u16()
    }

    /// Reads the next chunk, which may complete no event.
    pub(super) async fn next(&mut self) -> Result<ResponseChunk, SendError> {
        let read = match self.response.chunk().await {
            Some(Ok(bytes)) => self.reader.push(&bytes).map(ResponseChunk::Events),
            None => self.end().map(|(events, received)| ResponseChunk::End(events, Box::new(received))),
            Some(Err(error)) => {
                tracing::debug!(error = %error.masked(self.reader.mask()), "the response body was interrupted");
                Err(SendError::Cut(Box::new(self.reader.partial())))
            }
        };
        read.map_err(|error| self.reader.mask().error(error.with_content_type(self.response.content_type())))
    }

    fn end(&mut self) -> Result<(Vec<Event>, Received), SendError> {
        if self.response.status.is_success() {
            return self.reader.finish(self.protocol);
        }
        // Keys are masked before decoding, which may shorten a long text in the middle of a key.
        Err(self.response.error(self.protocol, &self.reader.body()))
    }
}

/// The milliseconds from now to an HTTP date; 0 for a past date.
fn until_date(text: &str, now: SystemTime) -> Option<u64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    let wait = date.duration_since(now).unwrap_or(Duration::ZERO);
    u64::try_from(wait.as_millis()).ok()
}

impl SendError {
    /// Sets the content type of an undecodable response.
    fn with_content_type(mut self, kind: &str) -> Self {
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
    fn retry_after_may_be_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(until_date("Sun, 06 Nov 1994 08:49:47 GMT", now), Some(10_000));
        assert_eq!(until_date("Sunday, 06-Nov-94 08:49:47 GMT", now), Some(10_000));
        assert_eq!(until_date("Sun, 06 Nov 1994 08:00:00 GMT", now), Some(0));
        assert_eq!(until_date("soon", now), None);
    }
}
