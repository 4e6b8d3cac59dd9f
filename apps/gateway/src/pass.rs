//! Endpoints that are passed on as they are: token counts, compaction, embeddings, and paths of a provider that are not translated.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, Method};
use polywire::client::{ForwardError, RawRequest};
use polywire::wire::{FaultKind, Protocol, Usage, WireError};
use polywire::{Model, Provider, carried_headers};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Served;
use crate::entry::{End, Entry};
use crate::relay::gateway_error;
use crate::reply::{self, HttpResponse};
use crate::routes::Affinity;

/// Headers of callers that are passed on.
const PASSED_HEADERS: [&str; 6] =
    ["accept", "anthropic-beta", "content-type", "openai-beta", "openai-organization", "openai-project"];

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    model: Option<String>,
}

impl Served<'_> {
    /// The first model for the name in a path or body.
    fn model(&self, protocol: Protocol, in_path: Option<String>, body: &[u8]) -> Result<Model, Box<HttpResponse>> {
        let invalid = |message: String| boxed(protocol, FaultKind::InvalidRequest, &message);
        let named =
            serde_json::from_slice::<Named>(body).map_err(|error| invalid(format!("the body is invalid: {error}")))?;
        let name = in_path.or(named.model).unwrap_or_default();
        let name = self.named(name.strip_prefix("models/").unwrap_or(&name).to_owned());
        if self.caller.limits().is_some_and(|limits| !limits.allows(&name)) {
            let message = format!("the key may not use the model `{name}`");
            return Err(boxed(protocol, FaultKind::Permission, &message));
        }
        let resolved = self.shared.active().routes.resolve(&name, protocol, Affinity::default());
        let resolved = resolved.map_err(|message| boxed(protocol, FaultKind::NotFound, &message))?;
        let model = resolved.models.into_iter().next();
        model.ok_or_else(|| boxed(protocol, FaultKind::NotFound, "the route has no models"))
    }

    /// Sends a request to a provider as it is and passes the response on. It is counted like every other.
    async fn pass(
        &self,
        protocol: Protocol,
        provider: &Provider,
        model: Option<&Model>,
        request: RawRequest,
    ) -> HttpResponse {
        let active = self.shared.active();
        let name = model.map(Model::name).unwrap_or_default();
        let mut entry = Entry::new(self.shared, &active, self.caller, protocol.name(), &name, request.body.len());
        if let Err(error) = entry.admit(self.caller).await {
            return self.ended(entry, protocol, "refused", reply::wire_error(protocol, &error), None).await;
        }
        let request = request.with_headers(self.passed_headers());
        let started = std::time::Instant::now();
        let sent = async {
            Ok::<_, ForwardError>({
                let upstream = active.client.forward_raw(provider, protocol, request).await?;
                let headers = upstream.headers().clone();
                (upstream.status(), headers, upstream.bytes().await?)
            })
        }
        .await;
        if let Some(model) = model {
            entry.attempted(model, started.elapsed(), 0, sent.as_ref().err().map(ToString::to_string));
        }
        let (status, headers, body) = match sent {
            Ok(answer) => answer,
            Err(ForwardError { refusal: Some(refusal), .. }) => (refusal.status, refusal.headers, refusal.body),
            Err(error) => {
                let response = reply::wire_error(protocol, &gateway_error(&error.error));
                return self.ended(entry, protocol, "failed", response, None).await;
            }
        };
        entry.sent(&body);
        let usage = usage(&body);
        let mut response = reply::with_body(status.as_u16(), "application/json", body);
        if let Some(kind) = headers.get(CONTENT_TYPE) {
            response.headers_mut().insert(CONTENT_TYPE, kind.clone());
        }
        let pairs = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        for (name, value) in carried_headers(pairs) {
            reply::put(&mut response, &name, &value);
        }
        let outcome = if status.is_success() { "answered" } else { "failed" };
        self.ended(entry, protocol, outcome, response, usage).await
    }

    async fn ended(
        &self,
        mut entry: Entry,
        protocol: Protocol,
        outcome: &'static str,
        response: HttpResponse,
        usage: Option<Usage>,
    ) -> HttpResponse {
        let end = End { outcome, status: response.status().as_u16(), usage, ..End::default() };
        let mut response = match entry.finish(end).await {
            Ok(()) => response,
            Err(error) => reply::error(protocol, FaultKind::Overloaded, &error.to_string()),
        };
        reply::put(&mut response, "x-polywire-request-id", &entry.report.id);
        response
    }

    fn passed_headers(&self) -> HeaderMap {
        let headers = &self.parts.headers;
        let passed =
            PASSED_HEADERS.iter().filter_map(|name| Some((HeaderName::from_static(name), headers.get(*name)?.clone())));
        passed.collect()
    }
}

fn boxed(protocol: Protocol, kind: FaultKind, message: &str) -> Box<HttpResponse> {
    Box::new(reply::error(protocol, kind, message))
}

/// The tokens that an embedding or a count reports.
fn usage(body: &[u8]) -> Option<Usage> {
    #[derive(Deserialize)]
    struct Answer {
        usage: Tokens,
    }
    #[derive(Deserialize)]
    struct Tokens {
        #[serde(alias = "prompt_tokens")]
        input_tokens: u64,
        #[serde(default, alias = "completion_tokens")]
        output_tokens: u64,
    }
    let Answer { usage } = serde_json::from_slice(body).ok()?;
    Some(Usage { input_tokens: usage.input_tokens, output_tokens: usage.output_tokens, ..Usage::default() })
}

