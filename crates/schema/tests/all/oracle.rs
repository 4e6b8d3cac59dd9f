//! Laws 3 and 4 of one fitted schema, over made-up values, with the `jsonschema` crate as judge. The fuzz target takes this file
//! in by its path, so that there is one judge.

use jsonschema::Validator;
use polywire_schema::{Effect, Fitted, sample};
use serde_json::Value;

/// The caller's schema and what became of it, as the judge reads them.
pub(crate) struct Court {
    caller: Validator,
    wire: Validator,
}

impl Court {
    /// `None` where the judge cannot read one of the schemas.
    pub(crate) fn new(schema: &Value, fitted: &Fitted) -> Option<Self> {
        let build = |schema: &Value| jsonschema::options().should_validate_formats(true).build(schema).ok();
        Some(Self { caller: build(schema)?, wire: build(&fitted.schema)? })
    }

    /// What the caller's schema accepts goes to the wire and comes back, and what the wire accepts is what the caller asked for,
    /// unless a change says otherwise.
    pub(crate) fn judge(&self, schema: &Value, fitted: &Fitted, values: u64) -> Result<(), String> {
        let has = |effect| fitted.changes.iter().any(|change| change.effect == effect);
        let (narrower, wider) = (has(Effect::Narrower), has(Effect::Wider));
        let about = || format!("fitted {}\n  changes {:?}", fitted.schema, fitted.changes);
        for seed in 0..values {
            if let Some(value) = sample(schema, seed).filter(|value| !narrower && self.caller.is_valid(value)) {
                self.law_3(fitted, &value).map_err(|reason| format!("law 3: {value}: {reason}\n  {}", about()))?;
            }
            if let Some(value) = sample(&fitted.schema, seed).filter(|_| !wider) {
                self.law_4(fitted, &value).map_err(|reason| format!("law 4: {value} {reason}\n  {}", about()))?;
            }
        }
        Ok(())
    }

    fn law_3(&self, fitted: &Fitted, value: &Value) -> Result<(), String> {
        let sent = fitted.encode(value.clone()).map_err(|error| error.to_string())?;
        self.wire.validate(&sent).map_err(|error| format!("{sent} is refused: {error}"))?;
        let back = fitted.decode(sent.clone()).map_err(|error| format!("{sent}: {error}"))?;
        if back == *value { Ok(()) } else { Err(format!("{sent} comes back as {back}")) }
    }

    /// A value that the wire refuses, or the lens, is no fault.
    pub(crate) fn law_4(&self, fitted: &Fitted, wire: &Value) -> Result<(), String> {
        if !self.wire.is_valid(wire) {
            return Ok(());
        }
        let Ok(back) = fitted.decode(wire.clone()) else { return Ok(()) };
        self.caller.validate(&back).map_err(|error| format!("comes back as {back}: {error}"))
    }
}

/// Dialects whose words no validator knows; the audit translates them.
pub(crate) const UNREADABLE: [&str; 4] = ["gemini-openapi", "vertex-openapi", "cca", "portable"];
