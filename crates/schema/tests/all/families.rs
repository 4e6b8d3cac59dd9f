//! Families of schemas that grow with a number and are known to be costly for one reason each: recursive unions, repeated
//! intersections, shared definitions, long lists. The growth benchmark, the tests and the fuzz targets share them.

use serde_json::{Map, Value, json};

/// Schemas that differ in size alone.
pub(crate) struct Family {
    /// What makes it costly.
    pub(crate) name: &'static str,
    /// The member of a size.
    pub(crate) of: fn(usize) -> Value,
}

/// Every family.
pub(crate) const FAMILIES: &[Family] = &[
    Family { name: "mutual-unions", of: mutual_unions },
    Family { name: "self-in-unions", of: self_in_unions },
    Family { name: "self-in-one-of", of: self_in_one_of },
    Family { name: "repeated-all-of", of: repeated_all_of },
    Family { name: "doubled-all-of", of: |n| ladder(n, |next| json!({"allOf": [next, next]})) },
    Family { name: "doubled-any-of", of: |n| ladder(n, |next| json!({"anyOf": [next, next]})) },
    Family { name: "doubled-one-of", of: |n| ladder(n, |next| json!({"oneOf": [next, {"type": "null"}, next]})) },
    Family { name: "doubled-properties", of: |n| ladder(n, doubled_properties) },
    Family { name: "doubled-items", of: |n| ladder(n, |next| json!({"type": "array", "prefixItems": [next, next]})) },
    Family { name: "doubled-if", of: |n| ladder(n, |next| json!({"if": next, "then": next, "else": next})) },
    Family { name: "doubled-not", of: |n| ladder(n, |next| json!({"not": {"anyOf": [next, next]}})) },
    Family { name: "doubled-dependents", of: |n| ladder(n, doubled_dependents) },
    Family { name: "doubled-unevaluated", of: |n| ladder(n, doubled_unevaluated) },
    Family { name: "all-of-any-of", of: all_of_any_of },
    Family { name: "all-of-closed-unions", of: all_of_closed_unions },
    Family { name: "definitions-in-a-ring", of: ring },
    Family { name: "chain-of-references", of: |n| ladder(n, Clone::clone) },
    Family { name: "described-chain", of: |n| ladder(n, described) },
    Family { name: "two-long-enums", of: two_long_enums },
    Family { name: "enums-in-all-of", of: enums_in_all_of },
    Family { name: "tagged-branches", of: tagged_branches },
    Family { name: "alike-branches", of: alike_branches },
    Family { name: "maps-in-a-union", of: maps_in_a_union },
    Family { name: "patterns-and-keys", of: patterns_and_keys },
    Family { name: "patterns-in-all-of", of: patterns_in_all_of },
    Family { name: "conditions", of: conditions },
    Family { name: "exclusions", of: exclusions },
    Family { name: "nested-objects", of: nested_objects },
    Family { name: "nested-unions", of: nested_unions },
    Family { name: "complete-graph", of: complete_graph },
    Family { name: "mutual-intersections", of: mutual_intersections },
    Family { name: "illegal-keys", of: illegal_keys },
    Family { name: "optional-keys", of: optional_keys },
    Family { name: "long-tuple", of: long_tuple },
    Family { name: "recursive-tuples", of: recursive_tuples },
    Family { name: "dynamic-references", of: dynamic_references },
];

/// The largest member of a family of at most so many bytes, and its number.
pub(crate) fn largest(family: &Family, bytes: usize) -> (usize, Value) {
    let mut best = (1, (family.of)(1));
    let mut number = 2;
    while let next = (family.of)(number)
        && next.to_string().len() <= bytes
    {
        best = (number, next);
        number *= 2;
    }
    // Between the last that fits and the first that does not.
    let (mut low, mut high) = (best.0, number);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        let next = (family.of)(middle);
        if next.to_string().len() <= bytes {
            (low, best) = (middle, (middle, next));
        } else {
            high = middle;
        }
    }
    best
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// A root with one property that leads to definition `d0`, of these definitions.
fn rooted(definitions: impl IntoIterator<Item = (String, Value)>) -> Value {
    let definitions: Map<String, Value> = definitions.into_iter().collect();
    json!({"type": "object", "properties": {"x": reference("d0")}, "required": ["x"], "$defs": definitions})
}

