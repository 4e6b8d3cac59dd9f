//! How fast providers are asked: so many exchanges at a time, and none while a provider asks to wait. Clones of a client share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How fast providers are asked.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    permits: Arc<Semaphore>,
    /// By provider: the time before which it wants to hear nothing.
    quiet: Arc<Mutex<BTreeMap<String, Instant>>>,
}

impl Pace {
    pub(super) fn new(max_concurrency: usize) -> Self {
        let permits = Semaphore::new(max_concurrency.clamp(1, Semaphore::MAX_PERMITS));
        Self { permits: Arc::new(permits), quiet: Arc::default() }
    }

    /// Waits for a turn. The turn ends when what is given is dropped.
    pub(super) async fn turn(&self, provider: &str) -> Option<OwnedSemaphorePermit> {
        loop {
            // The semaphore is never closed; if it were, nobody would wait.
            let permit = Arc::clone(&self.permits).acquire_owned().await.ok();
            let Some(until) = self.quiet_until(provider) else { return permit };
            drop(permit);
            tokio::time::sleep_until(until.into()).await;
        }
    }

    /// Nobody asks the provider before this time.
    pub(super) fn pause_until(&self, provider: &str, until: Instant) {
        let mut quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        let known = quiet.entry(provider.to_owned()).or_insert(until);
        *known = (*known).max(until);
    }

    fn quiet_until(&self, provider: &str) -> Option<Instant> {
        let quiet = self.quiet.lock().unwrap_or_else(PoisonError::into_inner);
        quiet.get(provider).copied().filter(|until| *until > Instant::now())
    }
}
