//! One client and its servers: decides what becomes of each message. It does no IO; see [`Session::on_client`] and its siblings.
//!
//! `handshake` connects, `lists` joins lists and has tools fitted, `calls` maps calls of tools, `subscriptions` passes on what changes,
//! `rounds` asks the client what servers want to know, `failures` answers where no server does.

mod calls;
mod failures;
mod handshake;
mod lists;
mod rounds;
mod subscriptions;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use polywire::schema::Dialect;
use serde_json::json;

use crate::bridge::{ClientInfo, Era, complete_result, envelope_fault};
use crate::catalog::Catalog;
use crate::join::{Join, TOOLS};
use crate::json::{get, member_mut};
use crate::message::{Id, Kind, Message};
use crate::named::Named;
use crate::server::{Connection, Pending, Purpose, Server};
use crate::settings::Shared;
use crate::upstream::{Received, ServerSpec};
use rounds::{HeldRequest, Round};
use subscriptions::{LISTEN, Subscription};

/// What is to be sent.
#[derive(Debug)]
pub(crate) enum Output {
    Client(Delivery),
    Server(usize, Message),
}

/// A message for the client.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) message: Message,
    /// The client's request that it belongs to, where that is known and the message is not the response.
    pub(crate) origin: Option<Id>,
}

/// JSON-RPC: the method does not exist.
const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: the parameters are not valid.
const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC: an error of the implementation.
const SERVER_ERROR: i64 = -32000;

