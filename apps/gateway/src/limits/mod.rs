//! Limits of keys: concurrent requests, requests and tokens per minute (GCRA), and budgets. A request is admitted with estimated tokens
//! and settled with what it used. Counters are in this process, or in Redis where replicas share them; this process then keeps a copy of
//! what it saw, which decides while Redis is gone and which refills a Redis that has lost its data.

mod bucket;
mod redis;
mod shared;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::{Period, unix_ms};
use crate::key::KeyLimits;
use crate::store::Spent;

use bucket::Bucket;
use shared::SharedCounters;

pub(crate) use redis::{RedisCounters, Unreachable};

const MINUTE: Duration = Duration::from_mins(1);
const NANOS_PER_USD: f64 = 1e9;

/// The state of all keys in this process.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    keys: Arc<Mutex<HashMap<String, KeyState>>>,
    /// Counters that replicas share.
    shared: Option<SharedCounters>,
}

/// What happens while shared counters cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnUnreachable {
    /// The counters of this process decide.
    CountHere,
    Refuse,
}

/// The counters of a key. With shared counters those of rates and budgets are a copy.
#[derive(Debug, Default)]
struct KeyState {
    open: u32,
    requests: Bucket,
    tokens: Bucket,
    period: Period,
    spent: Spent,
    /// When the ledger was last asked what is spent, because the shared counters could not be.
    spent_read_at: Option<Instant>,
    /// Requests were counted here that the shared counters do not have.
    is_ahead: bool,
}

/// A limit that a request exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exceeded {
    pub(crate) what: String,
    pub(crate) retry_after: Option<Duration>,
    /// The limit is a budget, not a rate.
    pub(crate) is_budget: bool,
}

/// An admitted request. Dropping it ends its share of the concurrency.
#[derive(Debug)]
pub(crate) struct Admission {
    limiter: Limiter,
    key: String,
    tokens_per_minute: Option<u32>,
    reserved_tokens: u64,
    counted: Counted,
}

/// Where a request is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// In this process, which has one of so many shares of the rates.
    Here { shares: u32 },
    /// In the counters that replicas share.
    Shared,
}

/// The only process.
const ALONE: Counted = Counted::Here { shares: 1 };

impl Limiter {
    /// Starts with what the ledger knows.
    pub(crate) fn new(spent: Vec<Spent>) -> Self {
        let period = Period::at(unix_ms());
        let state = |spent: Spent| (spent.key.clone(), KeyState { period, spent, ..KeyState::default() });
        Self { keys: Arc::new(Mutex::new(spent.into_iter().map(state).collect())), shared: None }
    }

    /// Admits a request of a key by the counters that replicas share, or by those of this process. `default_concurrency` applies to keys
    /// without a limit of their own.
    pub(crate) async fn admit(
        &self,
        key: &str,
        limits: &KeyLimits,
        tokens: u64,
        default_concurrency: usize,
        on_unreachable: OnUnreachable,
    ) -> Result<Admission, Exceeded> {
        let Some(shared) = self.shared.as_ref() else {
            return self.admit_here(key, limits, tokens, default_concurrency);
        };
        // A request that this refuses must not use a share of the rates.
        let mut admission = self.enter(key, limits, tokens, default_concurrency)?;
        match shared.admit(self, key, limits, tokens).await {
            Ok(admitted) => {
                admitted?;
                admission.counted = Counted::Shared;
            }
            Err(_) if on_unreachable == OnUnreachable::CountHere => {
                shared.read_spent(self, key, limits).await;
                admission.counted = Counted::Here { shares: shared.replicas() };
                admission.charge(limits)?;
            }
            Err(Unreachable(what)) => {
                return Err(Exceeded { what, retry_after: Some(Duration::from_secs(1)), is_budget: false });
            }
        }
        Ok(admission)
    }

    /// Admits a request by the counters of this process.
    fn admit_here(
        &self,
        key: &str,
        limits: &KeyLimits,
        tokens: u64,
        default_concurrency: usize,
    ) -> Result<Admission, Exceeded> {
        let admission = self.enter(key, limits, tokens, default_concurrency)?;
        admission.charge(limits)?;
        Ok(admission)
    }

    /// Takes a share of the concurrency.
    fn enter(
        &self,
        key: &str,
        limits: &KeyLimits,
        tokens: u64,
        default_concurrency: usize,
    ) -> Result<Admission, Exceeded> {
        let concurrency = limits.concurrency.unwrap_or(u32::try_from(default_concurrency).unwrap_or(u32::MAX));
        self.with(key, |state| {
            if state.open >= concurrency {
                return Err(rate(&format!("{concurrency} concurrent requests"), Some(Duration::from_secs(1))));
            }
            state.open += 1;
            Ok(())
        })?;
        Ok(Admission {
            limiter: self.clone(),
            key: key.to_owned(),
            tokens_per_minute: limits.tokens_per_minute,
            reserved_tokens: tokens,
            counted: ALONE,
        })
    }

