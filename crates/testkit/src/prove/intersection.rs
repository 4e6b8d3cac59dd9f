//! Computes intersections of schemas, alternative by alternative. Where that cannot be expressed
//! exactly, the result is too wide, never too narrow.

use serde_json::{Map, Value, json};

/// How many alternatives an intersection may have.
const MAX_ALTERNATIVES: usize = 64;

/// How many references are followed, one after the other.
const MAX_REFERENCES: usize = 8;

/// Where definitions stand, which say nothing by themselves.
pub(super) const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Where a schema is given a number, to be found again where it is said otherwise. No name of a property is like that.
pub(super) const NUMBER: &str = "\0number";

/// Whether a word says nothing about values.
pub(super) fn is_annotation(word: &str) -> bool {
    DEFINITIONS.contains(&word) || word == NUMBER
}

/// Words that make a schema depend on where it stands, or on what its neighbours have looked at.
const BOUND: [&str; 6] =
    ["$id", "$anchor", "$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"];

/// Words that are only understood together.
const TOGETHER: [&[&str]; 2] = [&["if", "then", "else"], &["contains", "minContains", "maxContains"]];

/// Words that hold a bound, and whether the greater one asks more.
const BOUNDS: [(&str, BoundSense); 10] = [
    ("minimum", BoundSense::More),
    ("exclusiveMinimum", BoundSense::More),
    ("minLength", BoundSense::More),
    ("minItems", BoundSense::More),
    ("minProperties", BoundSense::More),
    ("maximum", BoundSense::Less),
    ("exclusiveMaximum", BoundSense::Less),
    ("maxLength", BoundSense::Less),
    ("maxItems", BoundSense::Less),
    ("maxProperties", BoundSense::Less),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundSense {
    More,
    Less,
}

type Keywords = Map<String, Value>;

/// Takes intersections of one document apart and puts them together again.
pub(super) struct Merger<'s> {
    pub(super) root: &'s Value,
    /// How many schemas may still be put together.
    pub(super) left: usize,
}

impl Merger<'_> {
    /// Schemas without unions, references and intersections at their top, one of which every value of a schema has.
    pub(super) fn alternatives(&mut self, schema: &Value) -> Option<Vec<Value>> {
        let all = self.flat(schema, MAX_REFERENCES)?;
        Some(all.into_iter().map(Value::Object).collect())
    }

    fn flat(&mut self, schema: &Value, references: usize) -> Option<Vec<Keywords>> {
        self.left = self.left.checked_sub(1)?;
        let map = match schema {
            Value::Bool(true) => return Some(vec![Map::new()]),
            Value::Bool(false) => return Some(Vec::new()),
            Value::Object(map) => map,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
        };
        if BOUND.iter().any(|word| map.contains_key(*word)) {
            return None;
        }
        let mut own = Map::new();
        let mut all = vec![Map::new()];
        for (word, value) in map {
            match (word.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    let target = target(self.root, reference)?;
                    all = together(&all, &self.flat(target, references.checked_sub(1)?)?)?;
                }
                ("allOf", Value::Array(parts)) => {
                    for part in parts {
                        all = together(&all, &self.flat(part, references)?)?;
                    }
                }
                ("anyOf" | "oneOf", Value::Array(branches)) => {
                    let mut any = Vec::new();
                    for branch in branches {
                        any.extend(self.flat(branch, references)?);
                    }
                    all = together(&all, &any)?;
                }
                (word, _) if is_annotation(word) => {}
                (_, value) => _ = own.insert(word.clone(), value.clone()),
            }
        }
        together(&all, &[own])
    }
}

fn together(some: &[Keywords], others: &[Keywords]) -> Option<Vec<Keywords>> {
    if some.len() * others.len() > MAX_ALTERNATIVES {
        return None;
    }
    Some(some.iter().flat_map(|one| others.iter().filter_map(|other| both(one, other))).collect())
}

