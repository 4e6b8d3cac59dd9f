//! The repository's own cases, one file a dialect: what `check` says of each, and that each fits by the laws.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use polywire_schema::{Change, FitOptions, Slot, check, dialect, dialects};
use serde_json::Value;

use crate::judge::{assert_no_faults, fit_by_the_laws};

/// Cases that a dialect has at least.
const LEAST: usize = 15;

/// One line of the corpus.
pub(crate) struct Case {
    pub(crate) id: String,
    line: usize,
    pub(crate) value: Value,
}

impl Case {
    pub(crate) fn slot(&self) -> Slot {
        match self.value.get("slot").and_then(Value::as_str) {
            Some("output") => Slot::Output,
            None | Some("tool") => Slot::Tool,
            Some(other) => panic!("{}:{}: no slot is called `{other}`", self.id, self.line),
        }
    }

    fn codes(&self) -> BTreeSet<String> {
        let codes = self.value["codes"].as_array().expect("codes");
        codes.iter().map(|code| code.as_str().expect("a code").to_owned()).collect()
    }

    /// The changes that must be told, among others.
    fn told(&self) -> impl Iterator<Item = Told<'_>> {
        let rows = self.value.get("changes").and_then(Value::as_array).into_iter().flatten();
        rows.map(|row| {
            let part = |index: usize| row[index].as_str().expect("code, place and effect of a change");
            Told { code: part(0), at: part(1), effect: part(2) }
        })
    }

    fn fault(&self, said: &str) -> String {
        format!("{}.jsonl:{}: {}: {said}", self.id, self.line, self.value["why"])
    }
}

/// A change as a case names it.
#[derive(Debug)]
struct Told<'v> {
    code: &'v str,
    at: &'v str,
    effect: &'v str,
}

impl Told<'_> {
    fn is(&self, change: &Change) -> bool {
        *change.code == *self.code && change.at == self.at && change.effect.to_string() == self.effect
    }
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "corpus", "schema"].iter().collect()
}

fn cases(id: &str) -> Vec<Case> {
    let text = fs::read_to_string(folder().join(format!("{id}.jsonl"))).unwrap_or_default();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{id}.jsonl:{}: {error}", index + 1));
            Case { id: id.to_owned(), line: index + 1, value }
        })
        .collect()
}

pub(crate) fn every_case() -> impl Iterator<Item = Case> {
    dialects().flat_map(|dialect| cases(dialect.id()))
}

#[test]
fn every_dialect_has_its_cases_and_every_file_its_dialect() {
    let mut faults = Vec::new();
    for dialect in dialects() {
        let count = cases(dialect.id()).len();
        if count < LEAST {
            faults.push(format!("{}: {count} cases are fewer than {LEAST}", dialect.id()));
        }
    }
    for entry in fs::read_dir(folder()).expect("the corpus") {
        let path = entry.expect("a file").path();
        let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if dialect(id).is_none() {
            faults.push(format!("{} belongs to no dialect", path.display()));
        }
    }
    assert_no_faults(&faults);
}

#[test]
fn check_finds_the_codes_of_every_case() {
    let mut faults = Vec::new();
    for case in every_case() {
        let dialect = dialect(&case.id).expect("a dialect");
        let found = check(&case.value["schema"], dialect, case.slot()).expect("a readable schema");
        let codes: BTreeSet<String> = found.iter().map(|violation| violation.code.clone()).collect();
        if codes != case.codes() {
            let places: Vec<String> = found.iter().map(|one| format!("{} at `{}`", one.code, one.at)).collect();
            faults.push(case.fault(&format!("expected {:?}, found [{}]", case.codes(), places.join(", "))));
        }
    }
    assert_no_faults(&faults);
}

#[test]
fn every_case_fits_by_the_laws() {
    let mut faults = Vec::new();
    for case in every_case() {
        let dialect = dialect(&case.id).expect("a dialect");
        let options = FitOptions::default().with_slot(case.slot());
        match fit_by_the_laws(&case.value["schema"].to_string(), dialect, &options) {
            Err(broken) => faults.push(case.fault(&broken.to_string())),
            Ok(fitted) => {
                let schema: Value = serde_json::from_str(&fitted.schema).expect("JSON");
                for told in case.told().filter(|told| !fitted.changes.iter().any(|own| told.is(own))) {
                    faults.push(case.fault(&format!("{told:?} is not among {:?}", fitted.changes)));
                }
                if case.value.get("fitted").is_some_and(|expected| *expected != schema) {
                    faults.push(case.fault(&format!("expected {}\n  fitted {schema}", case.value["fitted"])));
                }
            }
        }
    }
    assert_no_faults(&faults);
}
