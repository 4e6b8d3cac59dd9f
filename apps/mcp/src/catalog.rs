//! The tools of all servers of a session, fitted as one list: what is listed, and calls back in the names and shapes of their server.

use std::sync::Arc;

use polywire::answer::validate;
use polywire::schema::Dialect;
use polywire::toolset::{CallFault, ServerTool, Toolset};
use serde_json::{Value, json};

use crate::json::{get, member_mut};
use crate::message::Message;
use crate::param_headers::{ParamHeaders, header_fault, illegal_header, param_headers};
use crate::settings::{BrokenTools, Results, Shared};

/// The tools of one server, as it lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerList {
    pub(crate) server: usize,
    /// What stands before the names of its tools.
    pub(crate) prefix: String,
    /// True where arguments may have to travel as headers.
    pub(crate) is_remote: bool,
    /// The JSON text of the list, page by page.
    pub(crate) pages: Vec<String>,
}

/// Fitted tools.
pub(crate) struct Catalog {
    tools: Toolset,
    /// The server of each member of the joined list.
    owners: Vec<usize>,
    prefixes: Vec<(usize, String)>,
    /// The list for the client, as JSON text.
    listed: String,
}

/// A call that is ready for its server.
pub(crate) struct PreparedCall {
    pub(crate) server: usize,
    /// The listed name of the tool.
    pub(crate) tool: String,
    /// The arguments that the server wants to see as headers, over HTTP.
    pub(crate) headers: ParamHeaders,
}

impl Catalog {
    /// Fits all lists together, because some limits hold for all tools of a request.
    pub(crate) fn fit(lists: &[ServerList], dialect: &Dialect, shared: &Shared) -> Self {
        let (mut named, mut owners) = (Vec::new(), Vec::new());
        for list in lists {
            for page in &list.pages {
                let mut tools: Vec<Value> = serde_json::from_str(page).unwrap_or_default();
                tools.retain(|tool| !list.is_remote || has_legal_headers(tool, shared));
                owners.resize(owners.len() + tools.len(), list.server);
                named.extend(tools.into_iter().map(|tool| with_prefix(tool, &list.prefix)));
            }
        }
        let tools = Toolset::fit(&named, dialect, &shared.options.fit, &shared.cache);
        for change in tools.changes() {
            (shared.log)(&format!("the list of tools: {}", change.detail));
        }
        let mut listed = Vec::new();
        for tool in tools.tools() {
            if let Some(reason) = tool.broken_because() {
                (shared.log)(&format!("the schema of the tool `{}` cannot be read: {reason}", tool.name));
            }
            if !(tool.is_broken && shared.options.broken == BrokenTools::LeftOut) {
                listed.push(&tool.listed);
            }
        }
        let listed = json!(listed).to_string();
        let prefixes = lists.iter().map(|list| (list.server, list.prefix.clone())).collect();
        Self { tools, owners, prefixes, listed }
    }

    /// The list for the client, as JSON text.
    pub(crate) fn listed(&self) -> &str {
        &self.listed
    }

    /// Changes the parameters of a call to the server's own names and shapes.
    pub(crate) fn prepare_call(&self, params: &mut Value) -> Result<PreparedCall, CallFault> {
        let name = get(params, "/name").as_str().unwrap_or_default().to_owned();
        let arguments = params.get("arguments").cloned().unwrap_or_default();
        let had_arguments = !arguments.is_null();
        let call = self.tools.call(&name, &arguments)?;
        let server = self.tools.get(&name).and_then(|tool| self.owner(tool)).unwrap_or_default();
        let prefix = self.prefixes.iter().find(|(owner, _)| *owner == server).map_or("", |(_, prefix)| prefix.as_str());
        *member_mut(params, "name") = json!(call.name.strip_prefix(prefix).unwrap_or(&call.name));
        let headers =
            self.tools.get(&name).map(|tool| param_headers(&tool.schema, &call.arguments)).unwrap_or_default();
        let is_empty = call.arguments.as_object().is_some_and(serde_json::Map::is_empty);
        if had_arguments || !is_empty {
            *member_mut(params, "arguments") = call.arguments;
        }
        Ok(PreparedCall { server, tool: name, headers })
    }

    /// Why the headers of a call do not say what its arguments say, by the schema that is listed.
    pub(crate) fn header_fault(&self, params: &Value, given: &ParamHeaders) -> Option<String> {
        let listed = &self.tools.get(get(params, "/name").as_str()?)?.listed;
        header_fault(&param_headers(get(listed, "/inputSchema"), get(params, "/arguments")), given)
    }

    fn owner(&self, tool: &ServerTool) -> Option<usize> {
        self.owners.get(tool.position).copied()
    }

    /// Why a structured result is not what its tool promises, where that is checked.
    pub(crate) fn result_fault(&self, tool: &str, message: &Message, results: Results) -> Option<String> {
        let schema = self.tools.get(tool)?.output_schema.as_ref().filter(|_| results == Results::Checked)?;
        let value = message.value();
        if get(&value, "/result/isError") == &Value::Bool(true) {
            return None;
        }
        let Some(content) = value.pointer("/result/structuredContent") else {
            value.get("result")?;
            return Some(format!("The result of `{tool}` has no structuredContent, which its outputSchema promises."));
        };
        let faults = validate(content, schema).ok()?;
        let first = faults.first()?;
        let at = if first.at.is_empty() { "/" } else { &first.at };
        Some(format!(
            "The result of `{tool}` does not match its outputSchema, so it is not passed on: {} (at `{at}`)",
            first.detail
        ))
    }
}

/// Revision 2026-07-28: a client over HTTP leaves out tools whose headers it cannot send.
fn has_legal_headers(tool: &Value, shared: &Shared) -> bool {
    let fault = illegal_header(get(tool, "/inputSchema"));
    if let Some(fault) = &fault {
        (shared.log)(&format!("the tool {} is left out: {fault}", get(tool, "/name")));
    }
    fault.is_none()
}

/// A catalog and what it was made from.
pub(crate) struct CachedCatalog {
    pub(crate) dialect: String,
    pub(crate) lists: Vec<ServerList>,
    pub(crate) catalog: Arc<Catalog>,
}

/// An item with a longer name.
pub(crate) fn with_prefix(mut item: Value, prefix: &str) -> Value {
    if let Some(name) =
        get(&item, "/name").as_str().filter(|_| !prefix.is_empty()).map(|name| format!("{prefix}{name}"))
    {
        *member_mut(&mut item, "name") = json!(name);
    }
    item
}
