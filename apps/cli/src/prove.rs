//! Whether a fitted schema, seen through its lens, accepts what the caller's accepts: a proof where the canonical forms of the
//! `jsonschema` crate give one, and a value that slips through where one can be found. Never our own code judges.

use jsonschema::Validator;
use jsonschema::canonical::{self, CanonicalSchema, Containment};
use polywire::schema::{Effect, FittedText, ToolShape, sample};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::values::{as_json_schema, shortened};

/// Schemas of more bytes than this are not tried: canonical forms may grow with every union.
const MOST_BYTES: usize = 4_096;

/// How many values are made up in search of one that slips through.
const TRIED: u64 = 16;

/// How what comes back compares with what was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    Wider,
    Narrower,
    Neither,
    Undecided,
}

/// Schemas by relation.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Proofs {
    pub(crate) equal: usize,
    pub(crate) wider: usize,
    pub(crate) narrower: usize,
    pub(crate) neither: usize,
    pub(crate) undecided: usize,
    /// Verdicts that no change accounts for.
    pub(crate) silent: usize,
}

impl Proofs {
    pub(crate) fn add(&mut self, proof: &Proof) {
        *match proof.relation {
            Relation::Equal => &mut self.equal,
            Relation::Wider => &mut self.wider,
            Relation::Narrower => &mut self.narrower,
            Relation::Neither => &mut self.neither,
            Relation::Undecided => &mut self.undecided,
        } += 1;
        self.silent += usize::from(proof.silent.is_some());
    }
}

/// What was proved of one schema.
pub(crate) struct Proof {
    relation: Relation,
    /// What contradicts the changes on record.
    pub(crate) silent: Option<String>,
}

impl Proof {
    pub(crate) fn undecided() -> Self {
        Self { relation: Relation::Undecided, silent: None }
    }
}

/// Compares what the caller asked for with what may come back.
pub(crate) fn prove(fitted: &FittedText, asked: &str, shape: ToolShape) -> Proof {
    compare(fitted, asked, shape).unwrap_or_else(Proof::undecided)
}

fn compare(fitted: &FittedText, asked: &str, shape: ToolShape) -> Option<Proof> {
    if asked.len().max(fitted.schema.len()) > MOST_BYTES {
        return None;
    }
    let openapi = |schema: Value| if shape == ToolShape::GeminiOpenapi { as_json_schema(schema) } else { schema };
    let wire = openapi(serde_json::from_str(&fitted.schema).ok()?);
    let image = fitted.lens().image(&wire)?;
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
    let unsaid = |left: LeftOver, effect: Effect, word: &str| match left {
        LeftOver::Something(what) if !fitted.changes.iter().any(|change| change.effect == effect) => {
            Some(format!("proved {word}, with no change that says so: {what}"))
        }
        LeftOver::Something(_) | LeftOver::Nothing | LeftOver::Unknown => None,
    };
    let silent = unsaid(gained, Effect::Wider, "wider").or_else(|| unsaid(lost, Effect::Narrower, "narrower"));
    Some(Proof { relation, silent })
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
