//! Laws 3 and 4 over made-up schemas of the constructs that people write, with made-up values: what the caller's schema accepts
//! goes to the wire and comes back, and what the wire accepts is what the caller asked for, unless a change says otherwise. The
//! `jsonschema` crate judges. `POLYWIRE_FULL=1` takes fresh seeds and twenty times as many schemas, `POLYWIRE_SEED=N` other seeds
//! that can be taken again.

use std::collections::BTreeSet;

use polywire_schema::{Dialect, FitOptions, Open, Slot, dialect, dialects, fit};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestCaseError, TestError, TestRunner};
use serde_json::{Map, Value, json};

use crate::corpus::every_case;
use crate::judge::{assert_no_faults, is_full, seed_of};
use crate::meets;
use crate::oracle::Court;
use crate::plain::is_plain;

/// Schemas for each dialect, and values for each schema.
const CASES: u32 = 150;
const VALUES: u64 = 6;

#[test]
fn laws_3_and_4_hold_of_made_up_values() {
    hold(dialects());
}

#[test]
fn laws_3_and_4_hold_of_made_up_values_on_meets() {
    hold(meets::drawn().iter());
}

#[track_caller]
fn hold<'d>(dialects: impl Iterator<Item = &'d Dialect>) {
    let mut faults = Vec::new();
    for (index, dialect) in dialects.enumerate() {
        let fault = fault_of(index, dialect);
        if is_full() {
            println!("{}: {}", dialect.id(), fault.as_deref().unwrap_or("lawful"));
        }
        faults.extend(fault);
    }
    assert_no_faults(&faults);
}

/// Every case of the corpus in its dialect, in every slot and with open objects both ways.
#[test]
fn laws_3_and_4_hold_of_the_corpus() {
    let (mut faults, mut judged) = (Vec::new(), 0);
    for case in every_case().filter(|case| is_plain(&case.value["schema"])) {
        let (dialect, schema) = (dialect(&case.id).expect("a dialect"), &case.value["schema"]);
        for (open, slot) in
            [Open::Close, Open::Carry].into_iter().flat_map(|open| [(open, Slot::Tool), (open, Slot::Output)])
        {
            let fitted = fit(schema, dialect, &FitOptions::default().with_open(open).with_slot(slot)).expect("a fit");
            let Some(court) = Court::new(schema, &fitted, dialect) else { continue };
            judged += 1;
            let judged = court.judge(schema, &fitted, VALUES * 2);
            faults.extend(
                judged.err().map(|reason| format!("{} {open:?} {slot:?}\n  schema {schema}\n  {reason}", case.id)),
            );
        }
    }
    assert_no_faults(&faults);
    assert!(judged > 1_000, "only {judged} cases were judged");
}

/// The first schema of which the laws do not hold in a dialect, made small.
fn fault_of(index: usize, dialect: &Dialect) -> Option<String> {
    let config = ProptestConfig {
        cases: if is_full() { CASES * 20 } else { CASES },
        rng_seed: seed_of(index, 0),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    };
    let how = (select(vec![Open::Close, Open::Carry]), select(vec![Slot::Tool, Slot::Output]));
    let outcome = TestRunner::new(config).run(&(document(), how), |(schema, (open, slot))| {
        let options = FitOptions::default().with_open(open).with_slot(slot);
        let fitted = fit(&schema, dialect, &options).expect("a fit");
        let court = Court::new(&schema, &fitted, dialect).expect("schemas that a validator reads");
        court.judge(&schema, &fitted, VALUES).map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(()) => None,
        Err(TestError::Fail(reason, (schema, how))) => {
            Some(format!("{} {how:?}\n  schema {schema}\n  {reason}", dialect.id()))
        }
        Err(TestError::Abort(reason)) => Some(format!("{}: {reason}", dialect.id())),
    }
}

/// Whether a schema says, by unions and references alone, that a value is one that it is: no lens ends there.
fn leads_nowhere(schema: &Value, depth: usize) -> bool {
    let lists = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    let single = ["not", "if", "then", "else"].into_iter().filter_map(|keyword| schema.get(keyword));
    let mut parts = lists.flatten().chain(single).chain(schema.pointer("/dependentSchemas/a"));
    depth > 0 && schema.get("$ref").is_some() || parts.any(|own| leads_nowhere(own, depth + 1))
}

/// A schema with definitions.
fn document() -> impl Strategy<Value = Value> {
    let definition = || schema().prop_filter("a union of itself", |schema| !leads_nowhere(schema, 1));
    let root = prop_oneof![3 => object(schema()), 1 => definition()];
    (root, definition(), definition()).prop_map(|(mut root, a, b)| {
        if let Value::Object(members) = &mut root {
            members.insert("$defs".to_owned(), json!({"A": a, "B": b}));
        }
        root
    })
}

fn schema() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        4 => leaf(),
        1 => select(vec!["#/$defs/A", "#/$defs/B"]).prop_map(|pointer| json!({"$ref": pointer})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            4 => object(inner.clone()),
            2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => vec(inner.clone(), 1..3).prop_map(|places| tuple(&places)),
            1 => inner.clone().prop_map(|value| json!({"type": "object", "additionalProperties": value})),
            2 => vec(inner.clone(), 2..4).prop_map(|branches| json!({"anyOf": branches})),
            2 => vec(inner.clone(), 2..4).prop_map(|branches| json!({"oneOf": branches})),
            1 => (object(inner.clone()), vec(inner.clone(), 2..4))
                .prop_map(|(own, branches)| json!({"allOf": [own, {"oneOf": branches}]})),
            1 => (object(inner.clone()), vec(required(), 2..4)).prop_map(|(own, branches)| with(own, "oneOf", branches.into())),
            1 => (inner.clone(), inner.clone()).prop_map(|(own, not)| with(own, "not", not)),
            1 => twins(inner.clone()),
            1 => (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({"anyOf": [{"oneOf": [a, b]}, a, {"type": "object", "additionalProperties": b}]})),
            1 => inner.clone().prop_map(|value| json!({"anyOf": [value, {"type": "null"}]})),
            4 => seldom(&inner),
        ]
    })
    .boxed()
}

