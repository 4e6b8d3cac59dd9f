//! Clients over streamable HTTP: a session for each client that starts one; requests of the stateless era share sessions.

mod headers;
mod sessions;
mod streams;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::sse::{Event as ServerEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::bridge::{STATELESS, identity_of, version_of};
use crate::json::get;
use crate::message::{Kind, Message};
use crate::settings::Shared;
use crate::upstream::{Event, ServerSpec};
use sessions::Sessions;
use streams::{ClientSession, OpenStream};

/// How long a response may take before a stream of events is opened for it. Errors that come sooner have a status of their own.
const EVENTS_AFTER: Duration = Duration::from_secs(5);

/// The revisions with sessions, one of which a request may name in a header.
const WITH_SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

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
    token: Option<String>,
    sessions: Sessions,
}

/// Serves until the listener fails.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    servers: Vec<ServerSpec>,
    listener: TcpListener,
    token: Option<String>,
) -> std::io::Result<()> {
    let sessions = Sessions::new(Arc::clone(&shared), servers);
    let proxy = Arc::new(Proxy { shared, token, sessions });
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

/// A session for a message, or why there is none.
type Found = Result<(Option<String>, Arc<ClientSession>, Message), Box<Response>>;

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
            Err(reason) => return bad_request(&Message::error(&"null".to_owned(), -32700, &reason)),
        };
        let (name, session, message) = match self.find_session(&parts.headers, message) {
            Ok(found) => found,
            Err(response) => return *response,
        };
        if !matches!(message.kind(), Kind::Request { .. }) {
            // In a shared session, nothing tells whose request it is about.
            if !session.is_shared() {
                // A session that has just ended takes nothing.
                let _ = session.events.send(Event::Client(message)).await;
            }
            return StatusCode::ACCEPTED.into_response();
        }
        let takes_events = header(&parts.headers, "accept").is_some_and(|accept| accept.contains("text/event-stream"));
        respond(session.open(message).await, takes_events, name).await
    }

    fn find_session(&self, headers: &HeaderMap, message: Message) -> Found {
        let version = header(headers, "mcp-protocol-version");
        let value = message.value();
        let params = get(&value, "/params");
        let is_stateless = version_of(params).is_some() || version.is_some_and(|version| version >= STATELESS);
        if is_stateless {
            let message = headers::checked(headers, message)?;
            let session = self.sessions.shared(&identity_of(params)).ok_or_else(|| Box::new(too_many()))?;
            return Ok((None, session, message));
        }
        if let Some(version) = version.filter(|version| !WITH_SESSIONS.contains(version)) {
            let text = format!("the revision `{version}` is not supported");
            return Err(Box::new(bad_request(&Message::error(&"null".to_owned(), -32000, &text))));
        }
        let is_greeting = matches!(message.kind(), Kind::Request { method, .. } if method == "initialize");
        match header(headers, "mcp-session-id") {
            None if is_greeting => {
                let (name, session) = self.sessions.start().ok_or_else(|| Box::new(too_many()))?;
                Ok((Some(name), session, message))
            }
            None => {
                let text = "the header Mcp-Session-Id is missing";
                Err(Box::new(bad_request(&Message::error(&"null".to_owned(), -32000, text))))
            }
            Some(name) => match self.sessions.named(name) {
                Some(session) => Ok((None, session, message)),
                None => Err(Box::new((StatusCode::NOT_FOUND, "there is no such session").into_response())),
            },
        }
    }

    fn listen(&self, headers: &HeaderMap) -> Response {
        let session = header(headers, "mcp-session-id").and_then(|name| self.sessions.named(name));
        match session {
            Some(session) => events(OpenStream::of_listener(&session), None, None),
            None => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        }
    }

    async fn end(&self, headers: &HeaderMap) -> Response {
        match self.sessions.remove(header(headers, "mcp-session-id").unwrap_or_default()) {
            Some(session) => {
                let _ = session.events.send(Event::ClientGone).await;
                StatusCode::NO_CONTENT.into_response()
            }
            None => StatusCode::NOT_FOUND.into_response(),
        }
    }
}

/// The response as JSON, or as events where something comes before it or it takes long.
async fn respond(mut stream: OpenStream, takes_events: bool, session: Option<String>) -> Response {
    loop {
        let next = timeout(EVENTS_AFTER, stream.next()).await;
        match next {
            Ok(Some(message)) if matches!(message.kind(), Kind::Response { .. }) => {
                return json_response(stream.status_of(&message), message, session.as_deref());
            }
            Ok(Some(message)) if takes_events => return events(stream, Some(message), session.as_deref()),
            // Only the response is JSON; what servers send meanwhile goes to the listener.
            Ok(Some(message)) => stream.keep(message),
            Ok(None) => return StatusCode::BAD_GATEWAY.into_response(),
            Err(_) if takes_events => return events(stream, None, session.as_deref()),
            Err(_) => {}
        }
    }
}

/// A stream of events that ends after the response, if there is one.
fn events(stream: OpenStream, first: Option<Message>, session: Option<&str>) -> Response {
    let stream = unfold((stream, first), |(mut stream, first)| async move {
        let message = match first {
            Some(first) => first,
            None => stream.next().await?,
        };
        let event = ServerEvent::default().event("message").data(one_line(message));
        Some((Ok::<_, Infallible>(event), (stream, None)))
    });
    let response = Sse::new(stream).keep_alive(KeepAlive::default()).into_response();
    with_session(response, session)
}

/// Events have no line breaks in their data.
fn one_line(message: Message) -> String {
    if message.text().contains(['\n', '\r']) { message.value().to_string() } else { message.into_text() }
}

fn json_response(status: StatusCode, message: Message, session: Option<&str>) -> Response {
    let response = (status, [("content-type", "application/json")], message.into_text()).into_response();
    with_session(response, session)
}

fn with_session(mut response: Response, session: Option<&str>) -> Response {
    if let Some(value) = session.and_then(|name| HeaderValue::from_str(name).ok()) {
        response.headers_mut().insert("mcp-session-id", value);
    }
    response
}

fn bad_request(error: &Message) -> Response {
    json_response(StatusCode::BAD_REQUEST, error.clone(), None)
}

fn too_many() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions").into_response()
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
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
