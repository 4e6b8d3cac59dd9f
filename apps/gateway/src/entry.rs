//! The record of one request while it is served, and its end: ledger, limits, metrics, recent requests, log. A request whose caller
//! went away is recorded too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use polywire::catalog::{Cost, Price, ServeLog, ServeRecord, ServeStoreFailure};
use polywire::wire::{FaultKind, Output, Usage, WireError};
use polywire::{Change, Model, Translation};
use tokio::sync::OwnedSemaphorePermit;

use crate::caller::Caller;
use crate::clock::unix_ms;
use crate::inbound::Inbound;
use crate::key::random_hex;
use crate::limits::{Admission, Exceeded, OnUnreachable};
use crate::log;
use crate::report::{Attempt, Content, Report, Timings, Tokens, plan_summary};
use crate::state::{Active, Shared};
use crate::store::{LedgerRow, OnFailure, StoreError};

/// Bytes of a recorded body. All recent requests are in memory.
const MAX_CONTENT: usize = 64 << 10;
/// Bytes of a token, roughly.
const BYTES_PER_TOKEN: usize = 4;
/// Characters of a model name in the ledger. Callers choose it.
const MAX_NAME: usize = 200;

/// The record of one request.
#[derive(Debug)]
pub(crate) struct Entry {
    shared: Arc<Shared>,
    active: Arc<Active>,
    pub(crate) report: Report,
    started: Instant,
    /// The time that providers took.
    upstream: Duration,
    price: Option<Price>,
    admission: Option<Admission>,
    /// Held until the request has ended.
    permit: Option<OwnedSemaphorePermit>,
    request_bytes: usize,
    response_bytes: usize,
    /// Events of a stream. Providers send about one for each token, in far more bytes than the token has.
    events: usize,
    stage: Stage,
    /// The row of a request that has ended, until it is written and counted.
    ended: Option<LedgerRow>,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing of it is in the ledger.
    New,
    /// A stream has an open row in the ledger, and its caller may have bytes of it.
    Begun,
    /// Its row is final.
    Closed,
}

/// How a request ended.
#[derive(Debug, Default)]
pub(crate) struct End {
    pub(crate) outcome: &'static str,
    pub(crate) status: u16,
    pub(crate) usage: Option<Usage>,
    pub(crate) repairs: Vec<Change>,
    pub(crate) error: Option<String>,
}

impl Entry {
    /// Begins a record, or says why the request is not admitted.
    pub(crate) async fn open(
        shared: &Arc<Shared>,
        active: &Arc<Active>,
        caller: &Caller,
        inbound: &Inbound,
    ) -> Result<Self, (Box<Self>, WireError)> {
        let protocol = inbound.protocol().name();
        let mut entry = Self::new(shared, active, caller, protocol, &inbound.model, inbound.body.len());
        entry.report.stream = inbound.stream;
        let trace_parent = inbound.trace_parent.as_ref().and_then(|value| value.to_str().ok());
        entry.report.trace_parent = trace_parent.map(str::to_owned);
        if active.settings.record == ServeRecord::Content {
            entry.report.content = Some(Content { request: shown(&inbound.body), ..Content::default() });
        }
        match entry.admit(caller).await {
            Ok(()) => Ok(entry),
            Err(error) => Err((Box::new(entry), error)),
        }
    }

