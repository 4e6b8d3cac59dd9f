//! Counts and statistics of an audit.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use polywire::schema::{Effect, FittedText};
use polywire_testkit::prove::{Proof, Proofs};
use polywire_testkit::{Carrier, carriers};
use serde::Serialize;
use serde_json::Value;

use crate::style::{Style, Tone};
use crate::values::{Counts, RoundTrips};

/// Failures that are listed by name; the rest are only counted.
const TOLD: usize = 20;

/// The outcome for one schema.
pub(crate) struct Outcome {
    /// Why it was not fitted.
    pub(crate) error: Option<String>,
    time: Duration,
    /// The first violation that `check` finds in the result.
    objection: Option<String>,
    /// The difference when the result is fitted again, if any.
    drift: Option<String>,
    strict: bool,
    changes: Changes,
    /// The size of the fitted schema in percent of the caller's.
    growth: usize,
    /// The bytes of descriptions that the fit added.
    described: usize,
    carriers: BTreeSet<Carrier>,
    /// The round trips of the instances.
    pub(crate) round_trips: RoundTrips,
    /// The proof, with `--prove`.
    pub(crate) proof: Option<Proof>,
}

impl Outcome {
    pub(crate) fn with_proof(mut self, proof: Option<Proof>) -> Self {
        self.proof = proof;
        self
    }

    pub(crate) fn with_round_trips(mut self, round_trips: RoundTrips) -> Self {
        self.round_trips = round_trips;
        self
    }

    pub(crate) fn failed(error: String, time: Duration) -> Self {
        let changes = Changes::default();
        let round_trips = RoundTrips::default();
        Self {
            error: Some(error),
            time,
            objection: None,
            drift: None,
            strict: false,
            changes,
            growth: 0,
            described: 0,
            carriers: BTreeSet::new(),
            round_trips,
            proof: None,
        }
    }

    pub(crate) fn fitted(
        caller: &str,
        fitted: &FittedText,
        time: Duration,
        objection: Option<String>,
        drift: Option<String>,
    ) -> Self {
        let count = |effect| fitted.changes.iter().filter(|change| change.effect == effect).count();
        let changes = Changes {
            same: count(Effect::Same),
            wider: count(Effect::Wider),
            narrower: count(Effect::Narrower),
            note: count(Effect::Note),
        };
        let described = |text: &str| serde_json::from_str(text).map(|schema| bytes_of_descriptions(&schema));
        let (before, after) = (described(caller).unwrap_or_default(), described(&fitted.schema).unwrap_or_default());
        Self {
            error: None,
            time,
            objection,
            drift,
            strict: fitted.strict(),
            changes,
            growth: fitted.schema.len() * 100 / caller.len().max(1),
            described: after.saturating_sub(before),
            carriers: carriers(fitted.lens()),
            round_trips: RoundTrips::default(),
            proof: None,
        }
    }

    pub(crate) fn microseconds(&self) -> f64 {
        to_microseconds(self.time)
    }
}

/// Changes by effect.
#[derive(Clone, Copy, Default, Serialize)]
struct Changes {
    same: usize,
    wider: usize,
    narrower: usize,
    note: usize,
}

/// Microseconds that a fit takes.
#[derive(Default, Serialize)]
struct Times {
    p50: f64,
    p99: f64,
    mean: f64,
    max: f64,
}

/// The size of fitted schemas, in percent of the callers'.
#[derive(Default, Serialize)]
struct Growth {
    p50: usize,
    p99: usize,
    max: usize,
}

/// Schemas whose values travel in a carrier.
#[derive(Default, Serialize)]
struct Carried {
    text: usize,
    entries: usize,
    choices: usize,
    lists_of_one: usize,
}

/// The sums for one target.
#[derive(Serialize)]
pub(crate) struct Tally {
    target: String,
    schemas: usize,
    fitted: usize,
    accepted: usize,
    idempotent: usize,
    strict: usize,
    changes: Changes,
    values: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    proofs: Option<Proofs>,
    us: Times,
    growth: Growth,
    /// The bytes of descriptions that fits added.
    described: usize,
    carried: Carried,
    failures: Vec<String>,
    #[serde(skip)]
    times: Vec<Duration>,
    #[serde(skip)]
    growths: Vec<usize>,
}

