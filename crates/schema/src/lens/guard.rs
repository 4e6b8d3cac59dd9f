//! What a caller's value must be for a branch of a union to be the right one: as much of the schema as is needed to tell
//! branches apart, and no more.

use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Lens;
use crate::types::Types;

/// A guard of a [`Lens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct GuardId(u32);

/// What is asked of a value. Everything that is set must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Guard {
    /// A value of none of these types is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<Types>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Vec<Value>>,
    /// The least and the greatest number, `true` where the bound itself is out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min: Option<(f64, bool)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<(f64, bool)>,
    /// The least and the greatest length of a string, count of items, count of properties.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sizes: Vec<(Sized, u64, Option<u64>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) patterns: Vec<Pattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) required: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) properties: Vec<(String, GuardId)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pattern_properties: Vec<(Pattern, GuardId)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) additional: Option<GuardId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prefix: Vec<GuardId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<GuardId>,
    /// Of each list, one must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unions: Vec<Vec<GuardId>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) nots: Vec<GuardId>,
    /// Whether the schema asks more than a guard can: another branch that admits the value is the safer one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unsure: bool,
}

/// A regular expression, compiled when it is first needed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Pattern {
    text: String,
    #[serde(skip)]
    matcher: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), matcher: OnceLock::new() }
    }

    /// Whether a text matches; a pattern that cannot be used matches everything.
    pub(super) fn matches(&self, text: &str) -> bool {
        let matcher = self.matcher.get_or_init(|| crate::pattern::matcher(&self.text));
        matcher.as_ref().is_none_or(|matcher| matcher.is_match(text))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// How far into a value is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The value and what stands right inside it; exclusions are not asked.
    Near,
    Far,
}

/// What has a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Sized {
    Text,
    Array,
    Object,
}

impl Reach {
    /// Values nested deeper than this are not looked into.
    fn depth(self) -> usize {
        match self {
            Self::Near => 3,
            Self::Far => 64,
        }
    }
}

impl Guard {
    /// Sets the least and the greatest size, where they say something.
    pub(crate) fn bound(&mut self, what: Sized, min: u64, max: Option<u64>) {
        if min > 0 || max.is_some() {
            self.sizes.push((what, min, max));
        }
    }

    /// How many items an array has at least.
    pub(super) fn least_items(&self) -> u64 {
        self.sizes.iter().find(|(what, ..)| *what == Sized::Array).map_or(0, |(_, least, _)| *least)
    }

    /// Whether no value is admitted.
    pub(super) fn is_never(&self) -> bool {
        self.types.is_some_and(Types::is_none)
    }
}

impl GuardId {
    pub(super) fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Lens {
    pub(super) fn guard(&self, id: GuardId) -> Option<&Guard> {
        self.guards.get(id.index())
    }

    /// Whether a value is what a guard asks for, as far as is looked.
    pub(super) fn admits(&self, id: GuardId, value: &Value, reach: Reach) -> bool {
        self.admits_below(id, value, reach, reach.depth())
    }

    fn admits_below(&self, id: GuardId, value: &Value, reach: Reach, depth: usize) -> bool {
        let (Some(guard), Some(depth)) = (self.guard(id), depth.checked_sub(1)) else { return true };
        guard.types.is_none_or(|types| types.meets(Types::of_value(value)))
            && guard.values.as_ref().is_none_or(|values| values.iter().any(|own| same(own, value)))
            && sizes_hold(guard, value)
            && self.parts_hold(guard, value, reach, depth)
            && guard
                .unions
                .iter()
                .all(|union| union.iter().any(|branch| self.admits_below(*branch, value, reach, depth)))
            && (reach == Reach::Near || !guard.nots.iter().any(|not| self.admits_below(*not, value, reach, depth)))
    }

    fn parts_hold(&self, guard: &Guard, value: &Value, reach: Reach, depth: usize) -> bool {
        match value {
            Value::Object(map) => {
                guard.required.iter().all(|name| map.contains_key(name))
                    && map.iter().all(|(key, item)| self.property_holds(guard, key, item, reach, depth))
            }
            Value::Array(items) => items.iter().enumerate().all(|(index, item)| {
                let own = guard.prefix.get(index).or(guard.items.as_ref());
                own.is_none_or(|own| self.admits_below(*own, item, reach, depth))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
    }

    fn property_holds(&self, guard: &Guard, key: &str, item: &Value, reach: Reach, depth: usize) -> bool {
        if let Some((_, own)) = guard.properties.iter().find(|(name, _)| name == key) {
            return self.admits_below(*own, item, reach, depth);
        }
        let mut matched = false;
        for (_, own) in guard.pattern_properties.iter().filter(|(pattern, _)| pattern.matches(key)) {
            matched = true;
            if !self.admits_below(*own, item, reach, depth) {
                return false;
            }
        }
        matched || guard.additional.is_none_or(|own| self.admits_below(own, item, reach, depth))
    }
}

fn sizes_hold(guard: &Guard, value: &Value) -> bool {
    let size = match value {
        Value::String(text) => Some((Sized::Text, text.chars().count())),
        Value::Array(items) => Some((Sized::Array, items.len())),
        Value::Object(map) => Some((Sized::Object, map.len())),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    };
    let fits = |(kind, min, max): &(Sized, u64, Option<u64>)| {
        size.is_none_or(|(own, count)| {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            own != *kind || (count >= *min && max.is_none_or(|max| count <= max))
        })
    };
    let within = value.as_f64().is_none_or(|number| {
        let above = guard.min.is_none_or(|(bound, out)| number > bound || (!out && number >= bound));
        let below = guard.max.is_none_or(|(bound, out)| number < bound || (!out && number <= bound));
        above && below
    });
    let matches = |pattern: &Pattern| value.as_str().is_none_or(|text| pattern.matches(text));
    within && guard.sizes.iter().all(fits) && guard.patterns.iter().all(matches)
}

/// Whether two values are equal as JSON Schema sees it.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, own)| y.get(key).is_some_and(|other| same(own, other)))
        }
        _ => a == b,
    }
}
