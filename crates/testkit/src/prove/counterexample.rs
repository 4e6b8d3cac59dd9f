//! Searches for a counterexample: a value sampled from the schemas, then changed in one place so that it violates what only one
//! of them demands.

use std::cmp::Reverse;

use serde_json::{Map, Value, json};

use super::compare::ProofSide;
use super::containment::{Step, UndecidedPair};
use super::normalize::each_schema;
use super::{Reason, Undecided};
use crate::sample;
use crate::values::{escaped, shortened};

/// How many values are made up of each schema.
const MADE: u64 = 16;

/// How many objects of a value are given a key that nobody declared.
const MAX_OPENED: usize = 16;

/// How many made-up values are changed, and in how many places.
const MAX_BASES: usize = 6;
const MAX_PLACES: usize = 64;

/// How many values that tell two schemas apart are put where those stand.
const MAX_EVIDENCE: usize = 6;

/// How many changed values are judged.
const MAX_TRIED: usize = 6_000;

/// Texts and lists longer than this are not made.
const LONGEST: u64 = 1 << 21;
const MAX_ITEMS: u64 = 2_000;

/// How many hints of each kind are followed.
const MAX_HINTS: usize = 12;

/// The search for a value that one side accepts and the other refuses.
pub(super) struct Search<'s> {
    all: &'s ProofSide,
    most: &'s ProofSide,
    /// Values to change.
    made: Vec<Value>,
    /// Whether a value comes back from the wire as it is, where the other side is what comes back.
    comes_back: Option<&'s dyn Fn(&Value) -> bool>,
    /// Why a value that was found is no proof: one of the schemas was not understood.
    odd: Option<Undecided>,
}

impl<'s> Search<'s> {
    pub(super) fn new(all: &'s ProofSide, most: &'s ProofSide, comes_back: Option<&'s dyn Fn(&Value) -> bool>) -> Self {
        Self { all, most, made: Vec::new(), comes_back, odd: None }
    }

    /// Why a value that was found is no proof.
    pub(super) fn inconsistency(self) -> Option<Undecided> {
        self.odd
    }

    /// The smallest of the values that are made up from a schema and slip through.
    pub(super) fn try_samples(&mut self, schema: &Value) -> Option<String> {
        let easier = easier(schema);
        let made: Vec<Value> = (0..MADE).filter_map(|seed| sample(&easier, seed)).collect();
        let opened = made.iter().flat_map(|value| opened(value).into_iter().chain([value.clone()]));
        let found = opened.filter(|value| self.is_counterexample(value)).min_by_key(|value| value.to_string().len());
        self.made.extend(made);
        self.sound(found.as_ref())
    }

    /// The smallest of some values that slips through.
    pub(super) fn try_values(&mut self, values: &[Value]) -> Option<String> {
        let found =
            values.iter().filter(|value| self.is_counterexample(value)).min_by_key(|value| value.to_string().len());
        self.sound(found)
    }

    /// What was found, unless the image that it was found with is known to be wrong.
    fn sound(&self, found: Option<&Value>) -> Option<String> {
        let is_wrong = self.odd.as_ref().is_some_and(|odd| odd.reason == Reason::Image);
        found.filter(|_| !is_wrong).map(shortened)
    }

    /// A value that slips through once it is changed in one place.
    pub(super) fn try_changed(&mut self) -> Option<String> {
        let hints = Hints::of(&self.all.schema, &self.most.schema);
        let mut made = std::mem::take(&mut self.made);
        // Those that say most have most to change.
        made.sort_by_cached_key(|value| Reverse(value.to_string().len()));
        made.dedup();
        let mut left = MAX_TRIED;
        for base in made.iter().take(MAX_BASES) {
            for place in places(base) {
                let Some(own) = base.pointer(&place) else { continue };
                for other in hints.instead_of(own) {
                    left = left.checked_sub(1)?;
                    let mut value = base.clone();
                    value.pointer_mut(&place).into_iter().for_each(|own| *own = other.clone());
                    if self.is_counterexample(&value) {
                        return self.sound(Some(&value));
                    }
                }
            }
        }
        None
    }

