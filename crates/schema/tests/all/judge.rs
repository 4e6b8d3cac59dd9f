//! The laws as functions: what must hold of one schema fitted to one dialect. Every other module asks here.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use polywire_schema::{Dialect, FitOptions, FittedText, Slot, check_text, fit_text, target};

/// The dialects of the providers' own surfaces.
pub(crate) const MAIN: [&str; 12] = [
    "anthropic",
    "anthropic-strict",
    "azure-strict",
    "bedrock",
    "cca",
    "gemini",
    "gemini-openapi",
    "mcp",
    "openai",
    "openai-responses",
    "openai-strict",
    "vertex-openapi",
];

/// Fits a schema and says which law the result breaks, if any; a panic is told like any other fault.
pub(crate) fn fit_by_the_laws(text: &str, dialect: &Dialect, options: &FitOptions) -> Result<FittedText, String> {
    let held = panic::catch_unwind(AssertUnwindSafe(|| lawful(text, dialect, options)));
    held.unwrap_or_else(|payload| Err(format!("panic: {}", panic_text(&*payload))))
}

fn lawful(text: &str, dialect: &Dialect, options: &FitOptions) -> Result<FittedText, String> {
    let fitted = fit_text(text, dialect, options).map_err(|error| format!("not fitted: {error}"))?;
    if let Some(objection) = objection(&fitted, dialect, options.slot) {
        return Err(format!("law 1: {objection}\n  fitted {}", fitted.schema));
    }
    let again = fit_text(&fitted.schema, dialect, options).map_err(|error| format!("law 2: not fitted: {error}"))?;
    if again.schema != fitted.schema {
        return Err(format!("law 2: fitted {}\n  again {}", fitted.schema, again.schema));
    }
    if again.strict() != fitted.strict() {
        return Err(format!(
            "law 2: strict is {}, then {}\n  fitted {}",
            fitted.strict(),
            again.strict(),
            fitted.schema
        ));
    }
    let twin = fit_text(text, dialect, options).map_err(|error| format!("not fitted twice: {error}"))?;
    let alike = twin.schema == fitted.schema && twin.changes == fitted.changes && twin.strict() == fitted.strict();
    if alike { Ok(fitted) } else { Err(format!("not deterministic: {} and {}", fitted.schema, twin.schema)) }
}

/// What the provider would say to a fitted schema. What could not be strict was fitted to a lower rung, whose rules are the
/// ones to pass.
fn objection(fitted: &FittedText, dialect: &Dialect, slot: Slot) -> Option<String> {
    let mut said = None;
    if fitted.strict() || !dialect.strict() {
        said = first_violation(&fitted.schema, dialect, slot);
        said.as_ref()?;
    }
    let mut rung = dialect.fallback().filter(|_| dialect.strict() && !fitted.strict()).map(str::to_owned);
    while let Some(ids) = rung {
        let lower = target(&ids).expect("a fallback is a dialect");
        said = first_violation(&fitted.schema, &lower, slot);
        said.as_ref()?;
        rung = lower.fallback().map(str::to_owned);
    }
    Some(said.unwrap_or_else(|| format!("`{}` is not met, and there is no lower rung", dialect.id())))
}

fn first_violation(text: &str, dialect: &Dialect, slot: Slot) -> Option<String> {
    match check_text(text, dialect, slot) {
        Ok(violations) => violations.first().map(|first| format!("{} at `{}`: {}", first.code, first.at, first.says)),
        Err(error) => Some(error.to_string()),
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// Fails with all faults at once.
#[track_caller]
pub(crate) fn assert_no_faults(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