/// What two schemas ask together, or `None` where no value has both.
fn both(one: &Keywords, other: &Keywords) -> Option<Keywords> {
    let mut out = one.clone();
    properties(one, other, &mut out);
    items(one, other, &mut out);
    for (word, asked) in other {
        let Some(own) = one.get(word) else {
            let mut with_it = TOGETHER.iter().filter(|words| words.contains(&word.as_str())).copied().flatten();
            if !with_it.any(|word| one.contains_key(*word)) {
                out.entry(word.clone()).or_insert_with(|| asked.clone());
            }
            continue;
        };
        match (word.as_str(), own, asked) {
            ("type", ..) => _ = out.insert(word.clone(), types(own, asked)?),
            ("required", Value::Array(own), Value::Array(asked)) => {
                let more = asked.iter().filter(|name| !own.contains(name));
                out.insert(word.clone(), own.iter().chain(more).cloned().collect());
            }
            ("enum", Value::Array(own), Value::Array(asked)) => {
                let common: Vec<&Value> =
                    own.iter().filter(|value| !is_plain(value) || asked.contains(value)).collect();
                if common.is_empty() {
                    return None;
                }
                out.insert(word.clone(), json!(common));
            }
            ("const", own, asked) if own != asked && is_plain(own) => return None,
            ("uniqueItems", _, Value::Bool(true)) => _ = out.insert(word.clone(), json!(true)),
            (word, ..) => {
                let asks = BOUNDS.iter().find(|(bound, _)| *bound == word).map(|(_, asks)| *asks);
                let asks_more = asks.zip(own.as_f64()).zip(asked.as_f64()).is_some_and(|((asks, own), asked)| {
                    (asks == BoundSense::More && asked > own) || (asks == BoundSense::Less && asked < own)
                });
                if asks_more {
                    out.insert(word.to_owned(), asked.clone());
                }
            }
        }
    }
    Some(out)
}

/// Whether a value is written in one way only.
fn is_plain(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::String(_))
}

/// The types that two lists of types have in common, or `None` where there are none.
fn types(one: &Value, other: &Value) -> Option<Value> {
    let named = |value: &Value| match value {
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(name) => vec![name.clone()],
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let (one, other) = (named(one), named(other));
    let has = |list: &[String], name: &str| list.iter().any(|own| own == name);
    let is_in = |list: &[String], name: &str| has(list, name) || (name == "integer" && has(list, "number"));
    let mut common: Vec<&String> = one.iter().filter(|name| is_in(&other, name)).collect();
    common.extend(other.iter().filter(|name| is_in(&one, name) && !has(&one, name)));
    match common.as_slice() {
        [] => None,
        [only] => Some(json!(only)),
        _ => Some(json!(common)),
    }
}

/// Properties, each with what both ask of it. What is asked of keys that only a pattern tells apart is left out.
fn properties(one: &Keywords, other: &Keywords, out: &mut Keywords) {
    let named = |words: &Keywords, word: &str| words.get(word).and_then(Value::as_object).cloned().unwrap_or_default();
    let says = |words: &Keywords| {
        ["properties", "patternProperties", "additionalProperties"].iter().any(|word| words.contains_key(*word))
    };
    if !(says(one) && says(other)) {
        return;
    }
    let others_of = |words: &Keywords| words.get("additionalProperties").cloned().unwrap_or(json!(true));
    let undeclared = |words: &Keywords| {
        if named(words, "patternProperties").is_empty() { others_of(words) } else { json!(true) }
    };
    let mut all = Map::new();
    let (own, asked) = (named(one, "properties"), named(other, "properties"));
    for (name, own) in &own {
        let asked = asked.get(name).cloned().unwrap_or_else(|| undeclared(other));
        all.insert(name.clone(), intersection(own.clone(), asked));
    }
    for (name, asked) in asked.into_iter().filter(|(name, _)| !own.contains_key(name)) {
        all.insert(name, intersection(asked, undeclared(one)));
    }
    let mut patterns = named(one, "patternProperties");
    for (pattern, asked) in named(other, "patternProperties") {
        let own = patterns.remove(&pattern).unwrap_or(json!(true));
        patterns.insert(pattern, intersection(own, asked));
    }
    out.insert("properties".to_owned(), Value::Object(all));
    if !patterns.is_empty() {
        out.insert("patternProperties".to_owned(), Value::Object(patterns));
    }
    out.insert("additionalProperties".to_owned(), intersection(others_of(one), others_of(other)));
}

/// Items, each with what both ask of it.
fn items(one: &Keywords, other: &Keywords, out: &mut Keywords) {
    let says = |words: &Keywords| words.contains_key("items") || words.contains_key("prefixItems");
    if !(says(one) && says(other)) {
        return;
    }
    let places = |words: &Keywords| words.get("prefixItems").and_then(Value::as_array).cloned().unwrap_or_default();
    let rest = |words: &Keywords| words.get("items").cloned().unwrap_or(json!(true));
    let (own, asked) = (places(one), places(other));
    let prefix: Vec<Value> = (0..own.len().max(asked.len()))
        .map(|index| {
            let at = |places: &[Value], words: &Keywords| places.get(index).cloned().unwrap_or_else(|| rest(words));
            intersection(at(&own, one), at(&asked, other))
        })
        .collect();
    if !prefix.is_empty() {
        out.insert("prefixItems".to_owned(), Value::Array(prefix));
    }
    out.insert("items".to_owned(), intersection(rest(one), rest(other)));
}

fn intersection(one: Value, other: Value) -> Value {
    match (one.as_bool(), other.as_bool()) {
        (Some(true), _) | (_, Some(false)) => other,
        (_, Some(true)) | (Some(false), _) => one,
        _ if one == other => one,
        _ => json!({ "allOf": [one, other] }),
    }
}

/// Looks for what keeps two schemas of two documents apart.
pub(super) struct DisjointnessCheck<'s> {
    pub(super) roots: (&'s Value, &'s Value),
    /// How many pairs may still be looked at.
    pub(super) left: usize,
}

