//! One request in, one response out.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hyper::body::Incoming;
use hyper::header::UPGRADE;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use polywire::wire::{FaultKind, Protocol, Request, Surface, WireError};
use serde_json::Value;

use crate::accept::accepted;
use crate::body::ResponseBody;
use crate::endpoints::endpoints;
use crate::list::{ModelList, model_list};
use crate::misbehave::{BodyFault, Injection, Requested};
use crate::receive::{EmulatorOptions, Receiver};
use crate::route::{Route, routes};
use crate::seed::hash;

/// The header that asks for misbehaviour, names parted by commas. A suffix of the model does the same: `gpt-5+fenced`.
pub const EMULATE_HEADER: &str = "x-polywire-emulate";

/// Requests that are remembered to tell the first time from the second.
const REMEMBERED: usize = 4096;

/// The time to wait that comes with a status of too many requests.
const WAIT_MS: u64 = 1000;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) options: EmulatorOptions,
    receiver: Receiver,
    /// How often each request came, by its hash.
    seen: Mutex<BTreeMap<u64, usize>>,
}

impl Shared {
    pub(crate) fn new(options: EmulatorOptions) -> Self {
        Self { receiver: Receiver::new(options.clone()), options, seen: Mutex::default() }
    }

    /// How often a request came before.
    fn count(&self, key: u64) -> usize {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED && !seen.contains_key(&key) {
            seen.clear();
        }
        let times = seen.entry(key).or_default();
        let before = *times;
        *times += 1;
        before
    }
}

pub(crate) type HttpResponse = hyper::Response<ResponseBody>;

pub(crate) async fn respond(request: hyper::Request<Incoming>, shared: &Shared) -> HttpResponse {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    // Claude Code asks whether anybody is there before it sends anything.
    if path == "/" && matches!(head.method, Method::HEAD | Method::GET) {
        return text_response(200, "polywire emulator\n".to_owned());
    }
    if is_websocket(&head.headers) {
        return no_websocket(&head, shared);
    }
    if head.method == Method::GET
        && let Some(list) = model_list(&shared.options.catalog, path, &head.headers)
    {
        return models(&list, &head, shared);
    }
    let routes = routes(&shared.options.catalog, path);
    if let Some(first) = routes.first() {
        let surface = (first.surface.protocol, &first.surface.wire);
        return match received(&head, body, shared).await {
            Ok(body) => answer(&head, &routes, &body, shared)
                .unwrap_or_else(|error| error_response(surface.0, surface.1, &error)),
            Err(error) => error_response(surface.0, surface.1, &error),
        };
    }
    for (endpoint, surface_path) in endpoints(path) {
        let routes = self::routes(&shared.options.catalog, &surface_path);
        let Some(route) = routes.iter().find(|route| endpoint.serves(route.surface.protocol)) else { continue };
        let result = received(&head, body, shared).await.and_then(|body| (endpoint.answer)(&parsed(&body)?));
        return match result {
            Ok(answer) => json_response(&answer),
            Err(error) => error_response(route.surface.protocol, &route.surface.wire, &error),
        };
    }
    text_response(404, format!("no provider has the path {path}"))
}

