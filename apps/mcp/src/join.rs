//! Answers of several servers to one request of the client, joined in the order of the servers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::message::Id;

/// A request that all servers answer.
pub(crate) struct Join {
    pub(crate) id: Id,
    pub(crate) method: String,
    missing: usize,
    items: BTreeMap<usize, Vec<Value>>,
}

impl Join {
    pub(crate) fn new(id: Id, method: String, parts: usize) -> Self {
        Self { id, method, missing: parts, items: BTreeMap::new() }
    }

    /// The member of the result that has the list.
    pub(crate) fn key(&self) -> &'static str {
        match self.method.as_str() {
            "tools/list" => "tools",
            "prompts/list" => "prompts",
            "resources/list" => "resources",
            _ => "resourceTemplates",
        }
    }

    pub(crate) fn add(&mut self, server: usize, items: Vec<Value>) {
        self.items.entry(server).or_default().extend(items);
    }

    /// Counts a server that has answered, and tells whether it was the last one.
    pub(crate) fn is_last_part(&mut self) -> bool {
        self.missing = self.missing.saturating_sub(1);
        self.missing == 0
    }

    pub(crate) fn result(self) -> Value {
        if !self.method.ends_with("/list") {
            return json!({});
        }
        let key = self.key();
        let items: Vec<Value> = self.items.into_values().flatten().collect();
        json!({ key: items })
    }
}
