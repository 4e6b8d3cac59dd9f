//! Limits of keys: concurrent requests, requests and tokens per minute (GCRA), and budgets. A request is admitted with estimated tokens
//! and settled with what it used. Counters are in this process, or in Redis where replicas share them.

mod redis;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::{Period, unix_ms};
use crate::key::KeyLimits;
use crate::store::Spent;

pub(crate) use redis::{RedisCounters, Unreachable};

const MINUTE: Duration = Duration::from_mins(1);
const NANOS_PER_USD: f64 = 1e9;

/// The state of all keys in this process.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    keys: Arc<Mutex<HashMap<String, KeyState>>>,
    /// Counters that replicas share.
    redis: Option<RedisCounters>,
}

/// What happens while shared counters cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnUnreachable {
    /// The counters of this process decide.
    CountHere,
    Refuse,
}

#[derive(Debug, Default)]
struct KeyState {
    open: u32,
    requests: Bucket,
    tokens: Bucket,
    period: Period,
    spent: Spent,
}

/// A leaky bucket by the generic cell rate algorithm: the time at which it is empty.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    empty_at: Option<Instant>,
}

impl Bucket {
    /// The time that `count` units take at a rate per minute.
    fn cost(count: f64, per_minute: u32) -> Duration {
        Duration::try_from_secs_f64(60.0 * count.max(0.0) / f64::from(per_minute.max(1))).unwrap_or(MINUTE * 60)
    }

    /// The time until `count` more units fit.
    fn wait(self, count: f64, per_minute: u32, now: Instant) -> Option<Duration> {
        let level = self.empty_at.map(|at| at.saturating_duration_since(now)).unwrap_or_default();
        // A single request may always use an empty bucket.
        let after = level + Self::cost(count, per_minute).min(MINUTE);
        after.checked_sub(MINUTE).filter(|wait| !wait.is_zero())
    }

    fn add(&mut self, count: f64, per_minute: u32, now: Instant) {
        let from = self.empty_at.filter(|at| *at > now).unwrap_or(now);
        self.empty_at = Some(from + Self::cost(count, per_minute));
    }

    fn remove(&mut self, count: f64, per_minute: u32) {
        self.empty_at = self.empty_at.and_then(|at| at.checked_sub(Self::cost(count, per_minute)));
    }
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
    per_minute: Option<u32>,
    reserved_tokens: u64,
    redis: Option<RedisCounters>,
}

impl Limiter {
    /// Starts with what the ledger knows.
    pub(crate) fn new(spent: Vec<Spent>) -> Self {
        let period = Period::at(unix_ms());
        let state = |spent: Spent| (spent.key.clone(), KeyState { period, spent, ..KeyState::default() });
        Self { keys: Arc::new(Mutex::new(spent.into_iter().map(state).collect())), redis: None }
    }

    /// Shares the counters with other replicas.
    pub(crate) fn with_redis(mut self, redis: Option<RedisCounters>) -> Self {
        self.redis = redis;
        self
    }

    /// Admits a request of a key by the counters that replicas share, or by those of this process.
    pub(crate) async fn admit(
        &self,
        key: &str,
        limits: &KeyLimits,
        tokens: u64,
        default_concurrency: usize,
        on_unreachable: OnUnreachable,
    ) -> Result<Admission, Exceeded> {
        let Some(redis) = self.redis.as_ref() else { return self.admit_here(key, limits, tokens, default_concurrency) };
        match redis.admit(key, limits, tokens).await {
            Ok(admitted) => {
                admitted?;
                let concurrency = KeyLimits { concurrency: limits.concurrency, ..KeyLimits::default() };
                let mut admission = self.admit_here(key, &concurrency, tokens, default_concurrency)?;
                admission.per_minute = limits.tokens_per_minute;
                admission.redis = Some(redis.clone());
                Ok(admission)
            }
            Err(_) if on_unreachable == OnUnreachable::CountHere => {
                self.admit_here(key, limits, tokens, default_concurrency)
            }
            Err(Unreachable(what)) => {
                Err(Exceeded { what, retry_after: Some(Duration::from_secs(1)), is_budget: false })
            }
        }
    }

    /// Admits a request by the counters of this process. `default_concurrency` applies to keys without a limit of their own.
    fn admit_here(
        &self,
        key: &str,
        limits: &KeyLimits,
        tokens: u64,
        default_concurrency: usize,
    ) -> Result<Admission, Exceeded> {
        let now = Instant::now();
        self.with(key, |state| {
            let concurrency = limits.concurrency.unwrap_or(u32::try_from(default_concurrency).unwrap_or(u32::MAX));
            if state.open >= concurrency {
                return Err(rate(&format!("{concurrency} concurrent requests"), Some(Duration::from_secs(1))));
            }
            state.check_budgets(limits)?;
            #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
            let wanted = tokens as f64;
            let waits = [
                (limits.requests_per_minute, state.requests, 1.0, "requests"),
                (limits.tokens_per_minute, state.tokens, wanted, "tokens"),
            ];
            for (limit, bucket, count, unit) in waits {
                let Some(limit) = limit else { continue };
                if let Some(wait) = bucket.wait(count, limit, now) {
                    return Err(rate(&format!("{limit} {unit} per minute"), Some(wait)));
                }
            }
            if let Some(limit) = limits.requests_per_minute {
                state.requests.add(1.0, limit, now);
            }
            if let Some(limit) = limits.tokens_per_minute {
                state.tokens.add(wanted, limit, now);
            }
            state.open += 1;
            Ok(Admission {
                limiter: self.clone(),
                key: key.to_owned(),
                per_minute: limits.tokens_per_minute,
                reserved_tokens: tokens,
                redis: None,
            })
        })
    }

