//! The laws as functions: what must hold of one schema fitted to one dialect. Every other module asks here.

use std::any::Any;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};

use polywire_schema::{Dialect, FitOptions, FittedText, ReadError, Severity, Slot, check_text, fit_text, target};
use proptest::test_runner::RngSeed;

/// Why a schema did not pass.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It could not be read.
    Unread(ReadError),
    /// A law does not hold.
    Broken(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(error) => write!(f, "not read: {error}"),
            Self::Broken(law) => f.write_str(law),
        }
    }
}

/// Fits a schema and says which law the result breaks, if any; a panic is told like any other fault.
pub(crate) fn fit_by_the_laws(text: &str, dialect: &Dialect, options: &FitOptions) -> Result<FittedText, Fault> {
    let held = panic::catch_unwind(AssertUnwindSafe(|| lawful(text, dialect, options)));
    held.unwrap_or_else(|payload| Err(Fault::Broken(format!("panic: {}", panic_text(&*payload)))))
}

fn lawful(text: &str, dialect: &Dialect, options: &FitOptions) -> Result<FittedText, Fault> {
    let fitted = fit_text(text, dialect, options).map_err(Fault::Unread)?;
    if let Some(objection) = objection(&fitted, dialect, options.slot) {
        return Err(Fault::Broken(format!("law 1: {objection}\n  fitted {}", fitted.schema)));
    }
    let again = fit_text(&fitted.schema, dialect, options)
        .map_err(|error| Fault::Broken(format!("law 2: {error}\n  fitted {}", fitted.schema)))?;
    if again.schema != fitted.schema {
        return Err(Fault::Broken(format!("law 2: fitted {}\n  again {}", fitted.schema, again.schema)));
    }
    if again.strict() != fitted.strict() {
        let (before, after) = (fitted.strict(), again.strict());
        return Err(Fault::Broken(format!("law 2: strict {before}, then {after}\n  fitted {}", fitted.schema)));
    }
    let twin = fit_text(text, dialect, options).map_err(Fault::Unread)?;
    if twin.schema == fitted.schema && twin.changes == fitted.changes && twin.strict() == fitted.strict() {
        Ok(fitted)
    } else {
        Err(Fault::Broken(format!("not deterministic: {} and {}", fitted.schema, twin.schema)))
    }
}

/// What the provider would say to a fitted schema. What could not be strict was fitted to a lower rung, whose rules are the
/// ones to pass.
fn objection(fitted: &FittedText, dialect: &Dialect, slot: Slot) -> Option<String> {
    let fell = dialect.strict() && !fitted.strict();
    let Some(lower) = dialect.fallback().filter(|_| fell) else {
        return first_violation(&fitted.schema, dialect, slot);
    };
    let lower = target(lower).expect("a fallback is a dialect");
    first_violation(&fitted.schema, &lower, slot)
}

fn first_violation(text: &str, dialect: &Dialect, slot: Slot) -> Option<String> {
    match check_text(text, dialect, slot) {
        // A keyword that is ignored may stay, where the model reads it.
        Ok(violations) => violations
            .iter()
            .find(|one| one.severity != Severity::Ignored)
            .map(|first| format!("{} at `{}`: {}", first.code, first.at, first.says)),
        Err(error) => Some(error.to_string()),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// Whether the long form of the tests is asked for.
pub(crate) fn is_full() -> bool {
    std::env::var_os("POLYWIRE_FULL").is_some_and(|value| value == "1")
}

/// The seed of one dialect's made-up schemas: that of `POLYWIRE_SEED`, else a fresh one in the long form and a fixed one in the
/// short.
pub(crate) fn seed_of(index: usize, round: u32) -> RngSeed {
    let chosen = std::env::var("POLYWIRE_SEED").ok().map(|text| text.parse::<u64>().expect("a whole number"));
    match chosen {
        Some(seed) => {
            RngSeed::Fixed(seed.wrapping_mul(1_000_003).wrapping_add(u64::from(round) * 1_009 + index as u64))
        }
        None if is_full() => RngSeed::Random,
        None => RngSeed::Fixed(index as u64),
    }
}

/// Fails with all faults at once.
#[track_caller]
pub(crate) fn assert_no_faults(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
