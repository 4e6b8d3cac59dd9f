//! The handshakes: the client is greeted once its servers are connected, each in the era that it speaks.

use serde_json::Value;

use super::{Attempt, Session};
use crate::bridge::{ClientInfo, Era, STATELESS, ServerInfo};
use crate::json::get;
use crate::message::{Id, Message};
use crate::server::{Connection, Pending, Purpose, Server};

impl Session {
    /// Answers a greeting of the client once the servers are connected.
    pub(super) fn on_client_greeting(&mut self, id: Id, era: Era, message: &Message) {
        self.introduce(era, get(&message.value(), "/params"));
        self.greetings.push(id);
        self.greet_if_ready();
    }

    /// The client is known now: the servers are connected in its name.
    pub(super) fn introduce(&mut self, era: Era, params: &Value) {
        let client = match era {
            Era::Sessions => ClientInfo::of_session(params),
            Era::Stateless => ClientInfo::of_request(params),
        };
        self.dialect = self.shared.dialect(client.name());
        self.client = client;
        let is_new = self.era.replace(era).is_none();
        if is_new {
            for index in 0..self.servers.len() {
                self.connect(index);
            }
        }
    }

    /// Greets a server, first in the era of the client.
    pub(super) fn connect(&mut self, index: usize) {
        let era = self.era.unwrap_or(Era::Sessions);
        self.greet_server(index, era, Attempt::First);
    }

    fn greet_server(&mut self, index: usize, era: Era, attempt: Attempt) {
        let id = self.own_id();
        let greeting = Message::request(&id, era.greeting(), &self.client.greeting(era));
        let Some(server) = self.servers.get_mut(index) else { return };
        if matches!(server.connection, Connection::New | Connection::Ready { .. }) {
            server.connection = Connection::Connecting { queue: Vec::new() };
        }
        server.pending.insert(id, Pending::new(Purpose::Greeting { era, is_last: attempt == Attempt::Second }));
        self.push_to_server(index, greeting);
    }

    pub(super) fn on_server_greeting(&mut self, index: usize, era: Era, is_last: bool, message: &Message) {
        let value = message.value();
        if value.get("error").is_some() && !is_last {
            // A server that knows the revision after all, as one behind a balancer may, is asked again in it.
            let supported = get(&value, "/error/data/supported").as_array();
            let is_known = supported.is_some_and(|versions| versions.iter().any(|version| version == STATELESS));
            let next = if era == Era::Stateless && is_known { era } else { era.other() };
            return self.greet_server(index, next, Attempt::Second);
        }
        if let Some(error) = value.get("error") {
            let why = get(error, "/message").as_str().unwrap_or("no reason given");
            let reason = format!("it refuses the handshake: {why}");
            (self.shared.log)(&format!("the server `{}`: {reason}", self.name(index)));
            return self.give_up(index, &reason);
        }
        let Some(server) = self.servers.get_mut(index) else { return };
        let queued =
            server.ready(era, ServerInfo::of(era, get(&value, "/result")), message.member("result").unwrap_or("{}"));
        if era == Era::Sessions {
            self.push_to_server(index, Message::notification("notifications/initialized"));
        }
        self.greet_if_ready();
        self.subscribe(index);
        for (message, purpose) in queued {
            self.send(index, message, purpose);
        }
    }

    /// A server does not answer: what waits for it fails, and the client is not kept waiting.
    pub(super) fn give_up(&mut self, index: usize, reason: &str) {
        let told = format!("the server `{}` ended: {reason}", self.name(index));
        let Some(server) = self.servers.get_mut(index) else { return };
        let queued = server.end(reason);
        for (message, purpose) in queued {
            self.fail_message(index, &message, &purpose, &told);
        }
        self.greet_if_ready();
    }

    /// Answers the client's greetings once no server is being connected.
    fn greet_if_ready(&mut self) {
        let is_open = self.servers.iter().any(Server::is_connecting);
        let Some(era) = self.era.filter(|_| !is_open && !self.greetings.is_empty()) else { return };
        let ready: Vec<(&str, &ServerInfo, Era, &str)> = self.servers.iter().filter_map(Server::greeting).collect();
        let outcome = match ready.as_slice() {
            [] => {
                let reasons: Vec<String> = self.servers.iter().filter_map(Server::why_down).collect();
                Err(format!("no server answers: {}", reasons.join("; ")))
            }
            // The server's own words.
            [(_, _, own, result)] if self.is_single() && *own == era => Ok((*result).to_owned()),
            [(_, info, _, _)] if self.is_single() => Ok(info.greeting(era, &self.client).to_string()),
            several => {
                let joined = ServerInfo::joined(several.iter().map(|(name, info, _, _)| (*name, *info)));
                Ok(joined.greeting(era, &self.client).to_string())
            }
        };
        for id in std::mem::take(&mut self.greetings) {
            self.push_to_client(match &outcome {
                Ok(result) => Message::result(&id, result),
                Err(reason) => Message::error(&id, super::SERVER_ERROR, reason),
            });
        }
    }
}
