//! OpenTelemetry: a span and measurements for every request, with the `gen_ai` names of the semantic conventions, sent by OTLP over HTTP.
//! Off unless the environment names an endpoint. Spans have no content.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use crate::report::Report;

/// The variables that name an endpoint.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
const SERVICE: &str = "polywire-gateway";

/// Exporters of spans and metrics.
#[derive(Debug)]
pub(crate) struct Telemetry {
    traces: SdkTracerProvider,
    tracer: SdkTracer,
    metrics: SdkMeterProvider,
    tokens: Histogram<u64>,
    duration: Histogram<f64>,
}

impl Telemetry {
    /// The exporters, if the process's environment names an endpoint. One that cannot be made is reported and left out.
    pub(crate) fn from_env() -> Option<Self> {
        let is_named = |name: &&&str| std::env::var_os(**name).is_some_and(|value| !value.is_empty());
        ENDPOINTS.iter().find(is_named)?;
        match Self::new() {
            Ok(telemetry) => Some(telemetry),
            Err(error) => {
                crate::log::event("telemetry", &error.to_string());
                None
            }
        }
    }

    fn new() -> anyhow::Result<Self> {
        let resource = Resource::builder().with_service_name(SERVICE).build();
        let spans = SpanExporter::builder().with_http().build()?;
        let traces = SdkTracerProvider::builder().with_batch_exporter(spans).with_resource(resource.clone()).build();
        let measurements = MetricExporter::builder().with_http().build()?;
        let metrics = SdkMeterProvider::builder().with_periodic_exporter(measurements).with_resource(resource).build();
        let meter = metrics.meter(SERVICE);
        Ok(Self {
            tracer: traces.tracer(SERVICE),
            traces,
            tokens: meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}").build(),
            duration: meter.f64_histogram("gen_ai.server.request.duration").with_unit("s").build(),
            metrics,
        })
    }

    /// Records a finished request.
    pub(crate) fn record(&self, report: &Report) {
        let last = report.attempts.last();
        let mut common = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.request.model", report.model.clone()),
        ];
        if let Some(attempt) = last {
            common.push(KeyValue::new("gen_ai.provider.name", attempt.telemetry_name.clone()));
            common.push(KeyValue::new("gen_ai.response.model", attempt.model.clone()));
        }
        let total = Duration::try_from_secs_f64(report.timings.total_ms / 1e3).unwrap_or_default();
        self.duration.record(total.as_secs_f64(), &common);
        let mut attributes = common.clone();
        if let Some(usage) = report.usage {
            for (kind, count) in [("input", usage.input), ("output", usage.output)] {
                let labels: Vec<KeyValue> =
                    common.iter().cloned().chain([KeyValue::new("gen_ai.token.type", kind)]).collect();
                self.tokens.record(count, &labels);
            }
            attributes.push(KeyValue::new("gen_ai.usage.input_tokens", integer(usage.input)));
            attributes.push(KeyValue::new("gen_ai.usage.output_tokens", integer(usage.output)));
        }
        let (changes, wider, narrower) = report.counts();
        attributes.extend([
            KeyValue::new("polywire.request.id", report.id.clone()),
            KeyValue::new("polywire.protocol", report.protocol.clone()),
            KeyValue::new("polywire.outcome", report.outcome),
            KeyValue::new("polywire.changes", integer(changes as u64)),
            KeyValue::new("polywire.changes.wider", integer(wider as u64)),
            KeyValue::new("polywire.changes.narrower", integer(narrower as u64)),
            KeyValue::new("polywire.attempts", integer(report.attempts.len() as u64)),
            KeyValue::new("http.response.status_code", i64::from(report.status)),
        ]);
        if let Some(name) = &report.response_format {
            attributes.push(KeyValue::new("gen_ai.output.type", "json"));
            attributes.push(KeyValue::new("gen_ai.response_format.name", name.clone()));
        }
        if report.error.is_some() {
            attributes.push(KeyValue::new("error.type", report.status.to_string()));
        }
        let start = UNIX_EPOCH + Duration::from_millis(u64::try_from(report.received_at).unwrap_or_default());
        self.span(report, attributes, start, start + total);
    }

    fn span(&self, report: &Report, attributes: Vec<KeyValue>, start: SystemTime, end: SystemTime) {
        let builder = self
            .tracer
            .span_builder(format!("chat {}", report.model))
            .with_kind(SpanKind::Server)
            .with_start_time(start)
            .with_attributes(attributes);
        let parent = match report.trace_parent.as_deref().and_then(parse_trace_parent) {
            Some(parent) => Context::new().with_remote_span_context(parent),
            None => Context::new(),
        };
        let mut span = self.tracer.build_with_context(builder, &parent);
        if let Some(error) = &report.error {
            span.set_status(Status::error(error.clone()));
        }
        span.end_with_timestamp(end);
    }

    /// Sends what is waiting. Blocks for at most some seconds.
    pub(crate) fn shutdown(&self) {
        // There is nobody left to tell about an endpoint that is gone.
        let _ = self.traces.shutdown();
        let _ = self.metrics.shutdown();
    }
}

/// The span of a `traceparent` header.
pub(crate) fn parse_trace_parent(text: &str) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    (version == "00" && context.is_valid()).then_some(context)
}

fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::parse_trace_parent;

    #[test]
    fn a_trace_parent_is_read_or_left_out() {
        assert!(parse_trace_parent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").is_some());
        for bad in [
            "",
            "00-0-0-0",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        ] {
            assert!(parse_trace_parent(bad).is_none(), "{bad}");
        }
    }
}
