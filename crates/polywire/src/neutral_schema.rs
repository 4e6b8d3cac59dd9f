//! JSON Schemas of the neutral request, response and event.

use polywire_wire::{Event, Request, Response};
use serde_json::Value;

/// A neutral type with a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NeutralForm {
    /// A request.
    Request,
    /// A whole response.
    Response,
    /// An event of a streamed response.
    Event,
}

/// The JSON Schema of a neutral type.
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
