//! Spans of requests, with the names of OpenTelemetry's conventions for generative AI. Without a subscriber they cost nothing.

use polywire_wire::{Output, Request};
use tracing::Span;
use tracing::field::Empty;

use super::error::SendError;
use super::options::SpanContent;
use super::reader::Received;
use crate::catalog::Model;

/// The span of one request to one model, with all its retries.
pub(super) fn span(request: &Request, model: &Model, record: SpanContent) -> Span {
    let provider = model.provider();
    let span = tracing::info_span!(
        "gen_ai.client",
        otel.name = %format_args!("chat {}", model.id()),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider.telemetry.as_deref().unwrap_or(&provider.id),
        gen_ai.request.model = model.id(),
        gen_ai.request.max_tokens = Empty,
        gen_ai.request.temperature = Empty,
        gen_ai.request.top_p = Empty,
        gen_ai.request.seed = Empty,
        "gen_ai.output.type" = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.system_instructions = Empty,
        gen_ai.output.messages = Empty,
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        server.address = Empty,
        server.port = Empty,
        http.response.status_code = Empty,
        "error.type" = Empty,
        polywire.retries = Empty,
        polywire.trace_parent = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    if let Some(limit) = request.max_tokens {
        span.record("gen_ai.request.max_tokens", limit);
    }
    if let Some(temperature) = request.temperature {
        span.record("gen_ai.request.temperature", temperature);
    }
    if let Some(top_p) = request.top_p {
        span.record("gen_ai.request.top_p", top_p);
    }
    if let Some(seed) = request.seed {
        span.record("gen_ai.request.seed", seed);
    }
    let kind = match request.output {
        Some(Output::Schema(_) | Output::Json) => "json",
        None => "text",
    };
    span.record("gen_ai.output.type", kind);
    if record == SpanContent::Full {
        span.record("gen_ai.input.messages", json(&request.messages));
        if !request.system.is_empty() {
            span.record("gen_ai.system_instructions", json(&request.system));
        }
    }
    span
}

pub(super) fn record_response(span: &Span, received: &Received, record: SpanContent) {
    if span.is_disabled() {
        return;
    }
    let response = &received.response;
    span.record("gen_ai.response.id", response.id.as_str());
    span.record("gen_ai.response.model", response.model.as_str());
    span.record("gen_ai.response.finish_reasons", json(&[&response.stop]));
    if let Some(usage) = &response.usage {
        span.record("gen_ai.usage.input_tokens", usage.input_tokens);
        span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    }
    span.record("polywire.retries", received.retries);
    if record == SpanContent::Full {
        span.record("gen_ai.output.messages", json(&response.content));
    }
}

pub(super) fn record_error(span: &Span, error: &SendError, retries: usize) {
    if !span.is_disabled() {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", error.error_type().as_str());
        span.record("polywire.retries", retries);
    }
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
