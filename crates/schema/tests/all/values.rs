//! Laws 3 and 4 over made-up schemas of the constructs that people write, with made-up values: what the caller's schema accepts
//! goes to the wire and comes back, and what the wire accepts is what the caller asked for, unless a change says otherwise. The
//! `jsonschema` crate judges.

use std::collections::BTreeSet;

use polywire_schema::{Dialect, FitOptions, Open, dialects, fit};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestCaseError, TestError, TestRunner};
use serde_json::{Map, Value, json};

use crate::judge::{assert_no_faults, is_full};
use crate::oracle::{Court, UNREADABLE};

/// Schemas for each dialect, and values for each schema.
const CASES: u32 = 150;
const VALUES: u64 = 6;

#[test]
fn laws_3_and_4_hold_of_made_up_values() {
    let mut faults = Vec::new();
    let readable = |dialect: &&Dialect| !UNREADABLE.contains(&dialect.id());
    for (index, dialect) in dialects().iter().filter(readable).enumerate() {
        let config = ProptestConfig {
            cases: if is_full() { CASES * 20 } else { CASES },
            rng_seed: if is_full() { RngSeed::Random } else { RngSeed::Fixed(index as u64) },
            failure_persistence: None,
            max_shrink_iters: 2_000,
            ..ProptestConfig::default()
        };
        let outcome =
            TestRunner::new(config).run(&(document(), select(vec![Open::Close, Open::Carry])), |(schema, open)| {
                let fitted = fit(&schema, dialect, &FitOptions::default().with_open(open)).expect("a fit");
                let court = Court::new(&schema, &fitted).expect("schemas that a validator reads");
                court.judge(&schema, &fitted, VALUES).map_err(TestCaseError::fail)
            });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(reason, (schema, open))) => {
                faults.push(format!("{} {open:?}\n  schema {schema}\n  {reason}", dialect.id()));
            }
            Err(TestError::Abort(reason)) => faults.push(format!("{}: {reason}", dialect.id())),
        }
    }
    assert_no_faults(&faults);
}

/// Whether a schema says, by unions and references alone, that a value is one that it is: no lens ends there.
fn leads_nowhere(schema: &Value, depth: usize) -> bool {
    let lists = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    let mut parts = lists.flatten().chain(schema.get("not"));
    depth > 0 && schema.get("$ref").is_some() || parts.any(|own| leads_nowhere(own, depth + 1))
}

/// A schema with definitions.
fn document() -> impl Strategy<Value = Value> {
    let definition = || schema().prop_filter("a union of itself", |schema| !leads_nowhere(schema, 1));
    (object(schema()), definition(), definition()).prop_map(|(mut root, a, b)| {
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
            1 => inner.prop_map(|value| json!({"anyOf": [value, {"type": "null"}]})),
        ]
    })
    .boxed()
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

const LEAVES: [&str; 21] = [
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
    "{}",
];
