//! Servers behind the proxy: what they are, and their connections as channels of messages.

mod child;
mod http;
mod resume;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::message::{Id, Message};
use crate::settings::Shared;

/// Messages that wait for a slow peer.
pub(crate) const QUEUE: usize = 1024;

/// A server and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSpec {
    /// The name: in messages, and before the names of tools where there are several servers.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
}

impl ServerSpec {
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.transport, Transport::Http { .. })
    }
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A program that speaks on its standard input and output.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its environment.
        environment: Environment,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of each request, such as `Authorization`.
        headers: BTreeMap<String, String>,
    },
}

/// The environment of a server that is a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environment {
    /// That of this program.
    Inherited,
    /// These variables, and the few without which no program runs.
    Only(BTreeMap<String, String>),
}

/// What happens around a session.
#[derive(Debug)]
pub(crate) enum Event {
    Client(Message),
    ClientGone,
    Server(usize, Received),
    ServerDown(usize, String),
    ServerUp(usize),
}

/// A message of a server.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) message: Message,
    /// The request in whose response it came, where the transport tells.
    pub(crate) origin: Option<Id>,
}

/// Where a connection sends what it receives.
#[derive(Clone)]
pub(crate) struct Inbox {
    pub(crate) index: usize,
    pub(crate) events: mpsc::Sender<Event>,
}

impl Inbox {
    pub(crate) async fn message(&self, message: Message, origin: Option<Id>) {
        // A session that has ended wants no messages.
        let _ = self.events.send(Event::Server(self.index, Received { message, origin })).await;
    }

    pub(crate) async fn down(&self, reason: String) {
        let _ = self.events.send(Event::ServerDown(self.index, reason)).await;
    }

    pub(crate) async fn up(&self) {
        let _ = self.events.send(Event::ServerUp(self.index)).await;
    }
}

/// Connects to a server. The connection ends when the sender is dropped.
pub(crate) fn start(spec: &ServerSpec, inbox: Inbox, shared: Arc<Shared>) -> mpsc::Sender<Message> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let name = spec.name.clone();
    match spec.transport.clone() {
        Transport::Command { program, arguments, environment } => {
            let command = child::ChildServer { name, program, arguments, environment };
            tokio::spawn(child::run(command, receiver, inbox, shared));
        }
        Transport::Http { url, headers } => {
            tokio::spawn(http::run(http::Address { url, headers }, receiver, inbox, shared));
        }
    }
    sender
}
