//! Schemas that nobody would write: every keyword of every draft, in any company, and sometimes with a value it cannot have.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Whether keywords may hold what they cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// Every keyword has a value of its kind.
    Careful,
    /// Some have any value.
    Careless,
}

/// A whole document: a schema, its definitions, and perhaps the draft in which it says it is.
pub(crate) fn document(care: Care) -> impl Strategy<Value = Value> {
    let definitions = vec((select(DEFINITIONS.to_vec()), schema(care)), 0..4);
    let draft = prop_oneof![4 => Just(None), 1 => select(DRAFTS.to_vec()).prop_map(Some)];
    (schema(care), definitions, draft, nesting()).prop_map(|(root, definitions, draft, nesting)| {
        let Value::Object(mut members) = nest(root, nesting) else { return Value::Bool(true) };
        for ((keyword, name), definition) in definitions {
            let map = members.entry(keyword).or_insert_with(|| json!({}));
            if let Value::Object(map) = map {
                map.insert(name.to_owned(), definition);
            }
        }
        if let Some(draft) = draft {
            members.insert("$schema".to_owned(), json!(draft));
        }
        Value::Object(members)
    })
}

const DEFINITIONS: [(&str, &str); 6] = [
    ("$defs", "A"),
    ("$defs", "B"),
    ("definitions", "A"),
    ("definitions", "C c"),
    ("defs", "A"),
    ("$defs", "properties"),
];

const DRAFTS: [&str; 6] = [
    "http://json-schema.org/draft-03/schema#",
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];

const REFERENCES: [&str; 16] = [
    "#/$defs/A",
    "#/$defs/B",
    "#/$defs/A",
    "#/$defs/B",
    "#/definitions/A",
    "#/definitions/C%20c",
    "#/defs/A",
    "#",
    "#/properties/a",
    "#/properties/a/items",
    "#/$defs/properties",
    "#anchor",
    "#/$defs/missing",
    "#/anyOf/0",
    "#/$defs/A/properties/a",
    "https://example.org/other.json",
];

/// Names of properties: plain ones, and those that look like keywords, break a rule about keys, or meet a name of ours.
const NAMES: [&str; 20] = [
    "a",
    "b",
    "a",
    "b",
    "c",
    "type",
    "properties",
    "$ref",
    "default",
    "items",
    "value",
    "rest",
    "item_1",
    "",
    "a b",
    "ключ",
    "a/b~c",
    "1",
    "__proto__",
    "a_very_long_name_a_very_long_name_a_very_long_name_a_very_long_name_a",
];

const TYPES: [&str; 8] = ["string", "number", "integer", "boolean", "object", "array", "null", "STRING"];

const FORMATS: [&str; 8] = ["date-time", "email", "uuid", "int32", "uri", "regex", "enum", "my own"];

const PATTERNS: [&str; 12] =
    ["^a+$", "a", "", "(?=a)b", "(a)\\1", "^(", "[a-z]{2,5}", "\\p{L}+", "\\d", "^x-", "(?<n>a)", "[\\w\\-.]+@a"];

/// Keywords that get any value, whatever they can hold, and keys that are no keywords.
const ODD: [&str; 34] = [
    "$ref",
    "$defs",
    "type",
    "properties",
    "items",
    "required",
    "enum",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "const",
    "additionalProperties",
    "patternProperties",
    "prefixItems",
    "minLength",
    "maximum",
    "pattern",
    "format",
    "description",
    "default",
    "nullable",
    "dependencies",
    "$anchor",
    "$id",
    "$schema",
    "any_of",
    "additional_properties",
    "x-own",
    "_def",
    "def",
    "discriminator",
    "uniqueItems",
];

fn schema(care: Care) -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        6 => vec(leaf_member(care), 0..4).prop_map(object),
        1 => any::<bool>().prop_map(Value::Bool),
        2 => select(REFERENCES.to_vec()).prop_map(|uri| json!({ "$ref": uri })),
    ];
    let grown = leaf.prop_recursive(4, 24, 3, move |inner| {
        let member = prop_oneof![2 => leaf_member(care), 5 => grown_member(&inner.boxed())];
        vec(member, 1..5).prop_map(object)
    });
    grown.boxed()
}

