//! Whether one schema covers another, part by part: objects by their properties, arrays by their items, unions by their
//! branches, references by what they lead to. What has no such parts is left to the judge. So neither size nor recursion,
//! which canonical forms do not follow, stands in the way.
//!
//! A pair of schemas that is met again further down in the value is taken to hold, as it is being shown: values are finite.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::apart::{Role, refers, taken_apart, with_definitions};
use super::merge::{DEFINITIONS, are_apart, is_never, target};

/// How many pairs are looked at.
const MOST_STEPS: usize = 200_000;

/// Pairs within pairs beyond this depth are given up.
const DEEPEST: usize = 512;

/// How many pairs of an enumeration are left to the judge.
const MOST_LEAVES: usize = 2_000;

/// Words of an object, and of an array, that are compared part by part.
const OF_OBJECTS: [&str; 5] = ["type", "properties", "required", "additionalProperties", "patternProperties"];
const OF_ARRAYS: [&str; 6] = ["type", "items", "prefixItems", "minItems", "maxItems", "uniqueItems"];

/// Words of objects and arrays of which parts tell all.
const PLAIN: [&str; 5] = ["type", "properties", "required", "additionalProperties", "items"];

/// Words that mean the same whatever stands beside them.
const BY_THEMSELVES: [&str; 19] = [
    "const",
    "dependentRequired",
    "dependentSchemas",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "pattern",
    "propertyNames",
];

static TRUE: Value = Value::Bool(true);

/// Who judges what has no parts: whether the first of two schemas covers the second, and whether they have nothing in common.
pub(super) trait Judge {
    fn covers(&mut self, outer: &Value, inner: &Value) -> bool;
    fn are_apart(&mut self, outer: &Value, inner: &Value) -> bool;
    fn matches(&mut self, pattern: &str, key: &str) -> bool;
    /// Hears of two schemas of which it could not be shown.
    fn could_not(&mut self, stuck: &Stuck<'_>);
}

/// Where it could not be shown that one schema covers another.
pub(super) struct Stuck<'p> {
    pub(super) outer: &'p Value,
    pub(super) inner: &'p Value,
    /// The way down in the inner document: what is passed, and by which step.
    pub(super) trail: &'p [(&'p Value, Step<'p>)],
    /// The inner document.
    root: &'p Value,
}

impl Stuck<'_> {
    /// What is passed on the way, innermost first, each able to stand alone.
    pub(super) fn passed(&self) -> impl Iterator<Item = (Value, Step<'_>)> {
        self.trail.iter().rev().map(|(schema, step)| (with_definitions(schema, self.root), *step))
    }
}

