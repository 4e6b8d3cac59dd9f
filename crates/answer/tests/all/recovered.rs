//! Broken values come back exactly: a small seeded run of the recovery benchmark, with floors, and what must never change a value.

use std::sync::OnceLock;

use polywire_answer::{ReadOptions, Verdict, read_with};

use crate::recovery::{Case, Counts, Guide, Instance, Score, cases, instances, same};

static INSTANCES: OnceLock<Vec<Instance>> = OnceLock::new();

/// A sample that is read in seconds.
fn sample(seed: u64) -> Vec<Case> {
    cases(INSTANCES.get_or_init(|| instances(8)), Counts { single: 3, several: 60, cut: 15 }, seed)
}

fn score(cases: &[Case], guide: Guide) -> Score {
    let mut score = Score::default();
    for case in cases.iter().filter(|case| case.is_decidable(guide)) {
        let got = case.read(guide);
        let recovered = case.is_recovered(got.as_ref());
        if !recovered {
            println!("{guide:?} {} {:?}\n  want {}\n  got  {got:?}", case.set, case.broken.text, case.broken.value);
            println!("  schema {}", case.schema);
        }
        score.add(recovered);
    }
    score
}

#[test]
fn broken_values_come_back() {
    let cases = sample(7);
    for guide in [Guide::None, Guide::Schema] {
        let score = score(&cases, guide);
        println!("{guide:?}: {} of {}", score.recovered, score.of);
        assert!(score.of > 100 && score.percent() >= 96.0, "{guide:?}: {} of {}", score.recovered, score.of);
    }
}

#[test]
fn prose_and_fences_never_change_the_value() {
    for case in sample(11).iter().filter(|case| !case.set.starts_with("cut")) {
        let text = &case.broken.text;
        // What stands around the text already, or is no list or object, is read by other rules.
        if !text.starts_with(['{', '[']) || !text.ends_with(['}', ']']) || text.contains("```") {
            continue;
        }
        let Some(bare) = case.read(Guide::Schema).filter(|value| case.is_recovered(Some(value))) else { continue };
        for wrapped in [format!("Here you are:\n{text}\nThat is all."), format!("```json\n{text}\n```")] {
            let got = read_with(&wrapped, Some(&case.compiled), &ReadOptions::default()).value;
            assert!(got.is_some_and(|got| same(&got, &bare)), "{wrapped:?}");
        }
    }
}

#[test]
fn a_schema_never_changes_what_it_accepts() {
    for case in sample(13) {
        let text = case.broken.value.to_string();
        let answer = read_with(&text, Some(&case.compiled), &ReadOptions::default());
        if answer.verdict == Verdict::Valid {
            assert!(answer.repairs.is_empty(), "{text}: {:?}", answer.repairs);
            assert_eq!(answer.value, Some(case.broken.value));
        }
    }
}
