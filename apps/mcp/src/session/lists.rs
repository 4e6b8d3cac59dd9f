//! Lists: what several servers list becomes one list, and tools are fitted, all of them together.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{INVALID_PARAMS, SERVER_ERROR, Session};
use crate::bridge::complete_result;
use crate::catalog::ServerList;
use crate::join::{Fault, Join, TOOLS};
use crate::json::get;
use crate::message::{Id, Kind, Message};
use crate::server::Purpose;

impl Session {
    /// The client asks for the tools. Pages are joined, because some limits of providers hold for all tools of a request.
    pub(super) fn on_tool_list(&mut self, id: Id, message: &Message) {
        let value = message.value();
        let params = get(&value, "/params");
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return self.push_to_client(Message::error(
                &id,
                INVALID_PARAMS,
                "all tools are on one page, without cursors",
            ));
        }
        let params = if params.is_object() && self.is_single() { params.clone() } else { json!({}) };
        self.join(Some(id), TOOLS, &params);
    }

    /// The tools are needed for a call.
    pub(super) fn load_tools(&mut self) {
        if !self.joins.values().any(Join::is_of_tools) {
            self.join(None, TOOLS, &json!({}));
        }
    }

    /// Asks all servers, and answers the client when all have answered.
    pub(super) fn join(&mut self, id: Option<Id>, method: &str, params: &Value) {
        let servers: Vec<usize> = (0..self.servers.len())
            .filter(|index| {
                // A single server says in its own words that it has none.
                self.is_single() || self.servers.get(*index).is_some_and(|server| server.may_answer(method))
            })
            .collect();
        if method == TOOLS {
            self.is_catalog_stale = false;
        }
        self.next_id += 1;
        let number = self.next_id;
        self.joins.insert(number, Join::new(id, method.to_owned(), servers.len()));
        for index in &servers {
            let own = self.own_id();
            self.send(*index, Message::request(&own, method, params), Purpose::Part { join: number });
        }
        if servers.is_empty() {
            self.finish_join(number);
        }
    }

    pub(super) fn on_part(&mut self, index: usize, number: u64, message: Message) {
        let Some(join) = self.joins.get_mut(&number) else { return };
        if let Some(cursor) = join.add(index, message) {
            let method = join.method.clone();
            let id = self.own_id();
            let next = Message::request(&id, &method, &json!({"cursor": cursor}));
            return self.send(index, next, Purpose::Part { join: number });
        }
        self.part_is_done(number);
    }

    pub(super) fn fail_part(&mut self, index: usize, number: u64, reason: &str) {
        if let Some(join) = self.joins.get_mut(&number) {
            join.fail(index, reason);
        }
        self.part_is_done(number);
    }

    fn part_is_done(&mut self, number: u64) {
        if self.joins.get_mut(&number).is_some_and(Join::is_last_part) {
            self.finish_join(number);
        }
    }

    fn finish_join(&mut self, number: u64) {
        let Some(join) = self.joins.remove(&number) else { return };
        let fault = self.fault_of(&join);
        let answer = if join.is_of_tools() { self.fit_tools(&join) } else { Some(self.joined_items(&join)) };
        let failure = match &fault {
            Some(Fault::Failed(reason)) => Some(reason.clone()),
            Some(Fault::Refused(_)) | None => None,
        };
        if let Some(id) = &join.id {
            self.push_to_client(match fault {
                Some(Fault::Refused(error)) => error.with_id(id),
                Some(Fault::Failed(reason)) => Message::error(id, SERVER_ERROR, &reason),
                None => Message::result(id, &answer.unwrap_or_else(|| "{}".to_owned())),
            });
        }
        if join.is_of_tools() {
            self.release_calls(failure.as_deref());
        }
    }

    /// Sends the calls that waited for the tools. Without the tools, nobody knows the server's schema for their arguments.
    fn release_calls(&mut self, failure: Option<&str>) {
        for call in std::mem::take(&mut self.waiting_calls) {
            match (failure, call.kind()) {
                (Some(reason), Kind::Request { id, .. }) => {
                    self.push_to_client(Message::error(id, SERVER_ERROR, reason));
                }
                (_, _) => self.call_known_tool(call),
            }
        }
    }

    /// The fault that is the answer. Of several servers, those that answer are enough; the others are named in the log.
    fn fault_of(&self, join: &Join) -> Option<Fault> {
        let mut faults: Vec<(usize, &Fault)> =
            join.parts().filter_map(|(server, part)| Some((server, part.fault.as_ref()?))).collect();
        for (server, fault) in &faults {
            let why = match fault {
                Fault::Refused(error) => get(&error.value(), "/error/message").to_string(),
                Fault::Failed(reason) => reason.clone(),
            };
            (self.shared.log)(&format!("`{}` of the server `{}`: {why}", join.method, self.name(*server)));
        }
        let (_, fault) = faults.pop().filter(|_| self.is_single())?;
        Some(match fault {
            Fault::Refused(error) => Fault::Refused(error.clone()),
            Fault::Failed(reason) => Fault::Failed(reason.clone()),
        })
    }

    /// Fits the tools of all servers, and gives the result for the client, as JSON text.
    fn fit_tools(&mut self, join: &Join) -> Option<String> {
        let lists = join.parts().map(|(server, part)| ServerList {
            server,
            prefix: self.named.prefix(server),
            is_remote: self.servers.get(server).is_some_and(|server| server.is_remote),
            pages: part
                .pages
                .iter()
                .filter_map(|page| Some(page.members("result").get("tools")?.get().to_owned()))
                .collect(),
        });
        let catalog = self.shared.catalog(lists.collect(), &self.dialect);
        let (_, first) = join.parts().next().filter(|_| self.is_single()).unzip();
        let page = first.and_then(|part| part.pages.first());
        let mut members = page.map(|page| page.members("result")).unwrap_or_default();
        members.remove("nextCursor");
        let listed = RawValue::from_string(catalog.listed().to_owned()).ok()?;
        members.insert("tools".to_owned(), &listed);
        let missing = self.missing_members(TOOLS, &members);
        members.extend(missing.iter().map(|(key, value)| (key.clone(), &**value)));
        let text = serde_json::to_string(&members).ok();
        self.catalog = Some(Arc::clone(&catalog));
        // A server that has failed may be back at the next call.
        let has_failed = |fault: &Option<Fault>| matches!(fault, Some(Fault::Failed(_)));
        self.is_catalog_stale |= join.parts().any(|(_, part)| has_failed(&part.fault));
        text
    }

    /// What a result needs for the client's era, and does not have.
    fn missing_members(
        &self,
        method: &str,
        members: &std::collections::BTreeMap<String, &RawValue>,
    ) -> Vec<(String, Box<RawValue>)> {
        let mut whole = json!({});
        if self.is_stateless() {
            complete_result(method, &mut whole);
        }
        let Value::Object(whole) = whole else { return Vec::new() };
        let missing = whole.into_iter().filter(|(key, _)| !members.contains_key(key));
        missing.filter_map(|(key, value)| Some((key, serde_json::value::to_raw_value(&value).ok()?))).collect()
    }

    fn joined_items(&mut self, join: &Join) -> String {
        let mut items = Vec::new();
        for (server, part) in join.parts() {
            items.extend(self.named.add(server, &join.method, join.items(part)));
        }
        let mut result = join.result(&items);
        if self.is_stateless() {
            complete_result(&join.method, &mut result);
        }
        result.to_string()
    }
}