impl<'s> DisjointnessCheck<'s> {
    /// Whether it is plain that two schemas have no value in common: by their types, by their values, by a property that both
    /// need.
    pub(super) fn are_disjoint(&mut self, one: &'s Value, other: &'s Value) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let (Value::Object(words), Value::Object(others)) = (one, other) else {
            return is_never(one) || is_never(other);
        };
        let list = |words: &'s Keywords, word: &str| words.get(word).and_then(Value::as_array).map(Vec::as_slice);
        let led = |root: &'s Value, words: &Keywords| words.get("$ref").and_then(|to| target(root, to.as_str()?));
        self.by_words(words, others)
            || led(self.roots.0, words).is_some_and(|one| self.are_disjoint(one, other))
            || led(self.roots.1, others).is_some_and(|other| self.are_disjoint(one, other))
            || list(words, "allOf").is_some_and(|parts| parts.iter().any(|one| self.are_disjoint(one, other)))
            || list(others, "allOf").is_some_and(|parts| parts.iter().any(|other| self.are_disjoint(one, other)))
            || ["anyOf", "oneOf"].iter().any(|word| {
                list(words, word).is_some_and(|all| all.iter().all(|one| self.are_disjoint(one, other)))
                    || list(others, word).is_some_and(|all| all.iter().all(|other| self.are_disjoint(one, other)))
            })
    }

    fn by_words(&mut self, one: &'s Keywords, other: &'s Keywords) -> bool {
        let Some(both) = both(one, other) else { return true };
        if let Some((own, asked)) = listed(one).zip(listed(other))
            && own.iter().all(|value| is_plain(value) && !asked.contains(value))
        {
            return true;
        }
        let own = |words: &'s Keywords, name: &str| words.get("properties").and_then(|properties| properties.get(name));
        let is_object = [one, other].iter().any(|words| words.get("type").is_some_and(|kind| kind == "object"));
        let needed = both.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let never = |name: &str| both.get("properties").and_then(|all| all.get(name)).is_some_and(is_never);
        is_object
            && needed.into_iter().any(|name| match (own(one, name), own(other, name)) {
                (Some(own), Some(asked)) => self.are_disjoint(own, asked),
                _ => never(name),
            })
    }
}

/// The values that a schema lists, and perhaps more than it accepts.
pub(super) fn listed(words: &Keywords) -> Option<&[Value]> {
    match (words.get("const"), words.get("enum")) {
        (Some(only), _) => Some(std::slice::from_ref(only)),
        (None, Some(Value::Array(values))) => Some(values),
        (None, _) => None,
    }
}

/// What a reference leads to that is a place in the same document.
pub(super) fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let place = reference.strip_prefix('#')?;
    if place.contains('%') { None } else { root.pointer(place) }
}

/// Whether a schema says that no value has it.
pub(super) fn is_never(schema: &Value) -> bool {
    let list = |word: &str| schema.get(word).and_then(Value::as_array);
    schema.as_bool() == Some(false)
        || list("allOf").is_some_and(|parts| parts.iter().any(is_never))
        || list("anyOf").is_some_and(|branches| branches.iter().all(is_never))
}
