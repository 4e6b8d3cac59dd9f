//! Request bodies, within limits on bytes and time.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::HeaderMap;
use hyper::body::{Body as _, Incoming};
use hyper::header::CONTENT_TYPE;
use polywire::Catalog;
use polywire::schema::Dialect;
use polywire::wire::{FaultKind, WireError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// Whom an emulator stands for, and its limits on requests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EmulatorOptions {
    /// The providers and models that it emulates; by default the built-in ones.
    pub catalog: Arc<Catalog>,
    /// Dialects beside the built-in ones, which surfaces of the catalog may name; by default none.
    pub dialects: Arc<[Dialect]>,
    /// The limit on the bytes of one request.
    pub max_request_bytes: usize,
    /// The limit on the bytes of all requests that are being read.
    pub max_buffered_bytes: usize,
    /// The time limit on the head of a request, and again on its body.
    pub read_timeout: Duration,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        Self {
            catalog: Arc::new(Catalog::built_in().clone()),
            dialects: Arc::default(),
            max_request_bytes: 32 << 20,
            max_buffered_bytes: 256 << 20,
            read_timeout: Duration::from_secs(30),
        }
    }
}

impl EmulatorOptions {
    /// Emulates the providers of a catalog, such as one with the rows of a configuration.
    #[must_use]
    pub fn with_catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = Arc::new(catalog);
        self
    }

    /// Judges by the dialects of a configuration too.
    #[must_use]
    pub fn with_dialects(mut self, dialects: &[Dialect]) -> Self {
        self.dialects = dialects.into();
        self
    }

    /// Sets the limit on the bytes of one request.
    #[must_use]
    pub fn with_max_request_bytes(mut self, limit: usize) -> Self {
        self.max_request_bytes = limit;
        self
    }

    /// Sets the limit on the bytes of all requests that are being read.
    #[must_use]
    pub fn with_max_buffered_bytes(mut self, limit: usize) -> Self {
        self.max_buffered_bytes = limit;
        self
    }

    /// Sets the time limit on the head and on the body of a request.
    #[must_use]
    pub fn with_read_timeout(mut self, time: Duration) -> Self {
        self.read_timeout = time;
        self
    }
}

/// Reads bodies within the limits that all of them share.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    options: EmulatorOptions,
    budget: Arc<Semaphore>,
}

/// A body, and its share of the buffered bytes until it is dropped.
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    _budget: Option<OwnedSemaphorePermit>,
}

impl Receiver {
    pub(crate) fn new(options: EmulatorOptions) -> Self {
        let budget = options.max_buffered_bytes.min(Semaphore::MAX_PERMITS);
        Self { options, budget: Arc::new(Semaphore::new(budget)) }
    }

    /// Reads a body of JSON.
    pub(crate) async fn receive(&self, headers: &HeaderMap, body: Incoming) -> Result<Received, Box<WireError>> {
        let end = Instant::now() + self.options.read_timeout;
        let read = async {
            check_content_type(headers)?;
            self.read(body, end).await
        };
        timeout_at(end, read).await.unwrap_or_else(|_| {
            let message = format!("the request did not arrive within {} ms", self.options.read_timeout.as_millis());
            Err(refusal(FaultKind::Timeout, message))
        })
    }

    async fn read(&self, mut body: Incoming, end: Instant) -> Result<Received, Box<WireError>> {
        let mut received = BytesMut::new();
        let mut budget: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let broken = |error| refusal(FaultKind::InvalidRequest, format!("the body ends early: {error}"));
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            if received.len() + data.len() > self.options.max_request_bytes {
                drop((received, budget));
                discard(body, end).await;
                let message = format!("the request has more than {} bytes", self.options.max_request_bytes);
                return Err(refusal(FaultKind::TooLarge, message));
            }
            let wanted = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let Ok(more) = Arc::clone(&self.budget).try_acquire_many_owned(wanted) else {
                return Err(refusal(FaultKind::Overloaded, "too many bytes of requests are being read".to_owned()));
            };
            match &mut budget {
                Some(budget) => budget.merge(more),
                None => budget = Some(more),
            }
            received.extend_from_slice(&data);
        }
        Ok(Received { bytes: received.freeze(), _budget: budget })
    }
}

/// Reads and discards the rest, so that the client gets the error instead of a reset connection.
async fn discard(mut body: Incoming, end: Instant) {
    while !body.is_end_stream() && Instant::now() < end {
        match timeout_at(end, body.frame()).await {
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(_)) | None) | Err(_) => return,
        }
    }
}

/// Refuses a content type other than JSON. None is JSON.
fn check_content_type(headers: &HeaderMap) -> Result<(), Box<WireError>> {
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let kind = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.ends_with("/json") || essence.ends_with("+json") {
        return Ok(());
    }
    let message = format!("the content type must be application/json, not {essence}");
    let code = Some("unsupported_content_type".to_owned());
    Err(Box::new(WireError { status: 415, code, ..WireError::new(FaultKind::InvalidRequest, message) }))
}

fn refusal(kind: FaultKind, message: String) -> Box<WireError> {
    Box::new(WireError::new(kind, message))
}
