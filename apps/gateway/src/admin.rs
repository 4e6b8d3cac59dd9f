//! The gateway's own paths: health, metrics, reports of requests, usage and keys.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Router, middleware};
use http::Request;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use polywire::catalog::ServeStoreFailure;
use polywire::wire::{FaultKind, Protocol};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api;
use crate::caller::Caller;
use crate::clock::{unix_ms, unix_seconds};
use crate::cors;
use crate::key::{Key, KeyLimits, KeyRole};
use crate::page;
use crate::playground;
use crate::reply::{self, HttpResponse};
use crate::state::Shared;

/// The protocol of errors on the gateway's own paths.
const OWN: Protocol = Protocol::OpenAiChat;
/// Requests in a list.
const MAX_LISTED: usize = 200;
const DAY_MS: i64 = 86_400_000;
/// Bytes of a body on the gateway's own paths.
const MAX_BODY: usize = 4 << 20;

/// All paths.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/assets/{*path}", get(page::asset))
        .route("/health", get(|| async { reply::json(&json!({"status": "ok"})) }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .route("/requests", get(requests))
        .route("/requests/{id}", get(request))
        .route("/usage", get(usage))
        .route("/keys", get(keys).post(create_key))
        .route("/keys/{id}/revoke", post(revoke_key))
        .route("/playground", get(playground::choices))
        .route("/playground/fit", post(playground::fit_document))
        .route("/playground/plan", post(playground::plan_request))
        .fallback(api::serve)
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), cors::allow))
        .with_state(shared)
}

/// The caller, or the response to one without a valid key.
async fn caller(shared: &Shared, head: &Parts) -> Result<Caller, HttpResponse> {
    let caller = Caller::of(shared, &head.headers, &head.uri).await;
    caller.map_err(|error| reply::wire_error(OWN, &error))
}

async fn admin(shared: &Shared, head: &Parts) -> Result<(), HttpResponse> {
    if caller(shared, head).await?.is_admin(shared) {
        return Ok(());
    }
    Err(reply::error(
        OWN,
        FaultKind::Permission,
        "an admin key is required; `polywire keys create --admin` creates one",
    ))
}

async fn ready(State(shared): State<Arc<Shared>>) -> HttpResponse {
    let store = shared.store.ping().await;
    // Where requests are served without the store, a balancer must not take away every replica.
    let needs_store = shared.active().settings.on_store_failure == ServeStoreFailure::Refuse;
    let is_ready = (store.is_ok() || !needs_store) && !shared.is_draining();
    let status = if is_ready { 200 } else { 503 };
    let store = store.err().map_or_else(|| "ok".to_owned(), |error| error.to_string());
    let replicas = shared.limiter.replicas();
    reply::json_with_status(
        status,
        &json!({"ready": is_ready, "draining": shared.is_draining(), "store": store, "replicas": replicas}),
    )
}

