//! Prepares schemas for a comparison part by part: conjunctions are split, and parts that are taken out of their document
//! get the definitions that they need.

use std::collections::{BTreeSet, HashMap};

use polywire_schema::internals::unescaped;
use serde_json::{Map, Value, json};

use super::intersection::{DEFINITIONS, Merger, NUMBER, is_annotation};
use super::normalize::each_schema;

/// How many intersections within intersections are said in one piece.
const MAX_NESTING: usize = 4;

/// How many schemas are looked at to say intersections in one piece.
const MAX_MERGED: usize = 5_000;

/// Words that are taken apart from what stands beside them.
const ALONE: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];

/// Words that are asked for together. Every other word is asked for by itself, whatever stands beside it.
const GROUPS: [&[&str]; 6] = [
    &["properties", "required", "additionalProperties", "patternProperties"],
    &["items", "prefixItems", "minItems", "maxItems", "uniqueItems"],
    &["minLength", "maxLength", "pattern", "format"],
    &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
    &["if", "then", "else"],
    &["contains", "minContains", "maxContains"],
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparisonRole {
    /// Whether it covers another.
    Outer,
    /// Whether it is covered.
    Inner,
}

/// A schema made ready for either role.
pub(super) struct Decomposed {
    pub(super) outer: Value,
    pub(super) inner: Value,
}

impl Decomposed {
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let schema = numbered(schema);
        Ok(Self {
            outer: decomposed(&schema, ComparisonRole::Outer)?,
            inner: decomposed(&schema, ComparisonRole::Inner)?,
        })
    }
}

/// A document that references lead into, in either role.
pub(super) struct Document<'s> {
    pub(super) outer: &'s Value,
    pub(super) inner: &'s Value,
    outer_by_number: HashMap<u64, &'s Value>,
    inner_by_number: HashMap<u64, &'s Value>,
}

impl<'s> Document<'s> {
    pub(super) fn of(apart: &'s Decomposed) -> Self {
        let Decomposed { outer, inner } = apart;
        Self { outer, inner, outer_by_number: by_number(outer), inner_by_number: by_number(inner) }
    }

