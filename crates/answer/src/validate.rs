//! Whether a value is what the schema wants, and if not, what to tell the model.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::schema::{Schema, SchemaError};

/// One way in which a value is not what the schema wants.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// The JSON Pointer of the place in the value.
    pub at: String,
    /// The keyword of the schema; empty where the place was not found.
    pub keyword: String,
    /// What the keyword says.
    pub expected: Value,
    /// What stands there, cut short if it is long.
    pub got: String,
    /// All that in a sentence.
    pub detail: String,
}

impl Fault {
    /// Whether it is known where the schema refuses the value, which may take too long to find out.
    pub fn has_place(&self) -> bool {
        !self.keyword.is_empty()
    }

    pub(crate) fn without_place(value: &Value) -> Self {
        Self {
            at: String::new(),
            keyword: String::new(),
            expected: Value::Null,
            got: quoted(value),
            detail: "the value is refused, at a place that took too long to find".to_owned(),
        }
    }

    pub(crate) fn of(error: &jsonschema::ValidationError<'_>, schema: &Value) -> Self {
        Self {
            at: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            expected: schema.pointer(error.schema_path().as_str()).cloned().unwrap_or(Value::Null),
            got: quoted(error.instance()),
            detail: error.masked_with("the value").to_string(),
        }
    }

    pub(crate) fn assertion(at: String, assertion: &str, value: &Value) -> Self {
        Self {
            at,
            keyword: crate::keyword::ASSERT.to_owned(),
            expected: assertion.into(),
            got: quoted(value),
            detail: format!("the value breaks the assertion `{assertion}`"),
        }
    }

    pub(crate) fn unknown_name() -> Self {
        Self {
            at: String::new(),
            keyword: crate::keyword::ALIAS.to_owned(),
            expected: Value::Null,
            got: String::new(),
            detail: "a name is not one that was shown".to_owned(),
        }
    }
}

/// How many faults are listed.
const MAX_FAULTS: usize = 50;
/// How much of a value is quoted.
const MAX_QUOTED: usize = 200;

/// Judges a value by a schema, which is made ready once and remembered. No faults: it is valid.
///
/// ```
/// use polywire_answer::{feedback, validate};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]});
/// let faults = validate(&json!({"age": "old"}), &schema).unwrap();
/// assert_eq!((faults[0].at.as_str(), faults[0].keyword.as_str()), ("/age", "type"));
/// println!("{}", feedback(&faults));
/// ```
pub fn validate(value: &Value, schema: &Value) -> Result<Vec<Fault>, SchemaError> {
    Ok(faults(value, &*Schema::cached(schema)?))
}

pub(crate) fn faults(value: &Value, schema: &Schema) -> Vec<Fault> {
    schema.judge.faults_up_to(MAX_FAULTS, value)
}

fn quoted(value: &Value) -> String {
    let text = value.to_string();
    let end = text.char_indices().map(|(place, _)| place).nth(MAX_QUOTED);
    match end.and_then(|end| text.get(..end)) {
        Some(short) => format!("{short}…"),
        None => text,
    }
}

/// The faults as a text that a model can correct itself by.
pub fn feedback(faults: &[Fault]) -> String {
    let mut text =
        String::from("The answer does not fit the schema. Correct these places and give the whole answer again:\n");
    for fault in faults {
        let at = if fault.at.is_empty() { "the whole answer" } else { &fault.at };
        // Writing to a text cannot fail.
        let _ = write!(text, "- {at}: {} (", fault.detail);
        if fault.has_place() {
            let _ = write!(text, "`{}`", fault.keyword);
            if !fault.expected.is_null() {
                let _ = write!(text, " must meet {}", quoted(&fault.expected));
            }
            text.push_str("; ");
        }
        let _ = writeln!(text, "got {})", fault.got);
    }
    text
}
