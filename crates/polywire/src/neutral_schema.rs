//! The neutral form, described by JSON Schemas of its own.

use polywire_wire::{Event, Request, Response};
use serde_json::Value;

/// A neutral form that has a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NeutralForm {
    /// What is asked.
    Request,
    /// A whole answer.
    Response,
    /// A piece of an answer that arrives as a stream.
    Event,
}

/// The JSON Schema of a neutral form.
///
/// ```
/// use polywire::{NeutralForm, neutral_schema};
/// let schema = neutral_schema(NeutralForm::Request);
/// assert_eq!(schema["title"], "Request");
/// ```
pub fn neutral_schema(form: NeutralForm) -> Value {
    let schema = match form {
        NeutralForm::Request => schemars::schema_for!(Request),
        NeutralForm::Response => schemars::schema_for!(Response),
        NeutralForm::Event => schemars::schema_for!(Event),
    };
    schema.to_value()
}
