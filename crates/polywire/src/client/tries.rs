//! Whether and when something is tried again: the one place that decides about retries, waits and deadlines.

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
    /// How often it was tried again.
    pub(super) retries: usize,
}

/// A try that goes on. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    /// When it must be over.
    until: Instant,
    last: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Tries {
    pub(super) fn new(provider: &str, until: Instant) -> Self {
        Self { provider: provider.to_owned(), until, retries: 0 }
    }

    /// Waits for a turn: until there is room, and until the provider wants to hear something.
    pub(super) async fn turn(&self, client: &Client) -> Result<Turn, SendError> {
        let permit = timeout_at(self.until.into(), client.pace.turn(&self.provider)).await;
        let permit = permit.map_err(|_| SendError::Deadline(client.options.deadline))?;
        let until = Instant::now() + client.options.timeout;
        Ok(Turn { until: until.min(self.until), last: until >= self.until, _permit: permit })
    }

    /// Waits for the next try, if there is one; else the error is final.
    pub(super) async fn again(&mut self, client: &Client, error: SendError) -> Result<(), SendError> {
        let options = &client.options;
        let now = Instant::now();
        let told = error.told_wait();
        if let Some(told) = told.filter(|told| error.is_crowded() && *told <= options.max_retry_after) {
            // Who asks one to wait asks all.
            client.pace.pause_until(&self.provider, now + told);
        }
        let wait = told.unwrap_or_else(|| backoff(options.backoff, self.retries).min(options.max_retry_after));
        let late = wait > options.max_retry_after || now + wait >= self.until;
        if !error.retryable() || self.retries >= options.retries || late {
            return Err(error);
        }
        self.retries += 1;
        tracing::debug!(error.kind = error.word(), wait_ms = wait.as_millis(), "sent again");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

impl Turn {
    /// Does something within the time that is left.
    pub(super) async fn within<T>(
        &self,
        client: &Client,
        work: impl Future<Output = Result<T, SendError>>,
    ) -> Result<T, SendError> {
        match timeout_at(self.until.into(), work).await {
            Ok(done) => done,
            Err(_) if self.last => Err(SendError::Deadline(client.options.deadline)),
            Err(_) => Err(SendError::Timeout(client.options.timeout)),
        }
    }
}

impl SendError {
    /// How long the provider asks to wait.
    fn told_wait(&self) -> Option<Duration> {
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
