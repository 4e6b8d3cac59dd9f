//! Schemas made ready: the validator and the shapes, built once and remembered.

use std::collections::VecDeque;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use foldhash::fast::FixedState;
use serde_json::Value;

use crate::judge::{Formats, Judge};
use crate::shape::Shapes;

/// How many schemas are remembered.
const REMEMBERED: usize = 128;

/// Schemas by their hash, oldest first.
type Remembered = VecDeque<(u64, Arc<Schema>)>;

/// A schema, ready to validate and to coerce.
#[derive(Debug)]
pub struct Schema {
    pub(crate) judge: Judge,
    pub(crate) shapes: Shapes,
}

/// A schema that no value can be judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    at: String,
    detail: String,
}

impl SchemaError {
    pub(crate) fn new(detail: String) -> Self {
        Self::at_place(String::new(), detail)
    }

    pub(crate) fn at_place(at: String, detail: String) -> Self {
        Self { at, detail }
    }

    pub(crate) fn of(error: &jsonschema::ValidationError<'_>) -> Self {
        Self { at: error.instance_path().to_string(), detail: error.to_string() }
    }

    /// The JSON Pointer of the place in the schema.
    pub fn at(&self) -> &str {
        &self.at
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        if self.at.is_empty() { Ok(()) } else { write!(f, " (at `{}`)", self.at) }
    }
}

impl std::error::Error for SchemaError {}

impl Schema {
    /// Makes a schema ready.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        Ok(Self { judge: Judge::new(schema, Formats::AsTheDraftSays)?, shapes: Shapes::of(schema) })
    }

    /// The schema made ready, now or before: the last 128 are remembered, for all threads.
    pub fn cached(schema: &Value) -> Result<Arc<Self>, SchemaError> {
        static CACHE: OnceLock<Mutex<Remembered>> = OnceLock::new();
        let cache = CACHE.get_or_init(Mutex::default);
        let hash = FixedState::default().hash_one(schema);
        let known = |entries: &Remembered| {
            entries
                .iter()
                .find(|(key, ready)| *key == hash && ready.judge.document() == schema)
                .map(|(_, ready)| ready.clone())
        };
        if let Some(ready) = known(&cache.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(ready);
        }
        // Built outside of the lock: a large schema must not hold up other threads.
        let ready = Arc::new(Self::new(schema)?);
        let mut entries = cache.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= REMEMBERED {
            entries.pop_front();
        }
        entries.push_back((hash, ready.clone()));
        Ok(ready)
    }
}
