//! Schemas: fitted, checked.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use polywire::schema::{Dialect, FitCache, FitOptions, Fitted, Severity, Slot, Violation};
use serde_json::Value;

use crate::error::{Error, ErrorKind};

/// How many fits are remembered.
const REMEMBERED: usize = 1024;

pub(crate) static FITS: LazyLock<FitCache> = LazyLock::new(|| FitCache::new(REMEMBERED));

/// The dialect of one id, or what the dialects of several accept in common.
pub fn target(ids: &[String]) -> Result<Cow<'static, Dialect>, Error> {
    if let [id] = ids
        && let Some(dialect) = polywire::schema::dialect(id)
    {
        return Ok(Cow::Borrowed(dialect));
    }
    let names = ids.join(",");
    polywire::schema::target(&names).map_err(|error| Error::from(error).at(names))
}

/// A schema that is given as JSON text.
pub fn read_schema(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|error| Error::new(ErrorKind::Schema, "not-json", error.to_string()))
}

/// Fits a schema. Fits are remembered by the content of the schema.
pub fn fit(schema: &Value, target: &Dialect, options: &FitOptions) -> Result<Arc<Fitted>, Error> {
    Ok(FITS.fit(schema, target, options)?)
}

/// Fits a schema anew.
pub fn fit_fresh(schema: &Value, target: &Dialect, options: &FitOptions) -> Result<Arc<Fitted>, Error> {
    Ok(Arc::new(polywire::schema::fit(schema, target, options)?))
}

/// What a provider refuses of a schema or finds risky, and if asked for, what it ignores.
pub fn check(schema: &Value, target: &Dialect, slot: Slot, ignored: Ignored) -> Result<Vec<Violation>, Error> {
    let mut found = polywire::schema::check(schema, target, slot)?;
    ignored.filter(&mut found);
    Ok(found)
}

/// Whether a check lists what is only ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignored {
    /// It does.
    List,
    /// It does not.
    #[default]
    Omit,
}

impl Ignored {
    pub(crate) fn filter(self, found: &mut Vec<Violation>) {
        if self == Self::Omit {
            found.retain(|violation| violation.severity != Severity::Ignored);
        }
    }
}
