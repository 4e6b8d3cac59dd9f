//! Mutants of a fit: a change dropped, a keyword of the fitted schema left out, two branches of the lens swapped. The laws must find
//! nearly all of them; otherwise the laws hold because nobody looks.

use std::collections::BTreeMap;

use polywire_schema::internals::Kw;
use polywire_schema::{Change, Dialect, Effect, FitOptions, Fitted, Lens, Open, dialect, fit};
use polywire_testkit::{Cover, References};
use serde_json::{Map, Value, json};

use crate::corpus::{Case, every_case};
use crate::judge::assert_no_faults;
use crate::oracle::{Court, Covers};

/// Made-up values of each mutant.
const VALUES: u64 = 48;

/// The kinds of mutants, and the least share of each that the laws find, in percent. A change that was recorded out of caution, such as
/// one about a keyword that others imply, is not missed.
const KINDS: [(&str, usize); 3] = [("branches swapped", 85), ("change dropped", 80), ("keyword dropped", 90)];

/// So many mutants that no law finds are shown for each kind.
const SHOWN: usize = 30;

/// A case has at most so many mutants of a kind.
const EACH: usize = 4;

/// Cases of size limits are larger than this, and mutate into much of the same.
const LARGEST: usize = 4_000;

/// A fit with one mistake.
struct Mutant {
    kind: &'static str,
    what: String,
    schema: Value,
    lens: Lens,
    changes: Vec<Change>,
}

#[derive(Default)]
struct Score {
    mutants: usize,
    missed: Vec<String>,
}

#[test]
fn the_laws_find_mutants() {
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    for case in every_case() {
        let dialect = dialect(&case.id).expect("a dialect");
        let fitted = fit(&case.value["schema"], dialect, &FitOptions::default().with_open(Open::Close)).expect("a fit");
        let text = fitted.schema.to_string();
        if text.len() > LARGEST {
            continue;
        }
        for mutant in mutants(&case.value["schema"], &fitted) {
            let Some(is_found) = is_found(&case, dialect, &mutant) else { continue };
            let score = scores.entry(mutant.kind).or_default();
            score.mutants += 1;
            if !is_found {
                let schema = &case.value["schema"];
                score.missed.push(format!("{}: {}\n  of {schema}\n  fitted {text}", case.id, mutant.what));
            }
        }
    }
    let mut faults = Vec::new();
    for (kind, least) in KINDS {
        let Score { mutants, missed } = scores.entry(kind).or_default();
        let found = *mutants - missed.len();
        println!("{kind}: {found} of {mutants} found");
        if found == 0 || found * 100 < *mutants * least {
            let shown: Vec<&str> = missed.iter().take(SHOWN).map(String::as_str).collect();
            faults.push(format!("{kind}: {found} of {mutants} found; not these:\n{}", shown.join("\n")));
        }
    }
    assert_no_faults(&faults);
}

/// Whether a law is broken by a listed instance or by a made-up value; `None` where no judge reads the schemas.
fn is_found(case: &Case, dialect: &Dialect, mutant: &Mutant) -> Option<bool> {
    let caller = &case.value["schema"];
    let court = Court::of(caller, mutant.schema.clone(), dialect)?;
    let covers = Covers::of(caller, &mutant.changes);
    let breaks = |key: &str, law: &dyn Fn(&Value) -> Result<(), String>| {
        case.value[key].as_array().into_iter().flatten().any(|value| law(value).is_err())
    };
    let listed = breaks("valid", &|value| court.law_3(&mutant.lens, &covers, value))
        || breaks("invalid", &|value| court.refuses(&mutant.lens, &covers, value))
        || breaks("wire", &|value| court.law_4(&mutant.lens, &covers, value));
    Some(listed || court.judge_samples(caller, &mutant.lens, &covers, VALUES).is_err())
}

