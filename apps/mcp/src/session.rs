//! One client and its servers: decides what becomes of each message. It does no IO; see [`Session::on_client`] and its siblings.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use polywire::schema::Dialect;
use serde_json::{Value, json};

use crate::bridge::{ClientInfo, Era, ServerInfo, complete_result};
use crate::join::Join;
use crate::json::{get, member_mut};
use crate::message::{Id, Kind, Message};
use crate::server::{Connection, Pending, Purpose, Server};
use crate::settings::Shared;
use crate::tools::Tools;

/// What is to be sent.
#[derive(Debug)]
pub(crate) enum Output {
    Client(Message),
    Server(usize, Message),
}

/// JSON-RPC: the method does not exist.
const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC: an error of the implementation.
const SERVER_ERROR: i64 = -32000;

/// The state of one client.
pub(crate) struct Session {
    shared: Arc<Shared>,
    client: ClientInfo,
    era: Option<Era>,
    dialect: Cow<'static, Dialect>,
    servers: Vec<Server>,
    tools: Tools,
    /// Greetings of the client that wait for the servers.
    greetings: Vec<Id>,
    /// Calls that wait for the list of tools.
    waiting_calls: Vec<Message>,
    joins: HashMap<u64, Join>,
    /// Requests of servers, by the id that the client sees, where there are several servers.
    asked: HashMap<Id, (usize, Id)>,
    next_id: u64,
    outputs: Vec<Output>,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>, names: Vec<String>) -> Self {
        let dialect = shared.dialect(None);
        let is_single = names.len() == 1;
        Self {
            tools: Tools::new(&names, is_single),
            shared,
            client: ClientInfo::default(),
            era: None,
            dialect,
            servers: names.into_iter().map(Server::new).collect(),
            greetings: Vec::new(),
            waiting_calls: Vec::new(),
            joins: HashMap::new(),
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
            Kind::Response { id } => self.on_answer_of_client(&id, &message),
        }
        std::mem::take(&mut self.outputs)
    }

    /// A message of a server.
    pub(crate) fn on_server(&mut self, index: usize, message: Message) -> Vec<Output> {
        match message.kind().clone() {
            Kind::Response { id } => self.on_response(index, &id, &message),
            Kind::Request { id, .. } if !self.is_single() => {
                let seen = format!("\"{}/{}\"", self.name(index), id.replace('"', ""));
                self.push_to_client(message.with_id(&seen));
                self.asked.insert(seen, (index, id));
            }
            Kind::Notification { method } => {
                if method == "notifications/tools/list_changed" {
                    self.tools.forget();
                }
                self.push_to_client(message);
            }
            Kind::Request { .. } => self.push_to_client(message),
        }
        std::mem::take(&mut self.outputs)
    }

    /// A server ended. What waits for it fails, by name.
    pub(crate) fn on_server_down(&mut self, index: usize, reason: &str) -> Vec<Output> {
        let name = self.name(index).to_owned();
        (self.shared.log)(&format!("the server `{name}` ended: {reason}"));
        let Some(server) = self.servers.get_mut(index) else { return Vec::new() };
        let pending: Vec<(Id, Pending)> = server.pending.drain().collect();
        let queued = server.end(reason);
        self.tools.forget();
        for (id, own) in pending {
            self.fail(index, &id, &own, &format!("the server `{name}` ended: {reason}"));
        }
        for message in queued {
            self.refuse(&message, &format!("the server `{name}` ended: {reason}"));
        }
        self.greet_if_ready();
        std::mem::take(&mut self.outputs)
    }

    /// A server was started again.
    pub(crate) fn on_server_up(&mut self, index: usize) -> Vec<Output> {
        let is_known = self.era.is_some();
        if let Some(server) = self.servers.get_mut(index) {
            server.connection = Connection::New;
        }
        if is_known {
            self.connect(index);
        }
        std::mem::take(&mut self.outputs)
    }

    /// True where nothing waits for a server.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting_calls.is_empty() && self.servers.iter().all(|server| server.pending.is_empty())
    }

    /// A server does not read its messages: the answer to one that was not sent.
    pub(crate) fn on_overflow(&mut self, index: usize, message: &Message) -> Option<Message> {
        let Kind::Request { id, .. } = message.kind() else { return None };
        self.servers.get_mut(index)?.pending.remove(id);
        Some(Message::error(id, SERVER_ERROR, &format!("the server `{}` is too busy", self.name(index))))
    }

    /// Gives up requests that take longer than allowed.
    pub(crate) fn on_tick(&mut self, now: Instant) -> Vec<Output> {
        let Some(timeout) = self.shared.options.timeout else { return Vec::new() };
        for index in 0..self.servers.len() {
            let Some(server) = self.servers.get_mut(index) else { continue };
            for (id, pending) in server.take_older(now, timeout) {
                let params: Value =
                    json!({"requestId": serde_json::from_str::<Value>(&id).unwrap_or_default(), "reason": "timeout"});
                let text = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string();
                if let Ok(message) = Message::parse(text) {
                    self.outputs.push(Output::Server(index, message));
                }
                let name = self.name(index).to_owned();
                let reason = format!("the server `{name}` did not answer within {} s", timeout.as_secs());
                self.fail(index, &id, &pending, &reason);
            }
        }
        std::mem::take(&mut self.outputs)
    }

    fn is_single(&self) -> bool {
        self.servers.len() == 1
    }

    fn name(&self, index: usize) -> &str {
        self.servers.get(index).map_or("", |server| server.name.as_str())
    }

    fn push_to_client(&mut self, message: Message) {
        self.outputs.push(Output::Client(message));
    }

    fn on_request(&mut self, id: Id, method: &str, message: Message) {
        match method {
            "initialize" | "server/discover" => {
                let era = if method == "initialize" { Era::Sessions } else { Era::Stateless };
                self.introduce(era, get(&message.value(), "/params"));
                self.greetings.push(id);
                self.greet_if_ready();
                return;
            }
            "ping" if !self.is_single() || self.speaks(0) == Some(Era::Stateless) => {
                return self.push_to_client(Message::result(&id, "{}"));
            }
            _ => {}
        }
        if self.era.is_none() {
            self.introduce(Era::Stateless, get(&message.value(), "/params"));
        }
        match method {
            "tools/call" => self.call(message),
            "tools/list" if self.is_single() => self.send(0, message, Purpose::ListTools),
            "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "logging/setLevel"
                if !self.is_single() =>
            {
                self.join(id, method, &message);
            }
            _ => self.route(method, message),
        }
    }

    /// The era that a server speaks, once it is known.
    fn speaks(&self, index: usize) -> Option<Era> {
        self.servers.get(index).and_then(Server::era)
    }

    /// The client is known now: the servers are connected in its name.
    fn introduce(&mut self, era: Era, params: &Value) {
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
    fn connect(&mut self, index: usize) {
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
        self.outputs.push(Output::Server(index, greeting));
    }

    fn on_greeting(&mut self, index: usize, era: Era, is_last: bool, message: &Message) {
        let value = message.value();
        if value.get("error").is_some() && !is_last {
            return self.greet_server(index, era.other(), Attempt::Second);
        }
        let name = self.name(index).to_owned();
        let Some(server) = self.servers.get_mut(index) else { return };
        if let Some(error) = value.get("error") {
            let reason = get(error, "/message").as_str().unwrap_or("it refuses the handshake").to_owned();
            (self.shared.log)(&format!("the server `{name}` refuses the handshake: {reason}"));
            let queued = server.end(&reason);
            for message in queued {
                self.refuse(&message, &format!("the server `{name}` refuses the handshake: {reason}"));
            }
            return self.greet_if_ready();
        }
        let queued =
            server.ready(era, ServerInfo::of(era, get(&value, "/result")), message.member("result").unwrap_or("{}"));
        if era == Era::Sessions {
            self.outputs.push(Output::Server(index, Message::notification("notifications/initialized")));
        }
        self.greet_if_ready();
        for (message, purpose) in queued {
            self.send(index, message, purpose);
        }
    }

    /// Answers the client's greeting once no server is being connected.
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
                Err(reason) => Message::error(&id, SERVER_ERROR, reason),
            });
        }
    }

    fn on_notification(&mut self, method: &str, message: &Message) {
        match method {
            // Servers are told when they are connected.
            "notifications/initialized" => {}
            "notifications/cancelled" => {
                let id = get(&message.value(), "/params/requestId").to_string();
                let of = self.servers.iter().position(|server| server.pending.contains_key(&id));
                self.waiting_calls.retain(|call| !matches!(call.kind(), Kind::Request { id: own, .. } if *own == id));
                self.send(of.unwrap_or(0), message.clone(), Purpose::Passed);
            }
            _ => {
                for index in 0..self.servers.len() {
                    self.send(index, message.clone(), Purpose::Passed);
                }
            }
        }
    }

    fn on_answer_of_client(&mut self, id: &Id, message: &Message) {
        match self.asked.remove(id) {
            Some((index, own)) => self.outputs.push(Output::Server(index, message.with_id(&own))),
            None => self.outputs.push(Output::Server(0, message.clone())),
        }
    }

    /// Sends a message to a server, or keeps it until the server is connected.
    fn send(&mut self, index: usize, message: Message, purpose: Purpose) {
        let is_bridged = self.era == Some(Era::Sessions) && self.speaks(index) == Some(Era::Stateless);
        let Some(server) = self.servers.get_mut(index) else { return };
        match &mut server.connection {
            Connection::New => {}
            Connection::Connecting { queue } => queue.push((message, purpose)),
            Connection::Down { reason } => {
                let reason = format!("the server `{}` ended: {reason}", server.name);
                self.refuse(&message, &reason);
            }
            Connection::Ready { .. } => {
                let message = if is_bridged { with_client(&message, &self.client) } else { message };
                if let Kind::Request { id, method } = message.kind() {
                    let is_plain = matches!(purpose, Purpose::Passed);
                    let purpose = if is_plain { Purpose::Method(method.clone()) } else { purpose };
                    server.pending.insert(id.clone(), Pending::new(purpose));
                }
                self.outputs.push(Output::Server(index, message));
            }
        }
    }

    /// Sends a request to the server that it concerns.
    fn route(&mut self, method: &str, message: Message) {
        if self.is_single() {
            return self.send(0, message, Purpose::Passed);
        }
        let mut value = message.value();
        let found = self.tools.route(method, member_mut(&mut value, "params"));
        let index = found.unwrap_or_else(|| {
            let capability = method.split('/').next().unwrap_or_default();
            let able = |server: &Server| server.info().is_some_and(|info| info.has(capability));
            self.servers.iter().position(able).unwrap_or(0)
        });
        let message = if found.is_some() { message.with_value(&value) } else { message };
        self.send(index, message, Purpose::Passed);
    }

    /// Sends a call in the names and shapes of its server, once the tools are known.
    fn call(&mut self, message: Message) {
        let missing: Vec<usize> = (0..self.servers.len())
            .filter(|index| !self.tools.is_loaded(*index) && self.servers.get(*index).is_some_and(Server::is_usable))
            .collect();
        if !missing.is_empty() {
            self.waiting_calls.push(message);
            for index in missing {
                self.load_tools(index);
            }
            return;
        }
        let Kind::Request { id, .. } = message.kind().clone() else { return };
        let mut value = message.value();
        match self.tools.prepare_call(member_mut(&mut value, "params")) {
            Ok(prepared) => {
                let message = message.with_value(&value);
                self.send(prepared.server, message, Purpose::Call { tool: prepared.tool });
            }
            Err(polywire::toolset::CallFault::UnknownTool(_)) => {
                // The server says it in its own words; of several, none knows it.
                if self.is_single() {
                    return self.send(0, message, Purpose::Passed);
                }
                let name = get(&value, "/params/name").as_str().unwrap_or_default().to_owned();
                self.push_to_client(Message::error(&id, -32602, &format!("no server has the tool `{name}`")));
            }
            Err(polywire::toolset::CallFault::InvalidArguments(text)) => {
                let mut result = json!({"content": [{"type": "text", "text": text}], "isError": true});
                if self.era == Some(Era::Stateless) {
                    complete_result("tools/call", &mut result);
                }
                self.push_to_client(Message::result(&id, &result.to_string()));
            }
        }
    }

    /// Asks a server for its tools, page by page.
    fn load_tools(&mut self, index: usize) {
        if self.tools.start_loading(index) {
            let id = self.own_id();
            self.send(index, Message::request(&id, "tools/list", &json!({})), Purpose::LoadTools);
        }
    }

    fn on_tools_page(&mut self, index: usize, message: &Message) {
        let value = message.value();
        let tools = get(&value, "/result/tools").as_array().cloned().unwrap_or_default();
        let shared = Arc::clone(&self.shared);
        self.tools.add(index, &tools, &self.dialect, &shared);
        if get(&value, "/result/nextCursor").is_string() {
            let (id, cursor) = (self.own_id(), get(&value, "/result/nextCursor"));
            self.send(index, Message::request(&id, "tools/list", &json!({"cursor": cursor})), Purpose::LoadTools);
            return;
        }
        self.tools.finish_loading(index);
        if !(0..self.servers.len()).any(|index| self.tools.is_loading(index)) {
            let waiting = std::mem::take(&mut self.waiting_calls);
            for call in waiting {
                self.call(call);
            }
        }
    }

    /// Fits the tools that the client asked for.
    fn on_tool_list(&mut self, index: usize, message: &Message) {
        let mut value = message.value();
        let shared = Arc::clone(&self.shared);
        if let Some(Value::Array(tools)) = value.pointer_mut("/result/tools") {
            let raw = std::mem::take(tools);
            *tools = self.tools.add(index, &raw, &self.dialect, &shared);
        }
        if get(&value, "/result").is_object() && !get(&value, "/result/nextCursor").is_string() {
            self.tools.finish_loading(index);
        }
        self.complete("tools/list", &mut value);
        self.push_to_client(message.with_value(&value));
    }

    /// Asks all servers, and answers the client when all have answered.
    fn join(&mut self, id: Id, method: &str, message: &Message) {
        let params = get(&message.value(), "/params").clone();
        let number = self.next_id;
        let able: Vec<usize> = (0..self.servers.len())
            .filter(|index| self.servers.get(*index).is_some_and(|server| server.may_answer(method)))
            .collect();
        if method == "tools/list" {
            self.tools.forget();
        }
        self.joins.insert(number, Join::new(id, method.to_owned(), able.len()));
        for index in &able {
            let own = self.own_id();
            // Pages are joined, so there is no cursor.
            let params = if method.ends_with("/list") { json!({}) } else { params.clone() };
            self.send(*index, Message::request(&own, method, &params), Purpose::Part { join: number });
        }
        self.next_id += 1;
        if able.is_empty() {
            self.finish_join(number);
        }
    }

    fn on_part(&mut self, index: usize, number: u64, message: &Message) {
        let value = message.value();
        let Some(join) = self.joins.get_mut(&number) else { return };
        let method = join.method.clone();
        if let Some(error) = value.get("error") {
            let name = self.servers.get(index).map_or("", |server| server.name.as_str());
            (self.shared.log)(&format!("`{method}` of the server `{name}`: {}", get(error, "/message")));
        }
        let items = get(&value, "/result").get(join.key()).and_then(Value::as_array).cloned().unwrap_or_default();
        let items = if method == "tools/list" {
            let shared = Arc::clone(&self.shared);
            self.tools.add(index, &items, &self.dialect, &shared)
        } else {
            self.tools.add_named(index, &method, items)
        };
        let Some(join) = self.joins.get_mut(&number) else { return };
        join.add(index, items);
        if get(&value, "/result/nextCursor").is_string() {
            let (id, cursor) = (self.own_id(), get(&value, "/result/nextCursor"));
            self.send(
                index,
                Message::request(&id, &method, &json!({"cursor": cursor})),
                Purpose::Part { join: number },
            );
            return;
        }
        if method == "tools/list" {
            self.tools.finish_loading(index);
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
        let (id, method) = (join.id.clone(), join.method.clone());
        let mut result = join.result();
        if self.era == Some(Era::Stateless) {
            complete_result(&method, &mut result);
        }
        self.push_to_client(Message::result(&id, &result.to_string()));
    }

    fn on_response(&mut self, index: usize, id: &Id, message: &Message) {
        let pending = self.servers.get_mut(index).and_then(|server| server.pending.remove(id));
        match pending.map(|pending| pending.purpose) {
            Some(Purpose::Greeting { era, is_last }) => self.on_greeting(index, era, is_last, message),
            Some(Purpose::ListTools) => self.on_tool_list(index, message),
            Some(Purpose::LoadTools) => self.on_tools_page(index, message),
            Some(Purpose::Part { join }) => self.on_part(index, join, message),
            Some(Purpose::Call { tool }) => self.on_result(&tool, message),
            Some(Purpose::Method(method)) => self.pass_result(&method, message),
            Some(Purpose::Passed) => self.push_to_client(message.clone()),
            None if self.is_single() => self.push_to_client(message.clone()),
            None => {}
        }
    }

    /// A result in the era of the client.
    fn pass_result(&mut self, method: &str, message: &Message) {
        let is_bridged = self.era == Some(Era::Stateless) && self.speaks(0) == Some(Era::Sessions);
        if !is_bridged {
            return self.push_to_client(message.clone());
        }
        let mut value = message.value();
        self.complete(method, &mut value);
        self.push_to_client(message.with_value(&value));
    }

    fn complete(&self, method: &str, value: &mut Value) {
        if self.era == Some(Era::Stateless)
            && let Some(result) = value.get_mut("result")
        {
            complete_result(method, result);
        }
    }

    fn on_result(&mut self, tool: &str, message: &Message) {
        let fault = self.tools.result_fault(tool, message, self.shared.options.results);
        let Some(fault) = fault else { return self.pass_result("tools/call", message) };
        let Kind::Response { id } = message.kind() else { return };
        let mut result = json!({"content": [{"type": "text", "text": fault}], "isError": true});
        if self.era == Some(Era::Stateless) {
            complete_result("tools/call", &mut result);
        }
        self.push_to_client(Message::result(id, &result.to_string()));
    }

    /// A request of the client, or one of our own, gets no answer.
    fn fail(&mut self, index: usize, id: &Id, pending: &Pending, reason: &str) {
        match &pending.purpose {
            Purpose::Greeting { .. } => {
                if let Some(server) = self.servers.get_mut(index) {
                    for message in server.end(reason) {
                        self.refuse(&message, reason);
                    }
                }
                self.greet_if_ready();
            }
            Purpose::LoadTools => {
                self.tools.finish_loading(index);
                let waiting = std::mem::take(&mut self.waiting_calls);
                for call in &waiting {
                    self.refuse(call, reason);
                }
            }
            Purpose::Part { join } => self.part_is_done(*join),
            Purpose::ListTools | Purpose::Call { .. } | Purpose::Method(_) | Purpose::Passed => {
                self.push_to_client(Message::error(id, SERVER_ERROR, reason));
            }
        }
    }

    fn refuse(&mut self, message: &Message, reason: &str) {
        if let Kind::Request { id, method } = message.kind() {
            let code = if method.is_empty() { METHOD_NOT_FOUND } else { SERVER_ERROR };
            self.push_to_client(Message::error(id, code, reason));
        }
    }

    /// An id for a request of our own. Ids of clients are numbers or short names, never this.
    fn own_id(&mut self) -> Id {
        self.next_id += 1;
        format!("\"polywire/{}\"", self.next_id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    First,
    Second,
}

/// A request that says who asks.
fn with_client(message: &Message, client: &ClientInfo) -> Message {
    let mut value = message.value();
    let params = value.get("params").cloned().unwrap_or_else(|| json!({}));
    *member_mut(&mut value, "params") = client.with_meta(params);
    message.with_value(&value)
}
