//! Keywords that need only the value itself, not its parts: validated by the `jsonschema` crate, and charged to the budget.
//!
//! `enum`, `const` and `uniqueItems` are looked up by hash here, because the crate compares long lists item by item.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use jsonschema::error::ValidationErrorKind;
use jsonschema::json::Node as _;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use super::Formats;
use super::equality::hash;
use crate::budget::{Budget, Exhausted};
use crate::keyword;

/// Enumerations longer than this are looked up by hash.
const FEW: usize = 16;
/// How often one pattern may step back on one text. The work of patterns that step back is charged as if they always did.
const MAX_BACKTRACKS: usize = 100_000;
const BACKTRACK_STEPS: usize = 2_000;
/// What one call of the crate costs, and what trying a pattern on a key costs besides.
const LEAF_STEPS: usize = 3;
const MATCH_STEPS: usize = 20;
/// Bytes for the compiled patterns of a schema, which they share equally, and what each gets at least.
const SHARED_PATTERN_BYTES: usize = 32 << 20;
const MIN_PATTERN_BYTES: usize = 16 << 10;
/// A pattern that is larger than its share may have so many bytes, and so many patterns of a schema may be tried with them.
const MAX_PATTERN_BYTES: usize = 10 << 20;
const LARGE_PATTERNS: [(usize, usize); 2] = [(2 << 20, 32), (MAX_PATTERN_BYTES, 4)];

/// How many bytes the compiled patterns of one schema may have.
#[derive(Debug)]
pub(super) struct PatternBytes {
    share: usize,
    large: [(usize, usize); 2],
}

impl PatternBytes {
    /// The bytes for so many different patterns.
    pub(super) fn for_patterns(count: usize) -> Self {
        let share = SHARED_PATTERN_BYTES / count.max(1);
        Self { share: share.clamp(MIN_PATTERN_BYTES, MAX_PATTERN_BYTES), large: LARGE_PATTERNS }
    }

    /// What every pattern may have.
    pub(super) fn share(&self) -> usize {
        self.share
    }

    /// The next larger number of bytes that one pattern may still have.
    pub(super) fn more_than(&mut self, bytes: usize) -> Option<usize> {
        let (larger, left) = self.large.iter_mut().find(|(larger, left)| *larger > bytes && *left > 0)?;
        *left -= 1;
        Some(*larger)
    }
}

/// How leaves of one schema are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeafOptions {
    pub(super) formats: Formats,
    pub(super) pattern_bytes: usize,
}

impl LeafOptions {
    fn build(self, draft: Draft, schema: &Value) -> Result<Validator, ValidationError<'static>> {
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(MAX_BACKTRACKS)
            .size_limit(self.pattern_bytes)
            .dfa_size_limit(self.pattern_bytes);
        let options = jsonschema::options().with_draft(draft).with_pattern_options(patterns);
        match self.formats {
            Formats::AsTheDraftSays => options.build(schema),
            Formats::Asserted => options.should_validate_formats(true).build(schema),
        }
    }
}

/// Keywords that look at one value alone.
pub(super) struct Leaf {
    keywords: Value,
    options: LeafOptions,
    draft: Draft,
    /// The keywords that are not looked up by hash; `None` where there are no others.
    others: Option<Value>,
    /// Judges these. Most leaves of a schema are never asked about one value, so it is made when the first one comes; `None` where
    /// that fails.
    quick: OnceLock<Option<Validator>>,
    /// Judges all of them, and says what is wrong; made when a value is refused for the first time.
    full: OnceLock<Option<Validator>>,
    listed: Option<HashMap<u64, Vec<u32>, RandomState>>,
    is_unique: bool,
    reading: Reading,
}

/// What judging a text costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// Nothing in it is looked at.
    None,
    /// Every character is looked at once.
    Once,
    /// A pattern may step back in it.
    Backtracking,
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keywords.fmt(f)
    }
}

