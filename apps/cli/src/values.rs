//! Round trips of a corpus's instances: encoded by the lens, validated by the fitted schema, decoded. The validator is the
//! `jsonschema` crate, never our own code.

use std::borrow::Cow;

use polywire::answer::{Formats, Judge};
use polywire::schema::{Effect, FittedText, ToolShape};
use polywire_testkit::{Cover, Place, References, as_json_schema, equal, sample, shortened};
use serde::Serialize;
use serde_json::{Value, json};

use crate::locate::unescaped;

/// An instance of the corpus.
pub(crate) struct Instance {
    pub(crate) valid: bool,
    pub(crate) data: Value,
}

/// Counts of instances by result.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) valid: usize,
    /// Valid instances that were encoded and that the fitted schema accepts.
    pub(crate) kept: usize,
    /// Kept instances that were decoded unchanged.
    pub(crate) returned: usize,
    pub(crate) invalid: usize,
    /// Invalid instances that cannot be encoded or that the fitted schema rejects.
    pub(crate) caught: usize,
    /// Generated values that the fitted schema accepts.
    pub(crate) made: usize,
    /// Generated values that are decoded to something the original schema accepts.
    pub(crate) sound: usize,
    /// Losses without a change at their place.
    pub(crate) silent: usize,
}

/// Generated values per schema.
const MADE: u64 = 8;

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.valid += other.valid;
        self.kept += other.kept;
        self.returned += other.returned;
        self.invalid += other.invalid;
        self.caught += other.caught;
        self.made += other.made;
        self.sound += other.sound;
        self.silent += other.silent;
    }
}

/// The instances of one schema through one lens.
#[derive(Default)]
pub(crate) struct RoundTrips {
    pub(crate) counts: Counts,
    /// One for every instance: `{"wire","back"}` or `{"error"}`.
    pub(crate) values: Vec<Value>,
    /// The first loss without a change.
    pub(crate) silent: Option<String>,
}

/// Sends the instances of a schema to the wire and back, and values made up on the wire to the caller.
pub(crate) fn judge(fitted: &FittedText, asked: &str, shape: ToolShape, instances: &[Instance]) -> RoundTrips {
    let mut round_trips = RoundTrips::default();
    let Ok(schema) = serde_json::from_str::<Value>(&fitted.schema) else { return round_trips };
    let schema = if shape == ToolShape::GeminiOpenapi { as_json_schema(schema) } else { schema };
    let caller = serde_json::from_str::<Value>(asked).ok();
    // A schema that states no draft may be meant as the `OpenAPI` slots mean it.
    let caller = caller.map(|asked| match asked.get("$schema") {
        None if shape == ToolShape::GeminiOpenapi => as_json_schema(asked),
        _ => asked,
    });
    let references = caller.as_ref().map(References::of).unwrap_or_default();
    let validators = Validators {
        fitted,
        wire: judge_by(&schema),
        caller: caller.as_ref().and_then(judge_by),
        narrower: Cover::of(&fitted.changes, Effect::Narrower, &references),
        wider: Cover::of(&fitted.changes, Effect::Wider, &references),
    };
    for instance in instances {
        let (result, places, value) = validators.pass(&instance.data);
        round_trips.values.push(value);
        let counts = &mut round_trips.counts;
        let loss = if instance.valid {
            counts.valid += 1;
            counts.kept += usize::from(result != RoundTripResult::Refused);
            counts.returned += usize::from(result == RoundTripResult::Returned);
            (result != RoundTripResult::Returned && !accounts(&validators.narrower, places))
                .then_some("a valid instance was lost")
        } else {
            counts.invalid += 1;
            counts.caught += usize::from(result == RoundTripResult::Refused);
            let passes = result != RoundTripResult::Refused
                && !accounts(&validators.wider, validators.objections(&instance.data).1);
            passes.then_some("an invalid instance passes")
        };
        round_trips.record(loss, &instance.data);
    }
    for made in (0..MADE).filter_map(|seed| sample(&schema, seed)) {
        if !validators.wire.as_ref().is_some_and(|judge| judge.is_valid(&made)) {
            continue;
        }
        round_trips.counts.made += 1;
        let back = match fitted.decode(made.clone()) {
            Ok(back) => back,
            Err(error) => {
                let place = vec![Place::on_the_wire(error.at())];
                let loss = (!accounts(&validators.wider, Some(place))).then(|| format!("not decoded ({error})"));
                round_trips.record(loss.as_deref(), &made);
                continue;
            }
        };
        let (why, places) = validators.objections(&back);
        round_trips.counts.sound += usize::from(why.is_none());
        let loss = why.filter(|_| !accounts(&validators.wider, places));
        let loss = loss.map(|why| format!("not what was asked for ({why})"));
        round_trips.record(loss.as_deref(), &made);
    }
    round_trips
}

