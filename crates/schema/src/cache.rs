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
use crate::tools::{FittedTools, ToolEntry, ToolList, fit_tools_by};

/// Lists of tools that are remembered.
const LISTS: usize = 16;

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
    state: Mutex<CacheState>,
    /// Whole lists, the one that was used last first: an agent sends the same tools again and again.
    lists: Mutex<VecDeque<Arc<CachedList>>>,
}

/// A list of tools, and what came of it.
struct CachedList {
    settings: String,
    tools: ToolList,
    fitted: Arc<FittedTools>,
}

/// A borrowed tool to be fitted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolRef<'a> {
    /// The name as the caller gave it.
    pub name: &'a str,
    /// The description for the model.
    pub description: Option<&'a str>,
    /// The schema of its arguments.
    pub schema: &'a Value,
    /// The strict flag, where the caller set one.
    pub strict: Option<bool>,
    /// JSON Pointer of the schema in the tool.
    pub at: &'a str,
}

impl<'a> ToolRef<'a> {
    /// A tool of which only name and arguments are known.
    pub fn new(name: &'a str, schema: &'a Value) -> Self {
        Self { name, description: None, schema, strict: None, at: "" }
    }

    /// The same with a description.
    #[must_use]
    pub fn with_description(mut self, description: Option<&'a str>) -> Self {
        self.description = description;
        self
    }

    /// The same with a strict flag.
    #[must_use]
    pub fn with_strict(mut self, strict: Option<bool>) -> Self {
        self.strict = strict;
        self
    }

    /// The same with the place of the schema in the tool.
    #[must_use]
    pub fn with_place(mut self, at: &'a str) -> Self {
        self.at = at;
        self
    }

    fn is(&self, entry: &ToolEntry) -> bool {
        self.name == entry.name
            && self.strict == entry.strict
            && self.at == entry.at
            && self.description == entry.description.as_deref()
            && same(self.schema, &entry.schema)
    }
}

impl From<ToolRef<'_>> for ToolEntry {
    fn from(tool: ToolRef<'_>) -> Self {
        let mut entry = Self::new(tool.name, tool.schema.clone());
        entry.description = tool.description.map(str::to_owned);
        entry.strict = tool.strict;
        tool.at.clone_into(&mut entry.at);
        entry
    }
}

#[derive(Default)]
struct CacheState {
    entries: HashMap<u64, CachedFit>,
    /// Keys from the oldest to the newest.
    order: VecDeque<u64>,
}

struct CachedFit {
    /// The input of the key: two schemas may share a hash.
    schema: Value,
    settings: String,
    fitted: Arc<Fitted>,
}

impl FitCache {
    /// A cache for so many fits; the oldest makes room for the newest.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, state: Mutex::default(), lists: Mutex::default() }
    }

    /// [`fit`], or what it gave before. A fit that asks a resolver is not remembered, because its answers may change.
    pub fn fit(&self, schema: &Value, dialect: &Dialect, options: &FitOptions) -> Result<Arc<Fitted>, ReadError> {
        self.fit_for(dialect.fingerprint(), schema, dialect, options)
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
        self.keep(key, CachedFit { schema: schema.clone(), settings, fitted: Arc::clone(&fitted) });
        Ok(fitted)
    }

    /// [`fit_tools`](crate::fit_tools), with every schema fitted once.
    pub fn fit_tools(&self, list: &ToolList, dialect: &Dialect, options: &FitOptions) -> FittedTools {
        let known_as = dialect.fingerprint();
        fit_tools_by(&|schema, options| self.fit_for(known_as, schema, dialect, options), list, dialect, options)
    }

    /// [`FitCache::fit_tools`] for tools where they stand. A list that came before costs the comparison with it.
    pub fn fit_list(&self, tools: &[ToolRef<'_>], dialect: &Dialect, options: &FitOptions) -> Arc<FittedTools> {
        let settings = format!("{} {options:?}", dialect.fingerprint());
        let remembers = options.resolver.is_none() && self.capacity > 0;
        if let Some(known) = remembers.then(|| self.find_list(tools, &settings)).flatten() {
            return known;
        }
        let list: ToolList = tools.iter().copied().map(ToolEntry::from).collect();
        let fitted = Arc::new(self.fit_tools(&list, dialect, options));
        if remembers {
            let list = Arc::new(CachedList { settings, tools: list, fitted: Arc::clone(&fitted) });
            let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
            lists.push_front(list);
            lists.truncate(LISTS);
        }
        fitted
    }

    fn find_list(&self, tools: &[ToolRef<'_>], settings: &str) -> Option<Arc<FittedTools>> {
        // Compared outside of the lock: whoever sends other tools does not wait.
        let known: Vec<Arc<CachedList>> = {
            let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
            let alike = |list: &&Arc<CachedList>| list.settings == settings && list.tools.tools.len() == tools.len();
            lists.iter().filter(alike).cloned().collect()
        };
        let found =
            known.into_iter().find(|list| tools.iter().zip(&list.tools.tools).all(|(tool, own)| tool.is(own)))?;
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = lists.iter().position(|list| Arc::ptr_eq(list, &found)).filter(|place| *place > 0)
            && let Some(list) = lists.remove(place)
        {
            lists.push_front(list);
        }
        Some(Arc::clone(&found.fitted))
    }

    /// How many fits are remembered.
    pub fn len(&self) -> usize {
        self.locked(|state| state.entries.len())
    }

    /// True while it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn find(&self, key: u64, schema: &Value, settings: &str) -> Option<Arc<Fitted>> {
        self.locked(|state| {
            let entry = state.entries.get(&key)?;
            (entry.settings == settings && same(&entry.schema, schema)).then(|| Arc::clone(&entry.fitted))
        })
    }

    fn keep(&self, key: u64, entry: CachedFit) {
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
    fn locked<T>(&self, work: impl FnOnce(&mut CacheState) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for FitCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FitCache").field("capacity", &self.capacity).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Equality that respects the order of keys.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|((key, value), (own, known))| key == own && same(value, known))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(value, known)| same(value, known))
        }
        _ => one == other,
    }
}

/// A number for a schema and settings, the same in every process.
fn fingerprint(schema: &Value, settings: &str) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hash_value(schema, &mut hasher);
    settings.hash(&mut hasher);
    hasher.finish()
}

/// Respects the order of keys, which fitting keeps.
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

    use super::{FitCache, ToolRef};
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
    fn r_a19_the_same_list_is_fitted_once() {
        let (cache, strict) = (FitCache::new(8), dialect("openai-strict").unwrap());
        let first = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        let turned = json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}});
        let fit = |schema| cache.fit_list(&[ToolRef::new("t", schema)], strict, &FitOptions::default());
        let known = fit(&first);
        assert!(!Arc::ptr_eq(&known, &fit(&turned)), "the order of keys is part of what is fitted");
        assert!(Arc::ptr_eq(&known, &fit(&first.clone())));
        assert_eq!(known.tools[0].schema_text().get(), known.tools[0].schema.to_string());
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