impl Leaf {
    pub(super) fn new(
        keywords: Map<String, Value>,
        draft: Draft,
        options: LeafOptions,
    ) -> Result<Self, ValidationError<'static>> {
        let mut quick = keywords.clone();
        let mut listed = None;
        if let Some(Value::Array(values)) = keywords.get(keyword::ENUM).filter(|values| is_long(values)) {
            let mut by_hash: HashMap<u64, Vec<u32>, RandomState> = HashMap::default();
            for (index, value) in values.iter().enumerate() {
                by_hash.entry(hash(value)).or_default().push(u32::try_from(index).unwrap_or(u32::MAX));
            }
            listed = Some(by_hash);
            quick.shift_remove(keyword::ENUM);
        }
        let is_unique = keywords.get(keyword::UNIQUE_ITEMS) == Some(&Value::Bool(true));
        if is_unique {
            quick.shift_remove(keyword::UNIQUE_ITEMS);
        }
        let others = if quick.is_empty() { None } else { Some(Value::Object(quick)) };
        let pattern = keywords.get(keyword::PATTERN).and_then(Value::as_str);
        // Only a pattern can be wrong in a way that the meta-schema does not see.
        let quick = match others.as_ref().filter(|_| pattern.is_some()) {
            Some(others) => OnceLock::from(Some(options.build(draft, others)?)),
            None => OnceLock::new(),
        };
        let reads = [keyword::PATTERN, keyword::FORMAT, keyword::MIN_LENGTH, keyword::MAX_LENGTH];
        let reading = match pattern {
            Some(pattern) if may_step_back(pattern) => Reading::Backtracking,
            _ if reads.iter().any(|name| keywords.contains_key(*name)) => Reading::Once,
            _ => Reading::None,
        };
        Ok(Self {
            reading,
            keywords: Value::Object(keywords),
            options,
            draft,
            others,
            quick,
            full: OnceLock::new(),
            listed,
            is_unique,
        })
    }

    /// The keywords of a leaf for one pattern.
    pub(super) fn of_pattern(pattern: &str) -> Map<String, Value> {
        Map::from_iter([(keyword::PATTERN.to_owned(), Value::String(pattern.to_owned()))])
    }

    /// What stands at a JSON Pointer in the keywords.
    pub(super) fn at(&self, pointer: &str) -> Option<&Value> {
        self.keywords.pointer(pointer)
    }

    pub(super) fn accepts(&self, value: &Value, budget: &Budget) -> Result<bool, Exhausted> {
        self.charge(value, budget)?;
        Ok(self.others_accept(value, budget)? && self.lists(value) && !(self.is_unique && has_twins(value)))
    }

    /// Whether the keywords that are not looked up by hash accept a value.
    fn others_accept(&self, value: &Value, budget: &Budget) -> Result<bool, Exhausted> {
        let Some(others) = &self.others else { return Ok(true) };
        let quick = self.quick.get_or_init(|| self.options.build(self.draft, others).ok());
        let Some(quick) = quick else { return Err(budget.exhaust()) };
        let valid = quick.is_valid(value);
        let backtracked = !valid && self.reading == Reading::Backtracking;
        if backtracked && quick.iter_errors(value).any(|error| is_unfinished(&error)) {
            return Err(budget.exhaust());
        }
        Ok(valid)
    }

    /// Whether a key matches the pattern that the leaf is made of.
    pub(super) fn matches(&self, key: &Value, budget: &Budget) -> Result<bool, Exhausted> {
        budget.spend(MATCH_STEPS)?;
        self.accepts(key, budget)
    }

    /// What is wrong with a value, by the crate's own words.
    pub(super) fn errors<'v>(
        &'v self,
        value: &'v Value,
        budget: &Budget,
    ) -> Result<Vec<ValidationError<'v>>, Exhausted> {
        self.charge(value, budget)?;
        let full = self.full.get_or_init(|| self.options.build(self.draft, &self.keywords).ok());
        Ok(full.as_ref().map(|full| full.iter_errors(value).collect()).unwrap_or_default())
    }

    fn charge(&self, value: &Value, budget: &Budget) -> Result<(), Exhausted> {
        let steps = match value {
            Value::String(text) if self.reading == Reading::Backtracking => BACKTRACK_STEPS + text.len() / 16,
            Value::String(text) if self.reading == Reading::Once => text.len() / 64,
            Value::Array(items) if self.is_unique || self.listed.is_some() => items.len(),
            Value::Object(members) if self.listed.is_some() => members.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                0
            }
        };
        budget.spend(LEAF_STEPS + steps)
    }

    fn lists(&self, value: &Value) -> bool {
        let Some(by_hash) = &self.listed else { return true };
        let values = self.keywords.get(keyword::ENUM).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let same = |index: &u32| values.get(*index as usize).is_some_and(|listed| value.equals_value(listed));
        by_hash.get(&hash(value)).is_some_and(|found| found.iter().any(same))
    }
}

fn is_long(values: &Value) -> bool {
    values.as_array().is_some_and(|values| values.len() > FEW)
}

/// Whether a pattern has what only a backtracking engine can match: look-around or references to groups.
fn may_step_back(pattern: &str) -> bool {
    let refers = |pair: &[u8]| matches!(pair, [b'\\', b'1'..=b'9' | b'k']);
    ["(?=", "(?!", "(?<=", "(?<!", "(?>"].iter().any(|group| pattern.contains(group))
        || pattern.as_bytes().windows(2).any(refers)
}

fn is_unfinished(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. })
}

/// Whether two items of a list are equal.
fn has_twins(value: &Value) -> bool {
    let Value::Array(items) = value else { return false };
    let mut seen: HashMap<u64, Vec<&Value>, RandomState> = HashMap::default();
    for item in items {
        match seen.entry(hash(item)) {
            Entry::Occupied(mut known) => {
                if known.get().iter().any(|known| item.equals_value(known)) {
                    return true;
                }
                known.get_mut().push(item);
            }
            Entry::Vacant(place) => {
                place.insert(vec![item]);
            }
        }
    }
    false
}
