//! Request bodies, within limits on bytes and time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use polywire::wire::{FaultKind, WireError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Reads bodies within limits that all requests share.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    budget: Arc<Semaphore>,
}

/// A body, and its share of the buffered bytes until it is dropped.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    _budget: Option<OwnedSemaphorePermit>,
}

impl Receiver {
    pub(crate) fn new(buffered_bytes: usize) -> Self {
        Self { budget: Arc::new(Semaphore::new(buffered_bytes.min(Semaphore::MAX_PERMITS))) }
    }

    /// Reads a body of at most `max_bytes` within a time.
    pub(crate) async fn receive(&self, body: Body, max_bytes: usize, within: Duration) -> Result<Received, WireError> {
        let Ok(received) = timeout(within, self.read(body, max_bytes)).await else {
            let message = format!("the request body did not arrive within {} s", within.as_secs());
            return Err(WireError::new(FaultKind::Timeout, message));
        };
        received
    }

    async fn read(&self, mut body: Body, max_bytes: usize) -> Result<Received, WireError> {
        let mut received = Vec::new();
        let mut length = 0_usize;
        let mut budget: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let broken = |_| WireError::new(FaultKind::InvalidRequest, "the request body ends early");
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            length = length.saturating_add(data.len());
            if length > max_bytes {
                let message = format!("the request body has more than {max_bytes} bytes");
                return Err(WireError::new(FaultKind::TooLarge, message));
            }
            let wanted = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let Ok(more) = Arc::clone(&self.budget).try_acquire_many_owned(wanted) else {
                return Err(WireError::new(FaultKind::Overloaded, "too many request bodies are being read"));
            };
            match &mut budget {
                Some(budget) => budget.merge(more),
                None => budget = Some(more),
            }
            received.push(data);
        }
        let bytes = match received.len() {
            0 | 1 => received.pop().unwrap_or_default(),
            _ => {
                let mut all = BytesMut::with_capacity(length);
                for data in &received {
                    all.extend_from_slice(data);
                }
                all.freeze()
            }
        };
        Ok(Received { bytes, _budget: budget })
    }
}
