//! Prometheus metrics. Labels are bounded: names that callers choose never become labels.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::report::Report;
use crate::store::LedgerRow;

/// The number of models with labels of their own.
const MAX_MODELS: usize = 200;
const OTHER: &str = "other";

/// Seconds.
const DURATIONS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];
const OVERHEADS: [f64; 10] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    protocol: String,
    route: String,
    provider: String,
    model: String,
    outcome: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ModelLabels {
    provider: String,
    model: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TokenLabels {
    provider: String,
    model: String,
    direction: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct EffectLabels {
    effect: &'static str,
}

type Histograms = Family<ModelLabels, Histogram, fn() -> Histogram>;

/// The metrics of one gateway.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    tokens: Family<TokenLabels, Counter>,
    cost: Family<ModelLabels, Counter<f64, AtomicU64>>,
    changes: Family<EffectLabels, Counter>,
    retries: Family<ModelLabels, Counter>,
    first_byte: Histograms,
    duration: Histograms,
    overhead: Histogram,
    open: Gauge<i64, AtomicI64>,
    store_failures: Counter,
    models: Mutex<HashSet<ModelLabels>>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let durations: fn() -> Histogram = || Histogram::new(DURATIONS);
        let metrics = Self {
            registry: Registry::with_prefix("polywire"),
            requests: Family::default(),
            tokens: Family::default(),
            cost: Family::default(),
            changes: Family::default(),
            retries: Family::default(),
            first_byte: Family::new_with_constructor(durations),
            duration: Family::new_with_constructor(durations),
            overhead: Histogram::new(OVERHEADS),
            open: Gauge::default(),
            store_failures: Counter::default(),
            models: Mutex::default(),
        };
        metrics.registered()
    }

    fn registered(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("requests", "Requests by outcome", self.requests.clone());
        registry.register("tokens", "Tokens of answered requests", self.tokens.clone());
        registry.register("cost_usd", "Cost at list prices, where known", self.cost.clone());
        registry.register("changes", "Changes and losses by effect", self.changes.clone());
        registry.register("retries", "Requests to a provider that were sent again or elsewhere", self.retries.clone());
        registry.register("first_byte_seconds", "Time to the first byte of an answer", self.first_byte.clone());
        registry.register("duration_seconds", "Time to the end of an answer", self.duration.clone());
        registry.register("overhead_seconds", "Time of a request that no provider took", self.overhead.clone());
        registry.register("open_requests", "Requests that are being served", self.open.clone());
        registry.register(
            "store_failures",
            "Ledger rows that the store did not take at once",
            self.store_failures.clone(),
        );
        self
    }

    pub(crate) fn opened(&self) {
        self.open.inc();
    }

    pub(crate) fn store_failed(&self) {
        self.store_failures.inc();
    }

    /// Counts a finished request.
    pub(crate) fn closed(&self, report: &Report, row: &LedgerRow) {
        self.open.dec();
        let model = self.labels(&row.provider, &row.model);
        self.requests
            .get_or_create(&RequestLabels {
                protocol: row.protocol.clone(),
                route: row.route.clone(),
                provider: model.provider.clone(),
                model: model.model.clone(),
                outcome: row.outcome.clone(),
            })
            .inc();
        for (direction, count) in [("input", row.input_tokens), ("output", row.output_tokens)] {
            let labels = TokenLabels { provider: model.provider.clone(), model: model.model.clone(), direction };
            self.tokens.get_or_create(&labels).inc_by(u64::try_from(count).unwrap_or_default());
        }
        if let Some(usd) = report.cost_usd {
            self.cost.get_or_create(&model).inc_by(usd.max(0.0));
        }
        let same = row.changes - row.wider - row.narrower;
        for (effect, count) in [("wider", row.wider), ("narrower", row.narrower), ("same", same)] {
            self.changes.get_or_create(&EffectLabels { effect }).inc_by(u64::try_from(count).unwrap_or_default());
        }
        let retries = row.attempts.saturating_sub(1);
        self.retries.get_or_create(&model).inc_by(u64::try_from(retries).unwrap_or_default());
        if let Some(ms) = report.timings.first_byte_ms {
            self.first_byte.get_or_create(&model).observe(ms / 1e3);
        }
        self.duration.get_or_create(&model).observe(report.timings.total_ms / 1e3);
        self.overhead.observe(report.timings.overhead_ms / 1e3);
    }

    /// The labels of a model; those of the first models only.
    fn labels(&self, provider: &str, model: &str) -> ModelLabels {
        let labels = ModelLabels { provider: provider.to_owned(), model: model.to_owned() };
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if models.contains(&labels) {
            return labels;
        }
        if models.len() >= MAX_MODELS {
            return ModelLabels { provider: provider.to_owned(), model: OTHER.to_owned() };
        }
        models.insert(labels.clone());
        labels
    }

    /// The metrics in the `OpenMetrics` text format.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
