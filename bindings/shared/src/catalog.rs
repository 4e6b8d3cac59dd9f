//! Models, dialects and plans as plain data.

use polywire::schema::Dialect;
use polywire::{Catalog, Planner, TranslateOptions, Translation};
use serde_json::{Value, json};

use crate::error::Error;
use crate::prompt::request;
use crate::settings::PlanSettings;
use crate::translation::protocol;

/// The models of the catalog, or those of one provider.
pub fn models(provider: Option<&str>) -> Result<Vec<Value>, Error> {
    let catalog = Catalog::built_in();
    match provider {
        Some(provider) => {
            let id = catalog.resolve(provider)?.provider().id.clone();
            Ok(catalog.models_of(&id).map(|row| json!(row)).collect())
        }
        None => Ok(catalog.models().map(|row| json!(row)).collect()),
    }
}

/// The built-in dialects.
pub fn dialects() -> Vec<Value> {
    polywire::schema::dialects().map(summary).collect()
}

fn summary(dialect: &Dialect) -> Value {
    json!({
        "id": dialect.id(),
        "title": dialect.title(),
        "serves": dialect.serves(),
        "strict": dialect.strict(),
        "fallback": dialect.fallback(),
        "source": dialect.source(),
        "checked_on": dialect.checked_on(),
    })
}

/// Everything that is decided about a request before it is sent. The request is a prompt, messages, or a neutral request; with
/// `source`, a body of that protocol.
pub fn plan(asked: Value, model: &str, source: Option<&str>, settings: &PlanSettings) -> Result<Value, Error> {
    let model = Catalog::built_in().resolve(model)?;
    let options = settings.options()?;
    let plan = match source {
        Some(source) => {
            let options = TranslateOptions::default().with_plan(options);
            Translation::new(asked.to_string().as_bytes(), protocol(source)?, &model, &options)?.into_plan()
        }
        None => Planner::new(options).plan(&request(asked)?, &model)?,
    };
    Ok(json!(plan))
}