fn mutants(caller: &Value, fitted: &Fitted) -> Vec<Mutant> {
    let original = |kind, what| Mutant {
        kind,
        what,
        schema: fitted.schema.clone(),
        lens: fitted.lens().clone(),
        changes: fitted.changes.clone(),
    };
    let mut mutants = Vec::new();
    let excuses = fitted.changes.iter().filter(|change| is_the_only_excuse(caller, change, &fitted.changes));
    for change in spread(excuses.collect()) {
        let changes = fitted.changes.iter().filter(|other| *other != change).cloned().collect();
        let what = format!("without {} at `{}`", change.code, change.at);
        mutants.push(Mutant { changes, ..original("change dropped", what) });
    }
    let mut widened = Vec::new();
    without_a_keyword(&fitted.schema, "", &mut |at, schema| widened.push((at.to_owned(), schema)));
    let wider = Cover::of(&fitted.changes, Effect::Wider, &References::of(caller));
    widened.retain(|(at, _)| !wider.overlaps(&Cover::at(at, &References::of(&fitted.schema))));
    for (at, schema) in spread(widened) {
        mutants.push(Mutant { schema, ..original("keyword dropped", format!("without `{at}`")) });
    }
    let loses_values = fitted.changes.iter().any(|change| change.effect == Effect::Narrower);
    let swapped = if loses_values { Vec::new() } else { with_swapped_branches(fitted.lens()) };
    for lens in spread(swapped) {
        let what = format!("lens {}", json!(lens));
        mutants.push(Mutant { lens, ..original("branches swapped", what) });
    }
    mutants
}

/// A few of many, from all parts of the list.
fn spread<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(EACH).max(1);
    all.into_iter().step_by(step)
}

/// A loss for which no other change accounts, around it or within it.
fn is_the_only_excuse(caller: &Value, change: &Change, changes: &[Change]) -> bool {
    let is_loss = change.effect == Effect::Wider || change.effect == Effect::Narrower;
    let others: Vec<Change> = changes.iter().filter(|other| *other != change).cloned().collect();
    let references = References::of(caller);
    is_loss && !Cover::of(&others, change.effect, &references).overlaps(&Cover::at(&change.at, &references))
}

/// Keywords that only restrict values.
const RESTRICTIONS: &[Kw] = &[
    Kw::Enum,
    Kw::Const,
    Kw::Required,
    Kw::Minimum,
    Kw::Maximum,
    Kw::ExclusiveMinimum,
    Kw::ExclusiveMaximum,
    Kw::MultipleOf,
    Kw::MinLength,
    Kw::MaxLength,
    Kw::Pattern,
    Kw::MinItems,
    Kw::MaxItems,
    Kw::UniqueItems,
];

/// False for a limit that every value keeps.
fn restricts(limit: &Value) -> bool {
    ![json!(0), json!(false), json!([])].contains(limit)
}

/// Gives the schema once for each restriction in it, without that one, and with its pointer.
fn without_a_keyword(schema: &Value, at: &str, give: &mut dyn FnMut(&str, Value)) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                if Kw::of(key).is_some_and(|keyword| RESTRICTIONS.contains(&keyword)) && restricts(value) {
                    let mut rest = members.clone();
                    rest.shift_remove(key);
                    give(&at, Value::Object(rest));
                } else {
                    without_a_keyword(value, &at, &mut |at, part| {
                        let mut whole: Map<String, Value> = members.clone();
                        whole.insert(key.clone(), part);
                        give(at, Value::Object(whole));
                    });
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                without_a_keyword(item, &format!("{at}/{index}"), &mut |at, part| {
                    let mut whole = items.clone();
                    whole[index] = part;
                    give(at, Value::Array(whole));
                });
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The lens once for each pair of neighbouring branches, with their shapes or names exchanged.
fn with_swapped_branches(lens: &Lens) -> Vec<Lens> {
    let lens = serde_json::to_value(lens).expect("a lens is written as JSON");
    let mut mutants = Vec::new();
    for (index, shape) in lens["shapes"].as_array().into_iter().flatten().enumerate() {
        for (list, member) in [("/union", "lens"), ("/choice/branches", "0")] {
            let count = shape.pointer(list).and_then(Value::as_array).map_or(0, Vec::len);
            for first in 1..count {
                let place = |index| format!("{list}/{index}/{member}");
                let (one, other) = (&shape.pointer(&place(first - 1)), &shape.pointer(&place(first)));
                let (Some(one), Some(other)) = (one, other) else { continue };
                let mut mutant = lens.clone();
                let shape = &mut mutant["shapes"][index];
                *shape.pointer_mut(&place(first - 1)).expect("a place of the lens") = (*other).clone();
                *shape.pointer_mut(&place(first)).expect("a place of the lens") = (*one).clone();
                if mutant != lens {
                    mutants.push(serde_json::from_value(mutant).expect("a lens"));
                }
            }
        }
    }
    mutants
}
