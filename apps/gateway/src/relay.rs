//! One request to the first of its models that answers: translated for each, sent, and its answer translated back. Nothing is sent to
//! another model after the caller has got a byte.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use polywire::catalog::{ServeOnLoss, ServeStrict};
use polywire::client::{ForwardError, ForwardOptions, Upstream};
use polywire::wire::{FaultKind, Protocol, Stamp, Surface, WireError};
use polywire::{
    Change, Kind, Model, OnLoss, PlanOptions, SendError, Strict, TranslateError, TranslateOptions, Translation,
    carried_headers,
};

use crate::cache::{Fingerprint, fingerprint};
use crate::caller::Caller;
use crate::clock::unix_seconds;
use crate::entry::{End, Entry};
use crate::health::Outcome;
use crate::inbound::{Inbound, ReportPlace, Storage};
use crate::key::KeyLimits;
use crate::reply::{self, HttpResponse};
use crate::responses::{continued, conversation_elsewhere};
use crate::routes::{Affinity, Resolved};
use crate::settings::CacheScope;
use crate::state::{Active, Shared};
use crate::stream::{Capture, Heartbeat, Source, StreamRelay};

/// A larger body is translated on another thread, so that it does not hold up other requests.
const BLOCKING_BYTES: usize = 128 << 10;

/// A request on its way.
struct Relay {
    shared: Arc<Shared>,
    active: Arc<Active>,
    inbound: Inbound,
    key: String,
    entry: Entry,
    /// The request in the cache.
    fingerprint: Option<Fingerprint>,
}

/// A model that did not answer.
struct Failed {
    response: HttpResponse,
    message: String,
    /// Whether the next model may answer.
    should_fall_back: bool,
}

/// A model that answers.
struct Answering {
    translation: Translation,
    upstream: Box<Upstream>,
    changes: Vec<Change>,
}

/// Serves a request.
pub(crate) async fn relay(shared: &Arc<Shared>, caller: &Caller, inbound: Inbound) -> HttpResponse {
    let active = shared.active();
    let protocol = inbound.protocol();
    let entry = match Entry::open(shared, &active, caller, &inbound).await {
        Ok(entry) => entry,
        Err((entry, error)) => return refuse(*entry, protocol, &error).await,
    };
    let affinity = Affinity { key: Some(caller.id()).filter(|id| !id.is_empty()), conversation: &inbound.conversation };
    let resolved = match active.routes.resolve(&inbound.model, protocol, affinity) {
        Ok(resolved) => resolved,
        Err(message) => return refuse(entry, protocol, &WireError::new(FaultKind::NotFound, message)).await,
    };
    let key = caller.id().to_owned();
    let mut relay = Relay { shared: Arc::clone(shared), active, inbound, key, entry, fingerprint: None };
    relay.entry.report.route.clone_from(&resolved.route);
    let options = relay_options(&relay, &resolved, caller);
    if let Some(response) = relay.cached().await {
        return response;
    }
    match relay.continue_conversation(resolved.models) {
        Ok(models) => relay.serve(models, &options).await,
        Err(error) => refuse(relay.entry, protocol, &error).await,
    }
}

/// Ends a request that the gateway does not serve.
async fn refuse(mut entry: Entry, protocol: Protocol, error: &WireError) -> HttpResponse {
    let response = reply::wire_error(protocol, error);
    let end = End {
        outcome: "refused",
        status: response.status().as_u16(),
        error: Some(error.message.clone()),
        ..End::default()
    };
    finished(&mut entry, protocol, end, response).await
}

/// Records the end and gives the response, or an error if the ledger does not have it and the policy demands it.
async fn finished(entry: &mut Entry, protocol: Protocol, end: End, response: HttpResponse) -> HttpResponse {
    let mut response = match entry.finish(end).await {
        Ok(()) => response,
        Err(error) => reply::error(protocol, FaultKind::Overloaded, &error.to_string()),
    };
    put_report(&mut response, entry);
    response
}

fn put_report(response: &mut HttpResponse, entry: &Entry) {
    reply::put(response, "x-polywire-request-id", &entry.report.id);
    reply::put(response, "x-polywire-changes", &entry.report.header());
    if let Some(attempt) = entry.report.attempts.last() {
        reply::put(response, "x-polywire-model", &format!("{}/{}", attempt.provider, attempt.model));
    }
}

