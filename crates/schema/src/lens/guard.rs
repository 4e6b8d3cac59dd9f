//! Guards: the part of a schema that is needed to tell the branches of a union apart, evaluated on the caller's value.

use std::cell::Cell;
use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smol_str::SmolStr;

use super::{Lens, format};
use crate::step_budget::StepBudget;
use crate::types::Types;

/// A guard of a [`Lens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GuardId(u32);

/// The constraints on a value. All that are set must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Guard {
    /// Values of other types are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<Types>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<Vec<Value>>,
    /// The bounds of numbers, `true` where exclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) min: Option<(f64, bool)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<(f64, bool)>,
    /// The bounds of lengths, item counts and property counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) sizes: Vec<(SizeKind, u64, Option<u64>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) patterns: Vec<Pattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) required: Vec<SmolStr>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) properties: Vec<(SmolStr, GuardId)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pattern_properties: Vec<(Pattern, GuardId)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) additional: Option<GuardId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) prefix: Vec<GuardId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<GuardId>,
    /// `anyOf`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unions: Vec<Vec<GuardId>>,
    /// `oneOf`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) one_of: Vec<Vec<GuardId>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) nots: Vec<GuardId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) more: Option<Box<RareConstraints>>,
    /// For values of these types the schema has constraints that the guard does not capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unasked: Option<Types>,
}

/// Constraints that few schemas have, boxed to keep guards small.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct RareConstraints {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) formats: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) multiples: Vec<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unique: bool,
    /// `contains`, with its bounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) contains: Vec<(GuardId, u64, Option<u64>)>,
    /// `propertyNames`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) names: Vec<GuardId>,
    /// `dependentRequired`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) needs: Vec<(SmolStr, Vec<SmolStr>)>,
    /// `dependentSchemas`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) dependents: Vec<(SmolStr, GuardId)>,
    /// `if`, `then`, `else`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<(GuardId, Option<GuardId>, Option<GuardId>)>,
}

