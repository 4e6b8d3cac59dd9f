//! Whether and when something is tried again: the one place that decides about retries, waits, timeouts and deadlines.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use polywire_wire::FaultKind;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;

use super::Client;
use super::error::SendError;

/// The tries of one exchange with a provider.
#[derive(Debug)]
pub(super) struct Tries {
    provider: String,
    /// When everything must be over.
    until: Instant,
    pub(super) retries: usize,
}

/// The right to exchange something with a provider. It is given back when this is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    until: Instant,
    _permit: Option<OwnedSemaphorePermit>,
}

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    /// The head of the answer.
    FirstByte,
    /// More of the answer.
    Next,
}

/// A time from now, however far.
pub(super) fn after(wait: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_hours(24 * 36_500);
    let now = Instant::now();
    now.checked_add(wait.min(CENTURY)).unwrap_or(now)
}

impl Tries {
    pub(super) fn new(provider: &str, until: Instant) -> Self {
        Self { provider: provider.to_owned(), until, retries: 0 }
    }

    /// Waits until the provider may be asked.
    pub(super) async fn acquire(&self, client: &Client) -> Result<Permit, SendError> {
        let permit = timeout_at(self.until.into(), client.shared.pace.acquire(&self.provider)).await;
        let permit = permit.map_err(|_| SendError::Deadline(client.deadline()))?;
        Ok(Permit { until: self.until, _permit: permit })
    }

    /// Waits for the next try, if there is one; else the error is final.
    pub(super) async fn again(&mut self, client: &Client, error: SendError) -> Result<(), SendError> {
        let options = client.options();
        let requested = error.retry_after();
        if let Some(wait) = requested.filter(|wait| error.is_crowded() && *wait <= options.max_retry_after) {
            // A provider that asks one caller to wait asks all.
            client.shared.pace.pause_until(&self.provider, after(wait));
        }
        let wait = requested.unwrap_or_else(|| backoff(options.backoff, self.retries).min(options.max_retry_after));
        let is_late = wait > options.max_retry_after || after(wait) >= self.until;
        if !error.retryable() || self.retries >= options.retries || is_late {
            return Err(error);
        }
        self.retries += 1;
        tracing::debug!(error.kind = error.word(), wait_ms = wait.as_millis(), "sent again");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

impl Permit {
    /// Does something within the time that there is for it, and within the deadline.
    pub(super) async fn within<T>(
        &self,
        client: &Client,
        wait: Wait,
        work: impl Future<Output = Result<T, SendError>>,
    ) -> Result<T, SendError> {
        let options = client.options();
        let (limit, error) = match wait {
            Wait::FirstByte => (options.first_byte_timeout, SendError::FirstByteTimeout(options.first_byte_timeout)),
            Wait::Next => (options.idle_timeout, SendError::IdleTimeout(options.idle_timeout)),
        };
        let limit = after(limit);
        match timeout_at(limit.min(self.until).into(), work).await {
            Ok(done) => done,
            Err(_) if self.until <= limit => Err(SendError::Deadline(client.deadline())),
            Err(_) => Err(error),
        }
    }
}

impl SendError {
    /// How long the provider asks to wait.
    fn retry_after(&self) -> Option<Duration> {
        if let Self::Provider(error) = self { error.retry_after_ms.map(Duration::from_millis) } else { None }
    }

    /// Whether the provider has more to do than it can.
    fn is_crowded(&self) -> bool {
        matches!(self, Self::Provider(error) if matches!(error.kind, FaultKind::RateLimit | FaultKind::Overloaded))
    }
}

/// Twice as long as before, with up to a quarter more, so that many clients do not come at once.
fn backoff(first: Duration, retries: usize) -> Duration {
    let doubled = first.saturating_mul(1 << retries.min(16));
    let dice = u32::try_from(RandomState::new().hash_one(retries) % 256).unwrap_or_default();
    doubled.saturating_add(doubled / 1024 * dice)
}
