//! Calls of tools: arguments go to the server in its own schema, and what is not valid goes back to the model.

use std::sync::Arc;

use polywire::toolset::CallFault;
use serde_json::json;

use super::{INVALID_PARAMS, Session};
use crate::bridge::complete_result;
use crate::json::{get, member_mut};
use crate::message::{Id, Kind, Message};
use crate::server::Purpose;

/// JSON-RPC: a header differs from the body.
const HEADER_MISMATCH: i64 = -32020;

impl Session {
    /// Sends a call in the names and shapes of its server, once the tools are known.
    pub(super) fn call(&mut self, message: Message) {
        if self.catalog.is_none() || self.is_catalog_stale {
            self.waiting_calls.push(message);
            return self.load_tools();
        }
        self.call_known_tool(message);
    }

    pub(super) fn call_known_tool(&mut self, message: Message) {
        let Kind::Request { id, .. } = message.kind().clone() else { return };
        let mut value = message.value();
        let Some(catalog) = self.catalog.as_ref().map(Arc::clone) else { return };
        if let Some(fault) = message.headers().and_then(|given| catalog.header_fault(get(&value, "/params"), given)) {
            return self.push_to_client(Message::error(&id, HEADER_MISMATCH, &fault));
        }
        match catalog.prepare_call(member_mut(&mut value, "params")) {
            Ok(prepared) => {
                let message = message.with_value(&value).with_headers(Some(prepared.headers));
                self.send(prepared.server, message, Purpose::Call { tool: prepared.tool });
            }
            Err(CallFault::UnknownTool(_)) => {
                // The server says it in its own words; of several, none knows it.
                if self.is_single() {
                    return self.send(0, message, Purpose::Passed);
                }
                let name = get(&value, "/params/name").as_str().unwrap_or_default().to_owned();
                self.push_to_client(Message::error(&id, INVALID_PARAMS, &format!("no server has the tool `{name}`")));
            }
            Err(CallFault::InvalidArguments(text)) => self.refuse_call(&id, &text),
        }
    }

    pub(super) fn on_call_result(&mut self, index: usize, tool: &str, message: Message) {
        let results = self.shared.options.results;
        let fault = self.catalog.as_ref().and_then(|catalog| catalog.result_fault(tool, &message, results));
        match (fault, message.kind()) {
            (Some(fault), Kind::Response { id }) => {
                let id = id.clone();
                self.refuse_call(&id, &fault);
            }
            (_, _) => self.pass_result(index, "tools/call", message),
        }
    }

    /// A result for the model that says what is wrong.
    fn refuse_call(&mut self, id: &Id, text: &str) {
        let mut result = json!({"content": [{"type": "text", "text": text}], "isError": true});
        if self.is_stateless() {
            complete_result("tools/call", &mut result);
        }
        self.push_to_client(Message::result(id, &result.to_string()));
    }
}
