//! What is counted against the budgets of a dialect.

use polywire_schema::{Effect, FitOptions, Slot, check, dialect};
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

/// Optional properties `p0`, `p1` and so on, of a schema that is told by the number.
fn optional(count: usize, of: impl Fn(usize) -> Value) -> Value {
    let properties = (0..count).map(|index| (format!("p{index}"), of(index))).collect();
    closed(&properties, &[], &Map::new())
}

#[track_caller]
fn fitted_strictly(schema: &Value) -> (Value, Vec<Effect>) {
    let target = dialect("anthropic-strict").unwrap();
    let fitted = fit_by_the_laws(&schema.to_string(), target, &FitOptions::default());
    let fitted = fitted.unwrap_or_else(|fault| panic!("{fault}"));
    assert!(fitted.strict(), "{:?}", fitted.changes);
    let effects = fitted.changes.iter().map(|change| change.effect).collect();
    (serde_json::from_str(&fitted.schema).unwrap(), effects)
}

#[test]
fn optionals_beyond_the_budget_are_required_and_nullable_while_that_for_unions_lasts() {
    let text = |_| json!({"type": "string"});
    let (schema, effects) = fitted_strictly(&optional(30, text));
    assert_eq!(schema["required"], json!(["p0", "p1", "p2", "p3", "p4", "p5"]));
    assert_eq!(schema["properties"]["p0"], json!({"type": ["string", "null"]}));
    assert_eq!(effects, [Effect::Same; 6]);
    fitted_strictly(&optional(40, text));
    assert!(!judged(&optional(41, text), "anthropic-strict").1);
}

#[test]
fn a_union_is_made_nullable_before_anything_becomes_one() {
    let union = |index: usize| {
        if index < 10 { json!({"type": "string"}) } else { json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}) }
    };
    let (schema, effects) = fitted_strictly(&optional(26, union));
    assert_eq!(schema["required"], json!(["p10", "p11"]));
    assert_eq!(effects, [Effect::Same; 2]);
}

#[test]
fn what_may_be_null_itself_stays_optional() {
    let nullable = |index: usize| json!({"type": if index < 10 { json!(["string", "null"]) } else { json!("string") }});
    let (schema, effects) = fitted_strictly(&optional(30, nullable));
    assert_eq!(schema["required"], json!(["p10", "p11", "p12", "p13", "p14", "p15"]));
    assert_eq!(effects, [Effect::Same; 6]);
}
