//! Laws 3 and 4 of one fitted schema, over made-up values, with the `jsonschema` crate as judge. The fuzz target takes this file
//! in by its path, so that there is one judge.

use jsonschema::Validator;
use polywire_schema::{Cover, Effect, Fitted, Place, Root, sample};
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
    /// unless a change at that place says otherwise.
    pub(crate) fn judge(&self, schema: &Value, fitted: &Fitted, values: u64) -> Result<(), String> {
        let root = Root::of(&schema.to_string());
        let cover = |effect| Cover::of(&fitted.changes, effect, root);
        let (narrower, wider) = (cover(Effect::Narrower), cover(Effect::Wider));
        let about = || format!("fitted {}\n  changes {:?}", fitted.schema, fitted.changes);
        for seed in 0..values {
            if let Some(value) = sample(schema, seed).filter(|value| self.caller.is_valid(value))
                && let Err(Loss { places, reason }) = self.law_3(fitted, &value)
                && !narrower.any(&places)
            {
                return Err(format!("law 3: {value}: {reason}\n  {}", about()));
            }
            if let Some(value) = sample(&fitted.schema, seed)
                && let Err(Loss { places, reason }) = self.law_4_at(fitted, &value)
                && !wider.any(&places)
            {
                return Err(format!("law 4: {value} {reason}\n  {}", about()));
            }
        }
        Ok(())
    }

    fn law_3(&self, fitted: &Fitted, value: &Value) -> Result<(), Loss> {
        let sent = fitted.encode(value.clone()).map_err(|error| {
            let places = vec![Place::of_caller(error.at())];
            Loss { places, reason: error.to_string() }
        })?;
        if !self.wire.is_valid(&sent) {
            let places = pointers(&self.wire, &sent).iter().map(|pointer| Place::on_the_wire(pointer)).collect();
            return Err(Loss { places, reason: format!("{sent} is refused: {}", why(&self.wire, &sent)) });
        }
        let back = fitted.decode(sent.clone()).map_err(|error| {
            let places = vec![Place::on_the_wire(error.at())];
            Loss { places, reason: format!("{sent}: {error}") }
        })?;
        let lost = || Loss { places: Vec::new(), reason: format!("{sent} comes back as {back}") };
        if back == *value { Ok(()) } else { Err(lost()) }
    }

    /// Law 4, whatever is on record.
    pub(crate) fn law_4(&self, fitted: &Fitted, wire: &Value) -> Result<(), String> {
        self.law_4_at(fitted, wire).map_err(|loss| loss.reason)
    }

    /// A value that the wire refuses, or the lens, is no fault.
    fn law_4_at(&self, fitted: &Fitted, wire: &Value) -> Result<(), Loss> {
        if !self.wire.is_valid(wire) {
            return Ok(());
        }
        let Ok(back) = fitted.decode(wire.clone()) else { return Ok(()) };
        if self.caller.is_valid(&back) {
            return Ok(());
        }
        let places = pointers(&self.caller, &back).iter().map(|pointer| Place::of_caller(pointer)).collect();
        Err(Loss { places, reason: format!("comes back as {back}: {}", why(&self.caller, &back)) })
    }
}

/// What broke a law, and where.
struct Loss {
    places: Vec<Place>,
    reason: String,
}

fn pointers(judge: &Validator, value: &Value) -> Vec<String> {
    judge.iter_errors(value).map(|error| error.instance_path().as_str().to_owned()).collect()
}

fn why(judge: &Validator, value: &Value) -> String {
    judge.validate(value).err().map(|error| error.to_string()).unwrap_or_default()
}

/// Dialects whose words no validator knows; the audit translates them.
pub(crate) const UNREADABLE: [&str; 4] = ["gemini-openapi", "vertex-openapi", "cca", "portable"];
