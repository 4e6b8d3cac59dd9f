//! What a caller's value must be for a branch of a union to be the right one: as much of the schema as is needed to tell
//! branches apart, and no more.

use std::cell::Cell;
use std::sync::OnceLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smol_str::SmolStr;

use super::{Lens, format};
use crate::types::Types;
use crate::work::Work;

/// A guard of a [`Lens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GuardId(u32);

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
    /// Of each list, one must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unions: Vec<Vec<GuardId>>,
    /// Of each list, one must hold, and no other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) one_of: Vec<Vec<GuardId>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) nots: Vec<GuardId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) more: Option<Box<More>>,
    /// Of values of these types the schema may ask more than a guard can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unasked: Option<Types>,
}

/// What schemas seldom ask.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct More {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) formats: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) multiples: Vec<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unique: bool,
    /// The least and the greatest number of such items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) contains: Vec<(GuardId, u64, Option<u64>)>,
    /// What every key must be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) names: Vec<GuardId>,
    /// Keys that ask for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) needs: Vec<(SmolStr, Vec<SmolStr>)>,
    /// Keys that ask something of the whole object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) dependents: Vec<(SmolStr, GuardId)>,
    /// What is asked where a guard holds, and where it does not.
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

    /// Whether a text matches; a pattern that cannot be used matches everything.
    pub fn matches(&self, text: &str) -> bool {
        self.verdict(text) != Verdict::No
    }

    /// Whether a text matches, as far as the pattern can be used.
    fn verdict(&self, text: &str) -> Verdict {
        let matcher = self.matcher.get_or_init(|| crate::pattern::matcher(&self.text));
        matcher.as_ref().map_or(Verdict::Perhaps, |matcher| Verdict::of(matcher.is_match(text)))
    }

    /// The pattern, unless it can be used.
    pub(super) fn unusable(&self) -> Option<&str> {
        (!crate::pattern::has_matcher(&self.text)).then_some(self.text.as_str())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Whether a value is what a schema asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    No,
    /// Only if a `format` is no more than a remark.
    Unlikely,
    /// It cannot be told.
    Perhaps,
    Yes,
}

impl Verdict {
    pub(super) fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    /// Of several verdicts, that all hold.
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

    /// Of several verdicts, that one holds; one that is good enough ends the search.
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

    /// Of several verdicts, that one holds and no other.
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

/// How far into a value is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The value and what stands right inside it, by what schemas ask most: enough to refuse, not to be sure.
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

    /// Whether values of a value's type are not refused.
    pub(super) fn takes_type_of(&self, value: &Value) -> bool {
        self.types.is_none_or(|types| types.meets(Types::of_value(value)))
    }

    /// The types that are stated, or that the listed values have.
    pub(super) fn stated_types(&self) -> Types {
        let types = self.types.unwrap_or(Types::ANY);
        let Some(values) = &self.values else { return types };
        types.and(values.iter().fold(Types::NONE, |all, value| all.or(Types::of_value(value))))
    }

    /// Lists of which one must hold, whatever else.
    pub(super) fn all_unions(&self) -> impl Iterator<Item = &Vec<GuardId>> {
        self.unions.iter().chain(&self.one_of)
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

    /// Whether a value can be what a guard asks for, as far as is looked.
    pub(super) fn admits(&self, id: GuardId, value: &Value, reach: Reach) -> bool {
        Look::new(self, value, reach).verdict(id, value, reach.depth()) != Verdict::No
    }

    /// Whether a value is what a guard asks for.
    pub(super) fn verdict(&self, id: GuardId, value: &Value) -> Verdict {
        Look::new(self, value, Reach::Far).verdict(id, value, Reach::Far.depth())
    }

    /// The same while a schema is fitted, as far as the work that is left reaches.
    pub(crate) fn verdict_within(&self, id: GuardId, value: &Value, work: &Work) -> Verdict {
        let look = Look { work: Some(work), ..Look::new(self, value, Reach::Far) };
        look.verdict(id, value, Reach::Far.depth())
    }
}

/// How often something is asked before the size of the value says how often it may be.
const FIRST_QUESTIONS: usize = 4_096;

/// How often something is asked of each part of a value, on average.
const QUESTIONS: usize = 32;

/// A look at a value. Unions within unions that may all hold would be asked without end: what is asked is counted.
struct Look<'l, 'v> {
    lens: &'l Lens,
    value: &'v Value,
    reach: Reach,
    left: Cell<usize>,
    counted: Cell<bool>,
    /// The budget of the fit that asks; none where a value travels.
    work: Option<&'l Work>,
}

impl<'l, 'v> Look<'l, 'v> {
    fn new(lens: &'l Lens, value: &'v Value, reach: Reach) -> Self {
        Self { lens, value, reach, left: Cell::new(FIRST_QUESTIONS), counted: Cell::new(false), work: None }
    }

