//! Laws 3 and 4 of one fitted schema, over made-up values and values near them, with the `jsonschema` crate as judge. The fuzz
//! target takes this file in by its path, so that there is one judge.

use polywire_answer::{Fault, Formats, Judge};
use polywire_schema::{Change, Dialect, Effect, Fitted, Lens, ToolShape};
use polywire_testkit::{Cover, Place, References, as_json_schema, sample};
use serde_json::{Number, Value, json};

use crate::chance::{Chance, has_children};

/// The caller's schema and what became of it, as the judge reads them.
pub(crate) struct Court {
    caller: Judge,
    wire: Judge,
    /// The fitted schema in the words of JSON Schema.
    said: Value,
}

/// How many values near each made-up one are judged as well.
const NEAR: u64 = 8;

impl Court {
    /// `None` where the judge cannot read one of the schemas.
    pub(crate) fn new(schema: &Value, fitted: &Fitted, dialect: &Dialect) -> Option<Self> {
        Self::of(schema, fitted.schema.clone(), dialect)
    }

    /// The same for a fitted schema by itself.
    pub(crate) fn of(schema: &Value, said: Value, dialect: &Dialect) -> Option<Self> {
        let build = |schema: &Value| Judge::new(schema, Formats::Asserted).ok();
        let said = if dialect.shape() == ToolShape::GeminiOpenapi { as_json_schema(said) } else { said };
        Some(Self { caller: build(schema)?, wire: build(&said)?, said })
    }

    /// What the caller's schema accepts goes to the wire and comes back, and what the wire accepts is what the caller asked for,
    /// unless a change at that place says otherwise.
    pub(crate) fn judge(&self, schema: &Value, fitted: &Fitted, values: u64) -> Result<(), String> {
        let covers = Covers::of(schema, &fitted.changes);
        self.judge_samples(schema, fitted.lens(), &covers, values)
            .map_err(|broken| format!("{broken}\n  fitted {}\n  changes {:?}", fitted.schema, fitted.changes))
    }

    /// The first made-up value that breaks a law.
    pub(crate) fn judge_samples(
        &self,
        schema: &Value,
        lens: &Lens,
        covers: &Covers,
        values: u64,
    ) -> Result<(), String> {
        for seed in 0..values {
            for value in with_neighbours(sample(schema, seed), seed).filter(|value| self.caller.is_valid(value)) {
                if let Err(reason) = self.law_3(lens, covers, &value) {
                    return Err(format!("law 3: {value}: {reason}"));
                }
            }
            for value in with_neighbours(sample(&self.said, seed), seed) {
                if let Err(reason) = self.law_4(lens, covers, &value) {
                    return Err(format!("law 4: {value} {reason}"));
                }
            }
        }
        Ok(())
    }

    /// Law 3: a value of the caller goes to the wire and comes back, unless a change covers every place at which it does not.
    pub(crate) fn law_3(&self, lens: &Lens, covers: &Covers, value: &Value) -> Result<(), String> {
        self.law_3_at(lens, value).or_else(|loss| loss.unless(&covers.narrower))
    }

    /// The same, whatever is on record.
    pub(crate) fn returns(&self, lens: &Lens, value: &Value) -> bool {
        self.law_3_at(lens, value).is_ok()
    }

    fn law_3_at(&self, lens: &Lens, value: &Value) -> Result<(), Loss> {
        let sent = lens.encode(value.clone()).map_err(|error| {
            let places = Some(vec![Place::of_caller(error.at())]);
            Loss { places, reason: error.to_string() }
        })?;
        if !self.wire.is_valid(&sent) {
            let faults = self.wire.faults(&sent);
            let reason = format!("{sent} is refused: {}", first(&faults));
            return Err(Loss { places: places(&faults, Place::on_the_wire), reason });
        }
        let back = lens.decode(sent.clone()).map_err(|error| {
            let places = Some(vec![Place::on_the_wire(error.at())]);
            Loss { places, reason: format!("{sent}: {error}") }
        })?;
        let places = Place::differences(value, &back);
        if places.is_empty() {
            return Ok(());
        }
        Err(Loss { places: Some(places), reason: format!("{sent} comes back as {back}") })
    }

    /// Law 4: a value that the fitted schema accepts is decoded to one that the caller's accepts, unless a change covers every place
    /// at which it is not.
    pub(crate) fn law_4(&self, lens: &Lens, covers: &Covers, wire: &Value) -> Result<(), String> {
        self.law_4_at(lens, wire).or_else(|loss| loss.unless(&covers.wider))
    }

