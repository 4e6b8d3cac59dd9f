//! Concurrency limits per provider, and pauses that a provider requests with `retry-after`. Clones of a client share them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::options::ClientOptions;

#[derive(Debug)]
pub(super) struct ProviderLimits {
    max_concurrency: usize,
    /// Limits of single providers, by id.
    overrides: BTreeMap<String, usize>,
    providers: Mutex<BTreeMap<String, ProviderLimit>>,
}

#[derive(Clone, Debug)]
struct ProviderLimit {
    permits: Arc<Semaphore>,
    paused_until: Option<Instant>,
}

impl ProviderLimits {
    pub(super) fn new(options: &ClientOptions) -> Self {
        let overrides = options.provider_concurrency.clone();
        Self { max_concurrency: options.max_concurrency, overrides, providers: Mutex::default() }
    }

    /// Waits for a permit and for the end of a pause.
    pub(super) async fn acquire(&self, provider: &str) -> Option<OwnedSemaphorePermit> {
        loop {
            let permits = self.with_limit(provider, |limit| Arc::clone(&limit.permits));
            // The semaphore is never closed.
            let permit = permits.acquire_owned().await.ok();
            let paused_until = self.with_limit(provider, |limit| limit.paused_until);
            let Some(until) = paused_until.filter(|until| *until > Instant::now()) else { return permit };
            drop(permit);
            tokio::time::sleep_until(until.into()).await;
        }
    }

    pub(super) fn pause_until(&self, provider: &str, until: Instant) {
        self.with_limit(provider, |limit| limit.paused_until = limit.paused_until.max(Some(until)));
    }

    fn with_limit<T>(&self, provider: &str, f: impl FnOnce(&mut ProviderLimit) -> T) -> T {
        let mut providers = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = providers.entry(provider.to_owned()).or_insert_with(|| {
            let permits = self.overrides.get(provider).copied().unwrap_or(self.max_concurrency);
            ProviderLimit {
                permits: Arc::new(Semaphore::new(permits.clamp(1, Semaphore::MAX_PERMITS))),
                paused_until: None,
            }
        });
        f(limit)
    }
}
