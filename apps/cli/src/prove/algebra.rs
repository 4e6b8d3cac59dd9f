//! The judge: the canonical forms of the `jsonschema` crate say whether one schema covers another, and what is left over where
//! it does not. Never our own code judges.

use jsonschema::Validator;
use jsonschema::canonical::{self, CanonicalSchema, Containment};
use polywire::schema::{Effect, ToolShape, sample};
use serde_json::{Map, Value};

use super::{Proof, Question, Relation};
use crate::values::{as_json_schema, shortened};

/// Schemas of more bytes than this are not tried.
const MOST_BYTES: usize = 16_384;

/// How many values are made up in search of one that slips through.
const TRIED: u64 = 16;

/// How many objects of a value are given a key that nobody declared.
const MOST_PLACES: usize = 16;

pub(super) fn compare(question: &Question) -> Option<Proof> {
    let Question { asked, wire, lens, shape, recorded } = question;
    if asked.len().max(wire.len()) > MOST_BYTES {
        return None;
    }
    let openapi = |schema: Value| if *shape == ToolShape::GeminiOpenapi { as_json_schema(schema) } else { schema };
    let wire = openapi(serde_json::from_str(wire).ok()?);
    let image = lens.image(&wire)?;
    let asked: Value = serde_json::from_str(asked).ok()?;
    let asked = as_2020(if asked.get("$schema").is_none() { openapi(asked) } else { asked })?;
    let (before, after) = (Side::of(asked)?, Side::of(as_2020(image)?)?);
    let (lost, gained) = (left_over(&before, &after), left_over(&after, &before));
    let relation = match (&lost, &gained) {
        (LeftOver::Nothing, LeftOver::Nothing) => Relation::Equal,
        (LeftOver::Nothing, LeftOver::Something(_)) => Relation::Wider,
        (LeftOver::Something(_), LeftOver::Nothing) => Relation::Narrower,
        (LeftOver::Something(_), LeftOver::Something(_)) => Relation::Neither,
        (LeftOver::Unknown, _) | (_, LeftOver::Unknown) => Relation::Undecided,
    };
    let unsaid = |left: &LeftOver, effect: Effect, word: &str| match left {
        LeftOver::Something(what) if !recorded.contains(&effect) => {
            Some(format!("proved {word}, with no change that says so: {what}"))
        }
        LeftOver::Something(_) | LeftOver::Nothing | LeftOver::Unknown => None,
    };
    let silent = unsaid(&gained, Effect::Wider, "wider").or_else(|| unsaid(&lost, Effect::Narrower, "narrower"));
    Some(Proof { relation, gained: gained.shown(), lost: lost.shown(), silent })
}

/// One of the two schemas: in canonical form, and as a judge of values.
struct Side {
    schema: Value,
    form: Option<CanonicalSchema>,
    judge: Validator,
}

/// What one schema accepts and another refuses.
enum LeftOver {
    Nothing,
    /// A value, or the schema of such values.
    Something(String),
    Unknown,
}

impl LeftOver {
    fn shown(self) -> Option<String> {
        match self {
            Self::Something(what) => Some(what),
            Self::Nothing | Self::Unknown => None,
        }
    }
}

impl Side {
    fn of(schema: Value) -> Option<Self> {
        let draft = jsonschema::Draft::Draft202012;
        let judge = jsonschema::options().with_draft(draft).should_validate_formats(true).build(&schema).ok()?;
        let form = canonical::options().offline().with_draft(draft).should_validate_formats(true);
        Some(Self { form: form.canonicalize(&schema).ok(), schema, judge })
    }
}

/// What `all` accepts and `most` refuses: proved by canonical form, or shown by a value.
fn left_over(all: &Side, most: &Side) -> LeftOver {
    let forms = all.form.as_ref().zip(most.form.as_ref());
    let covers = forms.and_then(|(all, most)| most.covers(all).ok()).unwrap_or(Containment::Unknown);
    if covers == Containment::Yes {
        return LeftOver::Nothing;
    }
    let difference = forms.and_then(|(all, most)| all.subtract(most).ok()).map(|form| form.to_json_schema());
    let sources = difference.iter().chain([&all.schema]);
    let values = sources.flat_map(|schema| (0..TRIED).filter_map(move |seed| sample(schema, seed)));
    let values = values.flat_map(|value| with_more(&value).into_iter().chain([value]));
    let slips = values.filter(|value| all.judge.is_valid(value) && !most.judge.is_valid(value));
    match (slips.min_by_key(|value| value.to_string().len()), covers, difference) {
        (Some(value), _, _) => LeftOver::Something(shortened(&value)),
        (None, Containment::No, Some(schema)) => {
            LeftOver::Something(format!("what is valid by {}", shortened(&schema)))
        }
        (None, Containment::No, None) => LeftOver::Something("no value of it was found".to_owned()),
        (None, Containment::Yes | Containment::Unknown, _) => LeftOver::Unknown,
    }
}

/// A value with a key that nobody declared, in each of its first objects in turn.
fn with_more(value: &Value) -> Vec<Value> {
    let mut places = vec![String::new()];
    let mut out = Vec::new();
    while let Some(place) = places.pop().filter(|_| out.len() < MOST_PLACES) {
        match value.pointer(&place) {
            Some(Value::Object(map)) => {
                places.extend(map.keys().map(|key| format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"))));
                let mut more = value.clone();
                if let Some(own) = more.pointer_mut(&place).and_then(Value::as_object_mut) {
                    own.insert("undeclared".to_owned(), Value::Bool(true));
                }
                out.push(more);
            }
            Some(Value::Array(items)) if !items.is_empty() => places.push(format!("{place}/0")),
            _ => {}
        }
    }
    out
}

/// The schema without the name of its draft, where it says the same in 2020-12: canonical forms compare within one draft.
fn as_2020(mut schema: Value) -> Option<Value> {
    if let Some(map) = schema.as_object_mut() {
        let draft = map.remove("$schema");
        let says = draft.as_ref().and_then(Value::as_str).unwrap_or_default();
        if !says.is_empty() && !says.contains("2020-12") && differs(&Value::Object(map.clone())) {
            return None;
        }
    }
    Some(schema)
}

/// Whether a schema has words that mean something else, or nothing, in 2020-12.
fn differs(schema: &Value) -> bool {
    let in_map = |map: &Map<String, Value>| {
        map.iter().any(|(key, value)| match (key.as_str(), value) {
            ("items", Value::Array(_))
            | ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_))
            | ("id", Value::String(_))
            | ("additionalItems" | "dependencies" | "$recursiveRef", _) => true,
            // Before 2019-09 a reference silences what stands beside it.
            ("$ref", Value::String(_)) => map.len() > 1,
            _ => differs(value),
        })
    };
    match schema {
        Value::Object(map) => in_map(map),
        Value::Array(items) => items.iter().any(differs),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