/// A step down in a value.
#[derive(Clone, Copy)]
pub(super) enum Step<'s> {
    Key(&'s str),
    /// To a key that matches a pattern.
    Matching(&'s str),
    /// To a key that is not declared.
    Other,
    Item(usize),
}

/// Whether every value of `inner` is one of `outer`, as far as that can be shown part by part.
pub(super) fn covers(outer: &Value, inner: &Value, judge: &mut dyn Judge) -> bool {
    let (Ok(outer), Ok(inner)) = (taken_apart(outer, Role::Outer), taken_apart(inner, Role::Inner)) else {
        return false;
    };
    let (outer, inner) = (&outer, &inner);
    let mut parts = Parts {
        roots: (outer, inner),
        judge,
        held: HashMap::new(),
        order: Vec::new(),
        failed: HashSet::new(),
        trail: Vec::new(),
        trying: None,
        depth: 0,
        steps_left: MOST_STEPS,
        leaves_left: MOST_LEAVES,
    };
    parts.covers(outer, inner)
}

/// Two schemas by where they stand.
type Pair = (usize, usize);

/// What is known of a pair that was not refuted.
#[derive(Clone, Copy)]
struct Held {
    /// How far down in the value it was met.
    level: usize,
    is_shown: bool,
}

struct Parts<'s, 'j> {
    /// The documents that references lead into.
    roots: (&'s Value, &'s Value),
    judge: &'j mut dyn Judge,
    held: HashMap<Pair, Held>,
    /// The same pairs in the order in which they were met: what rests on a pair that is refuted goes with it.
    order: Vec<Pair>,
    failed: HashSet<Pair>,
    /// The way down in the value.
    trail: Vec<(&'s Value, Step<'s>)>,
    /// How far down in the value the branches of a union are tried.
    trying: Option<usize>,
    depth: usize,
    steps_left: usize,
    leaves_left: usize,
}

impl<'s> Parts<'s, '_> {
    fn covers(&mut self, outer: &'s Value, inner: &'s Value) -> bool {
        if says_nothing(outer) || inner.as_bool() == Some(false) {
            return true;
        }
        let pair = (std::ptr::from_ref(outer) as usize, std::ptr::from_ref(inner) as usize);
        let Some(left) = self.steps_left.checked_sub(1).filter(|_| self.depth < DEEPEST) else { return false };
        self.steps_left = left;
        if self.failed.contains(&pair) {
            return false;
        }
        let deeper = match self.held.get(&pair).copied() {
            Some(held) if self.trail.len() > held.level || (held.is_shown && self.trail.len() == held.level) => {
                return true;
            }
            Some(held) if !held.is_shown => return false,
            // Shown further down, where more may be taken to hold: to be shown again.
            deeper => deeper,
        };
        let before = self.order.len();
        self.held.insert(pair, Held { level: self.trail.len(), is_shown: false });
        self.order.push(pair);
        self.depth += 1;
        let shown = self.shown(outer, inner);
        self.depth -= 1;
        if shown {
            self.held.entry(pair).and_modify(|held| held.is_shown = true);
        } else {
            for gone in self.order.drain(before..) {
                self.held.remove(&gone);
            }
            match deeper {
                Some(deeper) => _ = self.held.insert(pair, deeper),
                None => _ = self.failed.insert(pair),
            }
        }
        shown
    }

    fn shown(&mut self, outer: &'s Value, inner: &'s Value) -> bool {
        if let Some(target) = referred(self.roots.1, inner) {
            return self.covers(outer, target);
        }
        if let Some(target) = referred(self.roots.0, outer) {
            return self.covers(target, inner);
        }
        if let Some(parts) = branches(outer, &["allOf"]) {
            return parts.iter().all(|part| self.covers(part, inner));
        }
        if let Some(branches) = branches(inner, &["anyOf", "oneOf"]) {
            return branches.iter().all(|branch| self.covers(outer, branch));
        }
        if let Some(branches) = branches(outer, &["anyOf"]) {
            let around = self.trying.replace(self.trail.len());
            let covers = branches.iter().any(|branch| self.covers(branch, inner));
            self.trying = around;
            if covers {
                return true;
            }
        }
        if let Some(branches) = branches(outer, &["oneOf"])
            && self.covers_one_of(branches, inner)
        {
            return true;
        }
        if let Some(parts) = branches(inner, &["allOf"])
            && parts.iter().any(|part| self.covers(outer, part))
        {
            return true;
        }
        let told = self.by_parts(outer, inner);
        told == Told::Covered || self.judged(outer, inner, told)
    }

    /// One branch covers it, and the others have nothing in common with it.
    fn covers_one_of(&mut self, branches: &'s [Value], inner: &'s Value) -> bool {
        let Some(only) = branches.iter().position(|branch| self.covers(branch, inner)) else { return false };
        let others = branches.iter().enumerate().filter(|(index, _)| *index != only);
        let alone = with_definitions(inner, self.roots.1);
        let (roots, judge) = (self.roots, &mut self.judge);
        let mut others = others.map(|(_, other)| referred(roots.0, other).unwrap_or(other));
        others.all(|other| are_apart(other, inner) || judge.are_apart(&with_definitions(other, roots.0), &alone))
    }

    fn by_parts(&mut self, outer: &'s Value, inner: &'s Value) -> Told {
        let (Value::Object(asked), Value::Object(own)) = (outer, inner) else { return Told::Nothing };
        // A schema that was not taken apart: it stands where none was expected.
        if [asked, own].iter().any(|map| map.get("type").is_some_and(Value::is_array)) {
            return Told::Nothing;
        }
        let kinds = (asked.get("type").and_then(Value::as_str), own.get("type").and_then(Value::as_str));
        let accepts_kind = match kinds {
            (None, _) => true,
            (Some(asked), Some(own)) => asked == own || (asked, own) == ("number", "integer"),
            (Some(_), None) => false,
        };
        if !accepts_kind {
            // Listed values may be of yet another type, and then there are none.
            let is_other = kinds.0.zip(kinds.1).is_some_and(|kinds| kinds != ("integer", "number"));
            let lists = own.contains_key("enum") || own.contains_key("const");
            return if is_other && !lists { Told::OtherType } else { Told::Nothing };
        }
        // Words of objects ask nothing of other values, and those of arrays neither.
        let of = |kind: &str, words: &[&str]| says_only(asked, words) && kinds.1.is_none_or(|own| own == kind);
        let asks_nothing =
            |words: &[&str], kind: &str| says_only(asked, words) && kinds.1.is_some_and(|own| own != kind);
        let covers = if of("object", &OF_OBJECTS) {
            self.objects(&Object::of(asked), &Object::of(own), inner)
        } else if of("array", &OF_ARRAYS) {
            self.arrays(asked, own, inner)
        } else {
            asks_nothing(&OF_OBJECTS, "object") || asks_nothing(&OF_ARRAYS, "array") || self.echoes(asked, own)
        };
        // Words that have no parts may still make the inner one small enough.
        let is_all = says_only(asked, &PLAIN) && says_only(own, &PLAIN);
        match covers {
            true => Told::Covered,
            false if is_all => Told::NotCovered,
            false => Told::Nothing,
        }
    }

    /// Whether each word of the outer one is among those of the inner one, or asks no more.
    fn echoes(&mut self, outer: &'s Map<String, Value>, inner: &'s Map<String, Value>) -> bool {
        let needed: HashSet<&str> =
            inner.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        outer.iter().filter(|(word, _)| *word != "type" && !DEFINITIONS.contains(&word.as_str())).all(
            |(word, asked)| {
                if word == "minProperties" && asked.as_u64().is_some_and(|least| least <= needed.len() as u64) {
                    return true;
                }
                let Some(own) = inner.get(word).filter(|_| BY_THEMSELVES.contains(&word.as_str())) else {
                    return false;
                };
                // The names of an object are further down: they are no objects themselves.
                (own == asked && !refers(own)) || (word == "propertyNames" && self.covers(asked, own))
            },
        )
    }

    /// What else the inner one asks makes it smaller, and is not looked at.
    fn objects(&mut self, outer: &Object<'s>, inner: &Object<'s>, at: &'s Value) -> bool {
        if inner.properties.iter().any(|(name, own)| is_never(own) && inner.required.contains(name.as_str())) {
            return true;
        }
        if !outer.required.iter().all(|name| inner.required.contains(name)) {
            return false;
        }
        let undeclared = || outer.properties.iter().filter(|(name, _)| inner.property(name).is_none());
        // Keys that the inner one declares, and those that only the outer one declares.
        for (name, own) in &inner.properties {
            if !self.asked_of(outer, name, own, at) {
                return false;
            }
        }
        let sources: Vec<&'s Value> = inner.patterns.iter().map(|(_, own)| *own).chain([inner.others]).collect();
        if !undeclared().all(|(name, _)| sources.iter().all(|own| self.asked_of(outer, name, own, at))) {
            return false;
        }
        // Keys that match a pattern of the inner one, and those that match none.
        for (pattern, own) in &inner.patterns {
            let is_same = outer.patterns.iter().any(|(outer, _)| outer == pattern);
            let asked = outer.patterns.iter().map(|(_, asked)| *asked).chain((!is_same).then_some(outer.others));
            if !asked.into_iter().all(|asked| self.below(at, Step::Matching(pattern), asked, own)) {
                return false;
            }
        }
        let is_told = |pattern: &String| inner.patterns.iter().any(|(inner, _)| *inner == pattern);
        for (pattern, asked) in outer.patterns.iter().filter(|(pattern, _)| !is_told(pattern)) {
            if !self.below(at, Step::Matching(pattern), asked, inner.others) {
                return false;
            }
        }
        self.below(at, Step::Other, outer.others, inner.others)
    }

    /// Whether what a schema asks of a property covers what the property may be.
    fn asked_of(&mut self, outer: &Object<'s>, name: &'s str, own: &'s Value, at: &'s Value) -> bool {
        if own.as_bool() == Some(false) {
            return true;
        }
        let mut asked: Vec<&'s Value> = outer.property(name).into_iter().collect();
        for (pattern, schema) in &outer.patterns {
            if self.judge.matches(pattern, name) {
                asked.push(schema);
            }
        }
        if asked.is_empty() {
            asked.push(outer.others);
        }
        asked.into_iter().all(|asked| self.below(at, Step::Key(name), asked, own))
    }

    fn below(&mut self, at: &'s Value, step: Step<'s>, outer: &'s Value, inner: &'s Value) -> bool {
        self.trail.push((at, step));
        let covers = self.covers(outer, inner);
        self.trail.pop();
        covers
    }

    fn arrays(&mut self, outer: &'s Map<String, Value>, inner: &'s Map<String, Value>, whole: &'s Value) -> bool {
        let bound = |map: &Map<String, Value>, word: &str| map.get(word).and_then(Value::as_u64);
        let is_unique = |map: &Map<String, Value>| map.get("uniqueItems") == Some(&Value::Bool(true));
        let most = bound(inner, "maxItems");
        if bound(outer, "minItems").unwrap_or(0) > bound(inner, "minItems").unwrap_or(0)
            || bound(outer, "maxItems").is_some_and(|bound| most.is_none_or(|most| most > bound))
            || (is_unique(outer) && !is_unique(inner))
        {
            return false;
        }
        let prefix = |map: &'s Map<String, Value>| {
            map.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
        };
        let rest = |map: &'s Map<String, Value>| map.get("items").unwrap_or(&TRUE);
        let places = prefix(outer).len().max(prefix(inner).len());
        (0..=places).all(|index| {
            let at = |map: &'s Map<String, Value>| prefix(map).get(index).unwrap_or(rest(map));
            most.is_some_and(|most| u64::try_from(index).is_ok_and(|index| index >= most))
                || self.below(whole, Step::Item(index), at(outer), at(inner))
        })
    }

    fn judged(&mut self, outer: &Value, inner: &Value, told: Told) -> bool {
        let Some(left) = self.leaves_left.checked_sub(1) else { return false };
        self.leaves_left = left;
        let (outer, inner) = (with_definitions(outer, self.roots.0), with_definitions(inner, self.roots.1));
        let covers = told == Told::Nothing && self.judge.covers(&outer, &inner);
        // A branch of another type was never meant.
        let is_heard = told != Told::OtherType || self.trying != Some(self.trail.len());
        if !covers && is_heard {
            let stuck = Stuck { outer: &outer, inner: &inner, trail: &self.trail, root: self.roots.1 };
            self.judge.could_not(&stuck);
        }
        covers
    }
}

