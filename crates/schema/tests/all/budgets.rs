//! What is counted against the budgets of a dialect.

use polywire_schema::{FitOptions, Slot, check, dialect};
use serde_json::{Map, Value, json};

use crate::judge::fit_by_the_laws;

/// The codes that `check` reports, and whether the fit by the laws is strict.
#[track_caller]
fn judged(schema: &Value, id: &str) -> (Vec<String>, bool) {
    let target = dialect(id).unwrap();
    let codes = check(schema, target, Slot::Tool).unwrap().into_iter().map(|violation| violation.code).collect();
    let fitted = fit_by_the_laws(&schema.to_string(), target, &FitOptions::default());
    (codes, fitted.unwrap_or_else(|fault| panic!("{fault}")).strict())
}

/// A closed object that requires what is listed.
fn closed(properties: &Map<String, Value>, required: &[String], definitions: &Map<String, Value>) -> Value {
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    schema["additionalProperties"] = json!(false);
    if !definitions.is_empty() {
        schema["$defs"] = json!(definitions);
    }
    schema
}

#[test]
fn the_names_of_definitions_count_by_their_length() {
    let long = |index: usize| format!("D{index:0>6000}");
    let property = |index: usize| (format!("p{index}"), json!({ "$ref": format!("#/$defs/{}", long(index)) }));
    let properties: Map<String, Value> = (0..25).map(property).collect();
    let required: Vec<String> = properties.keys().cloned().collect();
    let definitions = (0..25).map(|index| (long(index), json!({"type": "string"}))).collect();
    let (codes, strict) = judged(&closed(&properties, &required, &definitions), "openai-strict");
    assert_eq!(codes, ["OAI-STRICT-62"]);
    assert!(strict, "names of definitions are not the caller's: shorter ones do");
}

#[test]
fn a_required_name_that_is_not_declared_makes_no_property_less_optional() {
    let properties: Map<String, Value> =
        (0..30).map(|index| (format!("k{index}"), json!({"type": "string"}))).collect();
    let required: Vec<String> = (0..10).map(|index| format!("other{index}")).collect();
    let (codes, _) = judged(&closed(&properties, &required, &Map::new()), "anthropic-strict");
    assert!(codes.contains(&"ANT-STRICT-04".to_owned()), "{codes:?}");
}
