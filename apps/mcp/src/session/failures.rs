//! Answers where no server answers: it ended, takes too long, or does not read.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Output, SERVER_ERROR, Session};
use crate::message::{Id, Kind, Message};
use crate::server::{Connection, Pending, Purpose};

impl Session {
    /// A server ended. What waits for it fails, by name.
    pub(crate) fn on_server_down(&mut self, index: usize, reason: &str) -> Vec<Output> {
        let told = format!("the server `{}` ended: {reason}", self.name(index));
        (self.shared.log)(&told);
        let Some(server) = self.servers.get_mut(index) else { return Vec::new() };
        let pending: Vec<(Id, Pending)> = server.pending.drain().collect();
        self.is_catalog_stale = true;
        self.give_up(index, reason);
        for (id, own) in pending {
            self.fail(index, own.client_id.as_ref().unwrap_or(&id), &own.purpose, &told);
        }
        std::mem::take(&mut self.outputs)
    }

    /// A server was started again.
    pub(crate) fn on_server_up(&mut self, index: usize) -> Vec<Output> {
        let is_known = self.era.is_some();
        self.is_catalog_stale = true;
        if let Some(server) = self.servers.get_mut(index) {
            server.connection = Connection::New;
        }
        if is_known {
            self.connect(index);
        }
        std::mem::take(&mut self.outputs)
    }

    /// A server does not read its messages: the answer to one that was not sent.
    pub(crate) fn on_overflow(&mut self, index: usize, message: &Message) -> Vec<Output> {
        if let Kind::Request { id, .. } = message.kind() {
            let reason = format!("the server `{}` is too busy", self.name(index));
            let pending = self.servers.get_mut(index).and_then(|server| server.pending.remove(id));
            if let Some(pending) = pending {
                self.fail(index, id, &pending.purpose, &reason);
            }
        }
        std::mem::take(&mut self.outputs)
    }

    /// Gives up requests that take longer than allowed.
    pub(crate) fn on_tick(&mut self, now: Instant) -> Vec<Output> {
        let Some(timeout) = self.shared.options.timeout else { return Vec::new() };
        for index in 0..self.servers.len() {
            let Some(server) = self.servers.get_mut(index) else { continue };
            for (id, pending) in server.take_older(now, timeout) {
                let params: Value =
                    json!({"requestId": serde_json::from_str::<Value>(&id).unwrap_or_default(), "reason": "timeout"});
                self.push_to_server(index, Message::notification_with("notifications/cancelled", &params));
                let reason = format!("the server `{}` did not answer within {} s", self.name(index), timeout.as_secs());
                self.fail(index, pending.client_id.as_ref().unwrap_or(&id), &pending.purpose, &reason);
            }
        }
        std::mem::take(&mut self.outputs)
    }

    /// A message cannot be sent.
    pub(super) fn fail_message(&mut self, index: usize, message: &Message, purpose: &Purpose, reason: &str) {
        if let Kind::Request { id, .. } = message.kind() {
            self.fail(index, id, purpose, reason);
        }
    }

    /// A request of the client, or one of our own, gets no answer.
    fn fail(&mut self, index: usize, id: &Id, purpose: &Purpose, reason: &str) {
        match purpose {
            Purpose::Greeting { .. } => self.give_up(index, reason),
            Purpose::Part { join } => self.fail_part(index, *join, reason),
            Purpose::Call { .. } | Purpose::Method(_) | Purpose::Passed => {
                self.push_to_client(Message::error(id, SERVER_ERROR, reason));
            }
            Purpose::Subscription => {}
        }
    }
}
