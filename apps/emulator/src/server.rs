//! The emulator on loopback: connections in, judged requests, answers out.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method};
use hyper_util::rt::{TokioIo, TokioTimer};
use polywire::wire::{FaultKind, Protocol, Request, Surface, WireError, events_of};
use polywire::{Catalog, Model, Provider, decode_request};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::body::Sent;
use crate::judge::judge;
use crate::list::{Listed, listed};
use crate::misbehave::{Act, Asked, Manner};
use crate::receive::{EmulatorOptions, Receiver};
use crate::reply::reply;
use crate::route::{Route, base_path, routes};

/// The header that asks for misbehaviour, names parted by commas. A suffix of the model does the same: `gpt-5+fenced`.
pub const EMULATE_HEADER: &str = "x-polywire-emulate";

/// Characters of a text in one event of a stream.
const PIECE: usize = 12;

/// Requests that are remembered to tell the first time from the second.
const REMEMBERED: usize = 4096;

/// The time to wait that comes with a status of too many requests.
const WAIT_MS: u64 = 1000;

/// A running emulator. It ends when this is dropped.
#[derive(Debug)]
pub struct Emulator {
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Emulator {
    /// Starts on a port of loopback; 0 is any that is free. Needs a tokio runtime.
    pub async fn start(port: u16) -> io::Result<Self> {
        Self::start_with(port, EmulatorOptions::default()).await
    }

    /// Starts with providers of its own, or bounds of its own on what it takes from clients.
    pub async fn start_with(port: u16, options: EmulatorOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { address, server: tokio::spawn(serve(listener, options)) })
    }

    /// The address, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The address that stands for the provider's own.
    pub fn base_url(&self, provider: &Provider) -> String {
        format!("{}/{}{}", self.url(), provider.id, base_path(provider))
    }