/// The options of translation: those of the request, the key, the route and the gateway, in this order.
fn relay_options(relay: &Relay, resolved: &Resolved, caller: &Caller) -> TranslateOptions {
    let settings = &relay.active.settings;
    let strict = match resolved.strict.unwrap_or(settings.strict) {
        ServeStrict::Auto => Strict::Auto,
        ServeStrict::Off => Strict::Off,
        ServeStrict::AsAsked | _ => Strict::AsAsked,
    };
    let of_key = caller.limits().and_then(KeyLimits::on_loss);
    let on_loss = relay.inbound.on_loss.or(of_key).or(resolved.on_loss).unwrap_or(settings.on_loss);
    let mut plan = PlanOptions::default().with_strict(strict);
    if on_loss == ServeOnLoss::Error {
        plan = Kind::ALL.into_iter().fold(plan, |plan, kind| plan.with_on_loss(kind, OnLoss::Refuse));
    }
    let surface = Surface::default().with_envelope(relay.inbound.generate.envelope);
    let options = TranslateOptions::default().with_plan(plan).with_surface(surface);
    let options = options.with_stamp(Stamp::new(unix_seconds(), relay.entry.report.id.trim_start_matches("req_")));
    let options = options.with_echo(relay.shared.echo.scoped(caller.id()));
    match relay.inbound.generate.stream {
        Some(stream) => options.with_stream(stream),
        None => options,
    }
}

impl Relay {
    /// The cached answer to a request that is not streamed.
    async fn cached(&mut self) -> Option<HttpResponse> {
        let settings = &self.active.settings;
        let max_age = settings.cache.filter(|_| !self.inbound.stream && self.inbound.previous_response.is_none())?;
        let scope = if settings.cache_scope == CacheScope::Shared { "" } else { self.key.as_str() };
        let protocol = self.inbound.protocol();
        let request = fingerprint(scope, protocol.name(), &self.inbound.model, &self.inbound.body)?;
        self.fingerprint = Some(request);
        let body = self.shared.cache.get(&request, max_age)?;
        let end = End { outcome: "cached", status: 200, ..End::default() };
        let response = reply::with_body(200, "application/json", body);
        let mut response = finished(&mut self.entry, protocol, end, response).await;
        reply::put(&mut response, "x-polywire-cache", "hit");
        Some(response)
    }

    /// Puts the stored conversation in the place of `previous_response_id`. What is not stored here is left to providers of the caller's
    /// protocol, which may store it themselves.
    fn continue_conversation(&mut self, models: Vec<Model>) -> Result<Vec<Model>, Box<WireError>> {
        let stored = self.inbound.previous_response.as_deref().and_then(|id| self.shared.responses.get(id, &self.key));
        if let Some(before) = stored {
            let body = continued(&self.inbound.body, &before);
            let body = body.ok_or_else(|| Box::new(WireError::new(FaultKind::InvalidRequest, "`input` is invalid")))?;
            self.inbound.body = Bytes::from(body);
            return Ok(models);
        }
        let Some(error) = conversation_elsewhere(&self.inbound) else { return Ok(models) };
        let native: Vec<Model> =
            models.into_iter().filter(|model| model.protocol() == self.inbound.protocol()).collect();
        if native.is_empty() { Err(error) } else { Ok(native) }
    }

    async fn serve(mut self, models: Vec<Model>, options: &TranslateOptions) -> HttpResponse {
        let protocol = self.inbound.protocol();
        let models = self.shared.health.order(models, health_name);
        let count = models.len();
        let mut last = None;
        for (number, model) in models.into_iter().enumerate() {
            let retries = if number + 1 == count { self.active.settings.retries } else { 0 };
            let failed = match self.attempt(&model, options, retries).await {
                Ok(answering) if answering.translation.is_stream() => match self.stream(&model, answering).await {
                    Ok(response) => return response,
                    Err((relay, failed)) => {
                        self = *relay;
                        failed
                    }
                },
                Ok(answering) => match self.whole(&model, answering).await {
                    Ok(response) => return response,
                    Err(failed) => failed,
                },
                Err(failed) => failed,
            };
            let should_fall_back = failed.should_fall_back;
            last = Some(failed);
            if !should_fall_back {
                break;
            }
        }
        let none = || Failed {
            response: reply::error(protocol, FaultKind::NotFound, "the route has no models"),
            message: "the route has no models".to_owned(),
            should_fall_back: false,
        };
        let Failed { response, message, .. } = last.unwrap_or_else(none);
        let status = response.status().as_u16();
        let end = End { outcome: "failed", status, error: Some(message), ..End::default() };
        finished(&mut self.entry, protocol, end, response).await
    }