/// Definitions that each say something of the next, and a last one that ends them.
fn ladder(count: usize, rung: fn(&Value) -> Value) -> Value {
    let mut definitions: Map<String, Value> =
        (0..count).map(|index| (format!("d{index}"), rung(&reference(&format!("d{}", index + 1))))).collect();
    let last = json!({"type": "object", "properties": {"x": {"type": "integer", "minimum": 3}}});
    definitions.insert(format!("d{count}"), last);
    rooted(definitions)
}

fn doubled_properties(next: &Value) -> Value {
    json!({"type": "object", "properties": {"l": next, "r": next}, "required": ["l"]})
}

fn doubled_dependents(next: &Value) -> Value {
    json!({"type": "object", "properties": {"a": {"type": "string"}}, "dependentSchemas": {"a": next, "b": next}})
}

fn doubled_unevaluated(next: &Value) -> Value {
    json!({"type": "object", "allOf": [next, next], "anyOf": [next, {"properties": {"q": next}}], "unevaluatedProperties": false})
}

fn described(next: &Value) -> Value {
    json!({"$ref": next.get("$ref"), "description": "One more."})
}

/// Definitions that are each a union of all the others and an object.
fn mutual_unions(count: usize) -> Value {
    let union = |own: usize| {
        let others = (0..count).filter(|other| *other != own).map(|other| reference(&format!("d{other}")));
        let object = json!({"type": "object", "properties": {format!("k{own}"): {"type": "string"}}});
        json!({"anyOf": others.chain([object]).collect::<Vec<_>>()})
    };
    rooted((0..count).map(|own| (format!("d{own}"), union(own))))
}

/// A schema that is an intersection of unions of itself and an object that holds it.
fn self_in_unions(count: usize) -> Value {
    let own = || reference("d0");
    let part = |index| json!({"anyOf": [own(), {"type": "object", "properties": {format!("k{index}"): own()}}]});
    let all: Vec<Value> = (0..count).map(part).collect();
    rooted([("d0".to_owned(), json!({"allOf": all}))])
}

fn self_in_one_of(count: usize) -> Value {
    let part = |index| {
        let object = json!({"type": "object", "properties": {format!("k{index}"): {"type": "string"}}});
        json!({"oneOf": [reference("d0"), object]})
    };
    let all: Vec<Value> = (0..count).map(part).collect();
    rooted([("d0".to_owned(), json!({"allOf": all}))])
}

/// The same member of an `allOf` over and over.
fn repeated_all_of(count: usize) -> Value {
    let object = json!({"type": "object", "properties": {"x": {"type": "string"}, "next": reference("d0")}});
    let all: Vec<Value> = (0..count).map(|_| json!({"oneOf": [reference("d0"), object]})).collect();
    rooted([("d0".to_owned(), json!({"allOf": all}))])
}

/// Unions that would have to be multiplied out.
fn all_of_any_of(count: usize) -> Value {
    let union = |index: usize| {
        json!({"anyOf": [
            {"type": "object", "properties": {format!("a{index}"): {"type": "string"}}, "required": [format!("a{index}")]},
            {"type": "object", "properties": {format!("b{index}"): {"type": "integer"}}, "required": [format!("b{index}")]},
        ]})
    };
    let all: Vec<Value> = (0..count).map(union).collect();
    json!({"type": "object", "properties": {"x": {"allOf": all}}})
}

fn all_of_closed_unions(count: usize) -> Value {
    let union = |index: usize| {
        let object = |name: &str| json!({"type": "object", "properties": {"kind": {"const": name}, format!("{name}{index}"): reference("d0")}, "additionalProperties": false});
        json!({"oneOf": [object("a"), object("b"), {"type": "null"}]})
    };
    let all: Vec<Value> = (0..count).map(union).collect();
    rooted([("d0".to_owned(), json!({"allOf": all}))])
}

