//! One plan sent until there is an answer.

use std::sync::Arc;
use std::time::Instant;

use polywire_wire::{Event, Request};
use tracing::{Instrument as _, Span};

use super::address::Destination;
use super::error::SendError;
use super::exchange::{Bounds, Exchange, Piece};
use super::reader::Received;
use super::tries::{Permit, Tries, Wait};
use super::work::Work;
use super::{Client, trace};
use crate::catalog::Model;
use crate::plan::Plan;

/// Whether an answer that broke off may be asked for again although some of it was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replay {
    /// It may: nobody saw it, or who saw it is told that it begins again.
    Allowed,
    /// It may not: what was shown cannot be taken back.
    Forbidden,
}

/// A plan on its way.
#[derive(Debug)]
pub(super) struct Sending {
    client: Client,
    pub(super) plan: Plan,
    destination: Destination,
    bounds: Bounds,
    tries: Tries,
    replay: Replay,
    /// Whether something of the answer was given out.
    given: bool,
    open: Option<Open>,
    span: Span,
}

/// An exchange that goes on. The permit ends with it.
#[derive(Debug)]
struct Open {
    exchange: Exchange,
    permit: Permit,
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
    /// Decides about a request, within the time that there is for everything.
    pub(super) fn planning(&self, request: &Request, model: &Model, until: Instant) -> Work<Result<Plan, SendError>> {
        let (planner, request, model) = (Arc::clone(&self.shared.planner), request.clone(), model.clone());
        Work::begin(until, self.deadline(), move || planner.plan(&request, &model).map_err(SendError::Loss))
    }

    /// Begins to send a plan. Nothing leaves before the first step.
    pub(super) async fn sending(
        &self,
        plan: Plan,
        request: &Request,
        model: &Model,
        until: Instant,
        replay: Replay,
    ) -> Result<Sending, SendError> {
        let client = self.with_fetched_credential(&model.provider().id).await?;
        let destination = client.destination(&plan, model, request.stream)?;
        let span = trace::span(request, model, self.options().record);
        if let Some(trace_parent) = &self.call.trace_parent {
            span.record("polywire.trace_parent", trace_parent.as_str());
        }
        span.record("server.address", destination.url.host_str().unwrap_or_default());
        if let Some(port) = destination.url.port_or_known_default() {
            span.record("server.port", port);
        }
        Ok(Sending {
            client,
            plan,
            destination,
            bounds: Bounds {
                stream: request.stream,
                max_response_bytes: self.options().max_response_bytes,
                raw_bytes: self.options().raw_bytes,
            },
            tries: Tries::new(&model.provider().id, until),
            replay,
            given: false,
            open: None,
            span,
        })
    }
}

impl Sending {
    /// Whether something was shown that cannot be taken back.
    pub(super) fn is_shown(&self) -> bool {
        self.given && self.replay == Replay::Forbidden
    }

    /// The next of the answer. An error is final.
    pub(super) async fn next(&mut self) -> Result<Step, SendError> {
        let span = self.span.clone();
        async {
            let step = self.step().await;
            match &step {
                Ok(Step::End(_, received)) => trace::answered(&self.span, received, self.client.options().record),
                Err(error) => trace::failed(&self.span, error, self.tries.retries),
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
                    received.retries = self.tries.retries;
                    self.open = None;
                    return Ok(Step::End(events, received));
                }
                Err(error) => error,
            };
            self.open = None;
            if self.is_shown() {
                return Err(error);
            }
            self.tries.again(&self.client, error).await?;
            if std::mem::take(&mut self.given) {
                return Ok(Step::Restart);
            }
        }
    }

    /// The next piece of an exchange, which is begun if none goes on.
    async fn piece(&mut self) -> Result<Piece, SendError> {
        let open = if let Some(open) = &mut self.open {
            open
        } else {
            let permit = self.tries.acquire(&self.client).await?;
            let transport = self.client.shared.transport.as_ref();
            let opened = Exchange::open(transport, &self.plan, &self.destination, self.bounds);
            let exchange = permit.within(&self.client, Wait::FirstByte, opened).await?;
            self.span.record("http.response.status_code", exchange.status());
            self.open.insert(Open { exchange, permit })
        };
        loop {
            // Every chunk has its own time, whether or not an event comes of it.
            match open.permit.within(&self.client, Wait::Next, open.exchange.next()).await? {
                Piece::Events(events) if events.is_empty() => {}
                piece @ (Piece::Events(_) | Piece::End(..)) => return Ok(piece),
            }
        }
    }
}
