//! Values of texts, whole or still arriving.

use std::sync::Arc;

use polywire::answer::{self, Fault, OpenText, ReadOptions, Repair, Stream, TOO_COSTLY, Verdict, read_with};
use serde_json::Value;

use crate::error::Error;

/// A compiled schema of values. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Schema(Arc<answer::Schema>);

impl Schema {
    /// Compiles a schema, or finds it among those that were compiled before.
    pub fn new(schema: &Value) -> Result<Self, Error> {
        Ok(Self(answer::Schema::cached(schema)?))
    }
}

/// The value of a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "both are fields of the answer that languages show")]
pub struct Parsed {
    /// The value, valid or not.
    pub value: Option<Value>,
    /// Whether the schema accepts the value; without a schema, whether there is one.
    pub valid: bool,
    /// Whether the text ends before the value does.
    pub truncated: bool,
    /// Every repair.
    pub repairs: Vec<Repair>,
    /// Why the value is not valid.
    pub errors: Vec<Fault>,
    /// Why there is no verdict: `no-value` or `too-costly`; empty if there is one.
    pub code: &'static str,
    /// The same in words; empty if there is a verdict.
    pub message: &'static str,
}

/// Extracts, coerces and validates the value of a text.
pub fn parse(text: &str, schema: Option<&Schema>, options: &ReadOptions) -> Parsed {
    let read = read_with(text, schema.map(|schema| &*schema.0), options);
    let truncated = read.is_truncated();
    let valid = read.verdict == Verdict::Valid;
    let (code, message) = match &read.verdict {
        Verdict::Valid | Verdict::Invalid(_) => ("", ""),
        Verdict::NoValue => ("no-value", "the text contains no JSON value"),
        Verdict::TooCostly => ("too-costly", TOO_COSTLY),
    };
    Parsed {
        value: read.value,
        valid,
        truncated,
        repairs: read.repairs,
        errors: read.verdict.into_faults(),
        code,
        message,
    }
}

/// The text must grow by 1/64 before a partial value is made again, so that all of them together cost what the text costs.
const STEP: usize = 64;

/// Reads a text as it arrives.
#[derive(Clone, Debug)]
pub struct PartialParser {
    stream: Stream,
    schema: Option<Schema>,
    /// The length of the text at the last partial value.
    shown: usize,
}

impl PartialParser {
    /// A parser; the schema judges the whole value.
    pub fn new(schema: Option<Schema>) -> Self {
        Self { stream: Stream::new(), schema, shown: 0 }
    }

    /// Takes the next piece of the text. Gives the value so far if enough has arrived since the last one, so that the cost of all
    /// calls is proportional to the length of the text.
    pub fn push(&mut self, chunk: &str) -> Option<Value> {
        self.stream.push(chunk);
        let length = self.stream.text().len();
        if length.saturating_sub(self.shown) <= length / STEP && !self.stream.is_done() {
            return None;
        }
        self.shown = length;
        self.value()
    }

    /// The value so far. Copies it.
    pub fn value(&self) -> Option<Value> {
        self.stream.value(OpenText::Show)
    }

    /// The value so far, without texts that are not complete. Copies it.
    pub fn complete_value(&self) -> Option<Value> {
        self.stream.value(OpenText::Hide)
    }

    /// Whether the value at a JSON Pointer is complete.
    pub fn is_complete(&self, at: &str) -> bool {
        self.stream.is_complete(at)
    }

    /// Whether the whole value has arrived.
    pub fn is_done(&self) -> bool {
        self.stream.is_done()
    }

    /// The text so far.
    pub fn text(&self) -> &str {
        self.stream.text()
    }

    /// Reads the whole text: repaired, coerced and validated by the schema.
    pub fn finish(&self, options: &ReadOptions) -> Parsed {
        parse(self.stream.text(), self.schema.as_ref(), options)
    }
}