/// Constructs that fewer people write.
fn seldom(inner: &BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let one = || inner.clone();
    let count = || 0..3_u64;
    let extra = prop_oneof![
        one().prop_map(|own| json!({"patternProperties": {"^[ab]": own}})),
        one().prop_map(|own| json!({"patternProperties": {"^x-": own}, "additionalProperties": false})),
        Just(json!({"propertyNames": {"pattern": "^[a-z]+$"}})),
        (count(), count()).prop_map(|(min, more)| json!({"minProperties": min, "maxProperties": min + more})),
        required().prop_map(|needs| json!({"dependentRequired": {"a": needs["required"]}})),
        one().prop_map(|own| json!({"dependentSchemas": {"a": own}})),
        (required(), required()).prop_map(|(when, then)| json!({"if": when, "then": then})),
        (leaf(), one()).prop_map(|(when, own)| {
            json!({"if": {"properties": {"a": when}, "required": ["a"]}, "then": own, "else": {"required": ["b"]}})
        }),
        required().prop_map(|own| json!({"not": own})),
        vec(required(), 1..3).prop_map(|branches| json!({"anyOf": branches})),
        Just(json!({"unevaluatedProperties": false})),
    ];
    let listed = prop_oneof![
        (one(), count(), count())
            .prop_map(|(own, min, more)| json!({"items": own, "minItems": min, "maxItems": min + more})),
        (vec(one(), 1..3), one()).prop_map(|(places, own)| json!({"prefixItems": places, "items": own})),
        (vec(one(), 1..4), count()).prop_map(|(places, min)| json!({"prefixItems": places, "minItems": min})),
        (vec(one(), 1..4), count())
            .prop_map(|(places, min)| json!({"prefixItems": places, "items": false, "minItems": min})),
        (one(), one()).prop_map(|(own, held)| json!({"items": own, "contains": held})),
        one().prop_map(|own| json!({"items": own, "uniqueItems": true})),
    ];
    prop_oneof![
        3 => (object(one()), extra).prop_map(|(own, extra)| laid_over(own, extra)),
        2 => listed.prop_map(|own| laid_over(json!({"type": "array"}), own)),
        1 => (object(one()), object(one())).prop_map(|(a, b)| json!({"allOf": [a, b]})),
        1 => (one(), one()).prop_map(|(a, b)| json!({"allOf": [a, b]})),
        1 => (object(one()), vec(object(one()), 1..3)).prop_map(|(own, branches)| with(own, "anyOf", branches.into())),
        1 => (object(one()), vec(object(one()), 1..3)).prop_map(|(own, branches)| with(own, "oneOf", branches.into())),
        1 => (one(), one()).prop_map(|(own, held)| json!({"type": ["object", "array", "null"],
            "properties": {"a": own}, "items": held})),
        1 => (one(), one(), one()).prop_map(|(when, then, other)| json!({"if": when, "then": then, "else": other})),
        1 => one().prop_map(|own| with(own, "description", json!("Says."))),
        1 => (select(vec!["#/$defs/A", "#/$defs/B"]), object(one())).prop_map(|(pointer, own)| with(own, "$ref", json!(pointer))),
    ]
    .boxed()
}

