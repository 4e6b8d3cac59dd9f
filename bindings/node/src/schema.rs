//! Schemas: fitted, checked, compiled.

use std::sync::Arc;

use napi::Result;
use napi_derive::napi;
use polywire_bindings as bindings;
use polywire_bindings::{FitSettings, Ignored, read_schema, target};
use serde::Deserialize;
use serde_json::Value;

use crate::text::{read_settings, read_value, thrown, written};

/// A fitted schema.
#[napi]
pub struct Fitted {
    fitted: Arc<bindings::Fitted>,
    original: Value,
}

/// Options of a check.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CheckSettings {
    slot: bindings::Slot,
    ignored: bool,
}

impl CheckSettings {
    /// Whether what is only ignored is listed.
    pub(crate) fn ignored(&self) -> Ignored {
        if self.ignored { Ignored::List } else { Ignored::Omit }
    }
}

/// Fits a schema.
#[napi]
pub fn fit(schema: String, dialects: Vec<String>, settings: String) -> Result<Fitted> {
    let fit = || {
        let settings: FitSettings = read_settings(&settings)?;
        let schema = read_schema(&schema)?;
        let fitted = bindings::fit(&schema, &*target(&dialects)?, &settings.options())?;
        Ok(Fitted { fitted, original: schema })
    };
    fit().map_err(thrown)
}

#[napi]
impl Fitted {
    /// The schema to send.
    #[napi(getter)]
    pub fn schema(&self) -> Result<String> {
        written(&self.fitted.schema)
    }

    /// Every change.
    #[napi(getter)]
    pub fn changes(&self) -> Result<String> {
        written(&self.fitted.changes)
    }

    /// Whether the strict flag may be sent.
    #[napi(getter)]
    pub fn strict(&self) -> bool {
        self.fitted.strict()
    }

    /// Whether values are converted.
    #[napi(getter)]
    pub fn converts(&self) -> bool {
        !self.fitted.lens().is_identity()
    }

    /// Converts a value to the fitted schema.
    #[napi]
    pub fn encode(&self, value: String) -> Result<String> {
        let encoded = read_value(&value).and_then(|value| Ok(self.fitted.encode(value)?));
        written(encoded.map_err(thrown)?)
    }

    /// Converts a value back.
    #[napi]
    pub fn decode(&self, value: String) -> Result<String> {
        let decoded = read_value(&value).and_then(|value| Ok(self.fitted.decode(value)?));
        written(decoded.map_err(thrown)?)
    }

    /// Converts a value back and validates it.
    #[napi]
    pub fn load(&self, value: String) -> Result<String> {
        let loaded = read_value(&value).and_then(|value| bindings::accept(self.fitted.decode(value)?, &self.original));
        written(loaded.map_err(thrown)?)
    }
}

/// What a provider refuses of a schema, as a list of JSON.
#[napi]
pub fn check(schema: String, dialects: Vec<String>, settings: String) -> Result<String> {
    let check = || {
        let settings: CheckSettings = read_settings(&settings)?;
        bindings::check(&read_schema(&schema)?, &*target(&dialects)?, settings.slot, settings.ignored())
    };
    written(check().map_err(thrown)?)
}

/// A compiled schema of values.
#[napi]
pub struct Schema {
    pub(crate) compiled: bindings::Schema,
}

#[napi]
impl Schema {
    /// Compiles a schema.
    #[napi(constructor)]
    pub fn new(schema: String) -> Result<Self> {
        let compiled = read_schema(&schema).and_then(|schema| bindings::Schema::new(&schema));
        Ok(Self { compiled: compiled.map_err(thrown)? })
    }
}
