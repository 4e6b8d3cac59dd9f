//! A streamed answer on its way to the caller: provider's chunks in, caller's bytes out, with heartbeats while the provider is silent.
//! When the caller goes away, everything here is dropped, which cancels the request to the provider.

use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::unfold;
use polywire::client::Upstream;
use polywire::wire::Protocol;
use polywire::{SendError, StreamEnd, TranslatedStream};

use crate::entry::{End, Entry};
use crate::state::Shared;

type Chunk = Option<Result<Bytes, SendError>>;
type Reading = Pin<Box<dyn Future<Output = (Box<Upstream>, Chunk)> + Send>>;

/// A streamed answer.
pub(crate) struct StreamRelay {
    pub(crate) upstream: Source,
    /// `None` when the provider's stream has ended.
    pub(crate) translated: Option<TranslatedStream>,
    /// Bytes that are ready.
    pub(crate) ready: Option<Bytes>,
    pub(crate) entry: Entry,
    pub(crate) heartbeat: Option<Heartbeat>,
    pub(crate) capture: Option<Capture>,
    pub(crate) end: Option<StreamEnd>,
}

/// The provider's stream.
pub(crate) enum Source {
    Idle(Box<Upstream>),
    /// A chunk is being read. The future is kept over heartbeats, so that the idle timeout goes on.
    Reading(Reading),
    Ended,
}

/// Bytes that keep an idle connection open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heartbeat {
    interval: Duration,
    bytes: &'static [u8],
    /// Whether the last bytes ended an event.
    is_between_events: bool,
}

impl Heartbeat {
    /// The heartbeat of a protocol, where its clients accept one.
    pub(crate) fn of(protocol: Protocol, interval: Option<Duration>) -> Option<Self> {
        let bytes: &[u8] = match protocol {
            Protocol::OpenAiChat | Protocol::OpenAiResponses => b": keep-alive\n\n",
            Protocol::AnthropicMessages => b"event: ping\ndata: {\"type\": \"ping\"}\n\n",
            // google-genai reads a comment as a part of the next event, and AWS frames have none.
            Protocol::Gemini | Protocol::BedrockConverse => return None,
        };
        Some(Self { interval: interval?, bytes, is_between_events: false })
    }
}

impl StreamRelay {
    /// The body of the response.
    pub(crate) fn into_body(self) -> Body {
        Body::from_stream(unfold(self, |mut relay| async move {
            let bytes = relay.next().await?;
            Some((Ok::<Bytes, Infallible>(bytes), relay))
        }))
    }

    async fn next(&mut self) -> Option<Bytes> {
        let bytes = match self.ready.take() {
            Some(bytes) => bytes,
            None => self.read().await?,
        };
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.is_between_events = bytes.ends_with(b"\n\n") || bytes.ends_with(b"\r\n\r\n");
        }
        if let Some(capture) = &mut self.capture {
            capture.push(&bytes);
        }
        self.entry.sent(&bytes);
        if self.translated.is_none() {
            self.close().await;
        }
        Some(bytes)
    }

    /// The next bytes of the caller; `None` at the end.
    async fn read(&mut self) -> Option<Bytes> {
        loop {
            self.translated.as_ref()?;
            let Some(chunk) = self.chunk().await else {
                return self.heartbeat.map(|heartbeat| Bytes::from_static(heartbeat.bytes));
            };
            let bytes = if let Some(Ok(chunk)) = chunk {
                match self.translated.as_mut()?.push(&chunk) {
                    Cow::Borrowed(_) => chunk,
                    Cow::Owned(bytes) => Bytes::from(bytes),
                }
            } else {
                // A stream that breaks ends with the protocol's own error event.
                let mut end = self.translated.take()?.finish();
                let bytes = Bytes::from(std::mem::take(&mut end.bytes));
                self.end = Some(end);
                if bytes.is_empty() {
                    self.close().await;
                    return None;
                }
                bytes
            };
            if !bytes.is_empty() {
                return Some(bytes);
            }
        }
    }

    /// The next chunk of the provider; `None` if a heartbeat is due.
    async fn chunk(&mut self) -> Option<Chunk> {
        let mut reading = match std::mem::replace(&mut self.upstream, Source::Ended) {
            Source::Idle(mut upstream) => Box::pin(async move {
                let chunk = upstream.chunk().await;
                (upstream, chunk)
            }),
            Source::Reading(reading) => reading,
            Source::Ended => return Some(None),
        };
        let started = Instant::now();
        let due = self.heartbeat.filter(|heartbeat| heartbeat.is_between_events);
        let done = match due {
            Some(heartbeat) => tokio::time::timeout(heartbeat.interval, &mut reading).await.ok(),
            None => Some((&mut reading).await),
        };
        self.entry.waited(started.elapsed());
        let Some((upstream, chunk)) = done else {
            self.upstream = Source::Reading(reading);
            return None;
        };
        if matches!(chunk, Some(Ok(_))) {
            self.upstream = Source::Idle(upstream);
        }
        Some(chunk)
    }

    /// Records the end, before the caller has the last bytes.
    async fn close(&mut self) {
        let Some(end) = self.end.take() else { return };
        let is_whole = end.error.is_none();
        if let Some(capture) = self.capture.take().filter(|_| is_whole) {
            capture.store();
        }
        let end = End {
            outcome: if is_whole { "answered" } else { "interrupted" },
            status: 200,
            usage: end.usage,
            repairs: end.changes,
            error: end.error.map(|error| error.message),
        };
        // The answer is with the caller already; a store that fails is counted in the metrics.
        let _ = self.entry.finish(end).await;
    }
}

/// Keeps the last event of a Responses stream, which has the whole response.
pub(crate) struct Capture {
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: String,
    pub(crate) request: Bytes,
    /// The bytes from the beginning of the last event on, or the end of those before it.
    pub(crate) tail: Vec<u8>,
    pub(crate) is_found: bool,
}

const LAST_EVENT: &[u8] = b"event: response.completed";
/// Bytes of a response that is stored.
const MAX_CAPTURED: usize = 8 << 20;

impl Capture {
    fn push(&mut self, bytes: &[u8]) {
        if self.tail.len() + bytes.len() > MAX_CAPTURED {
            self.tail.clear();
            self.is_found = false;
            return;
        }
        self.tail.extend_from_slice(bytes);
        if self.is_found {
            return;
        }
        let found = self.tail.windows(LAST_EVENT.len()).position(|window| window == LAST_EVENT);
        self.is_found = found.is_some();
        let keep = found.unwrap_or_else(|| self.tail.len().saturating_sub(LAST_EVENT.len() - 1));
        self.tail.drain(..keep);
    }

    fn store(self) {
        #[derive(serde::Deserialize)]
        struct Completed<'b> {
            #[serde(borrow)]
            response: &'b serde_json::value::RawValue,
        }
        let text = String::from_utf8_lossy(&self.tail);
        let data = text.lines().find_map(|line| line.strip_prefix("data:"));
        let event = data.and_then(|data| serde_json::from_str::<Completed<'_>>(data.trim()).ok());
        if let Some(event) = event {
            self.shared.responses.put(&self.key, &self.request, event.response.get());
        }
    }
}
