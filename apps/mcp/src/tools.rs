//! The tools, prompts and resources of all servers of a session: listed names and their owners.

use std::collections::HashMap;

use polywire::answer::validate;
use polywire::schema::Dialect;
use polywire::toolset::{CallFault, Toolset};
use serde_json::{Value, json};

use crate::json::{get, member_mut};
use crate::message::Message;
use crate::settings::{BrokenTools, Results, Shared};

/// What the servers offer.
pub(crate) struct Tools {
    fitted: Toolset,
    /// The server of each tool, in the order of the set.
    owners: Vec<usize>,
    /// What stands before the names of each server's tools.
    prefixes: Vec<String>,
    loading: Vec<Loading>,
    /// Prompts by listed name, and resources by URI, with their servers.
    prompts: HashMap<String, (usize, String)>,
    resources: HashMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loading {
    Unknown,
    Started,
    Done,
}

/// A call that is ready for its server.
pub(crate) struct PreparedCall {
    pub(crate) server: usize,
    /// The listed name of the tool.
    pub(crate) tool: String,
}

impl Tools {
    /// The tools of several servers have the name of their server before their own.
    pub(crate) fn new(servers: &[String], is_single: bool) -> Self {
        let prefix = |name: &String| if is_single { String::new() } else { format!("{name}_") };
        Self {
            fitted: Toolset::default(),
            owners: Vec::new(),
            prefixes: servers.iter().map(prefix).collect(),
            loading: vec![Loading::Unknown; servers.len()],
            prompts: HashMap::new(),
            resources: HashMap::new(),
        }
    }

    /// Forgets all tools: a server has others now.
    pub(crate) fn forget(&mut self) {
        self.fitted = Toolset::default();
        self.owners.clear();
        self.loading.fill(Loading::Unknown);
    }

    pub(crate) fn is_loaded(&self, server: usize) -> bool {
        self.loading.get(server) == Some(&Loading::Done)
    }

    pub(crate) fn is_loading(&self, server: usize) -> bool {
        self.loading.get(server) == Some(&Loading::Started)
    }

    /// True where nobody has asked for the tools of this server yet.
    pub(crate) fn start_loading(&mut self, server: usize) -> bool {
        let Some(loading) = self.loading.get_mut(server).filter(|loading| **loading == Loading::Unknown) else {
            return false;
        };
        *loading = Loading::Started;
        true
    }

    pub(crate) fn finish_loading(&mut self, server: usize) {
        if let Some(loading) = self.loading.get_mut(server) {
            *loading = Loading::Done;
        }
    }

    /// Fits tools of a server, and gives them as they are listed.
    pub(crate) fn add(&mut self, server: usize, tools: &[Value], dialect: &Dialect, shared: &Shared) -> Vec<Value> {
        // A list that is read again starts anew.
        if self.is_loaded(server) {
            self.forget();
        }
        let prefix = self.prefixes.get(server).cloned().unwrap_or_default();
        let named: Vec<Value> = tools.iter().map(|tool| with_prefix(tool, &prefix)).collect();
        let numbers = self.fitted.extend(&named, dialect, &shared.options.fit, &shared.cache);
        self.owners.resize(self.fitted.tools().len(), server);
        let mut listed = Vec::new();
        for tool in numbers.iter().filter_map(|number| self.fitted.tools().get(*number)) {
            if tool.is_broken {
                (shared.log)(&format!("the schema of the tool `{}` cannot be read", tool.name));
                if shared.options.broken == BrokenTools::LeftOut {
                    continue;
                }
            }
            listed.push(tool.listed.clone());
        }
        listed
    }

    /// Remembers the servers of prompts and resources, and gives them as they are listed.
    pub(crate) fn add_named(&mut self, server: usize, method: &str, items: Vec<Value>) -> Vec<Value> {
        let prefix = self.prefixes.get(server).cloned().unwrap_or_default();
        items
            .into_iter()
            .map(|item| {
                if let Some(uri) = get(&item, "/uri").as_str() {
                    self.resources.insert(uri.to_owned(), server);
                }
                let Some(name) = get(&item, "/name").as_str().filter(|_| method == "prompts/list").map(str::to_owned)
                else {
                    return item;
                };
                let listed = with_prefix(&item, &prefix);
                self.prompts.insert(format!("{prefix}{name}"), (server, name));
                listed
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

    /// Changes the parameters of a call to the server's own names and shapes.
    pub(crate) fn prepare_call(&self, params: &mut Value) -> Result<PreparedCall, CallFault> {
        let tool = get(params, "/name").as_str().unwrap_or_default().to_owned();
        let arguments = params.get("arguments").cloned().unwrap_or_default();
        let had_arguments = !arguments.is_null();
        let call = self.fitted.call(&tool, &arguments)?;
        let number = self.fitted.position(&tool).unwrap_or_default();
        let server = self.owners.get(number).copied().unwrap_or_default();
        let prefix = self.prefixes.get(server).map_or("", String::as_str);
        *member_mut(params, "name") = json!(call.name.strip_prefix(prefix).unwrap_or(&call.name));
        let is_empty = call.arguments.as_object().is_some_and(serde_json::Map::is_empty);
        if had_arguments || !is_empty {
            *member_mut(params, "arguments") = call.arguments;
        }
        Ok(PreparedCall { server, tool })
    }

    /// Why a structured result is not what its tool promises, where that is checked.
    pub(crate) fn result_fault(&self, tool: &str, message: &Message, results: Results) -> Option<String> {
        let schema = self.fitted.get(tool)?.listed.get("outputSchema").filter(|_| results == Results::Checked)?;
        let value = message.value();
        let content = value.pointer("/result/structuredContent")?;
        let faults = validate(content, schema).ok()?;
        let first = faults.first()?;
        Some(format!(
            "The result of `{tool}` does not match its outputSchema, so it is not passed on: {} (at `{}`)",
            first.detail, first.at
        ))
    }
}

/// An item with a longer name.
fn with_prefix(item: &Value, prefix: &str) -> Value {
    let mut item = item.clone();
    if let Some(name) = get(&item, "/name").as_str().map(|name| format!("{prefix}{name}")) {
        *member_mut(&mut item, "name") = json!(name);
    }
    item
}