    fn is_counterexample(&mut self, value: &Value) -> bool {
        let is_counterexample = self.all.accepts(value) && !self.most.accepts(value);
        if !is_counterexample {
            return false;
        }
        let odd = if self.all.differs(value) || self.most.differs(value) {
            Some((Reason::Draft, "read otherwise in its own draft"))
        } else if self.comes_back.is_some_and(|comes_back| comes_back(value)) {
            Some((Reason::Image, "comes back, and was said not to"))
        } else {
            None
        };
        if let Some((reason, why)) = odd {
            self.odd.get_or_insert_with(|| reason.because(format!("{why}: {}", shortened(value))));
        }
        odd.is_none()
    }
}

/// Values that have, at the place where two schemas could not be compared, one that tells them apart.
pub(super) fn values_along(stuck: &UndecidedPair<'_>, tells: impl Fn(&Value) -> bool) -> Vec<Value> {
    let easier_inner = easier(stuck.inner);
    let made: Vec<Value> = (0..MADE).filter_map(|seed| sample(&easier_inner, seed)).collect();
    let hints = Hints::of(stuck.inner, stuck.outer);
    let changed = made.iter().chain([&Value::Null]).flat_map(|value| hints.instead_of(value));
    let telling = made.iter().cloned().chain(changed).filter(tells);
    let mut values: Vec<Value> = telling.take(MAX_EVIDENCE).collect();
    for (schema, step) in stuck.passed() {
        // A way that cannot be gone with one value may be gone with another.
        let schema = easier(&schema);
        let around = (0..MADE).find_map(|seed| sample(&schema, seed)).unwrap_or_default();
        values = values.into_iter().filter_map(|value| around_it(around.clone(), step, value)).collect();
    }
    values
}

/// A value with another one inside, a step down.
fn around_it(mut around: Value, step: Step<'_>, value: Value) -> Option<Value> {
    let key = match step {
        Step::Key(key) => key.to_owned(),
        Step::Matching(pattern) => matching(pattern)?.as_str()?.to_owned(),
        Step::Other => "undeclared".to_owned(),
        Step::Item(index) => {
            let items = around.as_array_mut()?;
            match items.get_mut(index) {
                Some(item) => *item = value,
                None => items.push(value),
            }
            return Some(around);
        }
    };
    around.as_object_mut()?.insert(key, value);
    Some(around)
}

/// A text that matches a pattern but for what stands around it.
fn matching(pattern: &str) -> Option<Value> {
    sample(&json!({ "type": "string", "pattern": without_lookaround(pattern).0 }), 0)
}

/// A schema of which more values can be made up: patterns do not look around. Not all of the values are valid.
fn easier(schema: &Value) -> Value {
    let mut out = schema.clone();
    // What is too deep to be walked is made up as far as it goes.
    let _ = each_schema(&mut out, "", &mut |map, _| {
        if let Some(Value::String(pattern)) = map.get_mut("pattern") {
            *pattern = without_lookaround(pattern).0;
        }
        if let Some(Value::Object(patterns)) = map.get_mut("patternProperties") {
            *patterns =
                std::mem::take(patterns).into_iter().map(|(key, own)| (without_lookaround(&key).0, own)).collect();
        }
    });
    out
}

