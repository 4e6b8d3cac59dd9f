//! What a protocol says that has no neutral name. It is kept under the protocol's name and said to that protocol only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::protocol::Protocol;

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

    /// Adds one field for the protocol.
    pub fn insert(&mut self, protocol: Protocol, name: &str, value: Value) {
        self.0.entry(protocol).or_default().insert(name.to_owned(), value);
    }

    /// Adds what another one has.
    pub fn merge(&mut self, other: Self) {
        for (protocol, fields) in other.0 {
            self.0.entry(protocol).or_default().extend(fields);
        }
    }

    /// The protocols other than this one that something is kept for.
    pub(crate) fn foreign(&self, protocol: Protocol) -> impl Iterator<Item = Protocol> {
        self.0.keys().copied().filter(move |kept| *kept != protocol)
    }
}
