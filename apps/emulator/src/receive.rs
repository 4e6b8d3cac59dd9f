//! Requests as they arrive: so many bytes, so long, and JSON; what is not is an error in the provider's words.

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

/// What an emulator takes from its clients, and whom it stands for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EmulatorOptions {
    /// The providers that it emulates and their models; by default those that come with polywire.
    pub catalog: Arc<Catalog>,
    /// Dialects beside the built-in ones, which surfaces of the catalog may name; by default none.
    pub dialects: Arc<[Dialect]>,
    /// The most bytes of one request.
    pub max_request_bytes: usize,
    /// The most bytes of all requests that are being read.
    pub most_bytes_at_once: usize,
    /// The time in which the head of a request must have come, and again its body.
    pub read_time: Duration,
}

impl Default for EmulatorOptions {
    fn default() -> Self {
        Self {
            catalog: Arc::new(Catalog::built_in().clone()),
            dialects: Arc::default(),
            max_request_bytes: 32 << 20,
            most_bytes_at_once: 256 << 20,
            read_time: Duration::from_secs(30),
        }
    }
}

impl EmulatorOptions {
    /// The same for the providers and models of a catalog, such as one with the rows of a configuration.
    #[must_use]
    pub fn with_catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = Arc::new(catalog);
        self
    }

    /// The same with the dialects of a configuration, by which requests are judged as by built-in ones.
    #[must_use]
    pub fn with_dialects(mut self, dialects: &[Dialect]) -> Self {
        self.dialects = dialects.into();
        self
    }

    /// The same with another bound on the bytes of one request.
    #[must_use]
    pub fn with_max_request_bytes(mut self, most: usize) -> Self {
        self.max_request_bytes = most;
        self
    }

    /// The same with another bound on the bytes of all requests that are being read.
    #[must_use]
    pub fn with_most_bytes_at_once(mut self, most: usize) -> Self {
        self.most_bytes_at_once = most;
        self
    }

    /// The same with another time for a request to come.
    #[must_use]
    pub fn with_read_time(mut self, time: Duration) -> Self {
        self.read_time = time;
        self
    }
}

/// Reads bodies within the bounds that all of them share.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    options: EmulatorOptions,
    room: Arc<Semaphore>,
}

/// A body, and the room that it takes until it is dropped.
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Receiver {
    pub(crate) fn new(options: EmulatorOptions) -> Self {
        let room = options.most_bytes_at_once.min(Semaphore::MAX_PERMITS);
        Self { options, room: Arc::new(Semaphore::new(room)) }
    }

    /// Reads a body of JSON.
    pub(crate) async fn receive(&self, headers: &HeaderMap, body: Incoming) -> Result<Received, Box<WireError>> {
        let end = Instant::now() + self.options.read_time;
        let read = async {
            json_or_nothing(headers)?;
            self.read(body, end).await
        };
        timeout_at(end, read).await.unwrap_or_else(|_| {
            let says = format!("the request did not arrive within {} ms", self.options.read_time.as_millis());
            Err(refused(FaultKind::Timeout, says))
        })
    }

    async fn read(&self, mut body: Incoming, end: Instant) -> Result<Received, Box<WireError>> {
        let mut received = BytesMut::new();
        let mut room: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let broken = |error| refused(FaultKind::InvalidRequest, format!("the body ends early: {error}"));
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            if received.len() + data.len() > self.options.max_request_bytes {
                drop((received, room));
                discard(body, end).await;
                let says = format!("the request has more than {} bytes", self.options.max_request_bytes);
                return Err(refused(FaultKind::TooLarge, says));
            }
            let wanted = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let Ok(more) = Arc::clone(&self.room).try_acquire_many_owned(wanted) else {
                return Err(refused(FaultKind::Overloaded, "too many bytes of requests are being read".to_owned()));
            };
            match &mut room {
                Some(room) => room.merge(more),
                None => room = Some(more),
            }
            received.extend_from_slice(&data);
        }
        Ok(Received { bytes: received.freeze(), _room: room })
    }
}

/// Lets a client finish what is not kept, so that it hears why instead of a connection that is reset.
async fn discard(mut body: Incoming, end: Instant) {
    while !body.is_end_stream() && Instant::now() < end {
        match timeout_at(end, body.frame()).await {
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(_)) | None) | Err(_) => return,
        }
    }
}

/// A body that says to be something else than JSON is not read as JSON.
fn json_or_nothing(headers: &HeaderMap) -> Result<(), Box<WireError>> {
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let kind = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.ends_with("/json") || essence.ends_with("+json") {
        return Ok(());
    }
    let says = format!("the content type must be application/json, not {essence}");
    let code = Some("unsupported_content_type".to_owned());
    Err(Box::new(WireError { status: 415, code, ..WireError::new(FaultKind::InvalidRequest, says) }))
}

fn refused(kind: FaultKind, says: String) -> Box<WireError> {
    Box::new(WireError::new(kind, says))
}
