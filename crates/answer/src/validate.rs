//! Validation of a value by a schema, and the feedback by which a model corrects itself.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::budget::Budget;
use crate::keyword::{ANY_OF, CONTAINS, ONE_OF};
use crate::read::Verdict;
use crate::schema::{Schema, SchemaError};

/// One validation error.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Fault {
    /// The JSON Pointer of the place in the value.
    pub at: String,
    /// The keyword of the schema; empty if the place was not found.
    pub keyword: String,
    /// The value of the keyword.
    pub expected: Value,
    /// The value at the place, truncated if it is long.
    pub got: String,
    /// The error in words, for people and models.
    pub detail: String,
}

impl Fault {
    /// Whether the place is known; finding it may take too long.
    pub fn has_place(&self) -> bool {
        !self.keyword.is_empty()
    }

    /// Maximum length of `detail` in characters.
    pub(crate) const MAX_DETAIL: usize = 2_000;

    pub(crate) fn new(at: String, keyword: &str, expected: Value, value: &Value, detail: &str) -> Self {
        Self { at, keyword: keyword.to_owned(), expected, got: quoted(value), detail: cut(detail, Self::MAX_DETAIL) }
    }

    fn without_keyword(got: String, detail: String) -> Self {
        Self { at: String::new(), keyword: String::new(), expected: Value::Null, got, detail }
    }

    pub(crate) fn without_place(value: &Value) -> Self {
        let detail = "the schema refuses the value, at a place that took too long to find";
        Self::without_keyword(quoted(value), detail.to_owned())
    }

    pub(crate) fn too_costly() -> Self {
        Self::without_keyword(String::new(), TOO_COSTLY.to_owned())
    }

    /// Counts the faults that are not listed.
    pub(crate) fn more(count: usize) -> Self {
        Self::without_keyword(String::new(), format!("… and {count} more"))
    }

    /// A value as a fault quotes it.
    pub(crate) fn quote(value: &Value) -> String {
        quoted(value)
    }

    /// A schema as a fault prints it.
    pub(crate) fn cut_json(value: &Value) -> String {
        json_up_to(value, Self::MAX_DETAIL)
    }

    /// The approximate size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.at.len() + self.got.len() + self.detail.len() + bytes_up_to(&self.expected, MAX_EXPECTED)
    }

    pub(crate) fn assertion(at: String, assertion: &str, value: &Value) -> Self {
        Self {
            at,
            keyword: crate::keyword::ASSERT.to_owned(),
            expected: assertion.into(),
            got: quoted(value),
            detail: format!("does not satisfy the assertion `{assertion}`"),
        }
    }

    pub(crate) fn echo() -> Self {
        Self {
            at: String::new(),
            keyword: crate::keyword::PROPERTIES.to_owned(),
            expected: Value::Null,
            got: String::new(),
            detail: "the text repeats the schema instead of filling it in".to_owned(),
        }
    }

    pub(crate) fn unknown_name() -> Self {
        Self {
            at: String::new(),
            keyword: crate::keyword::ALIAS.to_owned(),
            expected: Value::Null,
            got: String::new(),
            detail: "unknown name: it is not among the names that the schema shows".to_owned(),
        }
    }
}

/// Limits of the list of faults: number, and total bytes.
pub(crate) const MAX_FAULTS: usize = 50;
pub(crate) const MAX_LISTED_BYTES: usize = 256 << 10;
/// Limits of `got` in characters and of `expected` in bytes.
const MAX_QUOTED: usize = 200;
const MAX_EXPECTED: usize = 64 << 10;

/// The message for a value that is too costly to validate.
pub const TOO_COSTLY: &str = "too costly to validate: the step budget ran out before the whole schema was checked";

/// Validates a value by a schema, which is compiled once and cached. An empty list means that the value is valid. A value that is too costly to
/// validate has one fault without a place; [`crate::Judge::verdict`] distinguishes the two.
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
    let budget = Budget::for_bytes(bytes_up_to(value, usize::MAX));
    Ok(verdict(value, &*Schema::cached(schema)?, &budget).into_faults())
}

pub(crate) fn verdict(value: &Value, schema: &Schema, budget: &Budget) -> Verdict {
    schema.judge.judge(value, MAX_FAULTS, budget)
}

/// The value of a keyword, or null if it is too long.
pub(crate) fn shortened(expected: Option<&Value>) -> Value {
    let short = expected.filter(|expected| bytes_up_to(expected, MAX_EXPECTED) < MAX_EXPECTED);
    short.cloned().unwrap_or(Value::Null)
}

/// The approximate size of a value as JSON; counting stops at the limit.
pub(crate) fn bytes_up_to(value: &Value, limit: usize) -> usize {
    let (mut bytes, mut open) = (0_usize, vec![value]);
    while let Some(value) = open.pop().filter(|_| bytes < limit) {
        bytes += 4;
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    bytes += key.len();
                    open.push(member);
                }
            }
            Value::Array(items) => open.extend(items),
            Value::String(text) => bytes += text.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    bytes
}

fn quoted(value: &Value) -> String {
    json_up_to(value, MAX_QUOTED)
}

/// The first characters of a value as JSON. Only these are written.
fn json_up_to(value: &Value, characters: usize) -> String {
    // Four bytes a character, and one character more, which is cut.
    let mut written = LimitedWriter { bytes: Vec::new(), limit: (characters + 1) * 4 };
    // Writing ends with an error where enough is written.
    let _ = serde_json::to_writer(&mut written, value);
    cut(&String::from_utf8_lossy(&written.bytes), characters)
}

/// The first characters of a text.
fn cut(text: &str, characters: usize) -> String {
    let end = text.char_indices().map(|(place, _)| place).nth(characters);
    match end.and_then(|end| text.get(..end)) {
        Some(short) => format!("{short}…"),
        None => text.to_owned(),
    }
}

/// Accepts bytes up to a limit, then fails.
struct LimitedWriter {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for LimitedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.bytes.len());
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The validation errors as a message to the model.
pub fn feedback(faults: &[Fault]) -> String {
    let mut text =
        String::from("The answer does not match the schema. Fix these errors and return the whole answer again:\n");
    for fault in faults {
        if !fault.has_place() && fault.got.is_empty() {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "- {}", fault.detail);
            continue;
        }
        let at = if fault.at.is_empty() { "the whole answer" } else { &fault.at };
        // Writing to a text cannot fail.
        let _ = write!(text, "- {at}: {}", fault.detail);
        if [ANY_OF, ONE_OF, CONTAINS].contains(&fault.keyword.as_str()) && !fault.expected.is_null() {
            // The sentence names the keyword, and not what it says.
            let _ = write!(text, ": {}", quoted(&fault.expected));
        }
        let _ = writeln!(text, "; got {}", fault.got);
    }
    text
}