/// An object of these members; of two with one name the last one stands.
fn object(members: Vec<(String, Value)>) -> Value {
    Value::Object(members.into_iter().collect::<Map<_, _>>())
}

fn member(keyword: &'static str, value: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<(String, Value)> {
    value.prop_map(move |value| (keyword.to_owned(), value)).boxed()
}

/// A keyword that holds no schema.
fn leaf_member(care: Care) -> BoxedStrategy<(String, Value)> {
    let count = || select(vec![json!(0), json!(1), json!(2), json!(3.0), json!(40), json!(u64::MAX)]);
    let number = || select(NUMBERS.to_vec()).prop_map(number_of);
    let annotation = prop_oneof![
        member("description", select(vec!["Says.", "", "Größe (default: 1)"]).prop_map(Value::from)),
        member("title", Just(json!("A title"))),
        member("default", data()),
        member("examples", vec(data(), 0..3).prop_map(Value::from)),
        member("example", data()),
        member("deprecated", any::<bool>().prop_map(Value::from)),
        member("readOnly", any::<bool>().prop_map(Value::from)),
        member("$comment", Just(json!("a comment"))),
        member("x-own", data()),
        member("$anchor", Just(json!("anchor"))),
        member("$dynamicAnchor", Just(json!("anchor"))),
        member("$id", select(vec!["https://example.org/this.json", "#anchor", "folder/"]).prop_map(Value::from)),
    ];
    let values = prop_oneof![
        member("enum", vec(data(), 0..5).prop_map(distinct)),
        member("enum", vec(select(vec!["a", "b", "c", ""]), 1..4).prop_map(distinct)),
        member("const", data()),
    ];
    let text = prop_oneof![
        member("minLength", count()),
        member("maxLength", count()),
        member("pattern", select(PATTERNS.to_vec()).prop_map(Value::from)),
        member("format", select(FORMATS.to_vec()).prop_map(Value::from)),
        member("contentEncoding", Just(json!("base64"))),
        member("contentMediaType", Just(json!("text/html"))),
    ];
    let counts = prop_oneof![
        member("minimum", number()),
        member("maximum", number()),
        member("exclusiveMinimum", prop_oneof![number(), any::<bool>().prop_map(Value::from)]),
        member("exclusiveMaximum", number()),
        member("multipleOf", select(vec![json!(0.1), json!(2), json!(1e-9)])),
        member("minItems", count()),
        member("maxItems", count()),
        member("uniqueItems", any::<bool>().prop_map(Value::from)),
        member("minProperties", count()),
        member("maxProperties", count()),
        member("minContains", count()),
        member("maxContains", count()),
        member("required", vec(name(), 0..3).prop_map(distinct)),
        member("dependentRequired", (name(), vec(name(), 0..3)).prop_map(|(name, needs)| json!({ name: needs }))),
        member("nullable", any::<bool>().prop_map(Value::from)),
    ];
    let reference = prop_oneof![
        3 => member("$ref", select(REFERENCES.to_vec()).prop_map(Value::from)),
        1 => member("$dynamicRef", select(vec!["#anchor", "#"]).prop_map(Value::from)),
        1 => member("$recursiveRef", Just(json!("#"))),
    ];
    let odd = (select(ODD.to_vec()), data()).prop_map(|(keyword, value)| (keyword.to_owned(), value));
    let well_typed = prop_oneof![
        5 => types(),
        3 => annotation,
        3 => values,
        2 => text,
        4 => counts,
        1 => reference,
    ];
    match care {
        Care::Careful => well_typed.boxed(),
        Care::Careless => prop_oneof![12 => well_typed, 1 => odd].boxed(),
    }
}

