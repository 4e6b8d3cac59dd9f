//! What the page asks for beside requests: schemas fitted to dialects, and requests planned without being sent.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use http::Request;
use polywire::schema::{Dialect, FitOptions, dialects, fit, fit_tools, read_tools, target};
use polywire::wire::{FaultKind, Protocol};
use polywire::{TranslateOptions, Translation};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::caller::Caller;
use crate::reply::{self, HttpResponse};
use crate::routes::Affinity;
use crate::state::Shared;

/// The protocol of errors.
const OWN: Protocol = Protocol::OpenAiChat;
/// Bytes of a document.
const MAX_BODY: usize = 1 << 20;
/// Dialects in one request.
const MAX_TARGETS: usize = 8;

/// The dialects that schemas can be fitted to, and the models that requests can be planned for.
pub(crate) async fn choices() -> HttpResponse {
    let ids: Vec<&str> = dialects().map(Dialect::id).collect();
    let protocols: Vec<&str> = Protocol::ALL.iter().map(|protocol| protocol.name()).collect();
    reply::json(&json!({"dialects": ids, "protocols": protocols}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FitRequest {
    /// A schema or a list of tools.
    document: Value,
    /// Dialects; several with commas between them mean what all of them accept.
    targets: Vec<String>,
    /// A value of the schema, which is sent through and back.
    #[serde(default)]
    value: Option<Value>,
}

pub(crate) async fn fit_document(State(shared): State<Arc<Shared>>, request: Request<Body>) -> HttpResponse {
    let asked: FitRequest = match read(&shared, request).await {
        Ok(asked) => asked,
        Err(response) => return response,
    };
    let done = tokio::task::spawn_blocking(move || {
        let targets = asked.targets.iter().take(MAX_TARGETS);
        targets.map(|target| fitted(target, &asked.document, asked.value.as_ref())).collect::<Vec<Value>>()
    });
    match done.await {
        Ok(results) => reply::json(&json!({"results": results})),
        Err(error) => reply::error(OWN, FaultKind::Server, &error.to_string()),
    }
}

/// A document in a dialect, with every change.
fn fitted(name: &str, document: &Value, value: Option<&Value>) -> Value {
    let failed = |error: String| json!({"target": name, "error": error});
    let dialect = match target(name) {
        Ok(dialect) => dialect,
        Err(error) => return failed(error.to_string()),
    };
    let options = FitOptions::default();
    if let Some(list) = read_tools(document) {
        let fitted = fit_tools(&list, &dialect, &options);
        let tool = |tool: &polywire::schema::FittedTool| json!({"name": tool.name, "original_name": tool.original_name, "strict": tool.strict, "schema": tool.schema});
        let changes: Vec<_> = fitted.changes.iter().chain(fitted.tools.iter().flat_map(|tool| &tool.changes)).collect();
        let tools: Vec<Value> = fitted.tools.iter().map(tool).collect();
        return json!({"target": name, "tools": tools, "changes": changes});
    }
    match fit(document, &dialect, &options) {
        Err(error) => failed(error.to_string()),
        Ok(fitted) => {
            let trip = value.map(|value| match fitted.encode(value.clone()) {
                Err(error) => json!({"error": error.to_string()}),
                Ok(wire) => match fitted.decode(wire.clone()) {
                    Ok(back) => json!({"wire": wire, "back": back, "is_same": back == *value}),
                    Err(error) => json!({"wire": wire, "error": error.to_string()}),
                },
            });
            json!({
                "target": name, "strict": fitted.strict(), "schema": fitted.schema, "changes": fitted.changes, "trip": trip,
            })
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanRequest {
    protocol: Protocol,
    model: String,
    body: Value,
}

/// A request as it would be sent: URL, body and every change. Keys are named, not shown.
pub(crate) async fn plan_request(State(shared): State<Arc<Shared>>, request: Request<Body>) -> HttpResponse {
    let asked: PlanRequest = match read(&shared, request).await {
        Ok(asked) => asked,
        Err(response) => return response,
    };
    let resolved = match shared.active().routes.resolve(&asked.model, asked.protocol, Affinity::default()) {
        Ok(resolved) => resolved,
        Err(message) => return reply::error(OWN, FaultKind::NotFound, &message),
    };
    let Some(model) = resolved.models.into_iter().next() else {
        return reply::error(OWN, FaultKind::NotFound, "the route has no models");
    };
    let done = tokio::task::spawn_blocking(move || {
        let body = asked.body.to_string();
        let translation = Translation::new(body.as_bytes(), asked.protocol, &model, &TranslateOptions::default());
        translation.map(|translation| {
            let request = translation.request();
            json!({
                "model": model.name(), "protocol": model.protocol().name(), "url": request.endpoint.url,
                "headers": request.endpoint.headers, "body": request.body, "changes": translation.changes(),
            })
        })
    });
    match done.await {
        Ok(Ok(plan)) => reply::json(&plan),
        Ok(Err(error)) => reply::of_translated(error.to_response(OWN)),
        Err(error) => reply::error(OWN, FaultKind::Server, &error.to_string()),
    }
}

async fn read<T: for<'de> Deserialize<'de>>(shared: &Shared, request: Request<Body>) -> Result<T, HttpResponse> {
    let (head, body) = request.into_parts();
    let caller = Caller::of(shared, &head.headers, &head.uri).await;
    caller.map_err(|error| reply::wire_error(OWN, &error))?;
    let timeout = shared.active().settings.read_timeout;
    let received = shared.receiver.receive(body, MAX_BODY, timeout).await;
    let received = received.map_err(|error| reply::wire_error(OWN, &error))?;
    let invalid = |error: serde_json::Error| reply::error(OWN, FaultKind::InvalidRequest, &error.to_string());
    serde_json::from_slice(&received.bytes).map_err(invalid)
}