    /// Translates the request for a model and sends it.
    async fn attempt(
        &mut self,
        model: &Model,
        options: &TranslateOptions,
        retries: usize,
    ) -> Result<Answering, Failed> {
        let protocol = self.inbound.protocol();
        let translation = self.translate(model, options).await.map_err(|error| Failed {
            response: reply::of_translated(error.to_response(protocol)),
            message: error.to_string(),
            should_fall_back: matches!(error, TranslateError::Loss(_)),
        })?;
        let (headers, dropped) = self.inbound.headers_for(model.protocol());
        let changes: Vec<Change> = translation.changes().iter().cloned().chain(dropped).collect();
        self.entry.planned(model, &translation, changes.clone());
        let forward = ForwardOptions::default().with_retries(retries).with_headers(headers);
        let started = Instant::now();
        let sent = self.active.client.forward(&translation, model, &forward).await;
        match sent {
            Ok(upstream) => {
                self.entry.attempted(model, started.elapsed(), upstream.retries, None);
                Ok(Answering { translation, upstream: Box::new(upstream), changes })
            }
            Err(error) => {
                let failed = failed(&translation, &error);
                self.shared.health.record(&health_name(model), outcome(&error.error));
                self.entry.attempted(model, started.elapsed(), error.retries, Some(failed.message.clone()));
                Err(failed)
            }
        }
    }

    async fn translate(&self, model: &Model, options: &TranslateOptions) -> Result<Translation, TranslateError> {
        let protocol = self.inbound.protocol();
        if self.inbound.body.len() < BLOCKING_BYTES {
            return Translation::new(&self.inbound.body, protocol, model, options);
        }
        let (body, model, options) = (self.inbound.body.clone(), model.clone(), options.clone());
        let done = tokio::task::spawn_blocking(move || Translation::new(&body, protocol, &model, &options)).await;
        done.unwrap_or_else(|error| Err(TranslateError::Json(error.to_string())))
    }

    /// A whole answer.
    async fn whole(&mut self, model: &Model, answering: Answering) -> Result<HttpResponse, Failed> {
        let Answering { translation, upstream, .. } = answering;
        let carried = carried(&upstream);
        let started = Instant::now();
        let body = upstream.bytes().await;
        self.entry.waited(started.elapsed());
        let body = match body {
            Ok(body) => body,
            Err(error) => return Err(self.broke(model, &error)),
        };
        let answer = if body.len() < BLOCKING_BYTES {
            translation.response(&body)
        } else {
            let done = tokio::task::spawn_blocking(move || translation.response(&body)).await;
            done.unwrap_or_else(|error| Err(TranslateError::Json(error.to_string())))
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let why = format!("the provider's response cannot be read: {error}");
                let unreadable = SendError::Unreadable { content_type: String::new(), why };
                return Err(self.broke(model, &unreadable));
            }
        };
        self.shared.health.record(&health_name(model), Outcome::Success);
        self.entry.sent(&answer.body);
        let end = End { outcome: "answered", status: 200, usage: answer.usage, repairs: answer.changes, error: None };
        let body = Bytes::from(answer.body);
        let response = reply::with_body(200, "application/json", body.clone());
        let mut response = finished(&mut self.entry, self.inbound.protocol(), end, response).await;
        if !response.status().is_success() {
            return Ok(response);
        }
        if self.inbound.storage == Storage::Stored
            && let Ok(text) = std::str::from_utf8(&body)
        {
            self.shared.responses.put(&self.key, &self.inbound.body, text);
        }
        if self.inbound.report == ReportPlace::Body {
            let reported = with_report(&body, &serde_json::to_string(&self.entry.report).unwrap_or_default());
            *response.body_mut() = reported.into();
        }
        if let Some(request) = self.fingerprint {
            self.shared.cache.put(request, body);
        }
        for (name, value) in &carried {
            reply::put(&mut response, name, value);
        }
        Ok(response)
    }

    /// The provider's answer broke off before the caller got anything.
    fn broke(&mut self, model: &Model, error: &SendError) -> Failed {
        self.shared.health.record(&health_name(model), Outcome::Failure);
        if let Some(attempt) = self.entry.report.attempts.last_mut() {
            attempt.error = Some(error.to_string());
        }
        let response = reply::wire_error(
            self.inbound.protocol(),
            &WireError { status: 502, ..WireError::new(FaultKind::Server, error.to_string()) },
        );
        Failed { response, message: error.to_string(), should_fall_back: true }
    }

    /// A streamed answer. The next model is tried as long as no byte for the caller has arrived.
    async fn stream(mut self, model: &Model, answering: Answering) -> Result<HttpResponse, (Box<Self>, Failed)> {
        let protocol = self.inbound.protocol();
        let Answering { translation, mut upstream, changes } = answering;
        let carried = carried(&upstream);
        let mut translated = translation.stream();
        let started = Instant::now();
        let first = loop {
            match upstream.chunk().await {
                Some(Ok(chunk)) => {
                    let bytes = match translated.push(&chunk) {
                        Cow::Borrowed(_) => chunk,
                        Cow::Owned(bytes) => Bytes::from(bytes),
                    };
                    if !bytes.is_empty() {
                        break Ok((bytes, Source::Idle(upstream), Some(translated), None));
                    }
                }
                Some(Err(error)) => break Err(error),
                None => {
                    let mut end = translated.finish();
                    let bytes = Bytes::from(std::mem::take(&mut end.bytes));
                    break match &end.error {
                        Some(_) => Err(SendError::Cut(Box::default())),
                        None => Ok((bytes, Source::Ended, None, Some(end))),
                    };
                }
            }
        };
        self.entry.waited(started.elapsed());
        let (bytes, source, translated, end) = match first {
            Ok(first) => first,
            Err(error) => {
                let failed = self.broke(model, &error);
                return Err((Box::new(self), failed));
            }
        };
        self.shared.health.record(&health_name(model), Outcome::Success);
        self.entry.report.changes = changes;
        self.entry.report.status = 200;
        if let Err(error) = self.entry.begin().await {
            return Ok(reply::error(protocol, FaultKind::Overloaded, &error.to_string()));
        }
        let capture = (self.inbound.storage == Storage::Stored).then(|| Capture {
            shared: Arc::clone(&self.shared),
            key: self.key.clone(),
            request: self.inbound.body.clone(),
            tail: Vec::new(),
            is_found: false,
        });
        let mut response = reply::with_body(200, translation.stream_content_type(), Bytes::new());
        put_report(&mut response, &self.entry);
        for (name, value) in &carried {
            reply::put(&mut response, name, value);
        }
        reply::put(&mut response, "cache-control", "no-cache");
        // nginx buffers a response without this header, which defeats streaming.
        reply::put(&mut response, "x-accel-buffering", "no");
        let heartbeat = Heartbeat::of(protocol, self.active.settings.heartbeat);
        let relay = StreamRelay {
            upstream: source,
            translated,
            ready: Some(bytes),
            entry: self.entry,
            heartbeat,
            capture,
            end,
        };
        *response.body_mut() = relay.into_body();
        Ok(response)
    }
}