fn types() -> BoxedStrategy<(String, Value)> {
    prop_oneof![
        4 => member("type", select(TYPES.to_vec()).prop_map(Value::from)),
        1 => member("type", vec(select(TYPES[..7].to_vec()), 1..4).prop_map(distinct)),
    ]
    .boxed()
}

/// A keyword that holds schemas.
fn grown_member(inner: &BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let one = || inner.clone();
    let list = || vec(inner.clone(), 1..4).prop_map(Value::from);
    let map = || vec((name(), inner.clone()), 1..4).prop_map(|members| object(owned(members)));
    let patterns = || vec((select(PATTERNS.to_vec()), inner.clone()), 1..3).prop_map(|members| object(owned(members)));
    let objects = prop_oneof![
        8 => member("properties", map()),
        2 => member("additionalProperties", one()),
        1 => member("patternProperties", patterns()),
        1 => member("propertyNames", one()),
        1 => member("unevaluatedProperties", one()),
        1 => member("dependentSchemas", map()),
        1 => member("dependencies", map()),
    ];
    let arrays = prop_oneof![
        4 => member("items", one()),
        1 => member("items", list()),
        2 => member("prefixItems", list()),
        1 => member("additionalItems", one()),
        1 => member("contains", one()),
        1 => member("unevaluatedItems", one()),
    ];
    let logic = prop_oneof![
        3 => member("anyOf", list()),
        3 => member("oneOf", list()),
        3 => member("allOf", list()),
        1 => member("any_of", list()),
        1 => member("not", one()),
        1 => member("if", one()),
        1 => member("then", one()),
        1 => member("else", one()),
        1 => member("extends", one()),
        1 => member("contentSchema", one()),
    ];
    let definitions = member("$defs", inner.clone().prop_map(|definition| json!({ "A": definition })));
    prop_oneof![8 => objects, 5 => arrays, 8 => logic, 1 => definitions].boxed()
}

fn owned(members: Vec<(&str, Value)>) -> Vec<(String, Value)> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn name() -> impl Strategy<Value = &'static str> + Clone {
    select(NAMES.to_vec())
}

/// Data as constants and defaults hold it, also data that looks like a schema.
fn data() -> BoxedStrategy<Value> {
    prop_oneof![
        4 => select(vec!["a", "b", "", "null", "1"]).prop_map(Value::from),
        3 => select(NUMBERS.to_vec()).prop_map(number_of),
        2 => any::<bool>().prop_map(Value::from),
        2 => Just(Value::Null),
        1 => Just(json!([])),
        1 => Just(json!([1, "a", null])),
        1 => Just(json!({})),
        1 => Just(json!({"a": 1, "type": "string", "$ref": "#"})),
    ]
    .boxed()
}

const NUMBERS: [f64; 9] = [0.0, 1.0, -1.0, 1.5, 3.0, 1e300, -0.0, 9_007_199_254_740_993.0, 1e-300];

/// Whole numbers come out as integers, as people write them.
#[expect(clippy::cast_possible_truncation, reason = "only numbers that are whole and small are cast")]
fn number_of(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e6 { json!(number as i64) } else { json!(number) }
}

fn distinct<T: Into<Value>>(values: Vec<T>) -> Value {
    let mut kept: Vec<Value> = Vec::new();
    for value in values.into_iter().map(Into::into) {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    Value::Array(kept)
}

/// How deep a schema is put into others, and by which keyword.
fn nesting() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![30 => Just(Vec::new()), 1 => vec(0_usize..5, 0..40)]
}

fn nest(schema: Value, levels: Vec<usize>) -> Value {
    levels.into_iter().fold(schema, |inner, level| match level {
        0 => json!({"type": "object", "properties": {"a": inner}}),
        1 => json!({"type": "array", "items": inner}),
        2 => json!({"anyOf": [inner, {"type": "null"}]}),
        3 => json!({"allOf": [inner]}),
        _ => json!({"type": "object", "additionalProperties": inner}),
    })
}