/// A schema with the keywords of another one.
fn laid_over(mut schema: Value, others: Value) -> Value {
    if let (Value::Object(members), Value::Object(others)) = (&mut schema, others) {
        members.extend(others);
    }
    schema
}

fn leaf() -> impl Strategy<Value = Value> {
    select(LEAVES.to_vec()).prop_map(|text| serde_json::from_str(text).expect("a schema"))
}

/// A union of objects that are told apart by one property at most.
fn twins(inner: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Value> {
    let twin = (object(inner), leaf()).prop_map(|(mut own, told)| {
        own["properties"]["a"] = told;
        own["required"] = json!(["a"]);
        own
    });
    (select(vec!["anyOf", "oneOf"]), vec(twin, 2..4)).prop_map(|(keyword, branches)| json!({ keyword: branches }))
}

/// A schema with one more keyword.
fn with(mut schema: Value, keyword: &str, value: Value) -> Value {
    if let Value::Object(members) = &mut schema {
        members.insert(keyword.to_owned(), value);
    }
    schema
}

/// A branch that only asks for keys, as people write it beside `properties`.
fn required() -> impl Strategy<Value = Value> {
    vec(select(KEYS.to_vec()), 1..3).prop_map(|keys| json!({"required": keys.into_iter().collect::<BTreeSet<_>>()}))
}

fn tuple(places: &[Value]) -> Value {
    let count = places.len();
    json!({"type": "array", "prefixItems": places, "items": false, "minItems": count})
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let property = (select(KEYS.to_vec()), inner, any::<bool>());
    (vec(property, 0..5), select(vec![None, Some(json!(false)), Some(json!({"type": "integer"}))])).prop_map(
        |(properties, others)| {
            let mut declared = Map::new();
            let mut required: Vec<&str> = Vec::new();
            for (key, schema, must) in properties {
                if must && !declared.contains_key(key) {
                    required.push(key);
                }
                declared.entry(key).or_insert(schema);
            }
            let mut members = json!({"type": "object", "properties": declared, "required": required});
            if let (Value::Object(map), Some(others)) = (&mut members, others) {
                map.insert("additionalProperties".to_owned(), others);
            }
            members
        },
    )
}

const KEYS: [&str; 7] = ["a", "b", "type", "$ref", "odd key", "value", "items"];

const LEAVES: [&str; 30] = [
    r#"{"type": "string"}"#,
    r#"{"type": "integer", "minimum": 2, "maximum": 9}"#,
    r#"{"type": "number"}"#,
    r#"{"type": "boolean"}"#,
    r#"{"type": "null"}"#,
    r#"{"type": ["string", "null"]}"#,
    r#"{"type": ["integer", "boolean", "null"]}"#,
    r#"{"enum": ["x", "y"]}"#,
    r#"{"enum": [1, 2, "two", null]}"#,
    r#"{"enum": ["", "full", {"deep": [1]}]}"#,
    r#"{"const": "k"}"#,
    r#"{"const": 5}"#,
    r#"{"type": "string", "pattern": "^[a-c]{2,4}$"}"#,
    r#"{"type": "string", "format": "date"}"#,
    r#"{"type": "string", "format": "email"}"#,
    r#"{"enum": ["ab", "bc"], "pattern": "^(?=a)"}"#,
    r#"{"enum": ["ab", "bc"], "pattern": "^(?!a)"}"#,
    r#"{"type": "integer", "multipleOf": 3}"#,
    r#"{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}"#,
    r#"{"type": "object"}"#,
    r#"{"type": "string", "minLength": 2, "maxLength": 3}"#,
    r#"{"type": "number", "exclusiveMinimum": 0, "maximum": 1.5}"#,
    r#"{"type": "number", "multipleOf": 0.5}"#,
    r#"{"const": null}"#,
    r#"{"const": {"k": [1, null]}}"#,
    r#"{"enum": [true, "true", 1, "1"]}"#,
    r#"{"enum": ["x", null]}"#,
    r#"{"type": "array"}"#,
    r#"{"minimum": 3}"#,
    "{}",
];