impl Tally {
    pub(crate) fn of(target: &str) -> Self {
        Self {
            target: target.to_owned(),
            schemas: 0,
            fitted: 0,
            accepted: 0,
            idempotent: 0,
            strict: 0,
            changes: Changes::default(),
            values: Counts::default(),
            proofs: None,
            us: Times::default(),
            growth: Growth::default(),
            described: 0,
            carried: Carried::default(),
            failures: Vec::new(),
            times: Vec::new(),
            growths: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, name: &str, outcome: &Outcome) {
        let fitted = outcome.error.is_none();
        self.schemas += 1;
        self.fitted += usize::from(fitted);
        self.accepted += usize::from(fitted && outcome.objection.is_none());
        self.idempotent += usize::from(fitted && outcome.drift.is_none());
        self.strict += usize::from(outcome.strict);
        self.changes.same += outcome.changes.same;
        self.changes.wider += outcome.changes.wider;
        self.changes.narrower += outcome.changes.narrower;
        self.changes.note += outcome.changes.note;
        self.values.add(outcome.round_trips.counts);
        self.times.extend(fitted.then_some(outcome.time));
        self.growths.extend(fitted.then_some(outcome.growth));
        self.described += outcome.described;
        let carried = |carrier| usize::from(outcome.carriers.contains(&carrier));
        self.carried.text += carried(Carrier::Text);
        self.carried.entries += carried(Carrier::Entries);
        self.carried.choices += carried(Carrier::Choice);
        self.carried.lists_of_one += carried(Carrier::ListOfOne);
        let failure = outcome.error.as_ref().or(outcome.objection.as_ref()).or(outcome.drift.as_ref());
        if let Some(proof) = &outcome.proof {
            self.proofs.get_or_insert_default().add(proof);
        }
        let unproved = || outcome.proof.as_ref().and_then(|proof| proof.silent.as_ref());
        let failure = failure.or(outcome.round_trips.silent.as_ref()).or_else(unproved);
        if let Some(failure) = failure.filter(|_| self.failures.len() < TOLD) {
            self.failures.push(format!("{name}: {failure}"));
        }
    }

    /// Turns what was measured into figures, once all is in.
    pub(crate) fn settle(&mut self) {
        self.times.sort_unstable();
        self.growths.sort_unstable();
        let count = u32::try_from(self.times.len()).unwrap_or(u32::MAX).max(1);
        let mean = to_microseconds(self.times.iter().sum::<Duration>() / count);
        let time = |hundredths| to_microseconds(rank(&self.times, hundredths));
        self.us = Times { p50: time(50), p99: time(99), mean, max: time(100) };
        let growth = |hundredths| rank(&self.growths, hundredths);
        self.growth = Growth { p50: growth(50), p99: growth(99), max: growth(100) };
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.values.silent == 0
            && self.proofs.as_ref().is_none_or(|proofs| proofs.silent == 0)
            && [self.fitted, self.accepted, self.idempotent].iter().all(|count| *count == self.schemas)
    }

    pub(crate) fn write_table(out: &mut dyn Write, style: Style, tallies: &[Self]) -> Result<()> {
        let width = tallies.iter().map(|tally| tally.target.len()).max().unwrap_or_default().max(6);
        writeln!(
            out,
            "{:width$} {:>8} {:>8} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9}",
            "target",
            "schemas",
            "fitted",
            "accepted",
            "idempotent",
            "strict",
            "same",
            "wider",
            "narrower",
            "note",
            "p50 µs",
            "p99 µs",
            "mean µs",
            "max µs",
        )?;
        for tally in tallies {
            let Self { target, schemas, fitted, accepted, idempotent, strict, changes, us, .. } = tally;
            let tone = if tally.is_clean() { Tone::Good } else { Tone::Bad };
            write!(
                out,
                "{:width$} {schemas:>8} {fitted:>8} {accepted:>8} {idempotent:>10} ",
                style.paint(tone, target)
            )?;
            let Changes { same, wider, narrower, note } = changes;
            write!(out, "{strict:>8} {same:>8} {wider:>8} {narrower:>8} {note:>8} ")?;
            writeln!(out, "{:>9.1} {:>9.1} {:>9.1} {:>9.1}", us.p50, us.p99, us.mean, us.max)?;
        }
        writeln!(
            out,
            "\n{:width$} {:>8} {:>8} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8}",
            "target", "size p50", "p99", "max", "described", "text", "entries", "choices", "lists"
        )?;
        for Self { target, schemas, growth, described, carried, .. } in tallies {
            writeln!(
                out,
                "{target:width$} {:>7}% {:>7}% {:>7}% {described:>10} {:>8} {:>8} {:>8} {:>8}",
                growth.p50,
                growth.p99,
                growth.max,
                share(carried.text, *schemas),
                share(carried.entries, *schemas),
                share(carried.choices, *schemas),
                share(carried.lists_of_one, *schemas)
            )?;
        }
        if tallies.iter().any(|tally| tally.values.valid + tally.values.invalid > 0) {
            writeln!(
                out,
                "\n{:width$} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
                "target", "valid", "kept", "returned", "invalid", "caught", "made", "sound", "silent"
            )?;
            for Self { target, values, .. } in tallies {
                let Counts { valid, kept, returned, invalid, caught, made, sound, silent } = values;
                writeln!(
                    out,
                    "{target:width$} {valid:>8} {:>8} {:>8} {invalid:>8} {:>8} {made:>8} {:>8} {silent:>8}",
                    share(*kept, *valid),
                    share(*returned, *valid),
                    share(*caught, *invalid),
                    share(*sound, *made)
                )?;
            }
        }
        for Self { target, proofs, .. } in tallies {
            if let Some(Proofs { equal, wider, narrower, neither, undecided, reasons, silent }) = proofs {
                write!(out, "\n{target}, proved: {equal} equal, {wider} wider, {narrower} narrower, ")?;
                writeln!(out, "{neither} neither, {undecided} undecided; {silent} against the record")?;
                if !reasons.is_empty() {
                    let reasons: Vec<String> =
                        reasons.iter().map(|(reason, count)| format!("{count} {}", reason.name())).collect();
                    writeln!(out, "{target}, undecided by reason: {}", reasons.join(", "))?;
                }
            }
        }
        for tally in tallies {
            for failure in &tally.failures {
                writeln!(out, "{} {failure}", style.paint(Tone::Bad, &tally.target))?;
            }
        }
        Ok(())
    }
}

/// The value below which so many hundredths of sorted values lie.
fn rank<T: Copy + Default>(sorted: &[T], hundredths: usize) -> T {
    let index = (sorted.len() * hundredths).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

/// The bytes of all descriptions in a schema.
fn bytes_of_descriptions(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| {
                let text = value.as_str().filter(|_| key == "description");
                text.map_or_else(|| bytes_of_descriptions(value), str::len)
            })
            .sum(),
        Value::Array(items) => items.iter().map(bytes_of_descriptions).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A part in percent.
fn share(part: usize, whole: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts of instances are small")]
    let share = if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 };
    format!("{share:.2}%")
}

/// Microseconds to a tenth.
fn to_microseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}
