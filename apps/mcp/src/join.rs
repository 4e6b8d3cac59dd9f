//! Answers of several servers to one request of the client, joined in the order of the servers, and the pages of each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::json::get;
use crate::message::{Id, Message};

/// So many pages of one server are read. A server that always names a next page must not keep the proxy busy for ever.
pub(crate) const MAX_PAGES: usize = 1_000;

/// The only list that is changed.
pub(crate) const TOOLS: &str = "tools/list";

/// A request that all servers answer.
pub(crate) struct Join {
    /// The request of the client; none where the proxy itself needs the list.
    pub(crate) id: Option<Id>,
    pub(crate) method: String,
    missing: usize,
    parts: BTreeMap<usize, Part>,
}

/// What one server has answered.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) pages: Vec<Message>,
    /// Why it does not answer.
    pub(crate) fault: Option<Fault>,
}

pub(crate) enum Fault {
    /// An error of the server.
    Refused(Message),
    /// It ended, or takes too long.
    Failed(String),
}

impl Join {
    pub(crate) fn new(id: Option<Id>, method: String, parts: usize) -> Self {
        Self { id, method, missing: parts, parts: BTreeMap::new() }
    }

    pub(crate) fn is_of_tools(&self) -> bool {
        self.method == TOOLS
    }

    /// The member of the result that has the list.
    pub(crate) fn key(&self) -> &'static str {
        match self.method.as_str() {
            TOOLS => "tools",
            "prompts/list" => "prompts",
            "resources/list" => "resources",
            _ => "resourceTemplates",
        }
    }

    /// Takes a response of a server, and gives the cursor of the next page, if one is to be read.
    pub(crate) fn add(&mut self, server: usize, message: Message) -> Option<Value> {
        let part = self.parts.entry(server).or_default();
        if message.member("error").is_some() {
            part.fault = Some(Fault::Refused(message));
            return None;
        }
        let cursor = message.members("result").get("nextCursor").and_then(|raw| serde_json::from_str(raw.get()).ok());
        part.pages.push(message);
        cursor.filter(|cursor: &Value| cursor.is_string() && part.pages.len() < MAX_PAGES)
    }

    pub(crate) fn fail(&mut self, server: usize, reason: &str) {
        self.parts.entry(server).or_default().fault = Some(Fault::Failed(reason.to_owned()));
    }

    /// Counts a server that has answered, and tells whether it was the last one.
    pub(crate) fn is_last_part(&mut self) -> bool {
        self.missing = self.missing.saturating_sub(1);
        self.missing == 0
    }

    /// What each server answered, in their order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, &Part)> {
        self.parts.iter().map(|(server, part)| (*server, part))
    }

    /// The items of a server, page after page.
    pub(crate) fn items(&self, part: &Part) -> Vec<Value> {
        let pages = part.pages.iter().map(Message::value);
        let items = pages.map(|page| get(&page, "/result").get(self.key()).and_then(Value::as_array).cloned());
        items.flatten().flatten().collect()
    }

    /// The result that joins these items.
    pub(crate) fn result(&self, items: &[Value]) -> Value {
        if self.method.ends_with("/list") { json!({ self.key(): items }) } else { json!({}) }
    }
}