    /// What the caller's schema refuses is refused by the fitted one, or covered.
    pub(crate) fn refuses(&self, lens: &Lens, covers: &Covers, value: &Value) -> Result<(), String> {
        let faults = self.caller.faults(value);
        if faults.is_empty() {
            return Err("the caller's schema accepts it".to_owned());
        }
        match lens.encode(value.clone()) {
            Ok(sent) if self.wire.is_valid(&sent) => {
                let loss = Loss { places: places(&faults, Place::of_caller), reason: format!("{sent} is accepted") };
                // What comes back may be right all the same: a default, or a key that is left out.
                loss.unless(&covers.wider).or_else(|reason| self.law_4(lens, covers, &sent).map_err(|_| reason))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// A value that the wire refuses is no fault.
    fn law_4_at(&self, lens: &Lens, wire: &Value) -> Result<(), Loss> {
        if !self.wire.is_valid(wire) {
            return Ok(());
        }
        let back = lens.decode(wire.clone()).map_err(|error| {
            let places = Some(vec![Place::on_the_wire(error.at())]);
            Loss { places, reason: format!("is not decoded: {error}") }
        })?;
        if self.caller.is_valid(&back) {
            return Ok(());
        }
        let faults = self.caller.faults(&back);
        let reason = format!("comes back as {back}: {}", first(&faults));
        Err(Loss { places: places(&faults, Place::of_caller), reason })
    }
}

/// What broke a law, and where; at a place that is not known no change accounts for it.
struct Loss {
    places: Option<Vec<Place>>,
    reason: String,
}

impl Loss {
    /// The reason, unless changes cover every place.
    fn unless(self, cover: &Cover) -> Result<(), String> {
        if self.places.is_some_and(|places| cover.covers(&places)) { Ok(()) } else { Err(self.reason) }
    }
}

/// The places of the changes that account for losses.
pub(crate) struct Covers {
    narrower: Cover,
    wider: Cover,
}

impl Covers {
    pub(crate) fn of(schema: &Value, changes: &[Change]) -> Self {
        let references = References::of(schema);
        let cover = |effect| Cover::of(changes, effect, &references);
        Self { narrower: cover(Effect::Narrower), wider: cover(Effect::Wider) }
    }
}

fn places(faults: &[Fault], place: fn(&str) -> Place) -> Option<Vec<Place>> {
    faults.iter().map(|fault| fault.has_place().then(|| place(&fault.at).refused_by(&fault.keyword))).collect()
}

fn first(faults: &[Fault]) -> String {
    faults.first().map(|fault| format!("{} (at `{}`)", fault.detail, fault.at)).unwrap_or_default()
}

/// A value and what lies near it: a part of it is exchanged, left out, added or repeated, as a sampler that follows the schema
/// would not do it. The same seed gives the same values.
fn with_neighbours(value: Option<Value>, seed: u64) -> impl Iterator<Item = Value> {
    let near = value.clone().into_iter().flat_map(move |value| {
        (0..NEAR).map(move |index| {
            let mut other = value.clone();
            let mut chance = Chance::new(seed.wrapping_mul(NEAR).wrapping_add(index));
            // The first draws of the generator are much alike.
            (0..8).for_each(|_| _ = chance.below(2));
            for _ in 0..=chance.below(3) {
                nudge(&mut other, &value, &mut chance);
            }
            other
        })
    });
    value.into_iter().chain(near)
}

/// Changes something at a place of a value.
fn nudge(value: &mut Value, whole: &Value, chance: &mut Chance) {
    if has_children(value)
        && !chance.one_in(4)
        && let Some(child) = chance.child_mut(value)
    {
        return nudge(child, whole, chance);
    }
    match (chance.below(5), value) {
        (0 | 1, Value::Object(members)) => {
            let key = KEYS.get(chance.below(KEYS.len())).copied().unwrap_or_default();
            members.insert(key.to_owned(), part(whole, chance));
        }
        (2, Value::Object(members)) => {
            let key = members.keys().nth(chance.below(members.len())).cloned();
            _ = key.and_then(|key| members.shift_remove(&key));
        }
        (0, Value::Array(items)) => items.push(part(whole, chance)),
        // An item again: a second one where at most one may be, or an entry with the same key.
        (1, Value::Array(items)) => {
            if let Some(item) = items.get(chance.below(items.len().max(1))).cloned() {
                items.push(item);
            }
        }
        (2, Value::Array(items)) => _ = items.pop(),
        // More than any limit of a case.
        (3, Value::Array(items)) if items.first().is_some_and(is_scalar) && chance.one_in(4) => {
            *items = items.iter().cycle().take(1_000).cloned().collect();
        }
        (2, Value::Number(number)) => *number = near_number(number, chance),
        // Longer than any limit that a case has, and shorter.
        (2, Value::String(text)) => *text = text.repeat(12_000_usize.div_ceil(text.len().max(1)) * chance.below(2)),
        (_, value) => *value = part(whole, chance),
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// The next number, the negative one, a large one, and the same one written as a fraction.
fn near_number(number: &Number, chance: &mut Chance) -> Number {
    let is = number.as_f64().unwrap_or_default();
    let near = [is + 1.0, is - 1.0, -is, is * 1e6 + 1e6, is - 1e6, is + 0.07, is];
    let index = chance.below(near.len());
    let near = near.get(index).copied().unwrap_or_default();
    match number.as_i64() {
        #[expect(clippy::cast_possible_truncation, reason = "a number near a small one")]
        Some(_) if index < 6 => Number::from(near as i64),
        Some(_) | None => Number::from_f64(near).unwrap_or_else(|| number.clone()),
    }
}

/// Keys that schemas declare, and one that none does.
const KEYS: [&str; 9] = ["a", "b", "type", "$ref", "odd key", "value", "items", "option_2", "more"];

/// A plain value, or a part of another one.
fn part(whole: &Value, chance: &mut Chance) -> Value {
    let plain = [
        json!(null),
        json!(true),
        json!(1),
        json!(3),
        json!(1.5),
        json!("k"),
        json!("a"),
        json!(""),
        json!("[]"),
        json!([]),
        json!({}),
    ];
    match chance.below(plain.len() + 4) {
        index if index < plain.len() => plain.get(index).cloned().unwrap_or_default(),
        _ => within(whole, chance).clone(),
    }
}

fn within<'v>(value: &'v Value, chance: &mut Chance) -> &'v Value {
    chance.child(value).filter(|_| !chance.one_in(3)).map_or(value, |child| within(child, chance))
}