/// A body with another model.
fn with_model(body: &Bytes, model: &Model) -> Bytes {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else { return body.clone() };
    match value.get_mut("model") {
        Some(name) => {
            *name = model.id().into();
            Bytes::from(value.to_string())
        }
        None => body.clone(),
    }
}

/// The path of a surface with another end.
fn sibling(model: &Model, end: &str, other: &str) -> Option<String> {
    let path = model.surface().path.strip_suffix(end)?;
    let id: String = percent_encoding::utf8_percent_encode(model.id(), percent_encoding::NON_ALPHANUMERIC).to_string();
    Some(format!("{}{other}", path.replace("{model}", &id)))
}

/// Counts tokens: by the provider where it offers that in the caller's protocol, otherwise by an estimate that says so.
pub(crate) async fn count_tokens(
    served: &Served<'_>,
    protocol: Protocol,
    in_path: Option<String>,
    body: Bytes,
) -> HttpResponse {
    let model = match served.model(protocol, in_path, &body) {
        Ok(model) => model,
        Err(response) => return *response,
    };
    let path = match protocol {
        Protocol::AnthropicMessages => sibling(&model, "/messages", "/messages/count_tokens"),
        Protocol::OpenAiResponses => sibling(&model, "/responses", "/responses/input_tokens"),
        Protocol::Gemini => sibling(&model, ":generateContent", ":countTokens"),
        Protocol::OpenAiChat | Protocol::BedrockConverse => None,
    };
    if let Some(path) = path.filter(|_| model.protocol() == protocol) {
        let request = RawRequest::new(Method::POST, path, with_model(&body, &model));
        let response = served.pass(protocol, model.provider(), Some(&model), request).await;
        if response.status().as_u16() != 404 {
            return response;
        }
    }
    let tokens = body.len().div_ceil(4);
    let mut response = reply::json(&match protocol {
        Protocol::Gemini => json!({"totalTokens": tokens}),
        Protocol::OpenAiResponses => json!({"object": "response.input_tokens", "input_tokens": tokens}),
        Protocol::AnthropicMessages | Protocol::OpenAiChat | Protocol::BedrockConverse => {
            json!({"input_tokens": tokens})
        }
    });
    reply::put(&mut response, "x-polywire-estimated", "true");
    response
}

/// Compacts a conversation, which only providers of the Responses API do.
pub(crate) async fn compact(served: &Served<'_>, body: Bytes) -> HttpResponse {
    let protocol = Protocol::OpenAiResponses;
    let model = match served.model(protocol, None, &body) {
        Ok(model) => model,
        Err(response) => return *response,
    };
    let path = sibling(&model, "/responses", "/responses/compact").filter(|_| model.protocol() == protocol);
    let Some(path) = path else {
        let message = format!("`{}` cannot compact conversations: its provider has no Responses API", model.name());
        return reply::wire_error(protocol, &WireError::new(FaultKind::NotFound, message));
    };
    let request = RawRequest::new(Method::POST, path, with_model(&body, &model));
    served.pass(protocol, model.provider(), Some(&model), request).await
}

/// Passes a request for embeddings on.
pub(crate) async fn embed(
    served: &Served<'_>,
    protocol: Protocol,
    in_path: Option<String>,
    verb: &str,
    body: Bytes,
) -> HttpResponse {
    let model = match served.model(protocol, in_path, &body) {
        Ok(model) => model,
        Err(response) => return *response,
    };
    let path = match protocol {
        Protocol::Gemini => sibling(&model, ":generateContent", &format!(":{verb}")),
        Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::AnthropicMessages | Protocol::BedrockConverse => {
            Some("/embeddings".to_owned())
        }
    };
    let Some(path) = path.filter(|_| model.preferring(protocol).protocol() == protocol) else {
        let message = format!("`{}` has no embeddings in {}", model.name(), protocol.title());
        return reply::error(protocol, FaultKind::NotFound, &message);
    };
    let request = RawRequest::new(Method::POST, path, with_model(&body, &model));
    served.pass(protocol, model.provider(), Some(&model), request).await
}

/// Passes a path on to the provider that it begins with.
pub(crate) async fn pass_through(served: &Served<'_>, protocol: Protocol, path: &str, body: Bytes) -> HttpResponse {
    let active = served.shared.active();
    let not_found = || {
        let message = format!("there is no path `{}`", served.parts.uri.path());
        reply::error(protocol, FaultKind::NotFound, &message)
    };
    let Some(provider) = served.provider.and_then(|id| active.routes.catalog().provider(id)) else {
        return not_found();
    };
    let is_allowed = active.settings.pass_through.unwrap_or_else(|| !served.shared.has_keys());
    if !is_allowed || served.caller.limits().is_some_and(|limits| !limits.models.is_empty()) {
        let message = "paths that are not translated are not passed on with gateway keys; `pass-through = true` in [serve] allows it";
        return reply::error(protocol, FaultKind::Permission, message);
    }
    // The provider's base URL has its path already.
    let base = provider.base_url.split_once("://").map_or("", |(_, rest)| rest);
    let base = base.find('/').and_then(|start| base.get(start..)).unwrap_or_default();
    let below = path.strip_prefix(base).filter(|below| below.starts_with('/')).unwrap_or(path);
    let query = served.parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let protocol_of_provider = provider.surfaces.first().map_or(protocol, |surface| surface.protocol);
    let request = RawRequest::new(served.parts.method.clone(), format!("{below}{query}"), body);
    served.pass(protocol_of_provider, provider, None, request).await
}