fn is_websocket(headers: &HeaderMap) -> bool {
    headers
        .get(UPGRADE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// Codex falls back to HTTP at once on a 426, after seven tries on a 404 or 405, and never on a 400.
fn no_websocket(head: &Parts, shared: &Shared) -> HttpResponse {
    let error = WireError::new(FaultKind::InvalidRequest, "WebSockets are not supported here; send a POST request");
    let error = WireError { status: 426, ..error };
    match routes(&shared.options.catalog, head.uri.path()).first() {
        Some(route) => error_response(route.surface.protocol, &route.surface.wire, &error),
        None => text_response(426, error.message),
    }
}

/// The body of a POST request.
async fn received(head: &Parts, body: Incoming, shared: &Shared) -> Result<crate::receive::Received, Box<WireError>> {
    if head.method != Method::POST {
        let error = WireError::new(FaultKind::InvalidRequest, "the method must be POST");
        return Err(Box::new(WireError { status: 405, ..error }));
    }
    shared.receiver.receive(&head.headers, body).await
}

fn parsed(body: &crate::receive::Received) -> Result<Value, Box<WireError>> {
    let invalid =
        |error: serde_json::Error| WireError::new(FaultKind::InvalidRequest, format!("the body is not JSON: {error}"));
    serde_json::from_slice(&body.bytes).map_err(|error| Box::new(invalid(error)))
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn answer(
    head: &Parts,
    routes: &[Route<'_>],
    body: &crate::receive::Received,
    shared: &Shared,
) -> Result<HttpResponse, Box<WireError>> {
    let misbehave = header(&head.headers, EMULATE_HEADER);
    let accepted =
        accepted(&shared.options, routes, &parsed(body)?, misbehave, header(&head.headers, "anthropic-beta"))?;
    let bytes = body.bytes.as_ref();
    let before = shared.count(hash(&[head.uri.path().as_bytes(), misbehave.as_bytes(), bytes]));
    let seed = header(&head.headers, "x-polywire-seed").parse().ok();
    Ok(accepted.answer(seed, hash(&[bytes]), before))
}

/// The list of models. Requested faults apply to it too.
fn models(list: &ModelList<'_>, head: &Parts, shared: &Shared) -> HttpResponse {
    let surface = list.provider.surfaces.first().map(|surface| (surface.protocol, &surface.wire));
    let Some((protocol, surface)) = surface else { return text_response(404, "there is no such surface".to_owned()) };
    let misbehave = header(&head.headers, EMULATE_HEADER);
    let query = head.uri.query().unwrap_or_default();
    let before = shared.count(hash(&[head.uri.path().as_bytes(), query.as_bytes(), misbehave.as_bytes()]));
    let requested = misbehave
        .split(',')
        .filter_map(Requested::parse)
        .filter(|requested| requested.applies(&Request::default(), before));
    let injections: Vec<&Injection> = requested.map(|requested| &requested.row.injection).collect();
    if let Some(error) = requested_error(&injections) {
        return error_response(protocol, surface, &error);
    }
    match list.body(&shared.options.catalog, query) {
        Err(error) => error_response(protocol, surface, &error),
        Ok(body) => {
            let body_fault = injections.iter().find_map(|injection| {
                if let Injection::Body(body_fault) = injection { Some(*body_fault) } else { None }
            });
            let kind = if body_fault == Some(BodyFault::Page) { "text/html" } else { "application/json" };
            let body = ResponseBody::new(vec![body.to_string().into_bytes()], body_fault);
            http_response(200, &[("content-type", kind.to_owned())], body)
        }
    }
}

/// The error that was requested.
pub(crate) fn requested_error(injections: &[&Injection]) -> Option<WireError> {
    let status = injections
        .iter()
        .find_map(|injection| if let Injection::Status(status) = injection { Some(*status) } else { None })?;
    let wait = (status == 429).then_some(WAIT_MS);
    let error = WireError::new(FaultKind::of_status(status), "emulated on demand");
    Some(WireError { status, retry_after_ms: wait, ..error })
}

/// An error in the shape of the provider.
pub(crate) fn error_response(protocol: Protocol, surface: &Surface, error: &WireError) -> HttpResponse {
    let encoded = protocol.encode_error(error, surface);
    let json = ("content-type", "application/json".to_owned());
    let headers: Vec<_> = encoded.headers.into_iter().chain([json]).collect();
    http_response(encoded.status, &headers, ResponseBody::new(vec![encoded.body], None))
}

fn json_response(body: &Value) -> HttpResponse {
    let body = ResponseBody::new(vec![body.to_string().into_bytes()], None);
    http_response(200, &[("content-type", "application/json".to_owned())], body)
}

fn text_response(status: u16, text: String) -> HttpResponse {
    http_response(
        status,
        &[("content-type", "text/plain".to_owned())],
        ResponseBody::new(vec![text.into_bytes()], None),
    )
}

pub(crate) fn http_response(status: u16, headers: &[(&'static str, String)], body: ResponseBody) -> HttpResponse {
    let mut answer = hyper::Response::new(body);
    *answer.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let Ok(value) = hyper::header::HeaderValue::from_str(value) {
            answer.headers_mut().insert(*name, value);
        }
    }
    answer
}
