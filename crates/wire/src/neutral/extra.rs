//! What a protocol says that has no neutral name. It is kept under the protocol's name and said to that protocol only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::Protocol;

/// How the pieces of a field become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeMode {
    /// A later piece says it anew.
    Replace,
    /// A later piece has more entries of its lists.
    Lists,
    /// A later piece has more entries of its lists and more of its texts.
    ListsAndTexts,
}

/// Objects that lie deeper are said anew.
const DEEPEST: usize = 64;

fn join_field(kept: &mut Map<String, Value>, name: String, later: Value, pieces: MergeMode, depth: usize) {
    match kept.get_mut(&name) {
        Some(value) => join(value, later, pieces, depth),
        None => {
            kept.insert(name, later);
        }
    }
}

/// Adds fields to an object.
pub(super) fn join_object(value: &mut Value, later: Map<String, Value>) {
    if value.is_object() {
        join(value, Value::Object(later), MergeMode::Replace, DEEPEST);
    }
}

fn join(kept: &mut Value, later: Value, pieces: MergeMode, depth: usize) {
    match (kept, later) {
        (Value::Object(kept), Value::Object(later)) if depth > 0 => {
            for (name, value) in later {
                join_field(kept, name, value, pieces, depth - 1);
            }
        }
        (Value::Array(kept), Value::Array(later)) if pieces != MergeMode::Replace => kept.extend(later),
        (Value::String(kept), Value::String(later)) if pieces == MergeMode::ListsAndTexts => kept.push_str(&later),
        (kept, later) => *kept = later,
    }
}

/// Fields without a neutral name, under the protocol that understands them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Extra(BTreeMap<Protocol, Map<String, Value>>);

impl Extra {
    /// The fields of one protocol; no fields are no entry.
    pub fn of(protocol: Protocol, fields: Map<String, Value>) -> Self {
        let mut extra = Self::default();
        extra.set(protocol, fields);
        extra
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields that the protocol understands.
    pub fn get(&self, protocol: Protocol) -> Option<&Map<String, Value>> {
        self.0.get(&protocol)
    }

    /// One field that the protocol understands.
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

    /// Takes the fields of the protocol out.
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

    /// Adds what a later piece of the same thing has: objects become one, what comes in pieces grows, and of anything else the
    /// later one counts.
    pub fn merge(&mut self, later: Self) {
        for (protocol, fields) in later.0 {
            let kept = self.0.entry(protocol).or_default();
            for (name, value) in fields {
                let pieces = protocol.pieces(&name);
                join_field(kept, name, value, pieces, DEEPEST);
            }
        }
    }

    /// The fields that are kept for other protocols than this one.
    pub(crate) fn foreign(&self, protocol: Protocol) -> impl Iterator<Item = (Protocol, &str)> {
        let foreign = self.0.iter().filter(move |(kept, _)| **kept != protocol);
        foreign.flat_map(|(kept, fields)| fields.keys().map(|name| (*kept, name.as_str())))
    }
}
