//! Owns remembered fits: the same schema for the same dialect and options costs a lookup. Bounded, and shared by threads.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::HashMap;
use foldhash::fast::FixedState;
use serde_json::Value;

use crate::dialect::Dialect;
use crate::error::ReadError;
use crate::fit::{FitOptions, Fitted, fit};
use crate::tools::{FittedTools, ToolList, fit_tools_by};

/// Remembers fits by the content of the schema.
///
/// ```
/// use polywire_schema::{FitCache, FitOptions, dialect};
/// let cache = FitCache::new(100);
/// let schema = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// let strict = dialect("openai-strict").unwrap();
/// let first = cache.fit(&schema, strict, &FitOptions::default()).unwrap();
/// let second = cache.fit(&schema, strict, &FitOptions::default()).unwrap();
/// assert!(std::sync::Arc::ptr_eq(&first, &second));
/// ```
pub struct FitCache {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<u64, Entry>,
    /// Keys from the oldest to the newest.
    order: VecDeque<u64>,
}

struct Entry {
    /// What the key was made of: two schemas may share a hash.
    schema: Value,
    settings: String,
    fitted: Arc<Fitted>,
}

impl FitCache {
    /// A cache for so many fits; the oldest makes room for the newest.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::default() }
    }

    /// [`fit`], or what it gave before. A fit that asks a resolver is not remembered, because its answers may change.
    pub fn fit(&self, schema: &Value, dialect: &Dialect, options: &FitOptions) -> Result<Arc<Fitted>, ReadError> {
        self.fit_for(&dialect.fingerprint(), schema, dialect, options)
    }

    /// [`FitCache::fit`] for a dialect whose fingerprint is known.
    fn fit_for(
        &self,
        known_as: &str,
        schema: &Value,
        dialect: &Dialect,
        options: &FitOptions,
    ) -> Result<Arc<Fitted>, ReadError> {
        if options.resolver.is_some() || self.capacity == 0 {
            return fit(schema, dialect, options).map(Arc::new);
        }
        let settings = format!("{known_as} {options:?}");
        let key = fingerprint(schema, &settings);
        if let Some(known) = self.find(key, schema, &settings) {
            return Ok(known);
        }
        let fitted = Arc::new(fit(schema, dialect, options)?);
        self.keep(key, Entry { schema: schema.clone(), settings, fitted: Arc::clone(&fitted) });
        Ok(fitted)
    }

    /// [`fit_tools`](crate::fit_tools), with every schema fitted once.
    pub fn fit_tools(&self, list: &ToolList, dialect: &Dialect, options: &FitOptions) -> FittedTools {
        let known_as = dialect.fingerprint();
        fit_tools_by(&|schema, options| self.fit_for(&known_as, schema, dialect, options), list, dialect, options)
    }

    /// How many fits are remembered.
    pub fn len(&self) -> usize {
        self.locked(|state| state.entries.len())
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&self, key: u64, schema: &Value, settings: &str) -> Option<Arc<Fitted>> {
        self.locked(|state| {
            let entry = state.entries.get(&key)?;
            (entry.settings == settings && entry.schema == *schema).then(|| Arc::clone(&entry.fitted))
        })
    }

    fn keep(&self, key: u64, entry: Entry) {
        self.locked(|state| {
            if state.entries.insert(key, entry).is_none() {
                state.order.push_back(key);
            }
            while state.order.len() > self.capacity {
                if let Some(oldest) = state.order.pop_front() {
                    state.entries.remove(&oldest);
                }
            }
        });
    }

    /// A thread that panicked left whole entries behind, so a poisoned lock is still good.
    fn locked<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for FitCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FitCache").field("capacity", &self.capacity).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// A number for a schema and settings, the same in every process.
fn fingerprint(schema: &Value, settings: &str) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hash_value(schema, &mut hasher);
    settings.hash(&mut hasher);
    hasher.finish()
}

/// The order of keys counts: it is part of what is fitted.
fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    match value {
        Value::Null => 0_u8.hash(hasher),
        Value::Bool(flag) => (1_u8, flag).hash(hasher),
        Value::Number(number) => (2_u8, number).hash(hasher),
        Value::String(text) => (3_u8, text).hash(hasher),
        Value::Array(items) => {
            (4_u8, items.len()).hash(hasher);
            for item in items {
                hash_value(item, hasher);
            }
        }
        Value::Object(map) => {
            (5_u8, map.len()).hash(hasher);
            for (key, item) in map {
                key.hash(hasher);
                hash_value(item, hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::FitCache;
    use crate::{FitOptions, Spill, dialect};

    /// R-A19.
    #[test]
    fn r_a19_the_same_schema_is_fitted_once_and_the_oldest_makes_room() {
        let strict = dialect("openai-strict").unwrap();
        let cache = FitCache::new(2);
        let schema = |name: &str| json!({"type": "object", "properties": {name: {"type": "string", "minLength": 900}}});
        let first = cache.fit(&schema("a"), strict, &FitOptions::default()).unwrap();
        assert!(Arc::ptr_eq(&first, &cache.fit(&schema("a"), strict, &FitOptions::default()).unwrap()));
        let bare = cache.fit(&schema("a"), strict, &FitOptions::default().with_spill(Spill::Off)).unwrap();
        assert_ne!(first.schema, bare.schema);
        cache.fit(&schema("b"), strict, &FitOptions::default()).unwrap();
        assert_eq!(cache.len(), 2);
        assert!(!Arc::ptr_eq(&first, &cache.fit(&schema("a"), strict, &FitOptions::default()).unwrap()));
    }

    #[test]
    fn threads_share_it() {
        let cache = FitCache::new(8);
        let target = dialect("gemini").unwrap();
        std::thread::scope(|scope| {
            for count in 0..8 {
                let cache = &cache;
                scope.spawn(move || {
                    let schema = json!({"type": "object", "properties": {"n": {"const": count % 3}}});
                    cache.fit(&schema, target, &FitOptions::default()).unwrap()
                });
            }
        });
        assert_eq!(cache.len(), 3);
    }
}
