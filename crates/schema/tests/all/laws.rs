//! The laws over schemas that a generator makes up. The seed is fixed, so that a run tells of the change under test alone;
//! `POLYWIRE_FULL=1` takes fresh seeds and up to ten times as many schemas, as far as ten minutes go, `POLYWIRE_SEED=N` other
//! seeds that can be taken again, and `POLYWIRE_LAST=FILE` writes each schema down before it is fitted, for the fault that ends
//! the process.

use std::time::{Duration, Instant};

use polywire_schema::{Dialect, FitOptions, Open, Slot, Spill, StrictMode, dialects, fit, fit_text};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestCaseError, TestError, TestRunner};
use serde_json::{Map, Value, json};

use crate::generate::{Care, document};
use crate::judge::{Fault, assert_no_faults, fit_by_the_laws, is_full, seed_of};
use crate::main_dialects::MAIN;
use crate::meets;

/// Schemas for each dialect.
const CASES: u32 = 800;

/// How many times as many the long form takes, and the time after which it takes no more.
const FULL_ROUNDS: u32 = 10;
const FULL_TIME: Duration = Duration::from_mins(9);

#[test]
fn the_laws_hold_of_made_up_schemas_on_the_main_dialects() {
    hold(Care::Careful, &main_dialects());
}

#[test]
fn the_laws_hold_of_made_up_schemas_on_the_other_dialects() {
    hold(Care::Careful, &other_dialects());
}

#[test]
fn the_laws_hold_of_made_up_schemas_on_meets() {
    hold(Care::Careful, &meets::drawn().iter().collect::<Vec<_>>());
}

#[test]
fn the_laws_hold_of_careless_schemas() {
    hold(Care::Careless, &dialects().collect::<Vec<_>>());
}

/// How a text is laid out is no part of what it says, not even where the size of the schema bounds what is repeated.
#[test]
fn the_layout_of_the_text_does_not_matter() {
    let properties: Map<String, Value> =
        (0..400).map(|index| (format!("p{index}"), json!({"$ref": "#/$defs/A"}))).collect();
    let inner: Map<String, Value> =
        (0..12).map(|index| (format!("q{index}"), json!({"type": "string", "minLength": index}))).collect();
    let definition = json!({"type": "object", "properties": inner});
    let schema = json!({"type": "object", "properties": properties, "$defs": {"A": definition}});
    let pretty = serde_json::to_string_pretty(&schema).expect("text");
    let mut faults = Vec::new();
    for dialect in dialects() {
        let fitted = |text: &str| fit_text(text, dialect, &FitOptions::default()).expect("a fit").schema;
        let compact = fitted(&schema.to_string());
        let value = fit(&schema, dialect, &FitOptions::default()).expect("a fit").schema.to_string();
        if compact != fitted(&pretty) || compact != value {
            faults.push(format!("{}: spaces change the fit", dialect.id()));
        }
    }
    assert_no_faults(&faults);
}

fn main_dialects() -> Vec<&'static Dialect> {
    dialects().filter(|dialect| MAIN.contains(&dialect.id())).collect()
}

fn other_dialects() -> Vec<&'static Dialect> {
    dialects().filter(|dialect| !MAIN.contains(&dialect.id())).collect()
}

/// Runs the laws for each dialect on its own, so that one failure hides no other.
#[track_caller]
fn hold(care: Care, dialects: &[&Dialect]) {
    let mut faults = Vec::new();
    let share = FULL_TIME / u32::try_from(dialects.len()).unwrap_or(1);
    for (index, dialect) in dialects.iter().enumerate() {
        let started = Instant::now();
        let mut rounds = 0;
        let fault = loop {
            let fault = one_round(care, dialect, seed_of(index, rounds));
            rounds += 1;
            if fault.is_some() || !is_full() || rounds == FULL_ROUNDS || started.elapsed() > share {
                break fault;
            }
        };
        if is_full() {
            println!("{}: {} {care:?} schemas in {:.0?}", dialect.id(), rounds * CASES, started.elapsed());
        }
        faults.extend(fault);
    }
    assert_no_faults(&faults);
}

fn one_round(care: Care, dialect: &Dialect, seed: RngSeed) -> Option<String> {
    let config = ProptestConfig {
        cases: CASES,
        rng_seed: seed,
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&(document(care), options()), |(schema, options)| {
        write_down(dialect, &schema);
        match fit_by_the_laws(&schema.to_string(), dialect, &options) {
            Ok(_) => Ok(()),
            Err(Fault::Unread(_)) if care == Care::Careless => Ok(()),
            Err(fault) => Err(TestCaseError::fail(fault.to_string())),
        }
    });
    match outcome {
        Ok(()) => None,
        Err(TestError::Fail(reason, (schema, options))) => {
            let how = format!("{:?} {:?} {:?} {:?}", options.strict, options.open, options.spill, options.slot);
            Some(format!("{} ({how})\n  schema {schema}\n  {reason}", dialect.id()))
        }
        Err(TestError::Abort(reason)) => Some(format!("{}: {reason}", dialect.id())),
    }
}

fn write_down(dialect: &Dialect, schema: &Value) {
    if let Some(path) = std::env::var_os("POLYWIRE_LAST") {
        std::fs::write(path, format!("{}\t{schema}\n", dialect.id())).expect("a place to write to");
    }
}

/// What a caller may choose, the defaults most of all.
fn options() -> impl Strategy<Value = FitOptions> {
    let chosen = (
        select(vec![StrictMode::Auto, StrictMode::Off]),
        select(vec![Open::Close, Open::Carry]),
        select(vec![Spill::On, Spill::Off]),
        select(vec![Slot::Tool, Slot::Output]),
    );
    let chosen = chosen.prop_map(|(strict, open, spill, slot)| {
        FitOptions::default().with_strict(strict).with_open(open).with_spill(spill).with_slot(slot)
    });
    prop_oneof![3 => Just(FitOptions::default()), 1 => chosen]
}
