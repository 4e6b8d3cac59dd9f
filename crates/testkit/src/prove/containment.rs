//! Decides containment part by part: objects by their properties, arrays by their items, unions by their
//! branches, references by their targets. Schemas without such parts are left to the judge. So neither size nor recursion,
//! which canonical forms do not support, is an obstacle.
//!
//! A pair of schemas that is met again further down in the value is taken to hold, as it is being shown: values are finite.
//! That is so whichever of the two is asked to cover the other, so what stands under `not` is compared the other way round.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::decompose::{ComparisonRole, Decomposed, Document, refers, with_definitions};
use super::intersection::{DisjointnessCheck, is_annotation, is_never, target};

/// How many pairs are looked at.
const MAX_STEPS: usize = 200_000;

/// Pairs within pairs beyond this depth are given up.
const MAX_DEPTH: usize = 512;

/// How many pairs of an enumeration are left to the judge.
const MAX_LEAVES: usize = 2_000;

/// How many pairs that could not be shown are told of.
const MAX_ECHOES: usize = 20;

/// How many pairs are looked at to tell two schemas apart.
const MAX_DISJOINT_CHECKS: usize = 500;

/// Words of an object, and of an array, that are compared part by part.
const OF_OBJECTS: [&str; 5] = ["type", "properties", "required", "additionalProperties", "patternProperties"];
const OF_ARRAYS: [&str; 6] = ["type", "items", "prefixItems", "minItems", "maxItems", "uniqueItems"];

/// Words of objects and arrays of which parts tell all.
const PLAIN: [&str; 5] = ["type", "properties", "required", "additionalProperties", "items"];

/// Words that mean the same whatever stands beside them.
const BY_THEMSELVES: [&str; 16] = [
    "const",
    "dependentRequired",
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
    "pattern",
];

static TRUE: Value = Value::Bool(true);

/// Who judges what has no parts: whether the first of two schemas covers the second, and whether they have nothing in common.
pub(super) trait ContainmentJudge {
    fn covers(&mut self, outer: &Value, inner: &Value) -> bool;
    fn are_disjoint(&mut self, outer: &Value, inner: &Value) -> bool;
    fn matches(&mut self, pattern: &str, key: &str) -> bool;
    /// Hears of two schemas of which it could not be shown.
    fn record_undecided(&mut self, stuck: &UndecidedPair<'_>);
}

/// Where it could not be shown that one schema covers another.
pub(super) struct UndecidedPair<'p> {
    pub(super) outer: &'p Value,
    pub(super) inner: &'p Value,
    /// The way down in the inner document: what is passed, and by which step.
    pub(super) trail: &'p [(&'p Value, Step<'p>)],
    /// Whether another branch of a union may still do.
    pub(super) is_tried: bool,
    /// The inner document.
    root: &'p Value,
}

impl UndecidedPair<'_> {
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
pub(super) fn covers(outer: &Value, inner: &Value, judge: &mut dyn ContainmentJudge) -> bool {
    let (Ok(outer), Ok(inner)) = (Decomposed::of(outer), Decomposed::of(inner)) else { return false };
    let mut parts = Parts {
        documents: (&Document::of(&outer), &Document::of(&inner)),
        judge,
        pair_states: HashMap::new(),
        order: Vec::new(),
        failed: HashSet::new(),
        trail: Vec::new(),
        trying: None,
        trials: 0,
        depth: 0,
        steps_left: MAX_STEPS,
        leaves_left: MAX_LEAVES,
        heard_left: MAX_ECHOES,
    };
    parts.covers(&outer.outer, &inner.inner)
}

/// Two schemas by where they stand.
type Pair = (usize, usize);

#[derive(Clone, Copy)]
struct PairState {
    /// How far down in the value it was met.
    level: usize,
    is_shown: bool,
}