    /// Whether something more may be asked.
    fn may_ask(&self) -> bool {
        if self.left.get() == 0 && !self.counted.replace(true) {
            self.left.set(size(self.value) * QUESTIONS);
        }
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0 && self.work.is_none_or(|work| work.spend(1))
    }

    /// Whether nothing more may be asked: what is left is not worth looking at either.
    fn is_exhausted(&self) -> bool {
        self.left.get() == 0 && self.counted.get() || self.work.is_some_and(Work::is_spent)
    }

    fn verdict(&self, id: GuardId, value: &Value, depth: usize) -> Verdict {
        let (Some(guard), Some(depth)) = (self.lens.guard(id), depth.checked_sub(1)) else { return Verdict::Perhaps };
        if !self.may_ask() {
            return Verdict::Perhaps;
        }
        let outside = guard.takes_type_of(value)
            && guard.values.as_ref().is_none_or(|values| values.iter().any(|own| same(own, value)))
            && sizes_hold(guard, value);
        if !outside {
            return Verdict::No;
        }
        let below = |own: &GuardId| self.verdict(*own, value, depth);
        let known = match guard.unasked {
            Some(types) if types.meets(Types::of_value(value)) => Verdict::Perhaps,
            Some(_) | None => Verdict::Yes,
        };
        let inside = self.parts_verdict(guard, value, depth).min(known);
        if self.reach == Reach::Near || inside == Verdict::No {
            let near = |union: &Vec<GuardId>| Verdict::any(union.iter().map(below), Verdict::Unlikely);
            return inside.min(Verdict::all(guard.all_unions().map(near)));
        }
        let unions = guard.unions.iter().map(|union| Verdict::any(union.iter().map(below), Verdict::Yes));
        let one_of = guard.one_of.iter().map(|union| Verdict::one(union.iter().map(below)));
        let nots = guard.nots.iter().map(|not| below(not).not());
        let more = guard.more.iter().map(|more| self.more_verdict(more, value, depth));
        let asked = unions.chain(one_of).chain(nots).chain(more);
        let whole = inside.min(Verdict::all(asked.take_while(|_| !self.is_exhausted())));
        if self.is_exhausted() { whole.min(Verdict::Perhaps) } else { whole }
    }

    fn parts_verdict(&self, guard: &Guard, value: &Value, depth: usize) -> Verdict {
        match value {
            Value::Object(map) => {
                if !guard.required.iter().all(|name| map.contains_key(name.as_str())) {
                    return Verdict::No;
                }
                Verdict::all(map.iter().map(|(key, item)| self.property_verdict(guard, key, item, depth)))
            }
            Value::Array(items) => Verdict::all(items.iter().enumerate().map(|(index, item)| {
                let own = guard.prefix.get(index).or(guard.items.as_ref());
                own.map_or(Verdict::Yes, |own| self.verdict(*own, item, depth))
            })),
            Value::String(text) => Verdict::all(guard.patterns.iter().map(|pattern| pattern.verdict(text))),
            Value::Null | Value::Bool(_) | Value::Number(_) => Verdict::Yes,
        }
    }

    fn property_verdict(&self, guard: &Guard, key: &str, item: &Value, depth: usize) -> Verdict {
        let below = |own: GuardId| self.verdict(own, item, depth);
        let declared = guard.properties.iter().find(|(name, _)| name == key);
        let mut matched = declared.is_some();
        let mut verdict = declared.map_or(Verdict::Yes, |(_, own)| below(*own));
        for (pattern, own) in &guard.pattern_properties {
            match pattern.verdict(key) {
                Verdict::No => {}
                Verdict::Yes => {
                    matched = true;
                    verdict = verdict.min(below(*own));
                }
                // Whether it is asked cannot be told, nor then what is asked of other keys.
                Verdict::Unlikely | Verdict::Perhaps => {
                    matched = true;
                    verdict = verdict.min(Verdict::Perhaps);
                }
            }
        }
        if matched { verdict } else { guard.additional.map_or(Verdict::Yes, below) }
    }

