//! What a server asks of the client in the middle of a request, in both eras: servers with sessions send requests, stateless ones answer
//! `input_required` and want the request again with the answers.

use serde_json::{Map, Value, json};

use super::{Session, is_own};
use crate::bridge::Era;
use crate::json::{get, member_mut};
use crate::message::{Id, Kind, Message};
use crate::random::random_name;
use crate::server::{Pending, Purpose};

/// So many times one request may be sent again.
const MAX_ROUNDS: usize = 16;
const RESULT_TYPE: &str = "resultType";
const INPUT_REQUIRED: &str = "input_required";

/// A request to a stateless server that waits for answers of a client with a session.
pub(super) struct Round {
    server: usize,
    /// The request as it was sent.
    request: Message,
    /// The id that the client gave.
    client_id: Id,
    purpose: Purpose,
    state: Value,
    answers: Map<String, Value>,
    missing: usize,
    count: usize,
}

/// A request of a server with a session that waits for a stateless client to send its own request again.
pub(super) struct HeldRequest {
    server: usize,
    /// The id of the server's request.
    asked: Id,
    /// The client's request, as the server knows it.
    request: Id,
}

/// The key of the one request of a server in a result for a stateless client.
const INPUT_KEY: &str = "input";

impl Session {
    /// Takes a result that asks the client for something, where the client cannot read such a result.
    pub(super) fn is_new_round(&mut self, index: usize, id: &Id, pending: &Pending, message: &Message) -> bool {
        let is_bridged = self.era == Some(Era::Sessions) && self.speaks(index) == Some(Era::Stateless);
        let Some(request) = pending.request.clone().filter(|_| is_bridged) else { return false };
        // The text is looked at first, because a result may be large.
        if !message.text().contains(INPUT_REQUIRED) {
            return false;
        }
        let value = message.value();
        let result = get(&value, "/result");
        if get(result, "/resultType") != INPUT_REQUIRED || pending.rounds >= MAX_ROUNDS {
            return false;
        }
        let inputs = get(result, "/inputRequests").as_object().cloned().unwrap_or_default();
        self.next_id += 1;
        let number = self.next_id;
        let round = Round {
            server: index,
            request,
            client_id: pending.client_id.clone().unwrap_or_else(|| id.clone()),
            purpose: pending.purpose.clone(),
            state: get(result, "/requestState").clone(),
            answers: Map::new(),
            missing: inputs.len(),
            count: pending.rounds + 1,
        };
        self.rounds.insert(number, round);
        for (key, input) in inputs {
            let own = self.own_id();
            let method = get(&input, "/method").as_str().unwrap_or_default();
            let params = if get(&input, "/params").is_object() { get(&input, "/params").clone() } else { json!({}) };
            self.push_to_client(Message::request(&own, method, &params));
            self.inputs.insert(own, (number, key));
        }
        self.send_round_if_ready(number);
        true
    }

    /// Takes an answer of the client to what a round asks; false where the answer is for something else.
    pub(super) fn is_input(&mut self, id: &Id, message: &Message) -> bool {
        let Some((number, key)) = self.inputs.remove(id) else { return false };
        let value = message.value();
        if let Some(error) = value.get("error") {
            if let Some(round) = self.rounds.remove(&number) {
                self.push_to_client(Message::error_with(&round.client_id, error));
            }
            return true;
        }
        if let Some(round) = self.rounds.get_mut(&number) {
            round.answers.insert(key, get(&value, "/result").clone());
            round.missing = round.missing.saturating_sub(1);
        }
        self.send_round_if_ready(number);
        true
    }

    /// Sends a request again, with the answers.
    fn send_round_if_ready(&mut self, number: u64) {
        if self.rounds.get(&number).is_none_or(|round| round.missing > 0) {
            return;
        }
        let Some(round) = self.rounds.remove(&number) else { return };
        let id = self.own_id();
        let mut value = round.request.value();
        let params = member_mut(&mut value, "params");
        for (key, given) in [("inputResponses", Value::Object(round.answers)), ("requestState", round.state)] {
            if let Value::Object(params) = params {
                params.shift_remove(key);
            }
            if !given.is_null() {
                *member_mut(params, key) = given;
            }
        }
        let message = round.request.with_value(&value).with_id(&id);
        let pending = Pending {
            client_id: Some(round.client_id),
            rounds: round.count,
            ..Pending::new(round.purpose).with_request(message.clone())
        };
        if let Some(server) = self.servers.get_mut(round.server) {
            server.pending.insert(id, pending);
        }
        self.push_to_server(round.server, message);
    }

    /// A server with a session asks something of a stateless client: the client's request is answered with what is asked.
    pub(super) fn hold_request(&mut self, index: usize, message: &Message, origin: Option<&Id>) -> bool {
        let Kind::Request { id: asked, method } = message.kind() else { return false };
        let Some(server) = self.servers.get_mut(index) else { return false };
        let takes_input = |pending: &Pending| matches!(pending.purpose, Purpose::Call { .. } | Purpose::Method(_));
        let mut open = server.pending.iter_mut().filter(|(id, pending)| !is_own(id) && takes_input(pending));
        // Without a transport that tells, a question belongs to a request only if there is no other.
        let found = match origin {
            Some(origin) => open.find(|(id, _)| *id == origin),
            None => open.next().filter(|_| open.next().is_none()),
        };
        let Some((request, pending)) = found else { return false };
        let (Some(state), false) = (random_name(), pending.is_held) else { return false };
        pending.is_held = true;
        let (request, client_id) = (request.clone(), pending.client_id.take().unwrap_or_else(|| request.clone()));
        let params = get(&message.value(), "/params").clone();
        let result = json!({RESULT_TYPE: INPUT_REQUIRED, "requestState": state,
            "inputRequests": {INPUT_KEY: {"method": method, "params": if params.is_null() { json!({}) } else { params }}}});
        self.held.insert(state, HeldRequest { server: index, asked: asked.clone(), request });
        self.push_to_client(Message::result(&client_id, &result.to_string()));
        true
    }

    /// A stateless client sends its request again, with the answer to what the server asked.
    pub(super) fn is_held_request(&mut self, id: &Id, message: &Message) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let value = message.value();
        let state = get(&value, "/params/requestState").as_str().unwrap_or_default();
        let Some(HeldRequest { server, asked, request }) = self.held.remove(state) else { return false };
        let Some(pending) = self.servers.get_mut(server).and_then(|server| server.pending.get_mut(&request)) else {
            let text = "the server does not wait for this answer any more";
            self.push_to_client(Message::error(id, super::SERVER_ERROR, text));
            return true;
        };
        pending.is_held = false;
        pending.client_id = Some(id.clone());
        let answer = match value.pointer("/params/inputResponses").and_then(|given| given.get(INPUT_KEY)) {
            Some(answer) => Message::result(&asked, &answer.to_string()),
            None => Message::error(&asked, super::INVALID_PARAMS, "the client gave no answer"),
        };
        self.push_to_server(server, answer);
        true
    }
}
