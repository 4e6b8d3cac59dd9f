//! Cross-origin requests: off, unless the configuration names origins of pages that may send them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::middleware::Next;
use http::{HeaderValue, Method, Request};

use crate::inbound::header;
use crate::reply::{self, HttpResponse};
use crate::state::Shared;

/// Headers that a page may read.
const EXPOSED: &str = "x-polywire-request-id, x-polywire-changes, x-polywire-model, retry-after";

/// Answers preflight requests of allowed origins, and lets their pages read responses.
pub(crate) async fn allow(State(shared): State<Arc<Shared>>, request: Request<Body>, next: Next) -> HttpResponse {
    let origin = header(request.headers(), "origin").map(str::to_owned);
    let is_allowed = |origin: &String| shared.active().settings.cors_origins.contains(origin);
    let Some(origin) = origin.filter(is_allowed) else { return next.run(request).await };
    let asked = request.headers().get("access-control-request-headers").cloned();
    let is_preflight = request.method() == Method::OPTIONS;
    let mut response = if is_preflight { reply::text(204, "") } else { next.run(request).await };
    reply::put(&mut response, "access-control-allow-origin", &origin);
    reply::put(&mut response, "access-control-expose-headers", EXPOSED);
    reply::put(&mut response, "vary", "origin");
    if is_preflight {
        reply::put(&mut response, "access-control-allow-methods", "GET, POST, DELETE");
        let headers = asked.unwrap_or(HeaderValue::from_static("authorization, content-type"));
        response.headers_mut().insert("access-control-allow-headers", headers);
    }
    response
}