    /// Begins the record of a request that is not translated.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        active: &Arc<Active>,
        caller: &Caller,
        protocol: &str,
        model: &str,
        request_bytes: usize,
    ) -> Self {
        shared.metrics.opened();
        let received_at = unix_ms();
        let random = random_hex::<8>().unwrap_or_default();
        let report = Report {
            id: format!("req_{received_at:012x}{random}"),
            received_at,
            key: caller.id().to_owned(),
            protocol: protocol.to_owned(),
            model: model.to_owned(),
            ..Report::default()
        };
        Self {
            shared: Arc::clone(shared),
            active: Arc::clone(active),
            report,
            started: Instant::now(),
            upstream: Duration::ZERO,
            price: None,
            admission: None,
            permit: None,
            request_bytes,
            response_bytes: 0,
            events: 0,
            stage: Stage::New,
            ended: None,
        }
    }

    /// Applies the limits of the gateway and of the key.
    pub(crate) async fn admit(&mut self, caller: &Caller) -> Result<(), WireError> {
        let Ok(permit) = Arc::clone(&self.shared.concurrency).try_acquire_owned() else {
            return Err(WireError::new(FaultKind::Overloaded, "the gateway serves too many requests"));
        };
        self.permit = Some(permit);
        self.check_store().await?;
        let Some(limits) = caller.limits() else { return Ok(()) };
        if !limits.allows(&self.report.model) {
            let message = format!("the key `{}` may not use the model `{}`", caller.id(), self.report.model);
            return Err(WireError::new(FaultKind::Permission, message));
        }
        let tokens = u64::try_from(self.request_bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX);
        let concurrency = self.active.settings.concurrency_per_key;
        let on_unreachable = match self.active.settings.on_store_failure {
            ServeStoreFailure::Refuse => OnUnreachable::Refuse,
            ServeStoreFailure::Serve | _ => OnUnreachable::CountHere,
        };
        match self.shared.limiter.admit(caller.id(), limits, tokens, concurrency, on_unreachable).await {
            Ok(admission) => self.admission = Some(admission),
            Err(Exceeded { what, retry_after, is_budget }) => {
                let kind = if is_budget { FaultKind::Billing } else { FaultKind::RateLimit };
                let wait = retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                return Err(WireError { retry_after_ms: wait, ..WireError::new(kind, what) });
            }
        }
        Ok(())
    }

    /// Refuses a request that could not be recorded before it costs anything, if the policy demands that.
    async fn check_store(&self) -> Result<(), WireError> {
        let is_demanded = self.active.settings.on_store_failure == ServeStoreFailure::Refuse;
        if !is_demanded || !self.shared.store.is_failing() {
            return Ok(());
        }
        let alive = self.shared.store.ping().await;
        alive.map_err(|error| WireError::new(FaultKind::Overloaded, error.to_string()))
    }

    /// The model and plan that are about to be sent.
    pub(crate) fn planned(&mut self, model: &Model, translation: &Translation, changes: Vec<Change>) {
        let plan = translation.plan();
        if let Some(Output::Schema(format)) = &translation.decoded().output {
            self.report.response_format = Some(format.name().to_owned());
        }
        self.price.clone_from(&model.row().price);
        self.report.plan = Some(plan_summary(plan));
        self.report.changes = changes;
        if let Some(content) = &mut self.report.content {
            content.sent = shown(plan.body.get().as_bytes());
        }
    }

    pub(crate) fn attempted(&mut self, model: &Model, took: Duration, retries: usize, error: Option<String>) {
        self.upstream += took;
        self.report.attempts.push(Attempt {
            provider: model.provider().id.clone(),
            telemetry_name: model.provider().telemetry.clone().unwrap_or_else(|| model.provider().id.clone()),
            model: model.id().to_owned(),
            protocol: model.protocol().name().to_owned(),
            retries,
            ms: milliseconds(took),
            error,
        });
    }

    /// Time that a provider took after its first byte.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.upstream += time;
    }

    /// Bytes that the caller gets.
    pub(crate) fn sent(&mut self, bytes: &[u8]) {
        if self.report.timings.first_byte_ms.is_none() {
            self.report.timings.first_byte_ms = Some(milliseconds(self.started.elapsed()));
        }
        self.response_bytes = self.response_bytes.saturating_add(bytes.len());
        if self.report.stream {
            self.events += bytes.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"data:")).count();
        }
        if let Some(content) = &mut self.report.content
            && content.response.len() < MAX_CONTENT
        {
            content.response.push_str(&shown(bytes));
        }
    }

    /// Writes an open row for a stream, so that a stream that was begun is counted even if this process is killed.
    pub(crate) async fn begin(&mut self) -> Result<(), StoreError> {
        let row = LedgerRow { outcome: "open".to_owned(), ..self.row(&self.tokens(None)) };
        let written = self.write(row).await;
        match &written {
            Ok(()) => self.stage = Stage::Begun,
            Err(error) => self.refuse_unrecorded(error),
        }
        written
    }

    /// Ends the request. The ledger has its row when this returns, unless the store fails and the policy is to serve. An error means that
    /// the request is refused: it is not charged.
    pub(crate) async fn finish(&mut self, end: End) -> Result<(), StoreError> {
        if self.stage == Stage::Closed {
            return Ok(());
        }
        let row = self.end(end);
        // If the caller goes away while this waits, the row is written and counted when this is dropped.
        self.ended = Some(row.clone());
        let written = self.write(row).await;
        match &written {
            Ok(()) => {
                if let Some(row) = self.ended.take() {
                    self.account(&row);
                }
            }
            Err(error) => self.refuse_unrecorded(error),
        }
        written
    }

    /// Writes a row. A failure of the store is an error only where the policy is to refuse and the caller has nothing of the answer yet.
    async fn write(&self, row: LedgerRow) -> Result<(), StoreError> {
        let is_refusable =
            self.active.settings.on_store_failure == ServeStoreFailure::Refuse && self.stage == Stage::New;
        let on_failure = if is_refusable { OnFailure::Discard } else { OnFailure::Keep };
        let written = self.shared.store.append(row, on_failure).await;
        if written.is_err() {
            self.shared.metrics.store_failed();
        }
        if is_refusable { written } else { Ok(()) }
    }

    /// Ends a request that the caller does not get because the ledger does not have it. Nobody is charged for it.
    fn refuse_unrecorded(&mut self, error: &StoreError) {
        (self.report.outcome, self.report.status) = ("refused", 503);
        self.report.error = Some(error.to_string());
        (self.report.usage, self.report.cost_usd, self.price) = (None, None, None);
        self.ended = None;
        let row = self.row(&Tokens::default());
        self.account(&row);
        self.shared.store.append_later(row);
    }

    /// Completes the report. Returns the row of the ledger.
    fn end(&mut self, end: End) -> LedgerRow {
        let is_served = self.response_bytes > 0 && !self.report.attempts.is_empty();
        let tokens = if is_served { self.tokens(end.usage.as_ref()) } else { Tokens::default() };
        let report = &mut self.report;
        (report.outcome, report.status, report.error) = (end.outcome, end.status, end.error);
        report.repairs = end.repairs;
        let total = self.started.elapsed();
        report.timings = Timings {
            total_ms: milliseconds(total),
            overhead_ms: milliseconds(total.saturating_sub(self.upstream)),
            ..report.timings
        };
        if is_served {
            report.usage = Some(tokens);
            report.cost_usd = Cost::of(self.price.as_ref(), Some(&usage_of(tokens))).usd();
        }
        self.row(&tokens)
    }

    /// Settles limits, counts, and keeps the report.
    fn account(&mut self, row: &LedgerRow) {
        self.stage = Stage::Closed;
        self.permit = None;
        if let Some(admission) = &self.admission {
            let tokens = row.input_tokens.saturating_add(row.output_tokens);
            admission.settle(u64::try_from(tokens).unwrap_or_default(), row.cost_nanos.unwrap_or_default());
        }
        self.shared.metrics.closed(&self.report, row);
        if let Some(telemetry) = &self.shared.telemetry {
            telemetry.record(&self.report);
        }
        if self.active.settings.log == ServeLog::Json {
            log::request(&self.report);
        }
        self.shared.recent.add(Arc::new(self.report.clone()));
    }

    /// The tokens that the provider reported, or an estimate.
    fn tokens(&self, usage: Option<&Usage>) -> Tokens {
        let estimate = |bytes: usize| u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX);
        match usage {
            Some(usage) => Tokens {
                input: usage.input_tokens,
                output: usage.output_tokens,
                cache_read: usage.cache_read_tokens,
                cache_write: usage.cache_write_tokens,
                estimated: false,
            },
            None => Tokens {
                input: estimate(self.request_bytes),
                output: if self.report.stream {
                    u64::try_from(self.events).unwrap_or(u64::MAX)
                } else {
                    estimate(self.response_bytes)
                },
                estimated: true,
                ..Tokens::default()
            },
        }
    }

    fn row(&self, tokens: &Tokens) -> LedgerRow {
        let report = &self.report;
        let (changes, wider, narrower) = report.counts();
        let last = report.attempts.last();
        let cost = Cost::of(self.price.as_ref(), Some(&usage_of(*tokens))).usd();
        let attempts = report.attempts.iter().map(|attempt| attempt.retries + 1).sum::<usize>();
        LedgerRow {
            id: report.id.clone(),
            received_at: report.received_at,
            key: report.key.clone(),
            protocol: report.protocol.clone(),
            asked: recordable(&report.model),
            provider: last.map(|attempt| attempt.provider.clone()).unwrap_or_default(),
            model: last.map(|attempt| recordable(&attempt.model)).unwrap_or_default(),
            route: report.route.clone().unwrap_or_default(),
            status: i64::from(report.status),
            outcome: report.outcome.to_owned(),
            stream: report.stream,
            attempts: whole(attempts),
            input_tokens: i64::try_from(tokens.input).unwrap_or(i64::MAX),
            output_tokens: i64::try_from(tokens.output).unwrap_or(i64::MAX),
            estimated: tokens.estimated,
            cost_nanos: cost.map(nanos),
            changes: whole(changes),
            wider: whole(wider),
            narrower: whole(narrower),
            first_byte_ms: report.timings.first_byte_ms.map(rounded),
            total_ms: rounded(report.timings.total_ms),
            overhead_us: rounded(report.timings.overhead_ms * 1e3),
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.stage == Stage::Closed {
            return;
        }
        let end = End { outcome: "cancelled", status: 499, ..End::default() };
        let row = self.ended.take().unwrap_or_else(|| self.end(end));
        self.account(&row);
        // A row that was written already is not written again.
        self.shared.store.append_later(row);
    }
}

/// A text that every store takes: Postgres refuses zero bytes, and a row that it refuses would hold up all others.
fn recordable(name: &str) -> String {
    name.chars().filter(|character| *character != '\0').take(MAX_NAME).collect()
}

fn usage_of(tokens: Tokens) -> Usage {
    Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_read_tokens: tokens.cache_read,
        cache_write_tokens: tokens.cache_write,
        ..Usage::default()
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn nanos(usd: f64) -> i64 {
    rounded(usd * 1e9)
}

#[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
fn rounded(value: f64) -> i64 {
    value.round() as i64
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..MAX_CONTENT).unwrap_or(bytes)).into_owned()
}
