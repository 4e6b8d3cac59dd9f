//! One plan sent until there is an answer: the one loop of retries, with its waits and deadlines.

use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use polywire_wire::{Event, FaultKind, Request};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;
use tracing::{Instrument as _, Span};

use super::address::Destination;
use super::error::SendError;
use super::exchange::{Bounds, Exchange, Piece, Received};
use super::{Client, trace};
use crate::catalog::Model;
use crate::plan::Plan;

/// Whether an answer that broke off may be asked for again although some of it was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It may: nobody saw it, or who saw it is told that it begins again.
    Again,
    /// It may not: what was shown cannot be taken back.
    Once,
}

/// A plan on its way.
#[derive(Debug)]
pub(super) struct Sending {
    client: Client,
    pub(super) plan: Plan,
    destination: Destination,
    provider: String,
    bounds: Bounds,
    /// When everything must be over.
    until: Instant,
    shown: Shown,
    /// Whether something of the answer was given out.
    given: bool,
    retries: usize,
    open: Option<Open>,
    span: Span,
}

/// An exchange that goes on. The turn ends with it.
#[derive(Debug)]
struct Open {
    exchange: Exchange,
    until: Instant,
    _turn: Option<OwnedSemaphorePermit>,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Step {
    Events(Vec<Event>),
    /// The answer begins again.
    Restart,
    End(Vec<Event>, Box<Received>),
}

impl Client {
    /// Decides about a request and begins to send it. Nothing leaves before the first step.
    pub(super) fn sending(
        &self,
        request: &Request,
        model: &Model,
        until: Instant,
        shown: Shown,
    ) -> Result<Sending, SendError> {
        let plan = self.planner.plan(request, model).map_err(SendError::Loss)?;
        let destination = self.destination(&plan, model)?;
        let span = trace::span(request, model, self.options.record);
        span.record("server.address", destination.url.host_str().unwrap_or_default());
        if let Some(port) = destination.url.port_or_known_default() {
            span.record("server.port", port);
        }
        Ok(Sending {
            client: self.clone(),
            plan,
            destination,
            provider: model.provider().id.clone(),
            bounds: Bounds { stream: request.stream, most_bytes: self.options.most_bytes },
            until,
            shown,
            given: false,
            retries: 0,
            open: None,
            span,
        })
    }
}

impl Sending {
    /// Whether something was shown that cannot be taken back.
    pub(super) fn is_shown(&self) -> bool {
        self.given && self.shown == Shown::Once
    }

    /// The next of the answer. An error is final.
    pub(super) async fn next(&mut self) -> Result<Step, SendError> {
        let span = self.span.clone();
        async {
            let step = self.step().await;
            match &step {
                Ok(Step::End(_, received)) => trace::answered(&self.span, received, self.client.options.record),
                Err(error) => trace::failed(&self.span, error, self.retries),
                Ok(Step::Events(_) | Step::Restart) => {}
            }
            step
        }
        .instrument(span)
        .await
    }

    async fn step(&mut self) -> Result<Step, SendError> {
        loop {
            let error = match self.piece().await {
                Ok(Piece::Events(events)) => {
                    self.given = true;
                    return Ok(Step::Events(events));
                }
                Ok(Piece::End(events, mut received)) => {
                    received.retries = self.retries;
                    self.open = None;
                    return Ok(Step::End(events, received));
                }
                Err(error) => error,
            };
            self.open = None;
            self.pause(error).await?;
            if std::mem::take(&mut self.given) {
                return Ok(Step::Restart);
            }
        }
    }

    /// The next piece of an exchange, which is begun if none goes on.
    async fn piece(&mut self) -> Result<Piece, SendError> {
        let options = &self.client.options;
        let out_of_time = |until: Instant| {
            if until >= self.until {
                SendError::Deadline(options.deadline)
            } else {
                SendError::Timeout(options.timeout)
            }
        };
        if self.open.is_none() {
            let turn = timeout_at(self.until.into(), self.client.pace.turn(&self.provider)).await;
            let turn = turn.map_err(|_| SendError::Deadline(options.deadline))?;
            let until = self.until.min(Instant::now() + options.timeout);
            let opened =
                timeout_at(until.into(), self.client.http.open(&self.plan, &self.destination, self.bounds)).await;
            let exchange = opened.map_err(|_| out_of_time(until))??;
            self.span.record("http.response.status_code", exchange.status);
            self.open = Some(Open { exchange, until, _turn: turn });
        }
        let Some(open) = &mut self.open else { return Err(SendError::Connection("it never began".to_owned())) };
        let until = open.until;
        timeout_at(until.into(), open.exchange.next()).await.map_err(|_| out_of_time(until))?
    }

    /// Waits for the next try, if there is one.
    async fn pause(&mut self, error: SendError) -> Result<(), SendError> {
        let options = &self.client.options;
        let told = if let SendError::Provider(error) = &error { error.retry_after_ms } else { None };
        let told = told.map(Duration::from_millis);
        let wait = told.unwrap_or_else(|| backoff(options.backoff, self.retries).min(options.longest_wait));
        let now = Instant::now();
        let crowded = matches!(&error, SendError::Provider(error) if matches!(error.kind, FaultKind::RateLimit | FaultKind::Overloaded));
        if let Some(told) = told.filter(|told| crowded && *told <= options.longest_wait) {
            // Who asks one to wait asks all.
            self.client.pace.hush(&self.provider, now + told);
        }
        let last = self.retries >= options.retries || self.is_shown();
        if !error.retryable() || last || wait > options.longest_wait || now + wait >= self.until {
            return Err(error);
        }
        self.retries += 1;
        tracing::debug!(error.kind = error.word(), wait_ms = wait.as_millis(), "sent again");
        tokio::time::sleep(wait).await;
        Ok(())
    }
}

/// Twice as long as before, with up to a quarter more, so that many clients do not come at once.
fn backoff(first: Duration, retries: usize) -> Duration {
    let doubled = first.saturating_mul(1 << retries.min(16));
    let dice = u32::try_from(RandomState::new().hash_one(retries) % 256).unwrap_or_default();
    doubled.saturating_add(doubled / 1024 * dice)
}
