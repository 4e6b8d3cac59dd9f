//! Tests of the limits of keys.

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
    assert!(exceeded.what.contains("5 requests per minute") && exceeded.retry_after.is_some() && !exceeded.is_budget);
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
