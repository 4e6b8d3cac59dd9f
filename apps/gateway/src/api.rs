//! Requests of clients: the path decides the endpoint, the endpoint decides who answers.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use http::request::Parts;
use http::{HeaderMap, Method, Request};
use polywire::wire::{FaultKind, Protocol, WireError};

use crate::caller::Caller;
use crate::endpoint::Endpoint;
use crate::inbound::{Inbound, header};
use crate::receive::Received;
use crate::relay::relay;
use crate::reply::{self, HttpResponse};
use crate::state::Shared;
use crate::{models, pass};

/// Headers that only clients of Anthropic's API send.
const ANTHROPIC_HEADERS: [&str; 2] = ["anthropic-version", "anthropic-beta"];

/// Serves every path that is not one of the gateway's own.
pub(crate) async fn serve(State(shared): State<Arc<Shared>>, request: Request<Body>) -> HttpResponse {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let (provider, rest) = split_provider(&shared, &path);
    let is_anthropic = ANTHROPIC_HEADERS.iter().any(|name| parts.headers.contains_key(*name));
    let endpoint = Endpoint::of(&parts.method, rest, is_anthropic);
    let protocol =
        if is_anthropic && endpoint == Endpoint::Other { Protocol::AnthropicMessages } else { endpoint.protocol() };
    if is_websocket(&parts.headers) || (parts.method == Method::GET && matches!(endpoint, Endpoint::Generate(_))) {
        // Codex falls back to HTTP at once on a 426, after seven tries on a 404 or 405, and never on a 400.
        let error = WireError::new(FaultKind::InvalidRequest, "WebSockets are not supported; send a POST request");
        let mut response = reply::wire_error(protocol, &WireError { status: 426, ..error });
        reply::put(&mut response, "upgrade", "HTTP/1.1");
        return response;
    }
    let caller = match Caller::of(&shared, &parts.headers, &parts.uri).await {
        Ok(caller) => caller,
        Err(error) => return reply::wire_error(protocol, &error),
    };
    if shared.is_draining() {
        return reply::error(protocol, FaultKind::Overloaded, "the gateway is stopping");
    }
    let provider = provider.map(str::to_owned);
    let served = Served { shared: &shared, parts: &parts, caller: &caller, provider: provider.as_deref() };
    match endpoint {
        Endpoint::Models { protocol, model } => models::list(&shared, &caller, protocol, model.as_deref(), &parts.uri),
        Endpoint::StoredResponse { id } => served.stored_response(&id),
        Endpoint::Generate(generate) => {
            let received = match served.receive(body, protocol).await {
                Ok(received) => received,
                Err(response) => return response,
            };
            let inbound = Inbound::read(generate, &parts.headers, &received.bytes);
            match inbound {
                Ok(mut inbound) => {
                    inbound.model = served.named(inbound.model);
                    relay(&shared, &caller, inbound).await
                }
                Err(message) => reply::error(protocol, FaultKind::InvalidRequest, &message),
            }
        }
        Endpoint::CountTokens { protocol, model } => match served.receive(body, protocol).await {
            Ok(received) => pass::count_tokens(&served, protocol, model, received.bytes.clone()).await,
            Err(response) => response,
        },
        Endpoint::Compact => match served.receive(body, protocol).await {
            Ok(received) => pass::compact(&served, received.bytes.clone()).await,
            Err(response) => response,
        },
        Endpoint::Embed { protocol, model, verb } => match served.receive(body, protocol).await {
            Ok(received) => pass::embed(&served, protocol, model, verb, received.bytes.clone()).await,
            Err(response) => response,
        },
        Endpoint::Other => match served.receive(body, protocol).await {
            Ok(received) => pass::pass_through(&served, protocol, rest, received.bytes.clone()).await,
            Err(response) => response,
        },
    }
}

/// A request that is being served.
pub(crate) struct Served<'r> {
    pub(crate) shared: &'r Arc<Shared>,
    pub(crate) parts: &'r Parts,
    pub(crate) caller: &'r Caller,
    /// The provider in the path.
    pub(crate) provider: Option<&'r str>,
}

impl Served<'_> {
    async fn receive(&self, body: Body, protocol: Protocol) -> Result<Received, HttpResponse> {
        let active = self.shared.active();
        let settings = &active.settings;
        let received = self.shared.receiver.receive(body, settings.body_bytes, settings.read_timeout).await;
        received.map_err(|error| reply::wire_error(protocol, &error))
    }

    /// The name of a model at the provider in the path.
    pub(crate) fn named(&self, model: String) -> String {
        match self.provider {
            Some(provider) if !model.contains('/') => format!("{provider}/{model}"),
            Some(_) | None => model,
        }
    }

    fn stored_response(&self, id: &str) -> HttpResponse {
        let (responses, key) = (&self.shared.responses, self.caller.id());
        let not_found =
            || reply::error(Protocol::OpenAiResponses, FaultKind::NotFound, "no such response is stored here");
        if self.parts.method == Method::DELETE {
            return if responses.remove(id, key) {
                reply::json(&serde_json::json!({"id": id, "object": "response.deleted", "deleted": true}))
            } else {
                not_found()
            };
        }
        responses.get(id, key).map_or_else(not_found, |stored| reply::json(&stored.body))
    }
}

/// The provider that a path begins with, and the rest of the path.
fn split_provider<'p>(shared: &Shared, path: &'p str) -> (Option<&'p str>, &'p str) {
    let found = path.strip_prefix('/').and_then(|rest| rest.find('/').and_then(|end| rest.split_at_checked(end)));
    match found {
        Some((id, rest)) if shared.active().routes.catalog().provider(id).is_some() => (Some(id), rest),
        Some(_) | None => (None, path),
    }
}

fn is_websocket(headers: &HeaderMap) -> bool {
    header(headers, "upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}