/// A pattern without the groups that look around, and what those refuse that look ahead.
fn without_lookaround(pattern: &str) -> (String, Vec<String>) {
    let (mut out, mut refused) = (String::new(), Vec::new());
    // How deep the groups are in a group that looks around, and what stands in it.
    let mut around: Option<(usize, String)> = None;
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let rest = letters.as_str();
        if around.is_none() && letter == '(' && ["?!", "?=", "?<!", "?<="].iter().any(|sign| rest.starts_with(sign)) {
            around = Some((0, String::new()));
            continue;
        }
        let mut piece = String::from(letter);
        if letter == '\\' {
            piece.extend(letters.next());
        }
        match &mut around {
            None => out.push_str(&piece),
            Some((0, inside)) if piece == ")" => {
                refused.extend(inside.strip_prefix("?!").map(str::to_owned));
                around = None;
            }
            Some((depth, inside)) => {
                *depth = match letter {
                    '(' => *depth + 1,
                    ')' => depth.saturating_sub(1),
                    _ => *depth,
                };
                inside.push_str(&piece);
            }
        }
    }
    (out, refused)
}

/// Where the bounds of the two schemas are.
#[derive(Default)]
struct Hints {
    lengths: Vec<u64>,
    counts: Vec<u64>,
    numbers: Vec<Value>,
    values: Vec<Value>,
    keys: Vec<String>,
}

impl Hints {
    fn of(all: &Value, most: &Value) -> Self {
        let mut hints = Self::default();
        // What the refusing one asks for comes first.
        for schema in [most, all] {
            hints.look(schema);
        }
        hints
    }