fn carried(upstream: &Upstream) -> Vec<(String, String)> {
    let headers = upstream.headers().iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    carried_headers(headers)
}

/// The name under which the health of a model is known.
fn health_name(model: &Model) -> String {
    format!("{}:{}/{}", model.provider().id, model.surface().id, model.id())
}

fn failed(translation: &Translation, error: &ForwardError) -> Failed {
    let response = match &error.refusal {
        Some(refusal) => {
            let headers = refusal.header_pairs();
            reply::of_translated(translation.error(refusal.status.as_u16(), &headers, &refusal.body))
        }
        None => reply::wire_error(translation.source(), &gateway_error(&error.error)),
    };
    Failed { response, message: error.to_string(), should_fall_back: error.error.should_fall_back() }
}

/// An error without a response of the provider.
pub(crate) fn gateway_error(error: &SendError) -> WireError {
    let (status, kind) = match error {
        SendError::FirstByteTimeout(_) | SendError::IdleTimeout(_) | SendError::Deadline(_) => {
            (504, FaultKind::Timeout)
        }
        SendError::MissingKey { .. } | SendError::Credentials { .. } | SendError::Address(_) => {
            (503, FaultKind::Server)
        }
        SendError::Loss(_)
        | SendError::Connection(_)
        | SendError::TooLarge(_)
        | SendError::Cut(_)
        | SendError::Unreadable { .. }
        | SendError::Provider(_)
        | SendError::AllModelsFailed(_)
        | _ => (502, FaultKind::Server),
    };
    WireError { status, ..WireError::new(kind, error.to_string()) }
}

fn outcome(error: &SendError) -> Outcome {
    let SendError::Provider(provider) = error else { return Outcome::Failure };
    match provider.kind {
        FaultKind::RateLimit => Outcome::RateLimited(provider.retry_after_ms.map(std::time::Duration::from_millis)),
        FaultKind::Overloaded | FaultKind::Server | FaultKind::Timeout => Outcome::Failure,
        FaultKind::InvalidRequest
        | FaultKind::Authentication
        | FaultKind::Billing
        | FaultKind::Permission
        | FaultKind::NotFound
        | FaultKind::TooLarge
        | FaultKind::ContextLength
        | FaultKind::ContentFilter
        | FaultKind::Other(_) => Outcome::Success,
    }
}

/// A JSON object with a further member.
fn with_report(body: &[u8], report: &str) -> Vec<u8> {
    let trimmed = body.trim_ascii_end();
    let Some(head) = trimmed.strip_suffix(b"}") else { return body.to_vec() };
    let separator: &[u8] = if head.trim_ascii_end().ends_with(b"{") { b"" } else { b"," };
    [head, separator, b"\"polywire\":", report.as_bytes(), b"}"].concat()
}