/// Methods that revision 2026-07-28 has removed.
const REMOVED: [&str; 4] = ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Methods whose result may ask the client for something (revision 2026-07-28).
const ASKING: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// The state of one client.
pub(crate) struct Session {
    shared: Arc<Shared>,
    client: ClientInfo,
    era: Option<Era>,
    dialect: Cow<'static, Dialect>,
    servers: Vec<Server>,
    /// The tools, once they are known.
    catalog: Option<Arc<Catalog>>,
    /// True where a server has told that its tools are others now.
    is_catalog_stale: bool,
    named: Named,
    /// Greetings of the client that wait for the servers.
    greetings: Vec<Id>,
    /// Calls that wait for the list of tools.
    waiting_calls: Vec<Message>,
    joins: HashMap<u64, Join>,
    subscriptions: Vec<Subscription>,
    /// Requests that wait for the client's answers, and the requests to the client that ask for them.
    rounds: HashMap<u64, Round>,
    inputs: HashMap<Id, (u64, String)>,
    /// Requests of servers that wait for the client, by the state that it gives back.
    held: HashMap<String, HeldRequest>,
    /// Requests of servers, by the id that the client sees, where there are several servers.
    asked: HashMap<Id, (usize, Id)>,
    next_id: u64,
    outputs: Vec<Output>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    First,
    Second,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>, specs: &[ServerSpec]) -> Self {
        let names: Vec<String> = specs.iter().map(|spec| spec.name.clone()).collect();
        let dialect = shared.dialect(None);
        Self {
            named: Named::new(&names),
            shared,
            client: ClientInfo::default(),
            era: None,
            dialect,
            servers: specs.iter().map(|spec| Server::new(spec.name.clone(), spec.is_remote())).collect(),
            catalog: None,
            is_catalog_stale: false,
            greetings: Vec::new(),
            waiting_calls: Vec::new(),
            joins: HashMap::new(),
            subscriptions: Vec::new(),
            rounds: HashMap::new(),
            inputs: HashMap::new(),
            held: HashMap::new(),
            asked: HashMap::new(),
            next_id: 0,
            outputs: Vec::new(),
        }
    }

    /// A message of the client.
    pub(crate) fn on_client(&mut self, message: Message) -> Vec<Output> {
        match message.kind().clone() {
            Kind::Request { id, method } => self.on_request(id, &method, message),
            Kind::Notification { method } => self.on_notification(&method, &message),
            Kind::Response { id } => self.on_answer_of_client(&id, message),
        }
        std::mem::take(&mut self.outputs)
    }

    /// A message of a server.
    pub(crate) fn on_server(&mut self, index: usize, received: Received) -> Vec<Output> {
        let Received { message, origin } = received;
        let origin = origin.filter(|id| !is_own(id));
        match message.kind().clone() {
            Kind::Response { id } => self.on_response(index, &id, message),
            Kind::Notification { method } => self.on_server_notification(&method, message, origin),
            Kind::Request { id, method } if self.is_stateless() => {
                if !self.hold_request(index, &message, origin.as_ref()) {
                    self.answer_server(index, &id, &method);
                }
            }
            Kind::Request { id, .. } if !self.is_single() => {
                let seen = format!("\"{}/{}\"", self.name(index), id.replace('"', ""));
                self.asked.insert(seen.clone(), (index, id));
                self.deliver(message.with_id(&seen), origin);
            }
            Kind::Request { .. } => self.deliver(message, origin),
        }
        std::mem::take(&mut self.outputs)
    }

    /// True where nothing waits for a server.
    pub(crate) fn is_idle(&self) -> bool {
        let is_open = |pending: &Pending| !matches!(pending.purpose, Purpose::Subscription);
        self.waiting_calls.is_empty() && !self.servers.iter().any(|server| server.pending.values().any(is_open))
    }

    fn is_single(&self) -> bool {
        self.servers.len() == 1
    }

    fn is_stateless(&self) -> bool {
        self.era == Some(Era::Stateless)
    }

    fn name(&self, index: usize) -> &str {
        self.servers.get(index).map_or("", |server| server.name.as_str())
    }

    /// The era that a server speaks, once it is known.
    fn speaks(&self, index: usize) -> Option<Era> {
        self.servers.get(index).and_then(Server::era)
    }

    fn push_to_client(&mut self, message: Message) {
        self.deliver(message, None);
    }

    fn push_to_server(&mut self, index: usize, message: Message) {
        self.outputs.push(Output::Server(index, message));
    }

    fn on_request(&mut self, id: Id, method: &str, message: Message) {
        if method == "initialize" {
            return self.on_client_greeting(id, Era::Sessions, &message);
        }
        if self.era != Some(Era::Sessions) {
            if let Some(fault) = envelope_fault(&id, &message) {
                return self.push_to_client(fault);
            }
            if method == "server/discover" {
                return self.on_client_greeting(id, Era::Stateless, &message);
            }
            if self.era.is_none() {
                self.introduce(Era::Stateless, get(&message.value(), "/params"));
            }
            if REMOVED.contains(&method) {
                let text = format!("revision 2026-07-28 has no method `{method}`");
                return self.push_to_client(Message::error(&id, METHOD_NOT_FOUND, &text));
            }
        }
        if self.is_held_request(&id, &message) {
            return;
        }
        match method {
            "ping" if !self.is_single() || self.speaks(0) == Some(Era::Stateless) => {
                self.push_to_client(Message::result(&id, "{}"));
            }
            "tools/call" => self.call(message),
            TOOLS => self.on_tool_list(id, &message),
            LISTEN if !self.passes_subscriptions() && self.is_stateless() => self.on_listen(id, &message),
            "prompts/list" | "resources/list" | "resources/templates/list" if !self.is_single() => {
                // Pages are joined, so there is no cursor.
                self.join(Some(id), method, &json!({}));
            }
            "logging/setLevel" if !self.is_single() => {
                let params = get(&message.value(), "/params").clone();
                self.join(Some(id), method, &params);
            }
            _ => self.route(method, message),
        }
    }

    fn on_notification(&mut self, method: &str, message: &Message) {
        match method {
            // Servers are told when they are connected.
            "notifications/initialized" => {}
            "notifications/cancelled" => self.cancel(message),
            _ => {
                for index in 0..self.servers.len() {
                    self.send(index, message.clone(), Purpose::Passed);
                }
            }
        }
    }

    fn cancel(&mut self, message: &Message) {
        let id = get(&message.value(), "/params/requestId").to_string();
        self.end_subscription(&id);
        self.waiting_calls.retain(|call| !matches!(call.kind(), Kind::Request { id: own, .. } if *own == id));
        for join in self.joins.values_mut().filter(|join| join.id.as_ref() == Some(&id)) {
            join.id = None;
        }
        let of = self.servers.iter().enumerate().find_map(|(index, server)| {
            let mut open = server.pending.iter();
            Some((index, open.find(|(own, pending)| **own == id || pending.client_id.as_ref() == Some(&id))?.0.clone()))
        });
        match of {
            // The server knows a request that was sent again by another id.
            Some((index, own)) if own != id => {
                let mut value = message.value();
                *member_mut(member_mut(&mut value, "params"), "requestId") =
                    serde_json::from_str(&own).unwrap_or_default();
                self.send(index, message.with_value(&value), Purpose::Passed);
            }
            Some((index, _)) => self.send(index, message.clone(), Purpose::Passed),
            None if self.is_single() => self.send(0, message.clone(), Purpose::Passed),
            None => {}
        }
    }

    fn on_answer_of_client(&mut self, id: &Id, message: Message) {
        if self.is_input(id, &message) {
            return;
        }
        match self.asked.remove(id) {
            Some((index, own)) => self.push_to_server(index, message.with_id(&own)),
            None if self.is_single() => self.push_to_server(0, message),
            None => {}
        }
    }

    /// A client of the stateless era takes no requests, so the server gets its answer here.
    fn answer_server(&mut self, index: usize, id: &Id, method: &str) {
        let answer = if method == "ping" {
            Message::result(id, "{}")
        } else {
            Message::error(
                id,
                METHOD_NOT_FOUND,
                "the client speaks revision 2026-07-28, where servers send no requests",
            )
        };
        self.push_to_server(index, answer);
    }

    /// Sends a message to a server, or keeps it until the server is connected.
    fn send(&mut self, index: usize, message: Message, purpose: Purpose) {
        let is_ours = matches!(message.kind(), Kind::Request { id, .. } if is_own(id));
        let needs_client = self.speaks(index) == Some(Era::Stateless) && (is_ours || self.era == Some(Era::Sessions));
        let Some(server) = self.servers.get_mut(index) else { return };
        match &mut server.connection {
            Connection::New => {}
            Connection::Connecting { queue } => queue.push((message, purpose)),
            Connection::Down { reason } => {
                let reason = format!("the server `{}` ended: {reason}", server.name);
                self.fail_message(index, &message, &purpose, &reason);
            }
            Connection::Ready { .. } => {
                let message = if needs_client { with_client(&message, &self.client) } else { message };
                if let Kind::Request { id, method } = message.kind() {
                    let is_plain = matches!(purpose, Purpose::Passed);
                    let purpose = if is_plain { Purpose::Method(method.clone()) } else { purpose };
                    let pending = Pending::new(purpose);
                    let is_kept = needs_client && ASKING.contains(&method.as_str());
                    let pending = if is_kept { pending.with_request(message.clone()) } else { pending };
                    server.pending.insert(id.clone(), pending);
                }
                self.push_to_server(index, message);
            }
        }
    }

    /// Sends a request to the server that it concerns.
    fn route(&mut self, method: &str, message: Message) {
        if self.is_single() {
            return self.send(0, message, Purpose::Passed);
        }
        let mut value = message.value();
        let found = self.named.route(method, member_mut(&mut value, "params"));
        let index = found.unwrap_or_else(|| {
            let capability = method.split('/').next().unwrap_or_default();
            let able = |server: &Server| server.info().is_some_and(|info| info.has(capability));
            self.servers.iter().position(able).unwrap_or(0)
        });
        let message = if found.is_some() { message.with_value(&value) } else { message };
        self.send(index, message, Purpose::Passed);
    }

    fn on_response(&mut self, index: usize, id: &Id, message: Message) {
        let Some(pending) = self.servers.get_mut(index).and_then(|server| server.pending.remove(id)) else {
            // Of a request that was given up, or of one that we do not know.
            if self.is_single() && !is_own(id) {
                self.push_to_client(message);
            }
            return;
        };
        if self.is_new_round(index, id, &pending, &message) {
            return;
        }
        let message = match pending.client_id {
            Some(id) => message.with_id(&id),
            None => message,
        };
        match pending.purpose {
            Purpose::Greeting { era, is_last } => self.on_server_greeting(index, era, is_last, &message),
            Purpose::Part { join } => self.on_part(index, join, message),
            Purpose::Call { tool } => self.on_call_result(index, &tool, message),
            Purpose::Method(method) => self.pass_result(index, &method, message),
            Purpose::Passed => self.push_to_client(message),
            Purpose::Subscription => {}
        }
    }

    /// A result in the era of the client.
    fn pass_result(&mut self, index: usize, method: &str, message: Message) {
        let is_bridged = self.is_stateless() && self.speaks(index) == Some(Era::Sessions);
        if !is_bridged {
            return self.push_to_client(message);
        }
        let mut value = message.value();
        if let Some(result) = value.get_mut("result") {
            complete_result(method, result);
        }
        self.push_to_client(message.with_value(&value));
    }

    /// An id for a request of our own.
    fn own_id(&mut self) -> Id {
        self.next_id += 1;
        format!("{OWN}{}\"", self.next_id)
    }
}

/// The start of the ids of our own requests. Ids of clients are numbers or short names, never this.
const OWN: &str = "\"polywire/";

fn is_own(id: &Id) -> bool {
    id.starts_with(OWN)
}

/// A request that says who asks.
fn with_client(message: &Message, client: &ClientInfo) -> Message {
    let mut value = message.value();
    let params = value.get("params").cloned().unwrap_or_else(|| json!({}));
    *member_mut(&mut value, "params") = client.with_meta(params);
    message.with_value(&value)
}