    fn look(&mut self, schema: &Value) {
        let mut open = vec![schema];
        while let Some(one) = open.pop() {
            match one {
                Value::Object(map) => {
                    map.iter().for_each(|(key, value)| self.note(key, value));
                    open.extend(map.values());
                }
                Value::Array(items) => open.extend(items),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
    }

    fn note(&mut self, word: &str, value: &Value) {
        let number = value.as_u64();
        match (word, value) {
            ("maxLength", _) => {
                add(&mut self.lengths, number.and_then(|most| most.checked_add(1)).filter(|most| *most <= LONGEST));
            }
            ("minLength", _) => add(&mut self.lengths, number.and_then(|least| least.checked_sub(1))),
            ("maxItems" | "maxProperties", _) => {
                add(&mut self.counts, number.and_then(|most| most.checked_add(1)).filter(|most| *most <= MAX_ITEMS));
            }
            ("minItems" | "minProperties", _) => add(&mut self.counts, number.and_then(|least| least.checked_sub(1))),
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Value::Number(bound)) => {
                let steps = [0.0, 1.0, -1.0, 0.5].into_iter();
                let whole = bound
                    .as_i64()
                    .into_iter()
                    .flat_map(|bound| [bound.saturating_sub(1), bound, bound.saturating_add(1)])
                    .map(Value::from);
                let near = bound.as_f64().into_iter().flat_map(|bound| {
                    steps.clone().map(move |step| bound + step).chain([bound.next_up(), bound.next_down()])
                });
                let near = near.map(|near| json!(near));
                whole.chain(near).for_each(|value| add(&mut self.numbers, Some(value)));
            }
            ("multipleOf", Value::Number(step)) => {
                let between =
                    step.as_f64().into_iter().flat_map(|step| [step / 2.0, step * 1.5]).map(|near| json!(near));
                let whole = step.as_i64().into_iter().map(|step| json!(step.saturating_add(1)));
                between.chain(whole).for_each(|value| add(&mut self.numbers, Some(value)));
            }
            ("enum", Value::Array(values)) => {
                for value in values {
                    add(&mut self.values, Some(value.clone()));
                }
            }
            ("pattern", Value::String(pattern)) => {
                for refused in without_lookaround(pattern).1 {
                    add(&mut self.values, matching(&format!("^{refused}")));
                }
            }
            ("const", value) => add(&mut self.values, Some(value.clone())),
            ("patternProperties", Value::Object(patterns)) => {
                for pattern in patterns.keys() {
                    add(&mut self.keys, matching(pattern).as_ref().and_then(Value::as_str).map(str::to_owned));
                }
            }
            ("properties", Value::Object(named)) => named.keys().for_each(|key| add(&mut self.keys, Some(key.clone()))),
            _ => {}
        }
    }

    /// What may stand where a value stands.
    fn instead_of(&self, own: &Value) -> Vec<Value> {
        let mut out = Vec::new();
        match own {
            Value::String(text) => {
                out.extend(self.lengths.iter().map(|length| json!(of_length(text, *length))));
                out.extend([
                    json!(format!("{text} ")),
                    json!(format!("{text}%")),
                    json!(format!("-{text}")),
                    json!(format!("({text}")),
                    json!(format!("{text}\n{text}")),
                    json!(""),
                ]);
            }
            Value::Number(number) => {
                out.extend(self.numbers.iter().cloned());
                out.extend(number.as_f64().map(|number| json!(number + 0.5)));
                out.extend([json!(-1), json!(0), json!(1e9)]);
            }
            Value::Array(items) => {
                let first = items.first().cloned().unwrap_or(Value::Null);
                out.extend(self.counts.iter().map(|count| {
                    items.iter().chain(std::iter::repeat(&first)).take(count_of(*count)).cloned().collect()
                }));
                out.push(json!([first, first]));
                out.extend(plain_values().map(|value| items.iter().cloned().chain([value]).collect()));
            }
            Value::Object(map) => {
                for gone in map.keys() {
                    out.push(
                        map.iter()
                            .filter(|(key, _)| *key != gone)
                            .map(|(key, value)| (key.clone(), value.clone()))
                            .collect(),
                    );
                }
                for key in self
                    .keys
                    .iter()
                    .map(String::as_str)
                    .chain(["undeclared", "\n"])
                    .filter(|key| !map.contains_key(*key))
                {
                    out.extend(plain_values().map(|value| with(map, key, value)));
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
        out.extend(self.values.iter().cloned());
        out.extend(plain_values());
        out
    }
}

/// One value of each type.
fn plain_values() -> impl Iterator<Item = Value> {
    [json!(null), json!(true), json!(1), json!(0.5), json!("x"), json!([]), json!({})].into_iter()
}

fn add<T: PartialEq>(list: &mut Vec<T>, one: Option<T>) {
    if let Some(one) = one.filter(|one| list.len() < MAX_HINTS && !list.contains(one)) {
        list.push(one);
    }
}

fn with(map: &Map<String, Value>, key: &str, value: Value) -> Value {
    let mut more = map.clone();
    more.insert(key.to_owned(), value);
    Value::Object(more)
}

/// A text cut to a length, or made as long by its last letter.
fn of_length(text: &str, length: u64) -> String {
    let last = text.chars().last().unwrap_or('x');
    text.chars().chain(std::iter::repeat(last)).take(count_of(length)).collect()
}

fn count_of(count: u64) -> usize {
    usize::try_from(count).unwrap_or_default()
}

/// The places of a value, the whole first.
fn places(value: &Value) -> Vec<String> {
    let mut places = vec![String::new()];
    let mut next = 0;
    while let Some(place) = places.get(next).cloned().filter(|_| places.len() < MAX_PLACES) {
        next += 1;
        match value.pointer(&place) {
            Some(Value::Object(map)) => places.extend(map.keys().map(|key| format!("{place}/{}", escaped(key)))),
            Some(Value::Array(items)) if !items.is_empty() => places.push(format!("{place}/0")),
            _ => {}
        }
    }
    places
}

/// A value with a key that nobody declared, in each of its first objects in turn.
fn opened(value: &Value) -> Vec<Value> {
    let objects = places(value).into_iter().filter(|place| value.pointer(place).is_some_and(Value::is_object));
    let opened = objects.take(MAX_OPENED).map(|place| {
        let mut more = value.clone();
        if let Some(own) = more.pointer_mut(&place).and_then(Value::as_object_mut) {
            own.insert("undeclared".to_owned(), Value::Bool(true));
        }
        more
    });
    opened.collect()
}
