//! Clients over streamable HTTP: a session for each client that starts one, and one for all requests without a session.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::sse::{Event as ServerEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use ring::rand::{SecureRandom as _, SystemRandom};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::bridge::STATELESS;
use crate::message::{Id, Kind, Message};
use crate::run::spawn;
use crate::settings::Shared;
use crate::upstream::{Event, QUEUE, ServerSpec};

/// Messages of servers that wait for a client to listen.
const BACKLOG: usize = 256;

/// What a listening proxy needs to know.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The bearer token that clients need, if any.
    pub token: Option<String>,
}

struct Proxy {
    shared: Arc<Shared>,
    servers: Vec<ServerSpec>,
    token: Option<String>,
    sessions: Mutex<HashMap<String, Arc<ClientSession>>>,
}

/// A session and the streams on which its messages go out.
struct ClientSession {
    events: mpsc::Sender<Event>,
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    /// Open requests, by id.
    requests: HashMap<Id, OpenRequest>,
    /// The stream for what servers send on their own.
    listener: Option<mpsc::Sender<Message>>,
    backlog: VecDeque<Message>,
    next_id: u64,
}

struct OpenRequest {
    stream: mpsc::Sender<Message>,
    /// The id that the client gave.
    id: Id,
}

/// Serves until the listener fails.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    servers: Vec<ServerSpec>,
    listener: TcpListener,
    token: Option<String>,
) -> std::io::Result<()> {
    let proxy = Arc::new(Proxy { shared, servers, token, sessions: Mutex::default() });
    axum::serve(listener, Router::new().fallback(handle).with_state(proxy)).await
}

