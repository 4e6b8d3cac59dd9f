//! The report of one request: plan, changes, attempts, timings. It has content only if that is recorded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use polywire::{Change, Effect, Plan};
use serde::Serialize;
use serde_json::{Value, json};

/// The report of one request.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) id: String,
    /// Unix milliseconds.
    pub(crate) received_at: i64,
    /// The id of the gateway key; empty without one.
    pub(crate) key: String,
    pub(crate) protocol: String,
    /// The model in the request.
    pub(crate) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) route: Option<String>,
    pub(crate) stream: bool,
    pub(crate) status: u16,
    pub(crate) outcome: &'static str,
    pub(crate) attempts: Vec<Attempt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<Value>,
    /// Changes on the way to the provider.
    pub(crate) changes: Vec<Change>,
    /// Changes and repairs on the way back.
    pub(crate) repairs: Vec<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Tokens>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    pub(crate) timings: Timings,
    /// The name of the structured output, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response_format: Option<String>,
    #[serde(skip)]
    pub(crate) trace_parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Content>,
}

/// A request to a provider.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Attempt {
    pub(crate) provider: String,
    /// The provider's name in telemetry.
    #[serde(skip)]
    pub(crate) telemetry_name: String,
    pub(crate) model: String,
    pub(crate) protocol: String,
    pub(crate) retries: usize,
    pub(crate) ms: f64,
    /// Why the next model was tried, or why the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    /// The provider did not report tokens; they are estimated from sizes.
    pub(crate) estimated: bool,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
#[expect(clippy::struct_field_names, reason = "the unit is part of the names in the report")]
pub(crate) struct Timings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_byte_ms: Option<f64>,
    pub(crate) total_ms: f64,
    /// The time that no provider took.
    pub(crate) overhead_ms: f64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Content {
    pub(crate) request: String,
    pub(crate) sent: String,
    pub(crate) response: String,
}

impl Report {
    /// The numbers of all changes, of those that accept more, and of those that accept less.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let all = || self.changes.iter().chain(&self.repairs);
        let with = |effect: Effect| all().filter(|change| change.effect == effect).count();
        (all().count(), with(Effect::Wider), with(Effect::Narrower))
    }

    /// The header `x-polywire-changes`.
    pub(crate) fn header(&self) -> String {
        let (all, wider, narrower) = self.counts();
        format!("{all}; narrower={narrower}; wider={wider}")
    }
}

/// What was decided, without lenses and bodies.
pub(crate) fn plan_summary(plan: &Plan) -> Value {
    let tools: Vec<Value> = plan
        .tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "wire_name": tool.wire_name, "strict": tool.strict, "lens": tool.lens.is_some()})
        })
        .collect();
    let output = plan
        .output
        .as_ref()
        .map(|output| json!({"strategy": output.strategy, "strict": output.strict, "lens": output.lens.is_some()}));
    json!({
        "provider": plan.provider, "model": plan.model, "protocol": plan.protocol.name(), "url": plan.endpoint.url,
        "tools": tools, "output": output,
    })
}

/// The most recent requests.
#[derive(Debug)]
pub(crate) struct Recent {
    limit: usize,
    reports: Mutex<Reports>,
}

#[derive(Debug, Default)]
struct Reports {
    by_id: BTreeMap<String, Arc<Report>>,
    order: VecDeque<String>,
}

impl Recent {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), reports: Mutex::default() }
    }

    pub(crate) fn add(&self, report: Arc<Report>) {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        reports.order.push_back(report.id.clone());
        reports.by_id.insert(report.id.clone(), report);
        while reports.order.len() > self.limit {
            if let Some(oldest) = reports.order.pop_front() {
                reports.by_id.remove(&oldest);
            }
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Report>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner).by_id.get(id).cloned()
    }

    /// The newest reports, newest first; those of one key where a key is given.
    pub(crate) fn newest(&self, count: usize, key: Option<&str>) -> Vec<Arc<Report>> {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = reports.order.iter().rev().filter_map(|id| reports.by_id.get(id));
        newest.filter(|report| key.is_none_or(|key| report.key == key)).take(count).cloned().collect()
    }
}
