//! Families of hostile input: a schema and a text of about a size, each of a kind that makes some reader crawl or swell.
//!
//! The tests bound them, and `benches/growth.rs` prints how they grow.

use serde_json::{Map, Value, json};

/// A family: its name, and its schema and text of about so many bytes.
pub(crate) type Family = (&'static str, fn(usize) -> (Value, String));

pub(crate) const FAMILIES: &[Family] = &[
    ("allOf twice", |size| (ladder(size, |next| json!({"allOf": [next, next]})), "{\"x\": \"hi\"}".to_owned())),
    ("anyOf twice", |size| (ladder(size, |next| json!({"anyOf": [next, next]})), "{\"x\": \"hi\"}".to_owned())),
    ("oneOf twice", |size| (ladder(size, |next| json!({"oneOf": [next, next]})), "{\"x\": \"hi\"}".to_owned())),
    ("not twice", |size| {
        (ladder(size, |next| json!({"not": {"not": next}, "allOf": [next]})), "{\"x\": 3}".to_owned())
    }),
    ("if twice", |size| {
        (ladder(size, |next| json!({"if": next, "then": next, "else": next})), "{\"x\": \"hi\"}".to_owned())
    }),
    ("unevaluated twice", |size| {
        (
            ladder(size, |next| json!({"anyOf": [next, next], "unevaluatedProperties": next})),
            "{\"x\": {\"y\": 1}}".to_owned(),
        )
    }),
    ("dependent twice", |size| {
        (
            ladder(size, |next| json!({"dependentSchemas": {"x": next}, "allOf": [next]})),
            "{\"x\": {\"x\": 1}}".to_owned(),
        )
    }),
    ("dynamic references", |size| {
        let node = json!({"$dynamicRef": "#node"});
        let schema = json!({"$dynamicAnchor": "node", "properties": {"a": node, "b": node}, "allOf": [{"items": node}, {"items": node}]});
        (schema, nested(size.min(3_000), "{\"a\":", "1", "}"))
    }),
    ("members twice", |size| {
        let node = json!({"$ref": "#"});
        let schema = json!({"type": "object", "properties": {"a": node}, "patternProperties": {"^a": node}, "additionalProperties": node});
        (schema, nested(size.min(3_000), "{\"a\":", "1", "}"))
    }),
    ("mutual recursion", |size| {
        let (a, b) = (json!({"$ref": "#/$defs/a"}), json!({"$ref": "#/$defs/b"}));
        let schema = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [b, {"items": b}, b]}, "b": {"oneOf": [a, {"items": a}, {"type": "string"}]}}});
        (schema, nested(size.min(1_000), "[", "1", "]"))
    }),
    ("duplicate keys", |size| (object(), format!("{{{}\"a\":\"x\"}}", "\"a\":1,".repeat(size / 6)))),
    ("nested duplicate keys", |size| (object(), "{\"a\":{\"b\":1,\"b\":2},".repeat(size / 20))),
    ("thinking", |size| (object(), "<think>{\"a\":1}</think>".repeat(size / 22))),
    ("brackets while thinking", |size| (object(), "<think>[x]</think>".repeat(size / 18))),
    ("numbers for objects", |size| {
        let item = json!({"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]});
        (
            json!({"type": "object", "properties": {"a": {"type": "array", "items": item}}}),
            format!("{{\"a\":[{}", "1,".repeat(size / 2)),
        )
    }),
    ("union of many branches", |size| {
        let branch = |index: usize| json!({"type": "object", "properties": {format!("k{index}"): {"type": "integer"}}, "required": [format!("k{index}")]});
        let branches: Vec<Value> = (0..size / 100).map(branch).collect();
        (json!({"type": "array", "items": {"anyOf": branches}}), format!("[{}]", "{\"z\":\"1\"},".repeat(size / 100)))
    }),
    ("texts near to choices", |size| {
        let choices: Vec<String> = (0..size / 20).map(|index| format!("choice number {index:05}")).collect();
        (
            json!({"type": "array", "items": {"enum": choices}}),
            format!("[{}]", "\"choise numbr 1234\",".repeat(size / 50)),
        )
    }),
    ("many choices", |size| {
        let choices: Vec<usize> = (0..size / 7).collect();
        (json!({"type": "array", "items": {"enum": choices}}), format!("[{}]", vec!["123"; size / 4].join(",")))
    }),
    ("values in prose", |size| (object(), "{\"a\":1} text ".repeat(size / 13))),
    ("fences", |size| (object(), "```json\n{\n```\n".repeat(size / 14))),
    ("open brackets", |size| (object(), "[{".repeat(size / 2))),
    ("escapes", |size| (object(), format!("{{\"a\": \"{}", "\\u0041\\\"".repeat(size / 8)))),
    ("backtracking pattern", |size| {
        (
            json!({"items": {"pattern": "^(a+)+(?=!)$"}}),
            format!("[{}]", vec!["\"aaaaaaaaaaaaaaaa\""; size / 19].join(",")),
        )
    }),
    ("unique items", |size| {
        (json!({"uniqueItems": true, "items": {"type": "integer"}}), format!("[{}]", numbers(size / 6)))
    }),
    ("contains", |size| (json!({"contains": {"const": -1}, "type": "array"}), format!("[{}]", numbers(size / 6)))),
    ("patterns for keys", |size| {
        let patterns: Map<String, Value> =
            (0..size / 40).map(|index| (format!("^k{index}.*x$"), json!({"type": "string"}))).collect();
        (json!({"patternProperties": patterns, "type": "object"}), keys(size / 12))
    }),
    ("names of keys", |size| {
        (json!({"propertyNames": {"allOf": [{"maxLength": 5}, {"pattern": "^k"}]}, "type": "object"}), keys(size / 12))
    }),
    ("oneOf of many branches", |size| {
        let branches: Vec<Value> = (0..size / 60).map(|index| json!({"minimum": index, "multipleOf": 3})).collect();
        (json!({"type": "array", "items": {"oneOf": branches}}), format!("[{}]", numbers(size / 60)))
    }),
    ("JSON inside texts", |size| {
        let mut text = format!("[{}]", vec!["1"; size / 40].join(","));
        while text.len() < size / 2 {
            text = json!([text]).to_string();
        }
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/a"}]}}}}),
            text,
        )
    }),
    ("repairs in a deep place", |size| {
        let key = format!("{{\"{}\":", "k".repeat(size / 1_000));
        (json!({"type": "object"}), format!("{}[{}", key.repeat(500), "'a' ".repeat(size / 8)))
    }),
    ("calls in tags", |size| (object(), "<function=a><parameter=b>1</parameter></function>".repeat(size / 50))),
];

fn object() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
}

/// Definitions that lead to the next one, the last one to a text; as many as have the size.
fn ladder(size: usize, rung: impl Fn(&Value) -> Value) -> Value {
    let reference = |index: usize| json!({ "$ref": format!("#/$defs/a{index}") });
    let length = rung(&reference(1_000)).to_string().len() + 8;
    let count = (size / length).max(1);
    let mut definitions: Map<String, Value> =
        (0..count).map(|index| (format!("a{index}"), rung(&reference(index + 1)))).collect();
    definitions.insert(format!("a{count}"), json!({"type": "integer"}));
    json!({"type": "object", "properties": {"x": reference(0)}, "required": ["x"], "$defs": definitions})
}

fn nested(size: usize, open: &str, inner: &str, close: &str) -> String {
    let depth = (size / (open.len() + close.len())).min(500);
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn numbers(count: usize) -> String {
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    numbers.join(",")
}

fn keys(count: usize) -> String {
    let members: Map<String, Value> = (0..count).map(|index| (format!("k{index}"), json!(1))).collect();
    Value::Object(members).to_string()
}