async fn handle(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    if let Some(refused) = proxy.refusal(request.headers()) {
        return refused;
    }
    match *request.method() {
        Method::POST => proxy.post(request).await,
        Method::GET => proxy.listen(request.headers()),
        Method::DELETE => proxy.end(request.headers()).await,
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

impl Proxy {
    /// Pages of other origins must not reach the servers, and neither may clients without the token.
    fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if text("origin").is_some_and(|origin| !is_local(origin)) {
            return Some((StatusCode::FORBIDDEN, "this origin is not allowed").into_response());
        }
        if self.token.is_none() && text("host").is_some_and(|host| !is_local(host)) {
            return Some((StatusCode::FORBIDDEN, "this host name is not allowed without a token").into_response());
        }
        let token = self.token.as_deref()?;
        let given = text("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        let is_right = bool::from(given.as_bytes().ct_eq(token.as_bytes()));
        (!is_right).then(|| (StatusCode::UNAUTHORIZED, [("www-authenticate", "Bearer")]).into_response())
    }

    async fn post(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let Some(text) = read(body, self.shared.options.longest_message).await else {
            return StatusCode::PAYLOAD_TOO_LARGE.into_response();
        };
        let message = match Message::parse(text) {
            Ok(message) => message,
            Err(reason) => {
                let error = Message::error(&"null".to_owned(), -32700, &reason);
                return json_response(StatusCode::BAD_REQUEST, &error, None);
            }
        };
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let is_greeting = matches!(message.kind(), Kind::Request { method, .. } if method == "initialize");
        let is_stateless = header("mcp-protocol-version").is_some_and(|version| version.as_str() >= STATELESS);
        let (name, session) = match header("mcp-session-id") {
            None if is_greeting => {
                let Some(name) = random_name() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
                (Some(name.clone()), self.start(name))
            }
            None if is_stateless => (None, self.stateless()),
            None => return (StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing").into_response(),
            Some(name) => match self.session(&name) {
                Some(session) => (None, session),
                None => return (StatusCode::NOT_FOUND, "there is no such session").into_response(),
            },
        };
        let Kind::Request { method, .. } = message.kind() else {
            // A session that has just ended takes nothing.
            let _ = session.events.send(Event::Client(message)).await;
            return StatusCode::ACCEPTED.into_response();
        };
        let takes_events = header("accept").is_some_and(|accept| accept.contains("text/event-stream"));
        let wants_events = takes_events && method == "tools/call";
        let mut stream = session.open(message).await;
        if wants_events {
            return events(stream);
        }
        // Only the response ends the stream; what servers send meanwhile goes to the listener.
        while let Some(message) = stream.recv().await {
            if matches!(message.kind(), Kind::Response { .. }) {
                return json_response(StatusCode::OK, &message, name.as_deref());
            }
            session.keep(message);
        }
        StatusCode::BAD_GATEWAY.into_response()
    }

    fn listen(&self, headers: &HeaderMap) -> Response {
        let Some(session) = self.named_session(headers) else { return StatusCode::METHOD_NOT_ALLOWED.into_response() };
        let (sender, receiver) = mpsc::channel(QUEUE);
        let mut streams = session.streams();
        while let Some(message) = streams.backlog.pop_front() {
            // The channel has room for the whole backlog.
            let _ = sender.try_send(message);
        }
        streams.listener = Some(sender);
        drop(streams);
        events(receiver)
    }

    async fn end(&self, headers: &HeaderMap) -> Response {
        let name = headers.get("mcp-session-id").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let ended = self.sessions().remove(name);
        match ended {
            Some(session) => {
                let _ = session.events.send(Event::ClientGone).await;
                StatusCode::NO_CONTENT.into_response()
            }
            None => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<ClientSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, name: &str) -> Option<Arc<ClientSession>> {
        self.sessions().get(name).filter(|session| !session.events.is_closed()).cloned()
    }

    fn named_session(&self, headers: &HeaderMap) -> Option<Arc<ClientSession>> {
        self.session(headers.get("mcp-session-id")?.to_str().ok()?)
    }

    fn start(&self, name: String) -> Arc<ClientSession> {
        let (to_client, from_session) = mpsc::channel(QUEUE);
        let events = spawn(&self.shared, &self.servers, to_client);
        let session = Arc::new(ClientSession { events, streams: Mutex::default() });
        tokio::spawn(deliver(Arc::clone(&session), from_session));
        self.sessions().insert(name, Arc::clone(&session));
        session
    }

    /// The session of all requests that have none.
    fn stateless(&self) -> Arc<ClientSession> {
        self.session("").unwrap_or_else(|| self.start(String::new()))
    }
}

impl ClientSession {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, and gives the stream of what belongs to it. Clients may use the same ids, so each gets its own.
    async fn open(&self, message: Message) -> mpsc::Receiver<Message> {
        let (stream, receiver) = mpsc::channel(QUEUE);
        let Kind::Request { id, .. } = message.kind().clone() else { return receiver };
        let own = {
            let mut streams = self.streams();
            let own = if streams.requests.contains_key(&id) {
                streams.next_id += 1;
                format!("\"client/{}\"", streams.next_id)
            } else {
                id.clone()
            };
            streams.requests.insert(own.clone(), OpenRequest { stream, id: id.clone() });
            own
        };
        let message = if own == id { message } else { message.with_id(&own) };
        if self.events.send(Event::Client(message)).await.is_err() {
            self.streams().requests.remove(&own);
        }
        receiver
    }

    /// Keeps a message for the client until it listens.
    fn keep(&self, message: Message) {
        let mut streams = self.streams();
        let listener = streams.listener.clone().filter(|listener| !listener.is_closed());
        let kept = match listener {
            Some(listener) => listener.try_send(message).err().map(mpsc::error::TrySendError::into_inner),
            None => Some(message),
        };
        if let Some(message) = kept {
            if streams.backlog.len() == BACKLOG {
                streams.backlog.pop_front();
            }
            streams.backlog.push_back(message);
        }
    }
}

/// Gives the messages of a session to the streams that they belong to.
async fn deliver(session: Arc<ClientSession>, mut messages: mpsc::Receiver<Message>) {
    while let Some(message) = messages.recv().await {
        let Kind::Response { id } = message.kind() else {
            // What belongs to a call, such as its progress, goes where somebody reads.
            let open = session.streams().requests.values().map(|request| request.stream.clone()).next();
            let unsent = match open {
                Some(stream) => stream.try_send(message).err().map(mpsc::error::TrySendError::into_inner),
                None => Some(message),
            };
            if let Some(message) = unsent {
                session.keep(message);
            }
            continue;
        };
        let open = session.streams().requests.remove(id);
        if let Some(OpenRequest { stream, id: given }) = open {
            let message = if given == *id { message } else { message.with_id(&given) };
            // A client that has gone away wants no response.
            let _ = stream.send(message).await;
        }
    }
}

/// A stream of events that ends after the response, if there is one.
fn events(messages: mpsc::Receiver<Message>) -> Response {
    let stream = unfold(messages, |mut messages| async move {
        let message = messages.recv().await?;
        let event = ServerEvent::default().event("message").data(one_line(&message));
        Some((Ok::<_, Infallible>(event), messages))
    });
    Sse::new(stream).keep_alive(KeepAlive::default()).into_response()
}

/// Events have no line breaks in their data.
fn one_line(message: &Message) -> String {
    if message.text().contains(['\n', '\r']) { message.value().to_string() } else { message.text().to_owned() }
}

fn json_response(status: StatusCode, message: &Message, session: Option<&str>) -> Response {
    let mut response = (status, [("content-type", "application/json")], message.text().to_owned()).into_response();
    if let Some(value) = session.and_then(|name| name.parse().ok()) {
        response.headers_mut().insert("mcp-session-id", value);
    }
    response
}

async fn read(body: Body, longest: usize) -> Option<String> {
    String::from_utf8(to_bytes(body, longest).await.ok()?.to_vec()).ok()
}

/// Whether an origin or host is this machine.
fn is_local(name: &str) -> bool {
    let host = name.split_once("://").map_or(name, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn random_name() -> Option<String> {
    let mut bytes = [0_u8; 16];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_this_machine_is_local() {
        let rows = [
            ("http://localhost:3000", true),
            ("127.0.0.1:80", true),
            ("[::1]:80", true),
            ("http://[::1]", true),
            ("https://evil.example", false),
            ("http://localhost.evil.example", false),
            ("http://127.0.0.1.evil.example", false),
            ("null", false),
        ];
        for (name, local) in rows {
            assert_eq!(is_local(name), local, "{name}");
        }
    }
}
