//! The effective settings of the gateway: those of `[serve]`, with defaults.

use std::time::Duration;

use polywire::catalog::{Serve, ServeLog, ServeOnLoss, ServeRecord, ServeRoute, ServeStoreFailure, ServeStrict};

/// The effective settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) routes: Vec<ServeRoute>,
    pub(crate) strict: ServeStrict,
    pub(crate) on_loss: ServeOnLoss,
    pub(crate) require_keys: Option<bool>,
    pub(crate) pass_through: Option<bool>,
    pub(crate) cors_origins: Vec<String>,
    pub(crate) on_store_failure: ServeStoreFailure,
    pub(crate) record: ServeRecord,
    pub(crate) log: ServeLog,
    pub(crate) cache: Option<Duration>,
    pub(crate) cache_scope: CacheScope,
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) retries: usize,
    pub(crate) connect_timeout: Duration,
    pub(crate) first_byte_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) total_timeout: Duration,
    pub(crate) read_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) body_bytes: usize,
    pub(crate) buffered_bytes: usize,
    pub(crate) concurrency: usize,
    pub(crate) concurrency_per_key: usize,
    pub(crate) concurrency_per_provider: usize,
    pub(crate) recent_requests: usize,
    pub(crate) stored_responses: usize,
    pub(crate) echo_bytes: usize,
}

/// Who may get a cached response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheScope {
    /// Only requests with the same gateway key.
    Key,
    /// Every caller.
    Shared,
}

impl From<Serve> for Settings {
    fn from(serve: Serve) -> Self {
        let seconds = |value: Option<u64>, default: u64| Duration::from_secs(value.unwrap_or(default));
        let heartbeat = seconds(serve.heartbeat_seconds, 15);
        let cache = Duration::from_secs(serve.cache_seconds);
        let (timeouts, limits) = (serve.timeouts, serve.limits);
        Self {
            routes: serve.routes,
            strict: serve.strict,
            on_loss: serve.on_loss,
            require_keys: serve.require_keys,
            pass_through: serve.pass_through,
            cors_origins: serve.cors_origins,
            on_store_failure: serve.on_store_failure,
            record: serve.record,
            log: serve.log,
            cache: Some(cache).filter(|cache| !cache.is_zero()),
            cache_scope: if serve.cache_shared { CacheScope::Shared } else { CacheScope::Key },
            heartbeat: Some(heartbeat).filter(|interval| !interval.is_zero()),
            retries: serve.retries.unwrap_or(2),
            connect_timeout: seconds(timeouts.connect, 10),
            first_byte_timeout: seconds(timeouts.first_byte, 600),
            idle_timeout: seconds(timeouts.idle, 300),
            total_timeout: seconds(timeouts.total, 3600),
            read_timeout: seconds(timeouts.read, 30),
            drain_timeout: seconds(timeouts.drain, 60),
            body_bytes: limits.body_bytes.unwrap_or(64 << 20),
            buffered_bytes: limits.buffered_bytes.unwrap_or(512 << 20),
            concurrency: limits.concurrency.unwrap_or(10_000),
            concurrency_per_key: limits.concurrency_per_key.unwrap_or(1_000),
            concurrency_per_provider: limits.concurrency_per_provider.unwrap_or(10_000),
            recent_requests: limits.recent_requests.unwrap_or(1_000),
            stored_responses: limits.stored_responses.unwrap_or(1_000),
            echo_bytes: limits.echo_bytes.unwrap_or(32 << 20),
        }
    }
}