    /// A schema of this document as it is said in a role. What has no number means the same in either.
    pub(super) fn schema_for(&self, schema: &'s Value, role: ComparisonRole) -> &'s Value {
        let number = schema.get(NUMBER).and_then(Value::as_u64);
        let said = match role {
            ComparisonRole::Outer => &self.outer_by_number,
            ComparisonRole::Inner => &self.inner_by_number,
        };
        number.and_then(|number| said.get(&number).copied()).unwrap_or(schema)
    }
}

/// A schema in which a union, an intersection and a reference stand alone, and a type is one type. What is referred to by its
/// place is still there, or is nowhere. An outer one asks its words one group at a time; an inner one also says its
/// intersections in one piece.
fn decomposed(schema: &Value, role: ComparisonRole) -> Result<Value, String> {
    let mut apart = schema.clone();
    let mut merger = Merger { root: schema, left: MAX_MERGED };
    let mut is_elsewhere = false;
    each_schema(&mut apart, "", &mut |map, at| {
        // A reference in there does not lead into this document.
        is_elsewhere |= map.contains_key("$id") && !at.is_empty();
        // These look at what their neighbours have looked at.
        if map.keys().any(|key| key.starts_with("unevaluated")) || map.contains_key("$id") {
            return;
        }
        let alone: Vec<&str> = ALONE.into_iter().filter(|word| map.contains_key(*word)).collect();
        let words = map.keys().filter(|key| !is_annotation(key)).count();
        if !alone.is_empty() && (words > 1 || (role == ComparisonRole::Inner && alone == ["allOf"])) {
            let whole = Value::Object(map.clone());
            // Recursion would have no end.
            let is_merged = role == ComparisonRole::Inner && at.matches("/allOf/").count() < MAX_NESTING;
            let mut all = map.remove("allOf").and_then(|all| all.as_array().cloned()).unwrap_or_default();
            all.extend(alone.iter().filter_map(|word| Some(json!({ *word: map.remove(*word)? }))));
            let rest = without_annotations(map);
            all.extend((!rest.is_empty()).then_some(Value::Object(rest)));
            if is_merged {
                all.extend(merger.alternatives(&whole).map(|any| json!({ "anyOf": any })));
            }
            map.insert("allOf".to_owned(), Value::Array(all));
        } else if let Some(kinds) = map.get("type").and_then(Value::as_array).cloned() {
            let rest = without_annotations(map);
            let of_kind = |kind: &Value| {
                let mut own = rest.clone();
                own.insert("type".to_owned(), kind.clone());
                Value::Object(own)
            };
            map.insert("anyOf".to_owned(), kinds.iter().map(of_kind).collect());
        } else if role == ComparisonRole::Outer && groups(map).len() > 1 {
            let rest = without_annotations(map);
            map.insert("allOf".to_owned(), groups(&rest).into_iter().map(Value::Object).collect());
        }
    })?;
    if is_elsewhere { Err("schemas with names of their own".to_owned()) } else { Ok(apart) }
}

/// Takes all that says something out of a schema.
fn without_annotations(map: &mut Map<String, Value>) -> Map<String, Value> {
    let (kept, rest) = std::mem::take(map).into_iter().partition(|(key, _)| is_annotation(key));
    *map = kept;
    rest
}

/// The words of a schema that are asked for together, each group with the type that it is asked of.
fn groups(map: &Map<String, Value>) -> Vec<Map<String, Value>> {
    let group_of = |word: &str| GROUPS.iter().position(|group| group.contains(&word));
    let mut groups: Vec<(Option<usize>, Map<String, Value>)> = Vec::new();
    for (word, value) in map.iter().filter(|(word, _)| *word != "type" && !is_annotation(word)) {
        let group = group_of(word);
        match groups.iter_mut().find(|(own, _)| own.is_some() && *own == group) {
            Some((_, words)) => _ = words.insert(word.clone(), value.clone()),
            None => groups.push((group, Map::from_iter([(word.clone(), value.clone())]))),
        }
    }
    let kind = map.get("type");
    let with_kind = |(_, mut words): (_, Map<String, Value>)| {
        words.extend(kind.map(|kind| ("type".to_owned(), kind.clone())));
        words
    };
    groups.into_iter().map(with_kind).collect()
}

/// The schema with a number for every schema in it.
fn numbered(schema: &Value) -> Value {
    let (mut out, mut count) = (schema.clone(), 0_u64);
    let done = each_schema(&mut out, "", &mut |map, _| {
        count += 1;
        map.insert(NUMBER.to_owned(), count.into());
    });
    // Where it is too deep, nothing is found again.
    if done.is_ok() { out } else { schema.clone() }
}

/// The schemas of a document by their numbers.
fn by_number(schema: &Value) -> HashMap<u64, &Value> {
    let mut found = HashMap::new();
    let mut open = vec![schema];
    while let Some(one) = open.pop() {
        match one {
            Value::Object(map) => {
                found.extend(map.get(NUMBER).and_then(Value::as_u64).map(|number| (number, one)));
                let is_data = |word: &str| ["const", "enum"].contains(&word);
                open.extend(map.iter().filter(|(word, _)| !is_data(word)).map(|(_, value)| value));
            }
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

/// Takes the numbers out again.
fn forget_numbers(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove(NUMBER);
            map.values_mut().for_each(forget_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A part of a document that can stand alone: with the definitions that it leads to.
pub(super) fn with_definitions(schema: &Value, root: &Value) -> Value {
    let mut alone = schema.clone();
    let mut needed: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(one) = open.pop() {
        references(one, &mut |reference| {
            let mut steps = reference.strip_prefix("#/").unwrap_or_default().split('/');
            let place = steps.next().zip(steps.next());
            let definition = place.and_then(|(word, name)| Some((word, name, definition(root, word, name)?)));
            if let Some((word, name, target)) = definition
                && needed.insert((word, name))
            {
                open.push(target);
            }
        });
    }
    if let Some(map) = alone.as_object_mut() {
        for word in DEFINITIONS {
            let of_word = needed.iter().filter(|(own, _)| *own == word);
            let own: Map<String, Value> = of_word
                .filter_map(|(_, name)| Some((unescaped(name).into_owned(), definition(root, word, name)?.clone())))
                .collect();
            if !own.is_empty() {
                map.insert(word.to_owned(), Value::Object(own));
            }
        }
    }
    forget_numbers(&mut alone);
    alone
}

fn definition<'s>(root: &'s Value, word: &str, name: &str) -> Option<&'s Value> {
    DEFINITIONS.contains(&word).then(|| root.get(word)?.get(unescaped(name).as_ref())).flatten()
}

/// Visits the references in a schema, wherever they stand.
fn references<'s>(schema: &'s Value, visit: &mut dyn FnMut(&'s str)) {
    match schema {
        Value::Object(map) => {
            map.get("$ref").and_then(Value::as_str).into_iter().for_each(&mut *visit);
            map.values().for_each(|value| references(value, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

pub(super) fn refers(schema: &Value) -> bool {
    let mut found = false;
    references(schema, &mut |_| found = true);
    found
}
