//! A session over HTTP and the streams on which its messages go out, each to the request that it belongs to.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::bridge::SUBSCRIPTION_ID;
use crate::json::{get, member_mut};
use crate::message::{Id, Kind, Message};
use crate::session::Delivery;
use crate::upstream::{Event, QUEUE};

/// Messages of servers that wait for a client to listen.
const BACKLOG: usize = 256;

/// Whose session it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sharing {
    OneClient,
    /// Nothing may reach a client that is not known to be for it.
    Shared,
}

/// A session and its streams.
pub(super) struct ClientSession {
    pub(super) events: mpsc::Sender<Event>,
    sharing: Sharing,
    log: fn(&str),
    streams: Mutex<Streams>,
}

struct Streams {
    /// Open requests, by the id that the session knows.
    requests: HashMap<Id, OpenRequest>,
    /// The stream for what servers send on their own.
    listener: Option<mpsc::Sender<Message>>,
    backlog: VecDeque<Message>,
    next_id: u64,
    last_used: Instant,
}

struct OpenRequest {
    stream: mpsc::Sender<Message>,
    /// The id that the client gave.
    id: Id,
    /// The progress token that the client gave, where the session has another one.
    token: Option<Value>,
}

impl ClientSession {
    pub(super) fn new(events: mpsc::Sender<Event>, sharing: Sharing, log: fn(&str)) -> Self {
        let streams = Streams {
            requests: HashMap::new(),
            listener: None,
            backlog: VecDeque::new(),
            next_id: 0,
            last_used: Instant::now(),
        };
        Self { events, sharing, log, streams: Mutex::new(streams) }
    }

    pub(super) fn is_shared(&self) -> bool {
        self.sharing == Sharing::Shared
    }

    /// True where nobody has used it for so long, and nobody waits.
    pub(super) fn is_idle_for(&self, limit: Duration) -> bool {
        let streams = self.streams();
        let is_listening = streams.listener.as_ref().is_some_and(|listener| !listener.is_closed());
        streams.requests.is_empty() && !is_listening && streams.last_used.elapsed() > limit
    }

    /// Sends a request, and gives the stream of what belongs to it. Clients may use the same ids and tokens, so each request of a shared
    /// session gets its own.
    pub(super) async fn open(self: Arc<Self>, message: Message) -> OpenStream {
        let (stream, messages) = mpsc::channel(QUEUE);
        let given = match message.kind() {
            Kind::Request { id, .. } => id.clone(),
            Kind::Notification { .. } | Kind::Response { .. } => "null".to_owned(),
        };
        let (own, message) = {
            let mut streams = self.streams();
            streams.last_used = Instant::now();
            let mut own = given.clone();
            if self.is_shared() || streams.requests.contains_key(&given) {
                streams.next_id += 1;
                own = format!("\"client/{}\"", streams.next_id);
            }
            let (message, token) = if own == given { (message, None) } else { renumbered(message, &own) };
            streams.requests.insert(own.clone(), OpenRequest { stream, id: given, token });
            (own, message)
        };
        if self.events.send(Event::Client(message)).await.is_err() {
            self.streams().requests.remove(&own);
        }
        OpenStream { messages, session: self, request: Some(own) }
    }

    /// Gives the messages of the session to the streams that they belong to.
    pub(super) async fn deliver(self: Arc<Self>, mut messages: mpsc::Receiver<Delivery>) {
        while let Some(Delivery { message, origin }) = messages.recv().await {
            if let Kind::Response { id } = message.kind() {
                let open = self.streams().requests.remove(id);
                if let Some(OpenRequest { stream, id: given, .. }) = open {
                    let message = if given == *id { message } else { message.with_id(&given) };
                    // A client that has gone away wants no response.
                    let _ = stream.send(message).await;
                }
                continue;
            }
            let (stream, message) = if self.is_shared() {
                let Some((stream, message)) = self.addressed(&message, origin) else { continue };
                (Some(stream), message)
            } else {
                (self.any_stream(origin), message)
            };
            let sent = match stream {
                Some(stream) => stream.try_send(message).map_err(mpsc::error::TrySendError::into_inner),
                None => Err(message),
            };
            if let Err(unsent) = sent {
                self.keep(unsent);
            }
        }
    }

    /// Of one client: what belongs to a call, such as its progress, goes where somebody reads.
    fn any_stream(&self, origin: Option<Id>) -> Option<mpsc::Sender<Message>> {
        let streams = self.streams();
        let of_origin = origin.and_then(|id| streams.requests.get(&id));
        of_origin.or_else(|| streams.requests.values().next()).map(|open| open.stream.clone())
    }