struct Parts<'s, 'j> {
    /// The documents of the outer and of the inner schema.
    documents: (&'j Document<'s>, &'j Document<'s>),
    judge: &'j mut dyn ContainmentJudge,
    pair_states: HashMap<Pair, PairState>,
    /// The same pairs in the order in which they were met: what rests on a pair that is refuted goes with it.
    order: Vec<Pair>,
    failed: HashSet<Pair>,
    /// The way down in the value.
    trail: Vec<(&'s Value, Step<'s>)>,
    /// How far down in the value the branches of a union are tried.
    trying: Option<usize>,
    /// How many questions are asked of which nothing follows where the answer is no.
    trials: usize,
    depth: usize,
    steps_left: usize,
    leaves_left: usize,
    heard_left: usize,
}

impl<'s> Parts<'s, '_> {
    fn roots(&self) -> (&'s Value, &'s Value) {
        (self.documents.0.outer, self.documents.1.inner)
    }

    fn covers(&mut self, outer: &'s Value, inner: &'s Value) -> bool {
        if says_nothing(outer) || inner.as_bool() == Some(false) {
            return true;
        }
        let pair = (std::ptr::from_ref(outer) as usize, std::ptr::from_ref(inner) as usize);
        let Some(left) = self.steps_left.checked_sub(1).filter(|_| self.depth < MAX_DEPTH) else { return false };
        self.steps_left = left;
        if self.failed.contains(&pair) {
            return false;
        }
        let deeper = match self.pair_states.get(&pair).copied() {
            Some(pair_states)
                if self.trail.len() > pair_states.level
                    || (pair_states.is_shown && self.trail.len() == pair_states.level) =>
            {
                return true;
            }
            Some(pair_states) if !pair_states.is_shown => return false,
            // Shown further down, where more may be taken to hold: to be shown again.
            deeper => deeper,
        };
        let before = self.order.len();
        self.pair_states.insert(pair, PairState { level: self.trail.len(), is_shown: false });
        self.order.push(pair);
        self.depth += 1;
        let shown = self.shown(outer, inner);
        self.depth -= 1;
        if shown {
            self.pair_states.entry(pair).and_modify(|pair_states| pair_states.is_shown = true);
        } else {
            for gone in self.order.drain(before..) {
                self.pair_states.remove(&gone);
            }
            match deeper {
                Some(deeper) => _ = self.pair_states.insert(pair, deeper),
                None => _ = self.failed.insert(pair),
            }
        }
        shown
    }

    fn shown(&mut self, outer: &'s Value, inner: &'s Value) -> bool {
        if let Some(target) = referred(self.roots().1, inner) {
            return self.covers(outer, target);
        }
        if let Some(target) = referred(self.roots().0, outer) {
            return self.covers(target, inner);
        }
        if let Some(parts) = branches(outer, &["allOf"]) {
            return parts.iter().all(|part| self.covers(part, inner));
        }
        if let Some((asked, own)) = branches(outer, &["oneOf"]).zip(branches(inner, &["oneOf"]))
            && self.pairs_up(asked, own)
        {
            return true;
        }
        if let Some(branches) = branches(inner, &["anyOf", "oneOf"]) {
            return branches.iter().all(|branch| self.covers(outer, branch));
        }
        if let Some(branches) = branches(outer, &["anyOf"])
            && self.any_of(branches, |this, branch| this.covers(branch, inner))
        {
            return true;
        }
        if let Some(branches) = branches(outer, &["oneOf"])
            && self.covers_one_of(branches, inner)
        {
            return true;
        }
        if let Some(parts) = branches(inner, &["allOf"])
            && (self.any_of(parts, |this, part| this.covers(outer, part)) || self.is_empty(parts, inner))
        {
            return true;
        }
        let told = self.by_parts(outer, inner);
        told == PartsVerdict::Covered || self.judged(outer, inner, told)
    }

    /// Whether one of some schemas will do.
    fn any_of(&mut self, some: &'s [Value], mut does: impl FnMut(&mut Self, &'s Value) -> bool) -> bool {
        let around = self.trying.replace(self.trail.len());
        let found = some.iter().any(|one| does(self, one));
        self.trying = around;
        found
    }

    /// Whether an intersection has no value because two branches of which only one may do both do.
    fn is_empty(&mut self, parts: &'s [Value], whole: &'s Value) -> bool {
        let (asked, own) = self.documents;
        self.documents = (own, own);
        self.trials += 1;
        let mut unions = parts.iter().filter_map(|part| branches(part, &["oneOf"]));
        let is_empty = unions.any(|branches| {
            let covering =
                branches.iter().filter(|branch| self.covers(own.schema_for(branch, ComparisonRole::Outer), whole));
            covering.take(2).count() == 2
        });
        self.trials -= 1;
        self.documents = (asked, own);
        is_empty
    }

    /// Whether each branch of one union accepts what a branch of another accepts, one for one.
    fn pairs_up(&mut self, outer: &'s [Value], inner: &'s [Value]) -> bool {
        // Most often they stand in the same order.
        let mut left: Vec<&'s Value> = inner.iter().rev().collect();
        outer.len() == inner.len()
            && outer.iter().all(|asked| {
                let found =
                    (0..left.len()).rev().find(|index| left.get(*index).is_some_and(|own| self.same(asked, own)));
                found.map(|index| left.remove(index)).is_some()
            })
    }

    /// Whether two schemas accept the same.
    fn same(&mut self, outer: &'s Value, inner: &'s Value) -> bool {
        self.trials += 1;
        let same = self.covers(outer, inner) && self.is_covered(outer, inner);
        self.trials -= 1;
        same
    }

    /// The question the other way round: whether the inner schema covers the outer one.
    fn is_covered(&mut self, outer: &'s Value, inner: &'s Value) -> bool {
        let (asked, own) = self.documents;
        self.documents = (own, asked);
        self.trials += 1;
        let covered =
            self.covers(own.schema_for(inner, ComparisonRole::Outer), asked.schema_for(outer, ComparisonRole::Inner));
        self.trials -= 1;
        self.documents = (asked, own);
        covered
    }

    /// One branch covers it, and the others have nothing in common with it.
    fn covers_one_of(&mut self, branches: &'s [Value], inner: &'s Value) -> bool {
        let Some(only) = branches.iter().position(|branch| self.covers(branch, inner)) else { return false };
        let others = branches.iter().enumerate().filter(|(index, _)| *index != only);
        others.into_iter().all(|(_, other)| self.are_disjoint(referred(self.roots().0, other).unwrap_or(other), inner))
    }

    fn are_disjoint(&mut self, outer: &'s Value, inner: &'s Value) -> bool {
        let roots = self.roots();
        if (DisjointnessCheck { roots, left: MAX_DISJOINT_CHECKS }).are_disjoint(outer, inner)
            || negated(inner).any(|not| self.is_covered(outer, not))
            || negated(outer).any(|not| self.covers(not, inner))
        {
            return true;
        }
        let Some(left) = self.leaves_left.checked_sub(1) else { return false };
        self.leaves_left = left;
        self.judge.are_disjoint(&with_definitions(outer, roots.0), &with_definitions(inner, roots.1))
    }

    fn by_parts(&mut self, outer: &'s Value, inner: &'s Value) -> PartsVerdict {
        let (Value::Object(asked), Value::Object(own)) = (outer, inner) else { return PartsVerdict::Unknown };
        // A schema that was not taken apart: it stands where none was expected.
        if [asked, own].iter().any(|map| map.get("type").is_some_and(Value::is_array)) {
            return PartsVerdict::Unknown;
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
            return if is_other && !lists { PartsVerdict::OtherType } else { PartsVerdict::Unknown };
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
            true => PartsVerdict::Covered,
            false if is_all => PartsVerdict::NotCovered,
            false => PartsVerdict::Unknown,
        }
    }

    /// Whether each word of the outer one is among those of the inner one, or asks no more.
    fn echoes(&mut self, outer: &'s Map<String, Value>, inner: &'s Map<String, Value>) -> bool {
        outer
            .iter()
            .filter(|(word, _)| *word != "type" && !is_annotation(word))
            .all(|(word, asked)| self.echoed(word, asked, outer, inner))
    }

    fn echoed(
        &mut self,
        word: &str,
        asked: &'s Value,
        outer: &'s Map<String, Value>,
        inner: &'s Map<String, Value>,
    ) -> bool {
        let needed = || inner.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match (word, asked, inner.get(word)) {
            ("minProperties", asked, _) if asked.as_u64().is_some_and(|least| least <= distinct(needed())) => true,
            ("if" | "then" | "else", ..) => self.conditions(outer, inner),
            ("contains" | "minContains" | "maxContains", ..) => self.contained(outer, inner),
            (_, _, None) => false,
            ("not", asked, Some(own)) => self.is_covered(asked, own),
            // The names of an object are further down: they are no objects themselves.
            ("propertyNames", asked, Some(own)) => self.covers(asked, own),
            ("dependentSchemas", Value::Object(asked), Some(Value::Object(own))) => {
                asked.iter().all(|(key, asked)| own.get(key).is_some_and(|own| self.covers(asked, own)))
            }
            (word, asked, Some(own)) => BY_THEMSELVES.contains(&word) && own == asked && !refers(own),
        }
    }

    /// The same condition, and no more asked of what meets it, nor of what does not.
    fn conditions(&mut self, outer: &'s Map<String, Value>, inner: &'s Map<String, Value>) -> bool {
        let Some((asked, own)) = outer.get("if").zip(inner.get("if")) else { return !outer.contains_key("if") };
        self.same(asked, own)
            && ["then", "else"].iter().all(|word| {
                let of = |map: &'s Map<String, Value>| map.get(*word).unwrap_or(&TRUE);
                self.covers(of(outer), of(inner))
            })
    }

    /// As many items of a kind, or fewer where fewer are asked for.
    fn contained(&mut self, outer: &'s Map<String, Value>, inner: &'s Map<String, Value>) -> bool {
        let Some((asked, own)) = outer.get("contains").zip(inner.get("contains")) else {
            return !outer.contains_key("contains");
        };
        let least = |map: &Map<String, Value>| map.get("minContains").map_or(Some(1), Value::as_u64);
        let most = |map: &Map<String, Value>| map.get("maxContains").map(Value::as_u64);
        if least(outer).is_none_or(|asked| least(inner).is_none_or(|own| own < asked)) {
            return false;
        }
        match (most(outer), most(inner)) {
            (None, _) => self.covers(asked, own),
            (Some(Some(asked_most)), Some(Some(own_most))) => own_most <= asked_most && self.same(asked, own),
            (Some(_), _) => false,
        }
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

    fn judged(&mut self, outer: &Value, inner: &Value, told: PartsVerdict) -> bool {
        let Some(left) = self.leaves_left.checked_sub(1) else { return false };
        // A branch of another type was never meant.
        let is_meant = told != PartsVerdict::OtherType || self.trying != Some(self.trail.len());
        let is_heard = self.trials == 0 && is_meant && self.heard_left > 0;
        if told != PartsVerdict::Unknown && !is_heard {
            return false;
        }
        self.leaves_left = left;
        let roots = self.roots();
        let (outer, inner) = (with_definitions(outer, roots.0), with_definitions(inner, roots.1));
        let covers = told == PartsVerdict::Unknown && self.judge.covers(&outer, &inner);
        if !covers && is_heard {
            self.heard_left -= 1;
            let is_tried = self.trying.is_some();
            let stuck = UndecidedPair { outer: &outer, inner: &inner, trail: &self.trail, is_tried, root: roots.1 };
            self.judge.record_undecided(&stuck);
        }
        covers
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartsVerdict {
    Covered,
    NotCovered,
    OtherType,
    Unknown,
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
    map.keys().all(|key| words.contains(&key.as_str()) || is_annotation(key))
}

/// How many names there are in a list of names.
fn distinct(names: &[Value]) -> u64 {
    names.iter().filter_map(Value::as_str).collect::<HashSet<_>>().len() as u64
}

/// The schemas of which a schema has no value.
fn negated(schema: &Value) -> impl Iterator<Item = &Value> {
    let parts = branches(schema, &["allOf"]).unwrap_or_default();
    std::iter::once(schema).chain(parts).filter_map(|part| part.get("not"))
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