/// A judge by a schema. What the judge cannot read of it as a regular expression is passed over; which other keys an object may have
/// cannot be judged without it.
pub(crate) fn judge_by(schema: &Value) -> Option<Judge> {
    let mut schema = Cow::Borrowed(schema);
    for _ in 0..MOST_UNREAD {
        let error = match Judge::new(&schema, Formats::Asserted) {
            Ok(judge) => return Some(judge),
            Err(error) => error,
        };
        let (holder, key) = error.at().rsplit_once('/')?;
        let key = unescaped(key);
        let around = holder.strip_suffix("/patternProperties");
        let schema = schema.to_mut();
        let members = schema.pointer_mut(holder)?.as_object_mut()?;
        let taken = members.get(&key).filter(|value| around.is_some() || (key == "pattern" && value.is_string()));
        taken?;
        members.shift_remove(&key);
        if let Some(object) = around.and_then(|around| schema.pointer_mut(around)).and_then(Value::as_object_mut) {
            object.shift_remove("additionalProperties");
            object.shift_remove("unevaluatedProperties");
        }
    }
    None
}

/// Of schemas with more patterns that cannot be read nothing is judged.
const MOST_UNREAD: usize = 64;

impl RoundTrips {
    fn record(&mut self, loss: Option<&str>, value: &Value) {
        if let Some(loss) = loss {
            self.counts.silent += 1;
            self.silent = self.silent.take().or_else(|| Some(format!("{loss}: {}", shortened(value))));
        }
    }
}

/// The result of one round trip.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RoundTripResult {
    /// It cannot be encoded, or the fitted schema refuses it.
    Refused,
    /// It was accepted and came back changed.
    Changed,
    /// It was accepted and came back as it was.
    Returned,
}

/// The validators of both sides, and the recorded changes.
struct Validators<'f> {
    fitted: &'f FittedText,
    wire: Option<Judge>,
    caller: Option<Judge>,
    narrower: Cover,
    wider: Cover,
}

impl Validators<'_> {
    /// There and back: what became of a value, at which places, and what `--emit` says of it.
    fn pass(&self, data: &Value) -> (RoundTripResult, Places, Value) {
        let wire = match self.fitted.encode(data.clone()) {
            Ok(wire) => wire,
            Err(error) => {
                return (
                    RoundTripResult::Refused,
                    Some(vec![Place::of_caller(error.at())]),
                    json!({ "error": error.to_string() }),
                );
            }
        };
        let back = match self.fitted.decode(wire.clone()) {
            Ok(back) => back,
            Err(error) => {
                return (
                    RoundTripResult::Changed,
                    Some(vec![Place::on_the_wire(error.at())]),
                    json!({ "error": error.to_string() }),
                );
            }
        };
        if let (Some(why), places) = objections(self.wire.as_ref(), &wire, Place::on_the_wire) {
            return (RoundTripResult::Refused, places, json!({ "wire": wire, "back": back, "refused": why }));
        }
        let result = if equal(&back, data) { RoundTripResult::Returned } else { RoundTripResult::Changed };
        (result, Some(Place::differences(data, &back)), json!({ "wire": wire, "back": back }))
    }

    /// Why and where the caller's schema refuses a value.
    fn objections(&self, value: &Value) -> (Option<String>, Places) {
        objections(self.caller.as_ref(), value, Place::of_caller)
    }
}

/// Where something was lost; `None` where that took too long to find out.
type Places = Option<Vec<Place>>;

/// Why and where a judge refuses a value. Who is not there has no objections.
fn objections(judge: Option<&Judge>, value: &Value, place: fn(&str) -> Place) -> (Option<String>, Places) {
    let faults = judge.map(|judge| judge.faults(value)).unwrap_or_default();
    let why = faults.first().map(|fault| format!("{} at `{}`", fault.detail, fault.at));
    (why, faults.iter().map(|fault| fault.has_place().then(|| place(&fault.at).refused_by(&fault.keyword))).collect())
}

/// Whether a change accounts for a loss; for one without a known place none does.
fn accounts(cover: &Cover, places: Places) -> bool {
    places.is_some_and(|places| cover.covers(&places))
}