    /// What a key has spent, in US dollars: today, this month, in total.
    pub(crate) fn spent_usd(&self, key: &str) -> [f64; 3] {
        self.with(key, |state| [state.spent.day, state.spent.month, state.spent.total].map(usd))
    }

    fn with<T>(&self, key: &str, f: impl FnOnce(&mut KeyState) -> T) -> T {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let state = keys.entry(key.to_owned()).or_default();
        state.turn(Period::at(unix_ms()));
        f(state)
    }
}

impl Admission {
    /// Replaces the estimate with what the request used.
    pub(crate) fn settle(&self, tokens: u64, cost_nanos: i64) {
        if let (Some(redis), Ok(runtime)) = (self.redis.clone(), tokio::runtime::Handle::try_current()) {
            let more =
                i64::try_from(tokens).unwrap_or(i64::MAX) - i64::try_from(self.reserved_tokens).unwrap_or(i64::MAX);
            let (key, per_minute) = (self.key.clone(), self.per_minute.unwrap_or(0));
            // The ledger has the request; counters that miss it are too generous by one request.
            runtime.spawn(async move { redis.settle(&key, per_minute, more, cost_nanos).await.ok() });
        }
        self.limiter.with(&self.key, |state| {
            state.spent.day = state.spent.day.saturating_add(cost_nanos);
            state.spent.month = state.spent.month.saturating_add(cost_nanos);
            state.spent.total = state.spent.total.saturating_add(cost_nanos);
            let Some(limit) = self.per_minute.filter(|_| self.redis.is_none()) else { return };
            #[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
            let (used, reserved) = (tokens as f64, self.reserved_tokens as f64);
            if used > reserved {
                state.tokens.add(used - reserved, limit, Instant::now());
            } else {
                state.tokens.remove(reserved - used, limit);
            }
        });
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
mod tests {
    use super::Limiter;
    use crate::key::KeyLimits;
    use crate::store::Spent;

    fn limits(text: &str) -> KeyLimits {
        serde_json::from_str(text).expect("limits")
    }

    /// R-G4: rate, concurrency and budget of a key.
    #[test]
    fn r_g4_a_minute_admits_as_many_requests_as_its_limit() {
        let limiter = Limiter::new(Vec::new());
        let limits = limits(r#"{"requests-per-minute": 5}"#);
        let admitted: Vec<_> = (0..7).map(|_| limiter.admit_here("k", &limits, 0, 100)).collect();
        assert_eq!(admitted.iter().filter(|admission| admission.is_ok()).count(), 5);
        let exceeded = admitted.into_iter().find_map(Result::err).expect("an error");
        assert!(
            exceeded.what.contains("5 requests per minute") && exceeded.retry_after.is_some() && !exceeded.is_budget
        );
        assert!(limiter.admit_here("other", &limits, 0, 100).is_ok(), "keys do not share a limit");
    }

    #[test]
    fn tokens_are_reserved_and_settled() {
        let limiter = Limiter::new(Vec::new());
        let limits = limits(r#"{"tokens-per-minute": 1000}"#);
        let first = limiter.admit_here("k", &limits, 900, 100).expect("admitted");
        assert!(limiter.admit_here("k", &limits, 900, 100).is_err());
        first.settle(10, 0);
        let second = limiter.admit_here("k", &limits, 900, 100).expect("the estimate was too high");
        second.settle(5000, 0);
        assert!(limiter.admit_here("k", &limits, 1, 100).is_err());
        assert!(limiter.admit_here("new", &limits, 5000, 100).is_ok(), "a large request may use an empty bucket");
    }

    #[test]
    fn concurrency_ends_with_the_admission_and_budgets_with_the_money() {
        let spent = Spent { key: "k".to_owned(), day: 0, month: 0, total: 999_000_000 };
        let limiter = Limiter::new(vec![spent]);
        let limits = limits(r#"{"concurrency": 1, "usd-total": 1.0, "usd-per-day": 0.5}"#);
        let open = limiter.admit_here("k", &limits, 0, 100).expect("admitted");
        assert!(limiter.admit_here("k", &limits, 0, 100).is_err());
        open.settle(1, 400_000);
        drop(open);
        let next = limiter.admit_here("k", &limits, 0, 100).expect("0.9994 dollars are spent");
        next.settle(1, 600_000);
        drop(next);
        let exceeded = limiter.admit_here("k", &limits, 0, 100).expect_err("the budget is spent");
        assert!(exceeded.is_budget && exceeded.what.contains("of the key"), "{exceeded:?}");
        assert!((limiter.spent_usd("k")[2] - 1.0).abs() < 1e-9);
    }
}