    /// In a shared session, a message goes to the request that it names or in whose response it came, and to nobody else.
    fn addressed(&self, message: &Message, origin: Option<Id>) -> Option<(mpsc::Sender<Message>, Message)> {
        let mut value = message.value();
        let token = get(&value, "/params/progressToken").to_string();
        let subscription = get(&value, "/params/_meta").get(SUBSCRIPTION_ID).map(Value::to_string);
        let streams = self.streams();
        let named = [Some(token), subscription.clone(), origin].into_iter().flatten();
        let found = named.into_iter().find_map(|id| streams.requests.get(&id));
        let Some(open) = found else {
            if let Kind::Notification { method } = message.kind() {
                (self.log)(&format!("a `{method}` of a server names no request of a client, so no client gets it"));
            }
            return None;
        };
        if let Some(token) = open.token.as_ref().filter(|_| !get(&value, "/params/progressToken").is_null()) {
            *member_mut(member_mut(&mut value, "params"), "progressToken") = token.clone();
        }
        if subscription.is_some() {
            let meta = member_mut(member_mut(&mut value, "params"), "_meta");
            *member_mut(meta, SUBSCRIPTION_ID) = serde_json::from_str(&open.id).unwrap_or_default();
        }
        Some((open.stream.clone(), message.with_value(&value)))
    }

    /// Keeps a message for the client until it listens.
    fn keep(&self, message: Message) {
        if self.is_shared() {
            return (self.log)("a client of a shared session does not read, so a message for it is dropped");
        }
        let mut streams = self.streams();
        let listener = streams.listener.clone().filter(|listener| !listener.is_closed());
        let kept = match listener {
            Some(listener) => listener.try_send(message).err().map(mpsc::error::TrySendError::into_inner),
            None => Some(message),
        };
        if let Some(message) = kept {
            if streams.backlog.len() == BACKLOG {
                streams.backlog.pop_front();
                (self.log)("a client does not listen, so the oldest of the messages for it is dropped");
            }
            streams.backlog.push_back(message);
        }
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request with another id, and the same as progress token where it had one, which is given back.
fn renumbered(message: Message, own: &Id) -> (Message, Option<Value>) {
    let message = message.with_id(own);
    let mut value = message.value();
    let token = get(&value, "/params/_meta/progressToken").clone();
    if token.is_null() {
        return (message, None);
    }
    let meta = member_mut(member_mut(&mut value, "params"), "_meta");
    *member_mut(meta, "progressToken") = serde_json::from_str(own).unwrap_or_default();
    (message.with_value(&value), Some(token))
}

/// The stream of a request, or of a listener.
pub(super) struct OpenStream {
    messages: mpsc::Receiver<Message>,
    session: Arc<ClientSession>,
    request: Option<Id>,
}

impl OpenStream {
    pub(super) fn of_listener(session: &Arc<ClientSession>) -> Self {
        let (sender, messages) = mpsc::channel(QUEUE);
        let mut streams = session.streams();
        while let Some(message) = streams.backlog.pop_front() {
            // The channel has room for the whole backlog.
            let _ = sender.try_send(message);
        }
        streams.listener = Some(sender);
        drop(streams);
        Self { messages, session: Arc::clone(session), request: None }
    }

    /// The next message; `None` after the response.
    pub(super) async fn next(&mut self) -> Option<Message> {
        self.messages.recv().await
    }

    pub(super) fn keep(&self, message: Message) {
        self.session.keep(message);
    }

    /// The status that goes with a response. Revision 2026-07-28 gives errors of the protocol their own.
    pub(super) fn status_of(&self, message: &Message) -> StatusCode {
        let error = message.member("error").filter(|_| self.session.is_shared());
        let error = error.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or_default();
        match get(&error, "/code").as_i64() {
            Some(-32601) => StatusCode::NOT_FOUND,
            Some(-32700 | -32600 | -32020 | -32021 | -32022) => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        }
    }
}

impl Drop for OpenStream {
    /// A client of the stateless era cancels its request by going away.
    fn drop(&mut self) {
        let Some(own) = self.request.take() else { return };
        let mut streams = self.session.streams();
        streams.last_used = Instant::now();
        if self.session.is_shared() && streams.requests.remove(&own).is_some() {
            let params = json!({"requestId": serde_json::from_str::<Value>(&own).unwrap_or_default()});
            let cancel = Message::notification_with("notifications/cancelled", &params);
            // A session that is too busy finishes the request for nobody.
            let _ = self.session.events.try_send(Event::Client(cancel));
        }
    }
}
