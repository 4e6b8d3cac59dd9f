//! What must exist, item by item: each test begins with the id of its requirement. R-A17 is tested with the command line, and
//! R-A19 with the cache itself.

mod nodes;
mod strict;
mod targets;

use polywire_schema::{Action, Change, Dialect, Effect, FitOptions, Fitted, dialect, fit, target};
use serde_json::{Value, json};

use crate::judge::fit_by_the_laws;

fn of(id: &str) -> &'static Dialect {
    dialect(id).unwrap_or_else(|| panic!("no dialect is called `{id}`"))
}

/// Fits by the laws and compares the whole schema.
#[track_caller]
fn check_fit(id: &str, schema: &Value, expected: &Value) -> Vec<Change> {
    let options = FitOptions::default();
    let target = target(id).expect("a dialect");
    let fitted =
        fit_by_the_laws(&schema.to_string(), &target, &options).unwrap_or_else(|fault| panic!("{id}: {fault}"));
    let got: Value = serde_json::from_str(&fitted.schema).expect("JSON");
    assert_eq!(got, *expected, "{id}\n     got {got}\nexpected {expected}");
    assert_eq!(fitted.strict(), target.strict(), "{id}");
    fitted.changes
}

/// [`check_fit`] for one required property.
#[track_caller]
fn check_property(id: &str, property: &Value, expected: &Value) -> Vec<Change> {
    let object = |schema: &Value| json!({"type": "object", "properties": {"a": schema}, "required": ["a"], "additionalProperties": false});
    let mut wanted = object(expected);
    if of(id).stance("additionalProperties").is_some() {
        wanted.as_object_mut().expect("an object").shift_remove("additionalProperties");
    }
    check_fit(id, &object(property), &wanted)
}

#[track_caller]
fn fitted(id: &str, schema: &Value) -> Fitted {
    fit(schema, &target(id).expect("a dialect"), &FitOptions::default()).expect("a fit")
}

/// Whether there is a change with this keyword, action and effect.
fn tells(changes: &[Change], keyword: &str, action: Action, effect: Effect) -> bool {
    changes.iter().any(|change| change.keyword == keyword && change.action == action && change.effect == effect)
}
