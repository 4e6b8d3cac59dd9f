//! Provider-specific fields. They are stored under the name of their protocol and sent to that protocol only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::Protocol;

/// How a field that arrives several times is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeMode {
    /// A later value replaces the earlier one.
    Replace,
    /// Arrays are concatenated.
    Lists,
    /// Arrays and strings are concatenated.
    ListsAndTexts,
}

/// Objects nested deeper than this are replaced, not merged.
const MAX_DEPTH: usize = 64;

fn join_field(kept: &mut Map<String, Value>, name: String, later: Value, mode: MergeMode, depth: usize) {
    match kept.get_mut(&name) {
        Some(value) => join(value, later, mode, depth),
        None => {
            kept.insert(name, later);
        }
    }
}

/// Adds fields to an object.
pub(super) fn join_object(value: &mut Value, later: Map<String, Value>) {
    if value.is_object() {
        join(value, Value::Object(later), MergeMode::Replace, MAX_DEPTH);
    }
}

fn join(kept: &mut Value, later: Value, mode: MergeMode, depth: usize) {
    match (kept, later) {
        (Value::Object(kept), Value::Object(later)) if depth > 0 => {
            for (name, value) in later {
                join_field(kept, name, value, mode, depth - 1);
            }
        }
        (Value::Array(kept), Value::Array(later)) if mode != MergeMode::Replace => kept.extend(later),
        (Value::String(kept), Value::String(later)) if mode == MergeMode::ListsAndTexts => kept.push_str(&later),
        (kept, later) => *kept = later,
    }
}

/// Provider-specific fields, keyed by protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Extra(BTreeMap<Protocol, Map<String, Value>>);

impl Extra {
    /// Creates fields of one protocol; an empty map adds no entry.
    pub fn of(protocol: Protocol, fields: Map<String, Value>) -> Self {
        let mut extra = Self::default();
        extra.set(protocol, fields);
        extra
    }

    /// True if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields of the protocol.
    pub fn get(&self, protocol: Protocol) -> Option<&Map<String, Value>> {
        self.0.get(&protocol)
    }

    /// One field of the protocol.
    pub fn field(&self, protocol: Protocol, name: &str) -> Option<&Value> {
        self.get(protocol)?.get(name)
    }

    /// Replaces the fields of the protocol.
    pub fn set(&mut self, protocol: Protocol, fields: Map<String, Value>) {
        if fields.is_empty() {
            self.0.remove(&protocol);
        } else {
            self.0.insert(protocol, fields);
        }
    }

    /// Removes and returns the fields of the protocol.
    pub(crate) fn take(&mut self, protocol: Protocol) -> Map<String, Value> {
        self.0.remove(&protocol).unwrap_or_default()
    }

    /// Removes one field of the protocol.
    pub(crate) fn remove(&mut self, protocol: Protocol, name: &str) {
        let mut fields = self.take(protocol);
        fields.shift_remove(name);
        self.set(protocol, fields);
    }

    /// Adds one field for the protocol.
    pub fn insert(&mut self, protocol: Protocol, name: &str, value: Value) {
        self.0.entry(protocol).or_default().insert(name.to_owned(), value);
    }

    /// Merges the fields of a later chunk: objects are merged, fields that arrive in pieces are appended, and other values are
    /// replaced.
    pub fn merge(&mut self, later: Self) {
        for (protocol, fields) in later.0 {
            let kept = self.0.entry(protocol).or_default();
            for (name, value) in fields {
                let mode = protocol.merge_mode(&name);
                join_field(kept, name, value, mode, MAX_DEPTH);
            }
        }
    }

    /// The fields of all protocols but this one.
    pub(crate) fn foreign(&self, protocol: Protocol) -> impl Iterator<Item = (Protocol, &str)> {
        let foreign = self.0.iter().filter(move |(kept, _)| **kept != protocol);
        foreign.flat_map(|(kept, fields)| fields.keys().map(|name| (*kept, name.as_str())))
    }
}
