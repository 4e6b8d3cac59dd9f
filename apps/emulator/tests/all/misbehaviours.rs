//! What comes of each misbehaviour: the documented outcome, for each protocol.

use polywire::answer::validate;
use polywire::wire::{FaultKind, Strategy};
use polywire::{AskErrorKind, SendError};
use polywire_emulator::{Emulator, misbehaviours};

use super::{MODELS, ask, order};

/// What is to come of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// A valid value in so many attempts.
    Value(usize),
    /// The model refused.
    Refused,
    /// The answer ended at a limit.
    Truncated,
    /// No attempt was valid.
    Invalid,
    /// The provider's error.
    Provider(FaultKindName),
    /// The answer ended half way.
    Cut,
    /// The answer cannot be read.
    Unreadable,
    /// The answer has too many bytes.
    TooLarge,
}

type FaultKindName = &'static str;

const ROWS: &[(&str, Outcome)] = &[
    ("fenced", Outcome::Value(1)),
    ("prose", Outcome::Value(1)),
    ("thinking", Outcome::Value(1)),
    ("commas", Outcome::Value(1)),
    ("nulls", Outcome::Value(1)),
    ("types", Outcome::Value(1)),
    ("wrong", Outcome::Invalid),
    ("wrong-2", Outcome::Value(3)),
    ("truncated", Outcome::Truncated),
    ("refusal", Outcome::Refused),
    ("empty", Outcome::Invalid),
    ("twice", Outcome::Value(1)),
    ("all", Outcome::Value(1)),
    ("401", Outcome::Provider("authentication")),
    ("429", Outcome::Provider("rate_limit")),
    ("429-1", Outcome::Value(1)),
    ("500", Outcome::Provider("server")),
    ("500-1", Outcome::Value(1)),
    ("503", Outcome::Provider("overloaded")),
    ("529", Outcome::Provider("overloaded")),
    ("cut", Outcome::Cut),
    ("cut-1", Outcome::Value(1)),
    ("slow", Outcome::Value(1)),
    ("page", Outcome::Unreadable),
    ("garbled", Outcome::Unreadable),
    ("endless", Outcome::TooLarge),
];

async fn outcome(emulator: &Emulator, name: &str, stream: bool, misbehave: &str) -> Outcome {
    match ask(emulator, name, Strategy::Auto, stream, misbehave).await {
        Ok(asked) => {
            assert_eq!(validate(&asked.value, &order()).expect("a schema"), [], "{name} {misbehave}");
            Outcome::Value(asked.attempts.len())
        }
        Err(error) => match error.kind {
            AskErrorKind::Refused(_) => Outcome::Refused,
            AskErrorKind::Truncated => Outcome::Truncated,
            AskErrorKind::Invalid => Outcome::Invalid,
            AskErrorKind::Send(SendError::Provider(error)) => Outcome::Provider(kind(&error.kind)),
            AskErrorKind::Send(SendError::Cut(_)) => Outcome::Cut,
            AskErrorKind::Send(SendError::Unreadable { .. }) => Outcome::Unreadable,
            AskErrorKind::Send(SendError::TooLarge(_)) => Outcome::TooLarge,
            other => panic!("{name} {misbehave}: {other:?}"),
        },
    }
}

fn kind(kind: &FaultKind) -> FaultKindName {
    let names = ["authentication", "rate_limit", "server", "overloaded", "invalid_request"];
    let said = kind.to_string();
    names.into_iter().find(|name| *name == said).unwrap_or("another")
}

async fn check_all(stream: bool) {
    let emulator = Emulator::start(0).await.expect("a port");
    let mut failed = Vec::new();
    for name in MODELS.iter().take(6) {
        for (misbehave, expected) in ROWS {
            let got = outcome(&emulator, name, stream, misbehave).await;
            // Frames with checksums tell filler from frames before the bound is reached.
            let sooner = stream && *expected == Outcome::TooLarge && got == Outcome::Unreadable;
            if got != *expected && !sooner {
                failed.push(format!("{name} {misbehave}: {got:?}, not {expected:?}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// R-C8: an answer that does not conform is asked for again, with the errors, a bounded number of times.
#[tokio::test]
async fn each_has_its_outcome_in_each_protocol() {
    check_all(false).await;
}

#[tokio::test]
async fn each_has_its_outcome_in_streams() {
    check_all(true).await;
}

#[test]
fn every_row_has_an_outcome() {
    for row in misbehaviours() {
        assert!(ROWS.iter().any(|(name, _)| *name == row.name), "{} has no outcome", row.name);
    }
}