    /// Waits until the emulator ends.
    pub async fn wait(mut self) {
        // A server that ended is all that is waited for.
        let _ = (&mut self.server).await;
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// How often each request came, by its hash.
type Seen = Arc<Mutex<BTreeMap<u64, usize>>>;

/// What all connections share.
#[derive(Clone)]
struct Shared {
    catalog: Arc<Catalog>,
    receiver: Receiver,
    seen: Seen,
}

async fn serve(listener: TcpListener, options: EmulatorOptions) {
    let read_time = options.read_time;
    let catalog = Arc::clone(&options.catalog);
    let shared = Shared { catalog, receiver: Receiver::new(options), seen: Seen::default() };
    // Connections end with the server.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // A connection that failed before it began is nobody's loss.
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.spawn(connection(stream, read_time, shared.clone()));
    }
}

async fn connection(stream: TcpStream, read_time: Duration, shared: Shared) {
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(respond(request, &shared).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(read_time);
    // A client that went away has nobody to tell.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

type Answered = hyper::Response<Sent>;

async fn respond(request: hyper::Request<Incoming>, shared: &Shared) -> Answered {
    let Shared { catalog, receiver, seen } = shared;
    let (head, body) = request.into_parts();
    if head.method == Method::GET
        && let Some(list) = listed(catalog, head.uri.path(), &head.headers)
    {
        return models(&list, &head, shared);
    }
    let routes = routes(catalog, head.uri.path());
    let Some(first) = routes.first() else {
        return plain(404, format!("no provider has the path {}", head.uri.path()));
    };
    let (protocol, surface) = (first.surface.protocol, &first.surface.wire);
    if head.method != Method::POST {
        let error = WireError { status: 405, ..WireError::new(FaultKind::InvalidRequest, "the method must be POST") };
        return fault(protocol, surface, &error);
    }
    let whole = match receiver.receive(&head.headers, body).await {
        Ok(whole) => whole,
        Err(error) => return fault(protocol, surface, &error),
    };
    let body = &whole.bytes;
    let header = head.headers.get(EMULATE_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match accepted(catalog, &routes, body, header) {
        Ok(accepted) => {
            let key = hash(&[head.uri.path().as_bytes(), header.as_bytes(), body]);
            let before = count(seen, key);
            accepted.answer(&head.headers, hash(&[body]), before)
        }
        Err(error) => fault(protocol, surface, &error),
    }
}

/// The list of models, which goes wrong on demand too.
fn models(list: &Listed<'_>, head: &Parts, shared: &Shared) -> Answered {
    let whole = list.provider.surfaces.first().map(|surface| (surface.protocol, &surface.wire));
    let Some((protocol, surface)) = whole else { return plain(404, "there is no such surface".to_owned()) };
    let header = head.headers.get(EMULATE_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let before = count(&shared.seen, hash(&[head.uri.path().as_bytes(), query.as_bytes(), header.as_bytes()]));
    let asked = header.split(',').filter_map(Asked::read).filter(|asked| asked.happens(&Request::default(), before));
    let acts: Vec<&Act> = asked.map(|asked| &asked.row.act).collect();
    if let Some(error) = demanded(&acts) {
        return fault(protocol, surface, &error);
    }
    match list.body(&shared.catalog, query) {
        Err(error) => fault(protocol, surface, &error),
        Ok(body) => {
            let manner = acts.iter().find_map(|act| if let Act::Bytes(manner) = act { Some(*manner) } else { None });
            let kind = if manner == Some(Manner::Page) { "text/html" } else { "application/json" };
            answered(200, &[("content-type", kind.to_owned())], Sent::new(vec![body.to_string().into_bytes()], manner))
        }
    }
}

/// The error that is asked for.
fn demanded(acts: &[&Act]) -> Option<WireError> {
    let status = acts.iter().find_map(|act| if let Act::Fault(status) = act { Some(*status) } else { None })?;
    let wait = (status == 429).then_some(WAIT_MS);
    let error = WireError::new(FaultKind::of_status(status), "emulated on demand");
    Some(WireError { status, retry_after_ms: wait, ..error })
}

/// How often a request came before.
fn count(seen: &Seen, key: u64) -> usize {
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() >= REMEMBERED && !seen.contains_key(&key) {
        seen.clear();
    }
    let times = seen.entry(key).or_default();
    let before = *times;
    *times += 1;
    before
}

/// A request that the provider takes.
struct Accepted {
    request: Request,
    model: Model,
    asked: Vec<Asked>,
}

/// The request as the first surface that takes it sees it, or why the first one does not.
fn accepted(catalog: &Catalog, routes: &[Route<'_>], body: &[u8], header: &str) -> Result<Accepted, Box<WireError>> {
    let mut refusal = None;
    for route in routes {
        match accept(catalog, route, body, header) {
            Ok(accepted) => return Ok(accepted),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    let none = || Box::new(WireError::new(FaultKind::NotFound, "there is no such surface"));
    Err(refusal.unwrap_or_else(none))
}

fn accept(catalog: &Catalog, route: &Route<'_>, body: &[u8], header: &str) -> Result<Accepted, Box<WireError>> {
    let invalid = |what: &dyn std::fmt::Display| Box::new(WireError::new(FaultKind::InvalidRequest, what.to_string()));
    let mut request = decode_request(body, route.surface.protocol).map_err(|error| invalid(&error))?.value;
    if let Some(model) = &route.model {
        request.model.clone_from(model);
    }
    request.stream |= route.streams;
    let (id, suffixes) = request.model.split_once('+').unwrap_or((&request.model, ""));
    let names = suffixes.split('+').chain(header.split(',')).map(str::trim).filter(|name| !name.is_empty());
    let asked = names.map(|name| Asked::read(name).ok_or_else(|| invalid(&format!("`{name}` is no misbehaviour"))));
    let asked = asked.collect::<Result<Vec<_>, _>>()?;
    let name = format!("{}:{}/{id}", route.provider.id, route.surface.id);
    let model = catalog.resolve(&name);
    let model = model.map_err(|error| Box::new(WireError::new(FaultKind::NotFound, error.to_string())))?;
    judge(&request, &model)?;
    Ok(Accepted { request, model, asked })
}

impl Accepted {
    fn answer(&self, headers: &HeaderMap, hash: u64, before: usize) -> Answered {
        let happening = self.asked.iter().filter(|asked| asked.happens(&self.request, before));
        let acts: Vec<&Act> = happening.map(|asked| &asked.row.act).collect();
        let (protocol, surface) = (self.model.protocol(), self.model.wire());
        if let Some(error) = demanded(&acts) {
            return fault(protocol, &surface, &error);
        }
        let manner = acts.iter().find_map(|act| if let Act::Bytes(manner) = act { Some(*manner) } else { None });
        let given = headers.get("x-polywire-seed").and_then(|value| value.to_str().ok()?.parse().ok());
        let seed = given.or_else(|| self.request.seed.map(i64::cast_unsigned)).unwrap_or(hash);
        let response = reply(&self.request, seed, &acts);
        let (kind, pieces) = if self.request.stream {
            let mut encoder = protocol.stream_encoder(&surface);
            let pieces = events_of(&response, PIECE).iter().map(|event| encoder.push(event)).collect();
            (protocol.framing(&surface).content_type(), pieces)
        } else {
            ("application/json", vec![protocol.encode_response(&response, &surface).body])
        };
        let kind = if manner == Some(Manner::Page) { "text/html" } else { kind };
        answered(200, &[("content-type", kind.to_owned())], Sent::new(pieces, manner))
    }
}

fn fault(protocol: Protocol, surface: &Surface, error: &WireError) -> Answered {
    let encoded = protocol.encode_error(error, surface);
    let json = ("content-type", "application/json".to_owned());
    let headers: Vec<_> = encoded.headers.into_iter().chain([json]).collect();
    answered(encoded.status, &headers, Sent::new(vec![encoded.body], None))
}

fn plain(status: u16, text: String) -> Answered {
    answered(status, &[("content-type", "text/plain".to_owned())], Sent::new(vec![text.into_bytes()], None))
}

fn answered(status: u16, headers: &[(&'static str, String)], body: Sent) -> Answered {
    let mut answer = hyper::Response::new(body);
    *answer.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let Ok(value) = hyper::header::HeaderValue::from_str(value) {
            answer.headers_mut().insert(*name, value);
        }
    }
    answer
}

/// FNV-1a, so that the same request has the same answer on every machine.
fn hash(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter().chain(&[0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
