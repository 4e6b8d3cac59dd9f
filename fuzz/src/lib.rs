//! The bodies of the fuzz targets, as plain functions: `cargo-fuzz` calls them with coverage on a nightly toolchain, the
//! smoke run with mutated seeds on a stable one.

mod answer;
#[path = "../../crates/answer/tests/all/families.rs"]
mod answer_families;
#[path = "../../crates/schema/tests/all/chance.rs"]
mod chance;
mod cost;
#[path = "../../crates/schema/tests/all/families.rs"]
mod families;
#[cfg(feature = "gateway")]
mod gateway;
mod meter;
mod mutate;
#[path = "../../crates/schema/tests/all/oracle.rs"]
#[expect(dead_code, reason = "the tests ask more of it")]
mod oracle;
#[path = "../../crates/schema/tests/all/plain.rs"]
mod plain;
mod shrink;
pub mod wire;

use std::sync::OnceLock;

use polywire_schema::{
    Dialect, FitOptions, Open, Severity, Slot, Spill, StrictMode, Unresolved, check_text, check_tools, dialects,
    fit_text, fit_tools, read_tools, target,
};

use oracle::Court;
use plain::is_plain;

pub use answer::answer;
pub use cost::{cost, families};
#[cfg(feature = "gateway")]
pub use gateway::gateway;
pub use mutate::{Mutator, seeds};
pub use shrink::shrink;

/// How many values are judged for each schema.
const VALUES: u64 = 4;

/// Reads any bytes as a schema and as a tool list, for the dialect that the first bytes choose. What is wrong with them
/// must come back as an error or a finding.
pub fn read(data: &[u8]) -> Result<(), String> {
    let Some((dialect, _, text)) = chosen(data) else { return Ok(()) };
    let slot = Slot::Tool;
    let found = check_text(text, dialect, slot);
    if let Ok(found) = &found {
        let nameless = found.iter().find(|one| one.code.is_empty() || one.says.is_empty());
        if let Some(one) = nameless {
            return Err(format!("{}: a violation without a name: {one:?}", dialect.id()));
        }
    }
    let refused = FitOptions::default().with_unresolved(Unresolved::Refuse);
    if let Err(error) = fit_text(text, dialect, &refused)
        && error.to_string().is_empty()
    {
        return Err(format!("{}: an error without a reason", dialect.id()));
    }
    let Ok(document) = serde_json::from_str(text) else { return Ok(()) };
    if let Some(list) = read_tools(&document) {
        check_tools(&list, dialect);
        fit_tools(&list, dialect, &FitOptions::default()).to_json();
    }
    Ok(())
}

/// Makes up values of a schema and of what became of it, and sends them through the lens, which must also survive being kept as
/// JSON. What is said in words that a validator knows is judged: laws 3 and 4 hold.
pub fn values(data: &[u8]) -> Result<(), String> {
    let Some((dialect, options, text)) = chosen(data) else { return Ok(()) };
    let Ok(schema) = serde_json::from_str::<serde_json::Value>(text) else { return Ok(()) };
    let Ok(fitted) = polywire_schema::fit(&schema, dialect, &options) else { return Ok(()) };
    let kept = serde_json::to_string(fitted.lens()).map_err(|error| error.to_string())?;
    let lens: polywire_schema::Lens = serde_json::from_str(&kept).map_err(|error| error.to_string())?;
    for seed in 0..3 {
        if let Some(value) = polywire_testkit::sample(&schema, seed) {
            let wire = fitted.encode(value.clone());
            if wire != lens.encode(value) {
                return Err(format!("{}: a lens that was kept encodes otherwise", dialect.id()));
            }
            _ = wire.map(|wire| fitted.decode(wire));
        }
        if let Some(wire) = polywire_testkit::sample(&fitted.schema, seed) {
            _ = lens.decode_partial(wire.clone());
            if fitted.decode(wire.clone()) != lens.decode(wire) {
                return Err(format!("{}: a lens that was kept decodes otherwise", dialect.id()));
            }
        }
    }
    if !is_plain(&schema) {
        return Ok(());
    }
    let Some(court) = Court::new(&schema, &fitted, dialect) else { return Ok(()) };
    court.judge(&schema, &fitted, VALUES).map_err(|fault| format!("{}: {fault}", dialect.id()))
}

/// Fits a schema to the dialect that the first bytes choose, one of ours or the meet of two, with the options of the second, by
/// the laws: `check` finds nothing in the result, and fitting it again changes nothing.
pub fn fit(data: &[u8]) -> Result<(), String> {
    let Some((dialect, options, text)) = chosen(data) else { return Ok(()) };
    let Ok(fitted) = fit_text(text, dialect, &options) else { return Ok(()) };
    let id = dialect.id();
    // What could not be strict was fitted to the next rung, whose rules are the ones to pass.
    let fell = dialect.strict() && !fitted.strict();
    let rung = dialect.fallback().filter(|_| fell).and_then(|ids| target(ids).ok());
    let mut found = check_text(&fitted.schema, rung.as_deref().unwrap_or(dialect), options.slot);
    if let Ok(found) = &mut found {
        // A keyword that is ignored may stay, where the model reads it.
        found.retain(|one| one.severity != Severity::Ignored);
    }
    match found.as_deref() {
        Ok([]) => {}
        Ok([first, ..]) => return Err(format!("{id}: law 1: {} at `{}`: {}", first.code, first.at, first.says)),
        Err(error) => return Err(format!("{id}: law 1: {error}")),
    }
    match fit_text(&fitted.schema, dialect, &options) {
        Ok(again) if again.schema != fitted.schema => {
            Err(format!("{id}: law 2: fitted {}, then {}", fitted.schema, again.schema))
        }
        Ok(again) if again.strict() != fitted.strict() => Err(format!("{id}: law 2: strict changes")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{id}: law 2: {error}")),
    }
}

/// How many dialects there are.
const DIALECTS: usize = 26;

/// Half of the numbers beside that of a dialect stand for another one, which it meets.
const MEETS_FROM: usize = 8;

/// What two dialects accept; nothing where they have no schema in common.
fn meet(one: usize, other: usize) -> Option<&'static Dialect> {
    static MEETS: [OnceLock<Option<Dialect>>; DIALECTS * DIALECTS] = [const { OnceLock::new() }; DIALECTS * DIALECTS];
    let found = || Dialect::meet(&[dialects().nth(one)?, dialects().nth(other)?]).ok();
    MEETS.get(one * DIALECTS + other)?.get_or_init(found).as_ref()
}

/// The dialect, the options and the text that some bytes stand for.
fn chosen(data: &[u8]) -> Option<(&'static Dialect, FitOptions, &str)> {
    let (&[which, how], text) = data.split_first_chunk::<2>()?;
    let (which, other) = (usize::from(which), usize::from(how >> 4));
    let dialect = match other.checked_sub(MEETS_FROM) {
        None => dialects().nth(which % DIALECTS)?,
        Some(other) => meet(which % DIALECTS, (which / DIALECTS * MEETS_FROM + other) % DIALECTS)?,
    };
    let bit = |index: u8| how >> index & 1 == 1;
    let options = FitOptions::default()
        .with_strict(if bit(0) { StrictMode::Off } else { StrictMode::Auto })
        .with_open(if bit(1) { Open::Carry } else { Open::Close })
        .with_spill(if bit(2) { Spill::Off } else { Spill::On })
        .with_slot(if bit(3) { Slot::Output } else { Slot::Tool });
    Some((dialect, options, std::str::from_utf8(text).ok()?))
}