    fn more_verdict(&self, more: &More, value: &Value, depth: usize) -> Verdict {
        let below = |own: GuardId, value: &Value| self.verdict(own, value, depth);
        let conditions = more.conditions.iter().map(|(when, then, otherwise)| {
            let when = below(*when, value);
            let asked = |own: &Option<GuardId>| own.map_or(Verdict::Yes, |own| below(own, value));
            match when {
                Verdict::Yes => asked(then),
                Verdict::No => asked(otherwise),
                Verdict::Unlikely | Verdict::Perhaps => {
                    let (then, otherwise) = (asked(then), asked(otherwise));
                    then.min(otherwise).max(then.max(otherwise).min(Verdict::Perhaps))
                }
            }
        });
        let conditions = Verdict::all(conditions);
        let own = match value {
            Value::String(text) => Verdict::all(more.formats.iter().map(|format| format::verdict(format, text))),
            Value::Number(number) => {
                let at = number.as_f64().unwrap_or(0.0);
                Verdict::all(more.multiples.iter().map(|step| is_multiple(at, *step)))
            }
            Value::Array(items) => {
                let unique = if more.unique { are_unique(items) } else { Verdict::Yes };
                let contains = more.contains.iter().map(|(own, least, most)| {
                    let found: Vec<Verdict> = items.iter().map(|item| below(*own, item)).collect();
                    count_verdict(&found, *least, *most)
                });
                unique.min(Verdict::all(contains))
            }
            Value::Object(map) => {
                let names = map.keys().flat_map(|key| more.names.iter().map(move |own| (key, *own)));
                let names = names.map(|(key, own)| below(own, &Value::String(key.clone())));
                let needs = more.needs.iter().filter(|(key, _)| map.contains_key(key.as_str()));
                let needs =
                    needs.map(|(_, names)| Verdict::of(names.iter().all(|name| map.contains_key(name.as_str()))));
                let dependents = more.dependents.iter().filter(|(key, _)| map.contains_key(key.as_str()));
                let dependents = dependents.map(|(_, own)| below(*own, value));
                Verdict::all(names.chain(needs).chain(dependents))
            }
            Value::Null | Value::Bool(_) => Verdict::Yes,
        };
        own.min(conditions)
    }
}

fn sizes_hold(guard: &Guard, value: &Value) -> bool {
    let size = match value {
        Value::String(text) if !guard.sizes.is_empty() => Some((Sized::Text, text.chars().count())),
        Value::Array(items) => Some((Sized::Array, items.len())),
        Value::Object(map) => Some((Sized::Object, map.len())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
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
    within && guard.sizes.iter().all(fits)
}

/// Whether a number is a multiple of another, which of fractions can only be told where it clearly is not.
fn is_multiple(number: f64, step: f64) -> Verdict {
    /// Whole numbers beyond this are not exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if step.fract() == 0.0 && number.abs() < EXACT && step.abs() < EXACT {
        return Verdict::of(step == 0.0 || number % step == 0.0);
    }
    let times = number / step;
    let off = (times - times.round()).abs();
    if off > 1e-6 && times.abs() < 1e9 { Verdict::No } else { Verdict::Perhaps }
}

/// Whether no two items are equal. A long list is not asked: every pair would have to be compared.
fn are_unique(items: &[Value]) -> Verdict {
    const MOST: usize = 64;
    if items.len() > MOST {
        return Verdict::Perhaps;
    }
    let again = |(index, item): (usize, &Value)| items.iter().take(index).any(|other| same(item, other));
    Verdict::of(!items.iter().enumerate().any(again))
}

/// Whether as many hold as there must be.
fn count_verdict(found: &[Verdict], least: u64, most: Option<u64>) -> Verdict {
    let count = |enough: Verdict| {
        let count = found.iter().filter(|own| **own >= enough).count();
        u64::try_from(count).unwrap_or(u64::MAX)
    };
    let (sure, possible) = (count(Verdict::Yes), count(Verdict::Unlikely));
    match () {
        () if possible < least || most.is_some_and(|most| sure > most) => Verdict::No,
        () if sure >= least && most.is_none_or(|most| possible <= most) => Verdict::Yes,
        () => Verdict::Perhaps,
    }
}

/// How many parts a value has.
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
