//! Counters that replicas share, and what happens when they lose data or cannot be reached: budgets come back from the ledger, rates from
//! what this process saw last.

use std::time::{Duration, Instant};

use super::redis::{Levels, RedisCounters, SharedAnswer, Unreachable};
use super::{Bucket, Exceeded, KeyState, Limiter, budget_exceeded, rate};
use crate::clock::{Period, unix_ms};
use crate::key::KeyLimits;
use crate::store::{Spent, Store};

/// How often the ledger is asked for the sums of a key while Redis is gone.
const SPENT_INTERVAL: Duration = Duration::from_secs(5);

/// Counters in Redis, and the ledger from which budgets are rebuilt.
#[derive(Clone, Debug)]
pub(super) struct SharedCounters {
    redis: RedisCounters,
    ledger: Store,
}

impl Limiter {
    /// Shares the counters with other replicas.
    pub(crate) fn with_redis(mut self, redis: RedisCounters, ledger: Store) -> Self {
        self.shared = Some(SharedCounters { redis, ledger });
        self
    }

    /// Tells the other replicas that this one lives. Without shared counters there is nothing to do.
    pub(crate) async fn beat(&self) {
        if let Some(shared) = &self.shared {
            shared.redis.beat().await;
        }
    }

    /// The replicas that share the counters, as far as they are known.
    pub(crate) fn replicas(&self) -> u32 {
        self.shared.as_ref().map_or(1, SharedCounters::replicas)
    }

    /// Leaves the replicas that share the counters.
    pub(crate) async fn leave(&self) {
        if let Some(shared) = &self.shared {
            shared.redis.leave().await;
        }
    }
}

impl SharedCounters {
    pub(super) fn replicas(&self) -> u32 {
        self.redis.replicas()
    }

    /// Admits a request by the shared counters. Counters that are missing, or behind those of this process, are rebuilt first.
    pub(super) async fn admit(
        &self,
        limiter: &Limiter,
        key: &str,
        limits: &KeyLimits,
        tokens: u64,
    ) -> Result<Result<(), Exceeded>, Unreachable> {
        if limiter.with(key, |state| state.is_ahead) {
            self.rebuild(limiter, key).await?;
        }
        let mut answer = self.redis.admit(key, limits, tokens).await?;
        if matches!(answer, SharedAnswer::Unknown) {
            self.rebuild(limiter, key).await?;
            answer = self.redis.admit(key, limits, tokens).await?;
        }
        let (levels, admitted) = match answer {
            SharedAnswer::Admitted(levels) => (levels, Ok(())),
            SharedAnswer::Rate { levels, is_tokens, wait } => {
                let (limit, unit) = if is_tokens {
                    (limits.tokens_per_minute, "tokens")
                } else {
                    (limits.requests_per_minute, "requests")
                };
                (levels, Err(rate(&format!("{} {unit} per minute", limit.unwrap_or_default()), Some(wait))))
            }
            SharedAnswer::Budget { levels, number } => {
                let budgets = [
                    (limits.usd_per_day, "of the day"),
                    (limits.usd_per_month, "of the month"),
                    (limits.usd_total, "of the key"),
                ];
                let (limit, what) = budgets.get(number).copied().unwrap_or_default();
                (levels, Err(budget_exceeded(what, limit.unwrap_or_default())))
            }
            SharedAnswer::Unknown => return Err(Unreachable("the counters lose their data".to_owned())),
        };
        limiter.with(key, |state| state.copy(&levels));
        Ok(admitted)
    }

    /// Brings the shared counters of a key up to what the ledger and this process know. A request that ends at this very moment may be
    /// counted twice here, never in the ledger.
    async fn rebuild(&self, limiter: &Limiter, key: &str) -> Result<(), Unreachable> {
        self.redis.check()?;
        let period = Period::at(unix_ms());
        // Without the ledger, what this process saw must do.
        let recorded = self.ledger.spent(period.day, period.month, Some(key)).await.unwrap_or_default();
        let recorded = recorded.into_iter().next().unwrap_or_default();
        let levels = limiter.with(key, |state| {
            state.spent = max(&state.spent, &recorded);
            state.is_ahead = false;
            state.levels()
        });
        let raised = self.redis.raise(key, &levels).await;
        if raised.is_err() {
            limiter.with(key, |state| state.is_ahead = true);
        }
        raised
    }

    /// Learns from the ledger what a key has spent at all replicas, while the shared counters are gone.
    pub(super) async fn read_spent(&self, limiter: &Limiter, key: &str, limits: &KeyLimits) {
        let has_budget = [limits.usd_per_day, limits.usd_per_month, limits.usd_total].iter().any(Option::is_some);
        let is_due = limiter.with(key, |state| {
            let is_due = has_budget && state.spent_read_at.is_none_or(|at| at.elapsed() > SPENT_INTERVAL);
            if is_due {
                state.spent_read_at = Some(Instant::now());
            }
            is_due
        });
        if !is_due {
            return;
        }
        let period = Period::at(unix_ms());
        let recorded = self.ledger.spent(period.day, period.month, Some(key)).await.unwrap_or_default();
        if let Some(recorded) = recorded.first() {
            limiter.with(key, |state| state.spent = max(&state.spent, recorded));
        }
    }

    /// Counts what a request used beyond its estimate, without waiting.
    pub(super) fn settle_later(
        &self,
        limiter: &Limiter,
        key: &str,
        tokens_per_minute: u32,
        more_tokens: i64,
        cost_nanos: i64,
    ) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (redis, limiter, key) = (self.redis.clone(), limiter.clone(), key.to_owned());
        runtime.spawn(async move {
            if redis.settle(&key, tokens_per_minute, more_tokens, cost_nanos).await.is_err() {
                // The ledger has the request; the counters get it with the next rebuild.
                limiter.with(&key, |state| state.is_ahead = true);
            }
        });
    }
}

impl KeyState {
    fn levels(&self) -> Levels {
        let now = Instant::now();
        Levels {
            requests: self.requests.level(now),
            tokens: self.tokens.level(now),
            spent: [self.spent.day, self.spent.month, self.spent.total],
        }
    }

    /// Keeps what the shared counters say.
    fn copy(&mut self, levels: &Levels) {
        let now = Instant::now();
        self.requests = Bucket::at_level(levels.requests, now);
        self.tokens = Bucket::at_level(levels.tokens, now);
        let [day, month, total] = levels.spent;
        self.spent = max(&self.spent, &Spent { key: String::new(), day, month, total });
    }
}

/// Sums only grow within a period, so the larger one is newer.
fn max(one: &Spent, other: &Spent) -> Spent {
    Spent {
        key: one.key.clone(),
        day: one.day.max(other.day),
        month: one.month.max(other.month),
        total: one.total.max(other.total),
    }
}