/// A regular expression, compiled when it is first needed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern {
    text: String,
    #[serde(skip)]
    matcher: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// A pattern in the syntax of ECMA-262.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), matcher: OnceLock::new() }
    }

    /// True where a string may match; an unsupported pattern matches everything.
    pub fn matches(&self, text: &str) -> bool {
        self.verdict(text) != GuardVerdict::No
    }

    fn verdict(&self, text: &str) -> GuardVerdict {
        let matcher = self.matcher.get_or_init(|| crate::pattern::matcher(&self.text));
        matcher.as_ref().map_or(GuardVerdict::Perhaps, |matcher| GuardVerdict::of(matcher.is_match(text)))
    }

    /// The pattern, where the regex engine does not support it.
    pub(super) fn unsupported_text(&self) -> Option<&str> {
        (!crate::pattern::has_matcher(&self.text)).then_some(self.text.as_str())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Whether a value is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GuardVerdict {
    No,
    /// Valid only if `format` is an annotation.
    Unlikely,
    /// Undecided.
    Perhaps,
    Yes,
}

impl GuardVerdict {
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    /// The verdict that all hold.
    fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut least = Self::Yes;
        for own in verdicts {
            least = least.min(own);
            if least == Self::No {
                break;
            }
        }
        least
    }

    /// The verdict that one holds; the search ends at `enough`.
    fn any(verdicts: impl IntoIterator<Item = Self>, enough: Self) -> Self {
        let mut most = Self::No;
        for own in verdicts {
            most = most.max(own);
            if most >= enough {
                break;
            }
        }
        most
    }

    /// The verdict that exactly one holds.
    fn one(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut most = Self::No;
        let mut open = false;
        for own in verdicts {
            match own {
                Self::No => {}
                Self::Yes if most == Self::Yes => return Self::No,
                Self::Yes => most = own,
                Self::Unlikely | Self::Perhaps => {
                    open = true;
                    most = most.max(own);
                }
            }
        }
        if open { most.min(Self::Perhaps) } else { most }
    }

    fn not(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Unlikely => Self::Perhaps,
            Self::Perhaps => Self::Unlikely,
            Self::Yes => Self::No,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookDepth {
    /// The value and its direct parts, by the common constraints: enough to refuse, not to accept.
    Shallow,
    Deep,
}

/// The kind of value that a size bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SizeKind {
    Text,
    Array,
    Object,
}

impl LookDepth {
    /// The nesting depth at which evaluation stops.
    fn depth(self) -> usize {
        match self {
            Self::Shallow => 3,
            Self::Deep => 64,
        }
    }
}

impl Guard {
    pub(crate) fn bound(&mut self, what: SizeKind, min: u64, max: Option<u64>) {
        if min > 0 || max.is_some() {
            self.sizes.push((what, min, max));
        }
    }

    pub(super) fn min_items(&self) -> u64 {
        self.sizes.iter().find(|(what, ..)| *what == SizeKind::Array).map_or(0, |(_, least, _)| *least)
    }

    pub(super) fn admits_type_of(&self, value: &Value) -> bool {
        self.types.is_none_or(|types| types.intersects(Types::of_value(value)))
    }

    /// The types of the guard, or of its listed values.
    pub(super) fn stated_types(&self) -> Types {
        let types = self.types.unwrap_or(Types::ANY);
        let Some(values) = &self.values else { return types };
        types.and(values.iter().fold(Types::NONE, |all, value| all.or(Types::of_value(value))))
    }

    /// `anyOf` and `oneOf` alike.
    pub(super) fn all_unions(&self) -> impl Iterator<Item = &Vec<GuardId>> {
        self.unions.iter().chain(&self.one_of)
    }

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

    /// False where the guard refuses the value for sure.
    pub(super) fn admits(&self, id: GuardId, value: &Value, look_depth: LookDepth) -> bool {
        GuardEvaluation::new(self, value, look_depth).verdict(id, value, look_depth.depth()) != GuardVerdict::No
    }

    pub(super) fn verdict(&self, id: GuardId, value: &Value) -> GuardVerdict {
        GuardEvaluation::new(self, value, LookDepth::Deep).verdict(id, value, LookDepth::Deep.depth())
    }

    /// [`verdict`](Self::verdict) during a fit, within its step budget.
    pub(crate) fn verdict_within(&self, id: GuardId, value: &Value, work: &StepBudget) -> GuardVerdict {
        let evaluation = GuardEvaluation { work: Some(work), ..GuardEvaluation::new(self, value, LookDepth::Deep) };
        evaluation.verdict(id, value, LookDepth::Deep.depth())
    }
}

/// The step limit before the size of the value is known.
const FIRST_QUESTIONS: usize = 4_096;

/// The step limit for each part of a value.
const QUESTIONS_PER_PART: usize = 32;

/// One evaluation. Steps are counted, because nested unions can take exponential time.
struct GuardEvaluation<'l, 'v> {
    lens: &'l Lens,
    value: &'v Value,
    look_depth: LookDepth,
    left: Cell<usize>,
    counted: Cell<bool>,
    /// The step budget of the fit; `None` when converting values.
    work: Option<&'l StepBudget>,
}

impl<'l, 'v> GuardEvaluation<'l, 'v> {
    fn new(lens: &'l Lens, value: &'v Value, look_depth: LookDepth) -> Self {
        Self { lens, value, look_depth, left: Cell::new(FIRST_QUESTIONS), counted: Cell::new(false), work: None }
    }

    fn spend_question(&self) -> bool {
        if self.left.get() == 0 && !self.counted.replace(true) {
            self.left.set(size(self.value) * QUESTIONS_PER_PART);
        }
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0 && self.work.is_none_or(|work| work.spend(1))
    }

    fn is_exhausted(&self) -> bool {
        self.left.get() == 0 && self.counted.get() || self.work.is_some_and(StepBudget::is_spent)
    }

    fn verdict(&self, id: GuardId, value: &Value, depth: usize) -> GuardVerdict {
        let (Some(guard), Some(depth)) = (self.lens.guard(id), depth.checked_sub(1)) else {
            return GuardVerdict::Perhaps;
        };
        if !self.spend_question() {
            return GuardVerdict::Perhaps;
        }
        let outside = guard.admits_type_of(value)
            && guard.values.as_ref().is_none_or(|values| values.iter().any(|own| are_equal(own, value)))
            && sizes_hold(guard, value);
        if !outside {
            return GuardVerdict::No;
        }
        let below = |own: &GuardId| self.verdict(*own, value, depth);
        let known = match guard.unasked {
            Some(types) if types.intersects(Types::of_value(value)) => GuardVerdict::Perhaps,
            Some(_) | None => GuardVerdict::Yes,
        };
        let inside = self.parts_verdict(guard, value, depth).min(known);
        if self.look_depth == LookDepth::Shallow || inside == GuardVerdict::No {
            let near = |union: &Vec<GuardId>| GuardVerdict::any(union.iter().map(below), GuardVerdict::Unlikely);
            return inside.min(GuardVerdict::all(guard.all_unions().map(near)));
        }
        let unions = guard.unions.iter().map(|union| GuardVerdict::any(union.iter().map(below), GuardVerdict::Yes));
        let one_of = guard.one_of.iter().map(|union| GuardVerdict::one(union.iter().map(below)));
        let nots = guard.nots.iter().map(|not| below(not).not());
        let more = guard.more.iter().map(|more| self.more_verdict(more, value, depth));
        let asked = unions.chain(one_of).chain(nots).chain(more);
        let whole = inside.min(GuardVerdict::all(asked.take_while(|_| !self.is_exhausted())));
        if self.is_exhausted() { whole.min(GuardVerdict::Perhaps) } else { whole }
    }

    fn parts_verdict(&self, guard: &Guard, value: &Value, depth: usize) -> GuardVerdict {
        match value {
            Value::Object(map) => {
                if !guard.required.iter().all(|name| map.contains_key(name.as_str())) {
                    return GuardVerdict::No;
                }
                GuardVerdict::all(map.iter().map(|(key, item)| self.property_verdict(guard, key, item, depth)))
            }
            Value::Array(items) => GuardVerdict::all(items.iter().enumerate().map(|(index, item)| {
                let own = guard.prefix.get(index).or(guard.items.as_ref());
                own.map_or(GuardVerdict::Yes, |own| self.verdict(*own, item, depth))
            })),
            Value::String(text) => GuardVerdict::all(guard.patterns.iter().map(|pattern| pattern.verdict(text))),
            Value::Null | Value::Bool(_) | Value::Number(_) => GuardVerdict::Yes,
        }
    }

    fn property_verdict(&self, guard: &Guard, key: &str, item: &Value, depth: usize) -> GuardVerdict {
        let below = |own: GuardId| self.verdict(own, item, depth);
        let declared = guard.properties.iter().find(|(name, _)| name == key);
        let mut matched = declared.is_some();
        let mut verdict = declared.map_or(GuardVerdict::Yes, |(_, own)| below(*own));
        for (pattern, own) in &guard.pattern_properties {
            match pattern.verdict(key) {
                GuardVerdict::No => {}
                GuardVerdict::Yes => {
                    matched = true;
                    verdict = verdict.min(below(*own));
                }
                // Whether it is asked cannot be told, nor then what is asked of other keys.
                GuardVerdict::Unlikely | GuardVerdict::Perhaps => {
                    matched = true;
                    verdict = verdict.min(GuardVerdict::Perhaps);
                }
            }
        }
        if matched { verdict } else { guard.additional.map_or(GuardVerdict::Yes, below) }
    }

    fn more_verdict(&self, more: &RareConstraints, value: &Value, depth: usize) -> GuardVerdict {
        let below = |own: GuardId, value: &Value| self.verdict(own, value, depth);
        let conditions = more.conditions.iter().map(|(when, then, otherwise)| {
            let when = below(*when, value);
            let asked = |own: &Option<GuardId>| own.map_or(GuardVerdict::Yes, |own| below(own, value));
            match when {
                GuardVerdict::Yes => asked(then),
                GuardVerdict::No => asked(otherwise),
                GuardVerdict::Unlikely | GuardVerdict::Perhaps => {
                    let (then, otherwise) = (asked(then), asked(otherwise));
                    then.min(otherwise).max(then.max(otherwise).min(GuardVerdict::Perhaps))
                }
            }
        });
        let conditions = GuardVerdict::all(conditions);
        let own = match value {
            Value::String(text) => GuardVerdict::all(more.formats.iter().map(|format| format::verdict(format, text))),
            Value::Number(number) => {
                let at = number.as_f64().unwrap_or(0.0);
                GuardVerdict::all(more.multiples.iter().map(|step| is_multiple(at, *step)))
            }
            Value::Array(items) => {
                let unique = if more.unique { are_unique(items) } else { GuardVerdict::Yes };
                let contains = more.contains.iter().map(|(own, least, most)| {
                    let found: Vec<GuardVerdict> = items.iter().map(|item| below(*own, item)).collect();
                    count_verdict(&found, *least, *most)
                });
                unique.min(GuardVerdict::all(contains))
            }
            Value::Object(map) => {
                let names = map.keys().flat_map(|key| more.names.iter().map(move |own| (key, *own)));
                let names = names.map(|(key, own)| below(own, &Value::String(key.clone())));
                let needs = more.needs.iter().filter(|(key, _)| map.contains_key(key.as_str()));
                let needs =
                    needs.map(|(_, names)| GuardVerdict::of(names.iter().all(|name| map.contains_key(name.as_str()))));
                let dependents = more.dependents.iter().filter(|(key, _)| map.contains_key(key.as_str()));
                let dependents = dependents.map(|(_, own)| below(*own, value));
                GuardVerdict::all(names.chain(needs).chain(dependents))
            }
            Value::Null | Value::Bool(_) => GuardVerdict::Yes,
        };
        own.min(conditions)
    }
}

fn sizes_hold(guard: &Guard, value: &Value) -> bool {
    let size = match value {
        Value::String(text) if !guard.sizes.is_empty() => Some((SizeKind::Text, text.chars().count())),
        Value::Array(items) => Some((SizeKind::Array, items.len())),
        Value::Object(map) => Some((SizeKind::Object, map.len())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    let fits = |(kind, min, max): &(SizeKind, u64, Option<u64>)| {
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
    within && guard.sizes.iter().all(fits)
}

/// Fractions are inexact: a multiple of one can be refused, not confirmed.
fn is_multiple(number: f64, step: f64) -> GuardVerdict {
    /// Whole numbers beyond this are not exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if step.fract() == 0.0 && number.abs() < EXACT && step.abs() < EXACT {
        return GuardVerdict::of(step == 0.0 || number % step == 0.0);
    }
    let times = number / step;
    let off = (times - times.round()).abs();
    if off > 1e-6 && times.abs() < 1e9 { GuardVerdict::No } else { GuardVerdict::Perhaps }
}

/// Long lists are undecided: every pair would have to be compared.
fn are_unique(items: &[Value]) -> GuardVerdict {
    const MOST: usize = 64;
    if items.len() > MOST {
        return GuardVerdict::Perhaps;
    }
    let again = |(index, item): (usize, &Value)| items.iter().take(index).any(|other| are_equal(item, other));
    GuardVerdict::of(!items.iter().enumerate().any(again))
}

fn count_verdict(found: &[GuardVerdict], least: u64, most: Option<u64>) -> GuardVerdict {
    let count = |enough: GuardVerdict| {
        let count = found.iter().filter(|own| **own >= enough).count();
        u64::try_from(count).unwrap_or(u64::MAX)
    };
    let (sure, possible) = (count(GuardVerdict::Yes), count(GuardVerdict::Unlikely));
    match () {
        () if possible < least || most.is_some_and(|most| sure > most) => GuardVerdict::No,
        () if sure >= least && most.is_none_or(|most| possible <= most) => GuardVerdict::Yes,
        () => GuardVerdict::Perhaps,
    }
}

fn size(value: &Value) -> usize {
    let mut count = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        count += 1;
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    count
}

/// Equality of JSON Schema: `1` and `1.0` are equal.
pub(super) fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| are_equal(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, own)| y.get(key).is_some_and(|other| are_equal(own, other)))
        }
        _ => a == b,
    }
}
