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

/// How many objects of a value are given a key that nobody declared.
const MOST_PLACES: usize = 16;

/// How what comes back compares with what was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Serialize)]
pub(crate) struct Proof {
    relation: Relation,
    /// What comes back and was not asked for: a small value, or the schema of such values.
    gained: Option<String>,
    /// What was asked for and cannot come back.
    lost: Option<String>,
    /// What contradicts the changes on record.
    pub(crate) silent: Option<String>,
}

impl Proof {
    pub(crate) fn undecided() -> Self {
        Self { relation: Relation::Undecided, gained: None, lost: None, silent: None }
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
    let unsaid = |left: &LeftOver, effect: Effect, word: &str| match left {
        LeftOver::Something(what) if !fitted.changes.iter().any(|change| change.effect == effect) => {
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

#[cfg(test)]
mod tests {
    use polywire::schema::{FitOptions, ToolShape, dialect, fit_text};
    use serde_json::json;

    use super::{Relation, prove};

    /// Verdicts on what was fitted, and on the same with its record torn out.
    #[test]
    fn a_verdict_that_is_not_on_record_is_told_with_a_value() {
        let list = |more: &str| {
            format!(
                r#"{{"type": "object", "properties": {{"a": {{"type": "array", "items": {{"type": "integer"}}{more}}}}},
                "required": ["a"], "additionalProperties": false}}"#
            )
        };
        let open = json!({"type": "object", "properties": {"a": {"type": "integer"}}}).to_string();
        let map = json!({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "point": {"type": "array", "prefixItems": [{"type": "integer"}], "items": false, "minItems": 1}},
            "additionalProperties": false});
        let rows = [
            (list(""), Relation::Equal, None),
            (map.to_string(), Relation::Equal, None),
            (
                list(r#", "uniqueItems": true"#),
                Relation::Wider,
                Some("proved wider, with no change that says so: {\"a\":["),
            ),
            (open, Relation::Narrower, Some("proved narrower, with no change that says so: {")),
        ];
        let strict = dialect("openai-strict").expect("a dialect");
        for (schema, relation, told) in rows {
            let mut fitted = fit_text(&schema, strict, &FitOptions::default()).expect("a fit");
            let proof = prove(&fitted, &schema, ToolShape::OpenaiChat);
            assert!(proof.relation == relation && proof.silent.is_none(), "{schema}: {:?}", proof.silent);
            fitted.changes.clear();
            let silent = prove(&fitted, &schema, ToolShape::OpenaiChat).silent;
            match told {
                None => assert_eq!(silent, None, "{schema}"),
                Some(told) => assert!(silent.as_ref().is_some_and(|silent| silent.starts_with(told)), "{silent:?}"),
            }
        }
    }
}