/// Definitions that lead to each other in one long ring.
fn ring(count: usize) -> Value {
    let member = |index: usize| {
        let next = reference(&format!("d{}", (index + 1) % count));
        json!({"type": "object", "properties": {"next": next, "name": {"type": "string"}}, "required": ["name"]})
    };
    rooted((0..count).map(|index| (format!("d{index}"), member(index))))
}

fn two_long_enums(count: usize) -> Value {
    let values = |letter: &str| (0..count).map(|index| format!("{letter}{index}")).collect::<Vec<_>>();
    json!({"type": "object", "properties": {"x": {"anyOf": [{"enum": values("a")}, {"enum": values("b")}]}}})
}

fn enums_in_all_of(count: usize) -> Value {
    let values: Vec<String> = (0..count).map(|index| format!("v{index}")).collect();
    let reversed: Vec<&String> = values.iter().rev().collect();
    json!({"type": "object", "properties": {"x": {"allOf": [{"enum": values}, {"enum": reversed}]}}})
}

fn tagged_branches(count: usize) -> Value {
    let branch = |index: usize| {
        let properties =
            json!({"kind": {"const": format!("k{index}")}, "value": {"type": "string"}, "next": reference("d0")});
        json!({"type": "object", "properties": properties, "required": ["kind"]})
    };
    let branches: Vec<Value> = (0..count).map(branch).collect();
    rooted([("d0".to_owned(), json!({"oneOf": branches}))])
}

/// Branches that only a validator could tell apart.
fn alike_branches(count: usize) -> Value {
    let branch = |index: usize| {
        let map = json!({"type": "object", "additionalProperties": {"type": "integer", "maximum": index}});
        json!({"type": "object", "properties": {"a": map, "b": {"type": ["string", "object"]}}})
    };
    let branches: Vec<Value> = (0..count).map(branch).collect();
    json!({"type": "object", "properties": {"x": {"anyOf": branches}}})
}

fn maps_in_a_union(count: usize) -> Value {
    let branch = |index: usize| match index % 3 {
        0 => json!({"type": "object", "additionalProperties": {"type": "integer", "minimum": index}}),
        1 => {
            json!({"type": "object", "properties": {format!("k{index}"): reference("d0")}, "additionalProperties": reference("d0")})
        }
        _ => json!({"type": "array", "items": reference("d0"), "minItems": index}),
    };
    let branches: Vec<Value> = (0..count).map(branch).collect();
    rooted([("d0".to_owned(), json!({"anyOf": branches}))])
}

fn patterns_and_keys(count: usize) -> Value {
    let keys: Map<String, Value> = (0..count).map(|index| (format!("key{index}"), json!({"type": "string"}))).collect();
    let patterns: Map<String, Value> =
        (0..count).map(|index| (format!("^k.*{index}$"), json!({"minLength": index}))).collect();
    json!({"type": "object", "properties": keys, "patternProperties": patterns})
}

fn patterns_in_all_of(count: usize) -> Value {
    let part = |index: usize| {
        json!({"type": "object", "properties": {format!("key{index}"): {"type": "string"}},
            "patternProperties": {format!("^k.*{index}$"): {"minLength": index}}, "additionalProperties": {"maxLength": 9}})
    };
    let all: Vec<Value> = (0..count).map(part).collect();
    json!({"type": "object", "properties": {"x": {"allOf": all}}})
}

fn conditions(count: usize) -> Value {
    let condition = |index: usize| {
        let when = json!({"properties": {"kind": {"const": index}}, "required": ["kind"]});
        let then = json!({"properties": {format!("k{index}"): reference("d0")}, "required": [format!("k{index}")]});
        json!({"if": when, "then": then})
    };
    let all: Vec<Value> = (0..count).map(condition).collect();
    let whole = json!({"type": "object", "properties": {"kind": {"type": "integer"}}, "allOf": all});
    rooted([("d0".to_owned(), whole)])
}

