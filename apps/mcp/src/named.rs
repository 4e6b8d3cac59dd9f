//! The prompts and resources of several servers: which server each belongs to.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::catalog::with_prefix;
use crate::json::{get, member_mut};

/// Prompts by listed name, and resources by URI, with their servers.
#[derive(Default)]
pub(crate) struct Named {
    prefixes: Vec<String>,
    prompts: HashMap<String, (usize, String)>,
    resources: HashMap<String, usize>,
}

impl Named {
    /// What several servers list has the name of the server before its own.
    pub(crate) fn new(servers: &[String]) -> Self {
        let prefix = |name: &String| if servers.len() == 1 { String::new() } else { format!("{name}_") };
        Self { prefixes: servers.iter().map(prefix).collect(), ..Self::default() }
    }

    pub(crate) fn prefix(&self, server: usize) -> String {
        self.prefixes.get(server).cloned().unwrap_or_default()
    }

    /// Remembers the servers of prompts and resources, and gives them as they are listed.
    pub(crate) fn add(&mut self, server: usize, method: &str, items: Vec<Value>) -> Vec<Value> {
        let prefix = self.prefix(server);
        items
            .into_iter()
            .map(|item| {
                if let Some(uri) = get(&item, "/uri").as_str() {
                    self.resources.entry(uri.to_owned()).or_insert(server);
                }
                let name = get(&item, "/name").as_str().filter(|_| method == "prompts/list").map(str::to_owned);
                let Some(name) = name else { return item };
                self.prompts.insert(format!("{prefix}{name}"), (server, name));
                with_prefix(item, &prefix)
            })
            .collect()
    }

    /// The server of a request, with the name in its parameters changed to the server's own.
    pub(crate) fn route(&self, method: &str, params: &mut Value) -> Option<usize> {
        let reference = if method == "completion/complete" { member_mut(params, "ref") } else { params };
        if let Some((server, name)) = get(reference, "/name").as_str().and_then(|name| self.prompt(name)) {
            *member_mut(reference, "name") = json!(name);
            return Some(server);
        }
        let uri = get(reference, "/uri").as_str()?;
        self.resources.get(uri).copied()
    }

    fn prompt(&self, listed: &str) -> Option<(usize, String)> {
        let by_prefix = || {
            let mut servers = self.prefixes.iter().enumerate();
            servers.find_map(|(server, prefix)| Some((server, listed.strip_prefix(prefix.as_str())?.to_owned())))
        };
        self.prompts.get(listed).cloned().or_else(by_prefix)
    }
}
