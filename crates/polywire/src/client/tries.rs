//! Retries, backoff, timeouts and deadlines. No other module decides about them.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use polywire_wire::FaultKind;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;

use super::Client;
use super::error::SendError;

/// The retries of one request to a provider.
#[derive(Debug)]
pub(super) struct RetryState {
    provider: String,
    /// The deadline of the whole call.
    until: Instant,
    /// Overrides the limit of the client's options.
    max_retries: Option<usize>,
    pub(super) retries: usize,
}

/// A concurrency permit of a provider, released on drop.
#[derive(Debug)]
pub(super) struct ProviderPermit {
    until: Instant,
    _permit: Option<OwnedSemaphorePermit>,
}

/// The timeout that applies to a wait.
#[derive(Clone, Copy, Debug)]
pub(super) enum TimeoutKind {
    /// Until the response head.
    FirstByte,
    /// Until the next chunk of the body.
    NextChunk,
}

/// The instant after a duration. Durations that `Instant` cannot represent are capped.
pub(super) fn instant_after(wait: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_hours(24 * 36_500);
    let now = Instant::now();
    now.checked_add(wait.min(CENTURY)).unwrap_or(now)
}

impl RetryState {
    pub(super) fn new(provider: &str, until: Instant) -> Self {
        Self { provider: provider.to_owned(), until, max_retries: None, retries: 0 }
    }

    pub(super) fn with_max_retries(mut self, retries: usize) -> Self {
        self.max_retries = Some(retries);
        self
    }

    /// Waits for a permit of the provider, at most until the deadline.
    pub(super) async fn acquire(&self, client: &Client) -> Result<ProviderPermit, SendError> {
        let permit = timeout_at(self.until.into(), client.shared.limits.acquire(&self.provider)).await;
        let permit = permit.map_err(|_| SendError::Deadline(client.deadline()))?;
        Ok(ProviderPermit { until: self.until, _permit: permit })
    }

    /// Waits for the next retry. Returns the error if it is not retryable, or if no retries or time are left.
    pub(super) async fn wait_for_retry(&mut self, client: &Client, error: SendError) -> Result<(), SendError> {
        let options = client.options();
        let requested = error.retry_after();
        if let Some(wait) = requested.filter(|wait| error.is_overloaded() && *wait <= options.max_retry_after) {
            // Rate limits apply to the account, so all requests to the provider wait.
            client.shared.limits.pause_until(&self.provider, instant_after(wait));
        }
        let wait = requested.unwrap_or_else(|| backoff(options.backoff, self.retries).min(options.max_retry_after));
        let is_late = wait > options.max_retry_after || instant_after(wait) >= self.until;
        if !error.retryable() || self.retries >= self.max_retries.unwrap_or(options.retries) || is_late {
            return Err(error);
        }
        self.retries += 1;
        tracing::debug!(error.kind = error.error_type(), wait_ms = wait.as_millis(), "retrying the request");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

impl ProviderPermit {
    /// Runs `work` within its timeout and the deadline.
    pub(super) async fn within<T>(
        &self,
        client: &Client,
        wait: TimeoutKind,
        work: impl Future<Output = Result<T, SendError>>,
    ) -> Result<T, SendError> {
        let options = client.options();
        let (limit, error) = match wait {
            TimeoutKind::FirstByte => {
                (options.first_byte_timeout, SendError::FirstByteTimeout(options.first_byte_timeout))
            }
            TimeoutKind::NextChunk => (options.idle_timeout, SendError::IdleTimeout(options.idle_timeout)),
        };
        let limit = instant_after(limit);
        match timeout_at(limit.min(self.until).into(), work).await {
            Ok(done) => done,
            Err(_) if self.until <= limit => Err(SendError::Deadline(client.deadline())),
            Err(_) => Err(error),
        }
    }
}

impl SendError {
    fn retry_after(&self) -> Option<Duration> {
        if let Self::Provider(error) = self { error.retry_after_ms.map(Duration::from_millis) } else { None }
    }

    fn is_overloaded(&self) -> bool {
        matches!(self, Self::Provider(error) if matches!(error.kind, FaultKind::RateLimit | FaultKind::Overloaded))
    }
}

/// Exponential backoff with up to 25 % of jitter, so that clients do not retry at the same moment.
fn backoff(first: Duration, retries: usize) -> Duration {
    let doubled = first.saturating_mul(1 << retries.min(16));
    let jitter = u32::try_from(RandomState::new().hash_one(retries) % 256).unwrap_or_default();
    doubled.saturating_add(doubled / 1024 * jitter)
}
