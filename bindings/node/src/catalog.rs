//! Dialects, models, plans.

use napi::Result;
use napi_derive::napi;
use polywire_bindings as bindings;

use crate::text::{read_settings, read_value, thrown, written};

/// Every dialect.
#[napi]
pub fn dialects() -> Result<String> {
    written(bindings::dialects())
}

/// The models of the catalog, or of one provider.
#[napi]
pub fn models(provider: Option<String>) -> Result<String> {
    written(bindings::models(provider.as_deref()).map_err(thrown)?)
}

/// The dialects that a model's schemas are fitted to.
#[napi]
pub fn model_dialects(model: String) -> Result<String> {
    written(bindings::model_dialects(&model).map_err(thrown)?)
}

/// Everything that is decided about a request before it is sent.
#[napi]
pub fn plan(asked: String, model: String, source: Option<String>, settings: String) -> Result<String> {
    let plan = || bindings::plan(read_value(&asked)?, &model, source.as_deref(), &read_settings(&settings)?);
    written(plan().map_err(thrown)?)
}
