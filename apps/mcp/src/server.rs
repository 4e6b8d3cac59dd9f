//! What a session knows about one of its servers.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::bridge::{Era, ServerInfo};
use crate::message::{Id, Message};

/// One server.
pub(crate) struct Server {
    pub(crate) name: String,
    /// True where it is reached over HTTP, where arguments may have to be headers.
    pub(crate) is_remote: bool,
    pub(crate) connection: Connection,
    /// Requests without an answer yet.
    pub(crate) pending: HashMap<Id, Pending>,
}

/// How far the handshake is.
pub(crate) enum Connection {
    /// Nobody has greeted it.
    New,
    /// The messages wait for the end of the handshake.
    Connecting { queue: Vec<(Message, Purpose)> },
    /// The result of the handshake, as JSON text too.
    Ready { era: Era, info: Box<ServerInfo>, result: String },
    /// It does not answer.
    Down { reason: String },
}

/// A request that was sent to a server.
pub(crate) struct Pending {
    pub(crate) purpose: Purpose,
    /// The request, where it may have to be sent again.
    pub(crate) request: Option<Message>,
    /// The id under which the client waits, where it is another one.
    pub(crate) client_id: Option<Id>,
    /// How often it was sent again.
    pub(crate) rounds: usize,
    /// True where the server waits for the client, which has to send its request again.
    pub(crate) is_held: bool,
    pub(crate) since: Instant,
}

/// What a response is for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// Ours: the handshake; the other era is tried unless this is the last attempt.
    Greeting { era: Era, is_last: bool },
    /// Ours: a part of what all servers are asked, such as a page of a list.
    Part { join: u64 },
    /// Ours: what the server tells without being asked.
    Subscription,
    /// The client's: a call of a tool, by its listed name.
    Call { tool: String },
    /// The client's: another method.
    Method(String),
    /// The client's, passed as it is.
    Passed,
}

impl Pending {
    pub(crate) fn new(purpose: Purpose) -> Self {
        Self { purpose, request: None, client_id: None, rounds: 0, is_held: false, since: Instant::now() }
    }

    pub(crate) fn with_request(self, request: Message) -> Self {
        Self { request: Some(request), ..self }
    }
}

impl Server {
    pub(crate) fn new(name: String, is_remote: bool) -> Self {
        Self { name, is_remote, connection: Connection::New, pending: HashMap::new() }
    }

    pub(crate) fn era(&self) -> Option<Era> {
        match &self.connection {
            Connection::Ready { era, .. } => Some(*era),
            Connection::New | Connection::Connecting { .. } | Connection::Down { .. } => None,
        }
    }

    pub(crate) fn info(&self) -> Option<&ServerInfo> {
        match &self.connection {
            Connection::Ready { info, .. } => Some(info),
            Connection::New | Connection::Connecting { .. } | Connection::Down { .. } => None,
        }
    }

    /// Name, description, era and the text of the handshake's result.
    pub(crate) fn greeting(&self) -> Option<(&str, &ServerInfo, Era, &str)> {
        match &self.connection {
            Connection::Ready { era, info, result } => Some((&self.name, info, *era, result)),
            Connection::New | Connection::Connecting { .. } | Connection::Down { .. } => None,
        }
    }

    pub(crate) fn is_connecting(&self) -> bool {
        matches!(self.connection, Connection::New | Connection::Connecting { .. })
    }

    pub(crate) fn is_usable(&self) -> bool {
        !matches!(self.connection, Connection::Down { .. })
    }

    pub(crate) fn why_down(&self) -> Option<String> {
        match &self.connection {
            Connection::Down { reason } => Some(format!("`{}`: {reason}", self.name)),
            Connection::New | Connection::Connecting { .. } | Connection::Ready { .. } => None,
        }
    }

    /// Whether the server knows a method, as far as its capabilities tell.
    pub(crate) fn may_answer(&self, method: &str) -> bool {
        let capability = method.split('/').next().unwrap_or_default();
        self.is_usable() && self.info().is_none_or(|info| info.has(capability))
    }

    /// The handshake is over: what was queued.
    pub(crate) fn ready(&mut self, era: Era, info: ServerInfo, result: &str) -> Vec<(Message, Purpose)> {
        let ready = Connection::Ready { era, info: Box::new(info), result: result.to_owned() };
        match std::mem::replace(&mut self.connection, ready) {
            Connection::Connecting { queue } => queue,
            Connection::New | Connection::Ready { .. } | Connection::Down { .. } => Vec::new(),
        }
    }

    /// The server does not answer any more: what was queued.
    pub(crate) fn end(&mut self, reason: &str) -> Vec<(Message, Purpose)> {
        match std::mem::replace(&mut self.connection, Connection::Down { reason: reason.to_owned() }) {
            Connection::Connecting { queue } => queue,
            Connection::New | Connection::Ready { .. } | Connection::Down { .. } => Vec::new(),
        }
    }

    /// Takes the requests that are older than a limit.
    pub(crate) fn take_older(&mut self, now: Instant, limit: Duration) -> Vec<(Id, Pending)> {
        let is_late = |pending: &Pending| {
            now.saturating_duration_since(pending.since) > limit && !matches!(pending.purpose, Purpose::Subscription)
        };
        self.pending.extract_if(|_, pending| is_late(pending)).collect()
    }
}
