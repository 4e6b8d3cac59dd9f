//! The health of models, from the outcomes of requests: a model that fails is avoided for a while, then tried by one request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Consecutive failures after which a model is avoided.
const FAILURES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The health of models by their names.
#[derive(Debug, Default)]
pub(crate) struct Health {
    models: Mutex<HashMap<String, State>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    failures: u32,
    avoided_until: Option<Instant>,
    /// A request is trying the model after a pause.
    is_probed: bool,
}

/// How a request to a model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The model answered, or refused the request for a reason of its own.
    Success,
    /// The model or its provider failed.
    Failure,
    /// The provider asks to wait.
    RateLimited(Option<Duration>),
}

impl Health {
    /// Sorts models: those that are avoided come last, the one whose pause ends first before the others. Models whose pause is over are
    /// tried by one request at a time.
    pub(crate) fn order<T>(&self, candidates: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
        if candidates.len() < 2 {
            return candidates;
        }
        let now = Instant::now();
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ranked: Vec<(Option<Instant>, T)> = Vec::with_capacity(candidates.len());
        let mut has_first = false;
        for candidate in candidates {
            let rank = models.get_mut(&name(&candidate)).and_then(|state| {
                let until = state.avoided_until?;
                if until <= now && !state.is_probed && !has_first {
                    state.is_probed = true;
                    return None;
                }
                Some(until)
            });
            has_first |= rank.is_none();
            ranked.push((rank, candidate));
        }
        drop(models);
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, candidate)| candidate).collect()
    }

    pub(crate) fn record(&self, name: &str, outcome: Outcome) {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if outcome == Outcome::Success {
            // Most models are healthy and need no entry.
            models.remove(name);
            return;
        }
        let state = models.entry(name.to_owned()).or_default();
        state.failures = state.failures.saturating_add(1);
        state.is_probed = false;
        let doubled = FIRST_PAUSE.saturating_mul(1 << state.failures.saturating_sub(FAILURES).min(8));
        let pause = match outcome {
            Outcome::RateLimited(wait) => Some(wait.unwrap_or(FIRST_PAUSE)),
            Outcome::Failure if state.failures >= FAILURES => Some(doubled),
            Outcome::Failure | Outcome::Success => None,
        };
        if let Some(pause) = pause {
            state.avoided_until = Some(Instant::now() + pause.min(LONGEST_PAUSE));
        }
    }

    /// The models that are avoided now.
    pub(crate) fn avoided(&self) -> Vec<String> {
        let now = Instant::now();
        let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = models
            .iter()
            .filter(|(_, state)| state.avoided_until.is_some_and(|until| until > now))
            .map(|(name, _)| name.clone())
            .collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Health, Outcome};

    fn order(health: &Health) -> Vec<&'static str> {
        health.order(vec!["a", "b"], |name| (*name).to_owned())
    }

    #[test]
    fn a_model_that_fails_comes_last_until_it_answers() {
        let health = Health::default();
        health.record("a", Outcome::Failure);
        health.record("a", Outcome::Failure);
        assert_eq!(order(&health), ["a", "b"]);
        health.record("a", Outcome::Failure);
        assert_eq!((order(&health), health.avoided()), (vec!["b", "a"], vec!["a".to_owned()]));
        health.record("a", Outcome::Success);
        assert_eq!(order(&health), ["a", "b"]);
    }

    #[test]
    fn a_rate_limit_steers_away_at_once_and_one_request_probes_afterwards() {
        let health = Health::default();
        health.record("a", Outcome::RateLimited(Some(Duration::from_mins(1))));
        assert_eq!(order(&health), ["b", "a"]);
        health.record("a", Outcome::RateLimited(Some(Duration::ZERO)));
        assert_eq!(order(&health), ["a", "b"], "the pause is over");
        assert_eq!(order(&health), ["b", "a"], "one request tries it already");
        health.record("a", Outcome::Success);
        assert_eq!(order(&health), ["a", "b"]);
    }
}