/// What the parts of two schemas tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Covered,
    NotCovered,
    OtherType,
    Nothing,
}

/// What an object asks of its properties.
struct Object<'s> {
    properties: Vec<(&'s String, &'s Value)>,
    by_name: HashMap<&'s str, &'s Value>,
    patterns: Vec<(&'s String, &'s Value)>,
    others: &'s Value,
    required: HashSet<&'s str>,
}

impl<'s> Object<'s> {
    fn of(map: &'s Map<String, Value>) -> Self {
        let named = |word: &str| map.get(word).and_then(Value::as_object).into_iter().flatten().collect::<Vec<_>>();
        let properties = named("properties");
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
        Self {
            by_name: properties.iter().map(|(name, own)| (name.as_str(), *own)).collect(),
            properties,
            patterns: named("patternProperties"),
            others: map.get("additionalProperties").unwrap_or(&TRUE),
            required: required.filter_map(Value::as_str).collect(),
        }
    }

    fn property(&self, name: &str) -> Option<&'s Value> {
        self.by_name.get(name).copied()
    }
}

fn says_nothing(schema: &Value) -> bool {
    schema.as_bool() == Some(true) || schema.as_object().is_some_and(|map| says_only(map, &[]))
}

fn says_only(map: &Map<String, Value>, words: &[&str]) -> bool {
    map.keys().all(|key| words.contains(&key.as_str()) || DEFINITIONS.contains(&key.as_str()))
}

/// What a schema leads to that is nothing but a reference.
fn referred<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let map = schema.as_object().filter(|map| says_only(map, &["$ref"]))?;
    target(root, map.get("$ref")?.as_str()?)
}

/// The branches of a schema that is nothing but a union.
fn branches<'s>(schema: &'s Value, words: &[&str]) -> Option<&'s [Value]> {
    let map = schema.as_object()?;
    let word = words.iter().find(|word| map.contains_key(**word) && says_only(map, &[**word]))?;
    map.get(*word)?.as_array().map(Vec::as_slice)
}
