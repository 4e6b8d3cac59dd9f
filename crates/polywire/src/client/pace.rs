//! How fast providers are asked: at most so many exchanges at a time with each, and none while a provider asks to wait. Clones of a client
//! share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::options::ClientOptions;

#[derive(Debug)]
pub(super) struct Pace {
    max_concurrency: usize,
    /// By provider, where it differs.
    overrides: BTreeMap<String, usize>,
    providers: Mutex<BTreeMap<String, Limit>>,
}

#[derive(Clone, Debug)]
struct Limit {
    permits: Arc<Semaphore>,
    paused_until: Option<Instant>,
}

impl Pace {
    pub(super) fn new(options: &ClientOptions) -> Self {
        let overrides = options.provider_concurrency.clone();
        Self { max_concurrency: options.max_concurrency, overrides, providers: Mutex::default() }
    }

    /// Waits until the provider may be asked. The permit counts until it is dropped.
    pub(super) async fn acquire(&self, provider: &str) -> Option<OwnedSemaphorePermit> {
        loop {
            let permits = self.with(provider, |limit| Arc::clone(&limit.permits));
            // The semaphore is never closed; if it were, nobody would wait.
            let permit = permits.acquire_owned().await.ok();
            let paused_until = self.with(provider, |limit| limit.paused_until);
            let Some(until) = paused_until.filter(|until| *until > Instant::now()) else { return permit };
            drop(permit);
            tokio::time::sleep_until(until.into()).await;
        }
    }

    /// Nobody asks the provider before this time.
    pub(super) fn pause_until(&self, provider: &str, until: Instant) {
        self.with(provider, |limit| limit.paused_until = limit.paused_until.max(Some(until)));
    }

    fn with<T>(&self, provider: &str, f: impl FnOnce(&mut Limit) -> T) -> T {
        let mut providers = self.providers.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = providers.entry(provider.to_owned()).or_insert_with(|| {
            let permits = self.overrides.get(provider).copied().unwrap_or(self.max_concurrency);
            Limit { permits: Arc::new(Semaphore::new(permits.clamp(1, Semaphore::MAX_PERMITS))), paused_until: None }
        });
        f(limit)
    }
}
