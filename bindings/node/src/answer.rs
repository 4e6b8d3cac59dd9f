//! Values of texts.

use napi::Result;
use napi_derive::napi;
use polywire_bindings as bindings;
use polywire_bindings::ParseSettings;
use serde_json::json;

use crate::schema::Schema;
use crate::text::{read_settings, thrown, written};

/// What was read from a text.
#[napi(object)]
pub struct Parsed {
    /// The value; empty where the text itself is it, absent where there is none.
    pub json: Option<String>,
    /// Members of the answer, where there is more to tell than that the value is valid.
    pub notes: Option<String>,
}

/// Extracts, coerces and validates the value of a text.
#[napi]
pub fn parse(text: String, schema: Option<&Schema>, settings: String) -> Result<Parsed> {
    let settings: ParseSettings = read_settings(&settings).map_err(thrown)?;
    let schema = schema.map(|schema| &schema.compiled);
    let parsed = bindings::parse(&text, schema, &settings.options());
    convert(&parsed)
}

fn convert(parsed: &bindings::Parsed) -> Result<Parsed> {
    // JavaScript reads the text itself faster than it gets a copy of the value.
    let json = match &parsed.value {
        Some(value) if parsed.repairs.is_empty() && !value.is_string() => Some(String::new()),
        Some(value) => Some(written(value)?),
        None => None,
    };
    let is_plain = parsed.valid && !parsed.truncated && parsed.repairs.is_empty() && parsed.errors.is_empty();
    let notes = if is_plain {
        None
    } else {
        Some(written(json!({
            "valid": parsed.valid,
            "truncated": parsed.truncated,
            "repairs": parsed.repairs,
            "errors": parsed.errors,
            "code": parsed.code,
            "message": parsed.message,
        }))?)
    };
    Ok(Parsed { json, notes })
}

/// Reads a text as it arrives.
#[napi]
pub struct PartialParser(bindings::PartialParser);

#[napi]
impl PartialParser {
    /// A parser; the schema judges the whole value.
    #[napi(constructor)]
    pub fn new(schema: Option<&Schema>) -> Self {
        Self(bindings::PartialParser::new(schema.map(|schema| schema.compiled.clone())))
    }

    /// Takes the next piece; gives the value so far if enough has arrived.
    #[napi]
    pub fn push(&mut self, chunk: String) -> Result<Option<String>> {
        self.0.push(&chunk).map(written).transpose()
    }

    /// The value so far.
    #[napi]
    pub fn value(&self) -> Result<Option<String>> {
        self.0.value().map(written).transpose()
    }

    /// The value so far, without texts that are not complete.
    #[napi]
    pub fn complete_value(&self) -> Result<Option<String>> {
        self.0.complete_value().map(written).transpose()
    }

    /// Whether the value at a place is complete.
    #[napi]
    pub fn is_complete(&self, at: String) -> bool {
        self.0.is_complete(&at)
    }

    /// Whether the whole value has arrived.
    #[napi(getter)]
    pub fn done(&self) -> bool {
        self.0.is_done()
    }

    /// The text so far.
    #[napi(getter)]
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// Reads the whole text.
    #[napi]
    pub fn finish(&self, settings: String) -> Result<Parsed> {
        let settings: ParseSettings = read_settings(&settings).map_err(thrown)?;
        convert(&self.0.finish(&settings.options()))
    }
}
