//! A server over streamable HTTP: each message is a POST, and what comes back is JSON or a stream of events.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use polywire::wire::{Framer, Framing};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::Inbox;
use super::resume::StreamPlace;
use crate::bridge::STATELESS;
use crate::json::get;
use crate::message::{Id, Kind, Message};
use crate::param_headers::{ParamHeaders, encoded};
use crate::settings::Shared;

pub(super) struct Address {
    pub(super) url: String,
    pub(super) headers: BTreeMap<String, String>,
}

/// A connection, shared by the requests that are open.
struct Connection {
    client: Client,
    address: Address,
    inbox: Inbox,
    longest: usize,
    session: Mutex<SessionHeaders>,
}

/// So often a stream that ends is taken up again.
const MAX_RESUMES: usize = 100;

/// How a stream of events ended.
enum End {
    AfterResponse,
    WithoutResponse,
}

#[derive(Clone, Default)]
struct SessionHeaders {
    id: Option<String>,
    version: Option<String>,
}

pub(super) async fn run(address: Address, mut messages: mpsc::Receiver<Message>, inbox: Inbox, shared: Arc<Shared>) {
    let client = match client() {
        Ok(client) => client,
        Err(reason) => return inbox.down(reason).await,
    };
    let connection = Arc::new(Connection {
        client,
        address,
        inbox,
        longest: shared.options.longest_message,
        session: Mutex::default(),
    });
    // Requests that are open end with the session.
    let (mut requests, mut open) = (JoinSet::new(), HashMap::<Id, AbortHandle>::new());
    while let Some(message) = messages.recv().await {
        while requests.try_join_next().is_some() {}
        open.retain(|_, request| !request.is_finished());
        match message.kind() {
            // Without a session, a request is cancelled by closing its connection.
            Kind::Notification { method }
                if method == "notifications/cancelled" && connection.headers().id.is_none() =>
            {
                let id = get(&message.value(), "/params/requestId").to_string();
                if let Some(request) = open.remove(&id) {
                    request.abort();
                }
            }
            // In order: what follows may rely on it.
            Kind::Notification { method } => {
                let is_initialized = method == "notifications/initialized";
                connection.send(message).await;
                if is_initialized {
                    let own = Arc::clone(&connection);
                    requests.spawn(async move { own.listen().await });
                }
            }
            Kind::Response { .. } => connection.send(message).await,
            Kind::Request { id, .. } => {
                let (id, own) = (id.clone(), Arc::clone(&connection));
                open.insert(id, requests.spawn(async move { own.send(message).await }));
            }
        }
    }
    connection.end().await;
}

fn client() -> Result<Client, String> {
    // The first provider that is installed stays; ring is as good as another one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().build().map_err(|error| error.to_string())
}

