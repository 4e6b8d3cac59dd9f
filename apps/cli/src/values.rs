//! What becomes of the instances of a schema: sent through the lens, judged by the fitted schema, and brought back. The judge is
//! the `jsonschema` crate, never our own code.

use jsonschema::Validator;
use polywire::schema::{Effect, FittedText};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// An instance of the corpus.
pub(crate) struct Instance {
    pub(crate) valid: bool,
    pub(crate) data: Value,
}

/// How instances fared.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) valid: usize,
    /// Valid ones that were encoded and are accepted on the wire.
    pub(crate) kept: usize,
    /// Kept ones that came back as they were.
    pub(crate) returned: usize,
    pub(crate) invalid: usize,
    /// Invalid ones that cannot be encoded or are refused on the wire.
    pub(crate) caught: usize,
    /// Losses that no change accounts for.
    pub(crate) silent: usize,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.valid += other.valid;
        self.kept += other.kept;
        self.returned += other.returned;
        self.invalid += other.invalid;
        self.caught += other.caught;
        self.silent += other.silent;
    }
}

/// The instances of one schema through one lens.
#[derive(Default)]
pub(crate) struct Fates {
    pub(crate) counts: Counts,
    /// One for every instance: `{"wire","back"}` or `{"error"}`.
    pub(crate) values: Vec<Value>,
    /// The first loss that no change accounts for.
    pub(crate) silent: Option<String>,
}

pub(crate) fn judge(fitted: &FittedText, instances: &[Instance]) -> Fates {
    let mut fates = Fates::default();
    let Ok(schema) = serde_json::from_str::<Value>(&fitted.schema) else { return fates };
    let judge = jsonschema::draft202012::options().should_validate_formats(true).build(&as_json_schema(schema)).ok();
    let has = |effect| fitted.changes.iter().any(|change| change.effect == effect);
    let (narrower, wider) = (has(Effect::Narrower), has(Effect::Wider));
    for instance in instances {
        let (fate, value) = pass(fitted, judge.as_ref(), &instance.data);
        fates.values.push(value);
        let counts = &mut fates.counts;
        let loss = if instance.valid {
            counts.valid += 1;
            counts.kept += usize::from(fate != Fate::Refused);
            counts.returned += usize::from(fate == Fate::Returned);
            (fate != Fate::Returned && !narrower).then_some("a valid instance was lost")
        } else {
            counts.invalid += 1;
            counts.caught += usize::from(fate == Fate::Refused);
            (fate != Fate::Refused && !wider).then_some("an invalid instance passes")
        };
        if let Some(loss) = loss {
            counts.silent += 1;
            fates.silent = fates.silent.take().or_else(|| Some(format!("{loss}: {}", shortened(&instance.data))));
        }
    }
    fates
}

/// What became of an instance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It cannot be encoded, or the fitted schema refuses it.
    Refused,
    /// It was accepted and came back changed.
    Changed,
    /// It was accepted and came back as it was.
    Returned,
}

fn pass(fitted: &FittedText, judge: Option<&Validator>, data: &Value) -> (Fate, Value) {
    let wire = match fitted.encode(data.clone()) {
        Ok(wire) => wire,
        Err(error) => return (Fate::Refused, json!({ "error": error.to_string() })),
    };
    let back = match fitted.decode(wire.clone()) {
        Ok(back) => back,
        Err(error) => return (Fate::Changed, json!({ "error": error.to_string() })),
    };
    let fate = match judge {
        Some(judge) if !judge.is_valid(&wire) => {
            let why = judge.iter_errors(&wire).next().map(|error| format!("{error} at `{}`", error.instance_path()));
            return (Fate::Refused, json!({ "wire": wire, "back": back, "refused": why }));
        }
        _ if equal(&back, data) => Fate::Returned,
        _ => Fate::Changed,
    };
    (fate, json!({ "wire": wire, "back": back }))
}

/// A fitted schema as the judge reads it: `nullable` and the references of the `OpenAPI` slots in the words of JSON Schema.
fn as_json_schema(schema: Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut out = Map::with_capacity(map.len());
            let mut null = false;
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("nullable", Value::Bool(flag)) => null = flag,
                    ("ref", Value::String(pointer)) => _ = out.insert("$ref".to_owned(), pointer.into()),
                    (_, value) => _ = out.insert(key, as_json_schema(value)),
                }
            }
            if null { json!({"anyOf": [out, {"type": "null"}]}) } else { Value::Object(out) }
        }
        Value::Array(items) => items.into_iter().map(as_json_schema).collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}

/// Whether two values are equal, `1` and `1.0` being one number.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, own)| y.get(key).is_some_and(|other| equal(own, other)))
        }
        _ => a == b,
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