    /// What a key has spent, in US dollars: today, this month, in total.
    pub(crate) fn spent_usd(&self, key: &str) -> [f64; 3] {
        self.with(key, |state| [state.spent.day, state.spent.month, state.spent.total].map(usd))
    }

    fn with<T>(&self, key: &str, f: impl FnOnce(&mut KeyState) -> T) -> T {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if !keys.contains_key(key) {
            keys.insert(key.to_owned(), KeyState::default());
        }
        let mut none = KeyState::default();
        let state = keys.get_mut(key).unwrap_or(&mut none);
        state.turn(Period::at(unix_ms()));
        f(state)
    }
}

impl Admission {
    /// Uses budgets and rates of this process.
    fn charge(&self, limits: &KeyLimits) -> Result<(), Exceeded> {
        let Counted::Here { shares } = self.counted else { return Ok(()) };
        let now = Instant::now();
        let shares = f64::from(shares);
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
        let tokens = self.reserved_tokens as f64 * shares;
        self.limiter.with(&self.key, |state| {
            state.check_budgets(limits)?;
            let waits = [
                (limits.requests_per_minute, state.requests, shares, "requests"),
                (limits.tokens_per_minute, state.tokens, tokens, "tokens"),
            ];
            for (limit, bucket, count, unit) in waits {
                let Some(limit) = limit else { continue };
                if let Some(wait) = bucket.wait(count, limit, now) {
                    return Err(rate(&format!("{limit} {unit} per minute"), Some(wait)));
                }
            }
            if let Some(limit) = limits.requests_per_minute {
                state.requests.add(shares, limit, now);
            }
            if let Some(limit) = limits.tokens_per_minute {
                state.tokens.add(tokens, limit, now);
            }
            state.is_ahead = true;
            Ok(())
        })
    }

    /// Replaces the estimate with what the request used.
    pub(crate) fn settle(&self, tokens: u64, cost_nanos: i64) {
        self.limiter.with(&self.key, |state| {
            state.spent.day = state.spent.day.saturating_add(cost_nanos);
            state.spent.month = state.spent.month.saturating_add(cost_nanos);
            state.spent.total = state.spent.total.saturating_add(cost_nanos);
            let (Some(limit), Counted::Here { shares }) = (self.tokens_per_minute, self.counted) else { return };
            let shares = f64::from(shares);
            #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
            let (used, reserved) = (tokens as f64 * shares, self.reserved_tokens as f64 * shares);
            if used > reserved {
                state.tokens.add(used - reserved, limit, Instant::now());
            } else {
                state.tokens.remove(reserved - used, limit);
            }
        });
        if let (Some(shared), Counted::Shared) = (&self.limiter.shared, self.counted) {
            let difference =
                i64::try_from(tokens).unwrap_or(i64::MAX) - i64::try_from(self.reserved_tokens).unwrap_or(i64::MAX);
            shared.settle_later(&self.limiter, &self.key, self.tokens_per_minute.unwrap_or(0), difference, cost_nanos);
        }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.limiter.with(&self.key, |state| state.open = state.open.saturating_sub(1));
    }
}

impl KeyState {
    /// Begins a new day or month.
    fn turn(&mut self, period: Period) {
        if self.period.day != period.day {
            self.spent.day = 0;
        }
        if self.period.month != period.month {
            self.spent.month = 0;
        }
        self.period = period;
    }

    fn check_budgets(&self, limits: &KeyLimits) -> Result<(), Exceeded> {
        let budgets = [
            (limits.usd_per_day, self.spent.day, "of the day"),
            (limits.usd_per_month, self.spent.month, "of the month"),
            (limits.usd_total, self.spent.total, "of the key"),
        ];
        match budgets.into_iter().find(|(limit, spent, _)| limit.is_some_and(|limit| usd(*spent) >= limit)) {
            Some((limit, _, what)) => Err(budget_exceeded(what, limit.unwrap_or_default())),
            None => Ok(()),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a cost is compared with a few digits")]
fn usd(nanos: i64) -> f64 {
    nanos as f64 / NANOS_PER_USD
}

#[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
fn nanos(usd: f64) -> i64 {
    (usd * NANOS_PER_USD).round() as i64
}

fn budget_exceeded(what: &str, limit: f64) -> Exceeded {
    let what = format!("the budget {what}, {limit} US dollars, is spent");
    Exceeded { what, retry_after: None, is_budget: true }
}

fn rate(limit: &str, retry_after: Option<Duration>) -> Exceeded {
    Exceeded { what: format!("the key is limited to {limit}"), retry_after, is_budget: false }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