impl Connection {
    fn headers(&self) -> SessionHeaders {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn request(&self, mut request: RequestBuilder) -> RequestBuilder {
        for (name, value) in &self.address.headers {
            request = request.header(name, value);
        }
        let SessionHeaders { id, version } = self.headers();
        if let Some(id) = id {
            request = request.header("Mcp-Session-Id", id);
        }
        if let Some(version) = version {
            request = request.header("MCP-Protocol-Version", version);
        }
        request
    }

    async fn send(&self, message: Message) {
        let mut request = self.request(self.client.post(&self.address.url));
        request = request.header("Content-Type", "application/json");
        request = request.header("Accept", "application/json, text/event-stream");
        for (name, value) in stateless_headers(&message) {
            request = request.header(name, value);
        }
        let failure = match request.body(message.text().to_owned()).send().await {
            Ok(response) => self.receive(&message, response).await.err(),
            // The address may have a secret in it.
            Err(error) => Some(error.without_url().to_string()),
        };
        if let (Some(reason), Kind::Request { id, .. }) = (failure, message.kind()) {
            let error = Message::error(id, -32000, &format!("the server cannot be reached: {reason}"));
            self.inbox.message(error, None).await;
        }
    }

    async fn receive(&self, message: &Message, response: Response) -> Result<(), String> {
        let status = response.status();
        self.remember_session(message, &response);
        let content_type = header(&response, "content-type").unwrap_or_default();
        let origin = match message.kind() {
            Kind::Request { id, .. } => Some(id),
            Kind::Notification { .. } | Kind::Response { .. } => None,
        };
        if content_type.starts_with("text/event-stream") {
            return self.read_stream(response, origin).await;
        }
        let has_session = self.headers().id.is_some();
        let body = read_body(response, self.longest).await?;
        if status == StatusCode::NOT_FOUND && has_session {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = SessionHeaders::default();
            self.inbox.down("its session has ended".to_owned()).await;
            self.inbox.up().await;
            return Ok(());
        }
        match Message::parse(body) {
            Ok(answer) => {
                self.remember_version(message, &answer);
                // A refusal that does not name the request is still the answer to it.
                let answer = match (answer.kind(), origin) {
                    (Kind::Response { id: own }, Some(id)) if own != id && !status.is_success() => answer.with_id(id),
                    _ => answer,
                };
                self.inbox.message(answer, origin.cloned()).await;
                Ok(())
            }
            Err(_) if status.is_success() => Ok(()),
            Err(_) => Err(format!("it answers {status}")),
        }
    }

    fn remember_session(&self, message: &Message, response: &Response) {
        let is_greeting = matches!(message.kind(), Kind::Request { method, .. } if method == "initialize");
        if let Some(id) = header(response, "mcp-session-id").filter(|_| is_greeting) {
            self.session.lock().unwrap_or_else(PoisonError::into_inner).id = Some(id);
        }
    }

    fn remember_version(&self, message: &Message, answer: &Message) {
        if matches!(message.kind(), Kind::Request { method, .. } if method == "initialize") {
            let version = get(&answer.value(), "/result/protocolVersion").as_str().map(str::to_owned);
            self.session.lock().unwrap_or_else(PoisonError::into_inner).version = version;
        }
    }

    /// Reads a stream to the response that belongs to it. A stream that ends before is taken up again where it said how (2025-11-25).
    async fn read_stream(&self, response: Response, origin: Option<&Id>) -> Result<(), String> {
        let mut place = StreamPlace::default();
        let mut end = self.read_events(response, origin, &mut place).await;
        for _ in 0..MAX_RESUMES {
            let Some(last_id) = place.last_id.clone().filter(|_| !matches!(end, Ok(End::AfterResponse))) else { break };
            tokio::time::sleep(place.retry()).await;
            let request = self.request(self.client.get(&self.address.url)).header("Accept", "text/event-stream");
            let resumed = request.header("Last-Event-ID", &last_id).send().await;
            let resumed = resumed.map_err(|error| error.without_url().to_string())?;
            if !resumed.status().is_success() {
                break;
            }
            end = self.read_events(resumed, origin, &mut place).await;
        }
        match (end?, origin) {
            (End::WithoutResponse, Some(_)) => Err("its stream ended without a response".to_owned()),
            (End::WithoutResponse | End::AfterResponse, _) => Ok(()),
        }
    }

    async fn read_events(
        &self,
        response: Response,
        origin: Option<&Id>,
        place: &mut StreamPlace,
    ) -> Result<End, String> {
        let mut framer = Framer::new(Framing::Sse).with_longest(self.longest);
        let mut body = response.bytes_stream();
        let mut end = End::WithoutResponse;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| error.without_url().to_string())?;
            place.push(&chunk);
            let mut messages = Vec::new();
            let pushed = framer.push(&chunk, |frame| {
                let text = String::from_utf8_lossy(frame.data).into_owned();
                messages.extend(Message::parse(text).ok());
                Ok(())
            });
            pushed.map_err(|error| error.to_string())?;
            for message in messages {
                self.remember_version_of_event(&message);
                if matches!(message.kind(), Kind::Response { id } if Some(id) == origin) {
                    end = End::AfterResponse;
                }
                self.inbox.message(message, origin.cloned()).await;
            }
        }
        Ok(end)
    }

    fn remember_version_of_event(&self, message: &Message) {
        if self.headers().version.is_none() && message.text().contains("protocolVersion") {
            let version = get(&message.value(), "/result/protocolVersion").as_str().map(str::to_owned);
            self.session.lock().unwrap_or_else(PoisonError::into_inner).version = version;
        }
    }

    /// Receives what the server sends on its own, if it does.
    async fn listen(&self) {
        let request = self.request(self.client.get(&self.address.url)).header("Accept", "text/event-stream");
        let Ok(response) = request.send().await else { return };
        if response.status().is_success() {
            // When the stream ends for good, requests go on without it.
            let _ = self.read_stream(response, None).await;
        }
    }

    async fn end(&self) {
        if self.headers().id.is_some() {
            // The server may not know it, and nobody waits for the answer.
            let _ = self.request(self.client.delete(&self.address.url)).send().await;
        }
    }
}

/// The headers that repeat what a request of the stateless era is about.
fn stateless_headers(message: &Message) -> ParamHeaders {
    let Kind::Request { method, .. } = message.kind() else { return Vec::new() };
    if !message.text().contains("io.modelcontextprotocol/protocolVersion") {
        return Vec::new();
    }
    let value = message.value();
    let version =
        get(&value, "/params/_meta/io.modelcontextprotocol~1protocolVersion").as_str().unwrap_or(STATELESS).to_owned();
    let mut headers = vec![("MCP-Protocol-Version".to_owned(), version), ("Mcp-Method".to_owned(), method.clone())];
    let name = get(&value, "/params/name").as_str().or_else(|| get(&value, "/params/uri").as_str());
    headers.extend(name.map(|name| ("Mcp-Name".to_owned(), encoded(name))));
    headers.extend(message.headers().into_iter().flatten().cloned());
    headers
}

fn header(response: &Response, name: &str) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

async fn read_body(response: Response, longest: usize) -> Result<String, String> {
    let mut body = response.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| error.without_url().to_string())?;
        if bytes.len() + chunk.len() > longest {
            return Err(format!("it sent a message of more than {longest} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| "it sent a message that is not UTF-8".to_owned())
}
