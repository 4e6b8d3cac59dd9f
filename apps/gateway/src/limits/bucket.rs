//! A rate: a leaky bucket by the generic cell rate algorithm.

use std::time::{Duration, Instant};

use super::MINUTE;

/// A leaky bucket by the generic cell rate algorithm: the time at which it is empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    empty_at: Option<Instant>,
}

impl Bucket {
    /// The time that `count` units take at a rate per minute.
    fn cost(count: f64, per_minute: u32) -> Duration {
        Duration::try_from_secs_f64(60.0 * count.max(0.0) / f64::from(per_minute.max(1))).unwrap_or(MINUTE * 60)
    }

    /// The time until `count` more units fit.
    pub(super) fn wait(self, count: f64, per_minute: u32, now: Instant) -> Option<Duration> {
        // A single request may always use an empty bucket.
        let after = self.level(now) + Self::cost(count, per_minute).min(MINUTE);
        after.checked_sub(MINUTE).filter(|wait| !wait.is_zero())
    }

    pub(super) fn add(&mut self, count: f64, per_minute: u32, now: Instant) {
        let from = self.empty_at.filter(|at| *at > now).unwrap_or(now);
        self.empty_at = Some(from + Self::cost(count, per_minute));
    }

    pub(super) fn remove(&mut self, count: f64, per_minute: u32) {
        self.empty_at = self.empty_at.and_then(|at| at.checked_sub(Self::cost(count, per_minute)));
    }

    /// The time until it is empty.
    pub(super) fn level(self, now: Instant) -> Duration {
        self.empty_at.map(|at| at.saturating_duration_since(now)).unwrap_or_default()
    }

    /// A bucket with this level.
    pub(super) fn at_level(level: Duration, now: Instant) -> Self {
        Self { empty_at: now.checked_add(level) }
    }
}
