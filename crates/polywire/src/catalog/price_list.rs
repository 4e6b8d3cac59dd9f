//! The tables of prices in `data/models.toml`.

use serde::Deserialize;

use super::{CatalogError, ModelRow, Price, UsdPerMillion};

/// Prices from one source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PriceList {
    source: String,
    checked_on: String,
    model: Vec<PriceLine>,
}

/// The price of one model, in US dollars per million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PriceLine {
    provider: String,
    id: String,
    input: UsdPerMillion,
    output: UsdPerMillion,
    cache_read: Option<UsdPerMillion>,
    cache_write: Option<UsdPerMillion>,
    max_input: Option<u64>,
}

impl PriceList {
    /// Puts the prices into rows.
    pub(super) fn apply(&self, rows: &mut [Vec<ModelRow>]) -> Result<(), CatalogError> {
        for line in &self.model {
            let is_it = |row: &&mut ModelRow| row.provider == line.provider && row.id == line.id && row.price.is_none();
            let Some(row) = rows.iter_mut().flatten().find(is_it) else {
                let what = format!("price of `{}/{}`: there is no such model without a price", line.provider, line.id);
                return Err(CatalogError(what));
            };
            row.price = Some(Price {
                input: line.input,
                output: line.output,
                cache_read: line.cache_read,
                cache_write: line.cache_write,
                max_input: line.max_input,
                source: self.source.clone(),
                checked_on: self.checked_on.clone(),
            });
        }
        Ok(())
    }
}