fn exclusions(count: usize) -> Value {
    let all: Vec<Value> =
        (0..count).map(|index| json!({"not": {"anyOf": [reference("d0"), {"const": index}]}})).collect();
    let whole = json!({"type": ["integer", "object"], "properties": {"x": reference("d0")}, "allOf": all});
    rooted([("d0".to_owned(), whole)])
}

fn nested_objects(count: usize) -> Value {
    let mut schema = json!({"type": "string"});
    for _ in 0..count.min(100) {
        schema = json!({"type": "object", "properties": {"a": schema, "b": {"type": "string"}}});
    }
    let wide: Map<String, Value> =
        (0..count.div_ceil(100)).map(|index| (format!("w{index}"), schema.clone())).collect();
    json!({"type": "object", "properties": wide})
}

fn nested_unions(count: usize) -> Value {
    let mut schema = json!({"type": "string"});
    for index in 0..count.min(60) {
        let object = json!({"type": "object", "properties": {format!("k{index}"): {"type": "integer"}}});
        schema = json!({"oneOf": [schema, object, {"type": "array", "items": reference("d0")}]});
    }
    let wide: Vec<Value> = (0..count.div_ceil(60)).map(|_| schema.clone()).collect();
    rooted([("d0".to_owned(), json!({"anyOf": wide}))])
}

/// Objects that each have a property for every other.
fn complete_graph(count: usize) -> Value {
    let object = |own: usize| {
        let others = (0..count).filter(|other| *other != own);
        let properties: Map<String, Value> =
            others.map(|other| (format!("p{other}"), reference(&format!("d{other}")))).collect();
        json!({"type": "object", "properties": properties})
    };
    rooted((0..count).map(|own| (format!("d{own}"), object(own))))
}

/// Objects that each hold intersections of two others.
fn mutual_intersections(count: usize) -> Value {
    let object = |own: usize| {
        let both =
            json!([reference(&format!("d{}", (own + 1) % count)), reference(&format!("d{}", (own * 2 + 1) % count))]);
        json!({"type": "object", "properties": {format!("k{own}"): {"type": "string"}, "next": {"allOf": both}}})
    };
    rooted((0..count).map(|own| (format!("d{own}"), object(own))))
}

fn illegal_keys(count: usize) -> Value {
    let keys: Map<String, Value> = (0..count)
        .map(|index| (format!("{}ä", " ".repeat(index % 50 + 1)), json!({"type": "string", "minLength": index})))
        .collect();
    let more: Map<String, Value> = (0..count).map(|index| (format!("é{index}.$"), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": keys.into_iter().chain(more).collect::<Map<_, _>>()})
}

fn optional_keys(count: usize) -> Value {
    let keys: Map<String, Value> =
        (0..count).map(|index| (format!("k{index}"), json!({"type": ["string", "integer"]}))).collect();
    json!({"type": "object", "properties": keys})
}

fn long_tuple(count: usize) -> Value {
    let places: Vec<Value> = (0..count).map(|index| json!({"type": "integer", "minimum": index})).collect();
    json!({"type": "object", "properties": {"x": {"type": "array", "prefixItems": places, "items": false}}})
}

fn recursive_tuples(count: usize) -> Value {
    let tuple = |own: usize| {
        let next = |step: usize| reference(&format!("d{}", (own + step) % count));
        json!({"type": "array", "prefixItems": [next(1), {"anyOf": [next(2), {"type": "null"}]}, {"type": "integer"}]})
    };
    rooted((0..count).map(|own| (format!("d{own}"), tuple(own))))
}

fn dynamic_references(count: usize) -> Value {
    let member = |index: usize| {
        json!({"$dynamicAnchor": format!("a{index}"), "anyOf": [
            {"$dynamicRef": format!("#a{}", (index + 1) % count)},
            {"type": "object", "properties": {"x": {"$dynamicRef": format!("#a{}", (index * 2) % count)}}},
        ]})
    };
    rooted((0..count).map(|index| (format!("d{index}"), member(index))))
}