async fn metrics(State(shared): State<Arc<Shared>>, head: Parts) -> HttpResponse {
    if let Err(response) = caller(&shared, &head).await {
        return response;
    }
    let mut response = reply::text(200, shared.metrics.text());
    let kind = http::HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

async fn requests(State(shared): State<Arc<Shared>>, head: Parts) -> HttpResponse {
    let caller = match caller(&shared, &head).await {
        Ok(caller) => caller,
        Err(response) => return response,
    };
    let key = (!caller.is_admin(&shared)).then(|| caller.id());
    let newest = shared.recent.newest(MAX_LISTED, key);
    let rows: Vec<Value> = newest
        .iter()
        .map(|report| {
            let (changes, wider, narrower) = report.counts();
            let last = report.attempts.last();
            json!({
                "id": report.id, "received_at": report.received_at, "key": report.key, "protocol": report.protocol,
                "model": report.model, "served": last.map(|attempt| format!("{}/{}", attempt.provider, attempt.model)),
                "status": report.status, "outcome": report.outcome, "stream": report.stream, "changes": changes,
                "wider": wider, "narrower": narrower, "usage": report.usage, "cost_usd": report.cost_usd,
                "timings": report.timings,
            })
        })
        .collect();
    reply::json(&json!({"requests": rows, "avoided_models": shared.health.avoided()}))
}

async fn request(State(shared): State<Arc<Shared>>, Path(id): Path<String>, head: Parts) -> HttpResponse {
    let caller = match caller(&shared, &head).await {
        Ok(caller) => caller,
        Err(response) => return response,
    };
    let report = shared.recent.get(&id);
    match report.filter(|report| caller.is_admin(&shared) || report.key == caller.id()) {
        Some(report) => reply::json(&*report),
        None => reply::error(OWN, FaultKind::NotFound, "no such request is kept"),
    }
}

async fn usage(State(shared): State<Arc<Shared>>, head: Parts) -> HttpResponse {
    let caller = match caller(&shared, &head).await {
        Ok(caller) => caller,
        Err(response) => return response,
    };
    let days = head.uri.query().and_then(|query| query.strip_prefix("days=")?.parse::<i64>().ok());
    let since = unix_ms() - days.unwrap_or(30).clamp(1, 3_660) * DAY_MS;
    let key = (!caller.is_admin(&shared)).then(|| caller.id().to_owned());
    match shared.store.usage(since, key).await {
        Ok(rows) => reply::json(&json!({"usage": rows})),
        Err(error) => reply::error(OWN, FaultKind::Overloaded, &error.to_string()),
    }
}

async fn keys(State(shared): State<Arc<Shared>>, head: Parts) -> HttpResponse {
    if let Err(response) = admin(&shared, &head).await {
        return response;
    }
    match shared.store.keys().await {
        Ok(keys) => reply::json(&json!({"keys": keys.iter().map(|key| shown(&shared, key)).collect::<Vec<_>>()})),
        Err(error) => reply::error(OWN, FaultKind::Overloaded, &error.to_string()),
    }
}

/// A key without its hash, and what it has spent.
fn shown(shared: &Shared, key: &Key) -> Value {
    let [day, month, total] = shared.limiter.spent_usd(&key.id);
    json!({
        "id": key.id, "name": key.name, "role": key.role, "limits": key.limits, "created_at": key.created_at,
        "revoked_at": key.revoked_at, "spent_usd": {"day": day, "month": month, "total": total},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    name: String,
    #[serde(default)]
    role: KeyRole,
    #[serde(default)]
    limits: KeyLimits,
}

async fn create_key(State(shared): State<Arc<Shared>>, request: Request<Body>) -> HttpResponse {
    let (head, body) = request.into_parts();
    if let Err(response) = admin(&shared, &head).await {
        return response;
    }
    let timeout = shared.active().settings.read_timeout;
    let received = match shared.receiver.receive(body, MAX_BODY, timeout).await {
        Ok(received) => received,
        Err(error) => return reply::wire_error(OWN, &error),
    };
    let new: NewKey = match serde_json::from_slice(&received.bytes) {
        Ok(new) => new,
        Err(error) => return reply::error(OWN, FaultKind::InvalidRequest, &error.to_string()),
    };
    let Some((key, text)) = Key::create(&new.name, new.role, new.limits, unix_seconds()) else {
        return reply::error(OWN, FaultKind::Server, "the system has no random numbers");
    };
    let id = key.id.clone();
    let stored = match shared.store.put_key(key).await {
        Ok(()) => shared.read_keys().await,
        Err(error) => Err(error),
    };
    match stored {
        Ok(()) => reply::json(&json!({"id": id, "key": text})),
        Err(error) => reply::error(OWN, FaultKind::Overloaded, &error.to_string()),
    }
}

async fn revoke_key(State(shared): State<Arc<Shared>>, Path(id): Path<String>, head: Parts) -> HttpResponse {
    if let Err(response) = admin(&shared, &head).await {
        return response;
    }
    let keys = match shared.store.keys().await {
        Ok(keys) => keys,
        Err(error) => return reply::error(OWN, FaultKind::Overloaded, &error.to_string()),
    };
    let Some(mut key) = keys.into_iter().find(|key| key.id == id) else {
        return reply::error(OWN, FaultKind::NotFound, "no such key");
    };
    key.revoked_at = key.revoked_at.or(Some(unix_seconds()));
    let stored = match shared.store.put_key(key).await {
        Ok(()) => shared.read_keys().await,
        Err(error) => Err(error),
    };
    match stored {
        Ok(()) => reply::json(&json!({"id": id, "revoked": true})),
        Err(error) => reply::error(OWN, FaultKind::Overloaded, &error.to_string()),
    }
}
