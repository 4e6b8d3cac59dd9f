//! What all requests share: the active configuration, keys, limits, the ledger, recent requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use polywire::{Client, EchoStore};
use tokio::sync::Semaphore;

use crate::cache::ResponseCache;
use crate::clock::{Period, unix_ms};
use crate::health::Health;
use crate::key::Key;
use crate::limits::{Limiter, RedisCounters, Unreachable};
use crate::metrics::Metrics;
use crate::receive::Receiver;
use crate::report::Recent;
use crate::responses::StoredResponses;
use crate::routes::Routes;
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::telemetry::Telemetry;

/// The store is asked for new keys at most this often.
const KEYS_READ_MS: i64 = 250;

/// A configuration. A reload replaces it; requests that are open keep theirs.
#[derive(Debug)]
pub(crate) struct Active {
    pub(crate) settings: Settings,
    pub(crate) routes: Routes,
    pub(crate) client: Client,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    active: ArcSwap<Active>,
    pub(crate) store: Store,
    keys: ArcSwap<HashMap<String, Arc<Key>>>,
    keys_read_at: AtomicI64,
    pub(crate) limiter: Limiter,
    pub(crate) health: Health,
    pub(crate) receiver: Receiver,
    pub(crate) recent: Recent,
    pub(crate) responses: StoredResponses,
    pub(crate) cache: ResponseCache,
    /// Reasoning and signatures that callers' protocols have no place for.
    pub(crate) echo: Arc<EchoStore>,
    pub(crate) metrics: Metrics,
    pub(crate) telemetry: Option<Telemetry>,
    pub(crate) concurrency: Arc<Semaphore>,
    pub(crate) access: Access,
    is_draining: AtomicBool,
}

/// Who may send requests without a gateway key while there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody who can connect.
    Open,
    /// Programs on this machine: the gateway listens on loopback only.
    Loopback,
    /// Nobody.
    KeysOnly,
}

impl Shared {
    pub(crate) async fn new(
        active: Active,
        store: Store,
        counters: Option<&str>,
        access: Access,
    ) -> Result<Self, StoreError> {
        let period = Period::at(unix_ms());
        let mut limiter = Limiter::new(store.spent(period.day, period.month, None).await?);
        if let Some(url) = counters {
            let redis = RedisCounters::open(url).await.map_err(|Unreachable(what)| StoreError(what))?;
            limiter = limiter.with_redis(redis, store.clone());
        }
        let settings = &active.settings;
        let shared = Self {
            limiter,
            health: Health::default(),
            receiver: Receiver::new(settings.buffered_bytes),
            recent: Recent::new(settings.recent_requests),
            responses: StoredResponses::new(settings.stored_responses),
            cache: ResponseCache::default(),
            echo: Arc::new(EchoStore::new(settings.echo_bytes)),
            metrics: Metrics::new(),
            telemetry: Telemetry::from_env(),
            concurrency: Arc::new(Semaphore::new(settings.concurrency.min(Semaphore::MAX_PERMITS))),
            access,
            is_draining: AtomicBool::new(false),
            keys: ArcSwap::default(),
            keys_read_at: AtomicI64::new(0),
            store,
            active: ArcSwap::from_pointee(active),
        };
        shared.read_keys().await?;
        Ok(shared)
    }

    pub(crate) fn active(&self) -> Arc<Active> {
        self.active.load_full()
    }

    pub(crate) fn replace(&self, active: Active) {
        self.active.store(Arc::new(active));
    }

    /// Reads the keys, which other processes may have changed.
    pub(crate) async fn read_keys(&self) -> Result<(), StoreError> {
        self.keys_read_at.store(unix_ms(), Ordering::Relaxed);
        let keys = self.store.keys().await?;
        let valid = keys.into_iter().filter(|key| key.revoked_at.is_none());
        self.keys.store(Arc::new(valid.map(|key| (key.id.clone(), Arc::new(key))).collect()));
        Ok(())
    }

    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.load().is_empty()
    }

    /// The valid key of a text. A key that is not known may have been created meanwhile, so the store is asked. Whatever is presented,
    /// it is asked once in [`KEYS_READ_MS`]; until then the request waits.
    pub(crate) async fn key(&self, text: &str) -> Option<Arc<Key>> {
        let id = Key::id_of(text)?;
        let find = || self.keys.load().get(id).filter(|key| key.is(text)).cloned();
        // A second time if another request asks the store at the same moment.
        for _ in 0..2 {
            if let Some(found) = find() {
                return Some(found);
            }
            let read_at = self.keys_read_at.load(Ordering::Relaxed);
            let early = KEYS_READ_MS.saturating_sub(unix_ms().saturating_sub(read_at)).clamp(0, KEYS_READ_MS);
            tokio::time::sleep(Duration::from_millis(early.unsigned_abs())).await;
            let claim = self.keys_read_at.compare_exchange(read_at, unix_ms(), Ordering::Relaxed, Ordering::Relaxed);
            if claim.is_ok() {
                // A store that fails has no new keys.
                let _ = self.read_keys().await;
                break;
            }
        }
        find()
    }

    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}
