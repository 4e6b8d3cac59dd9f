//! One plan sent until there is an answer.

use std::sync::Arc;
use std::time::Instant;

use polywire_wire::{Event, Request};
use tracing::{Instrument as _, Span};

use super::address::Destination;
use super::error::SendError;
use super::exchange::{Bounds, Exchange, Piece, Received};
use super::tries::{Tries, Turn};
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

/// An exchange that goes on. The turn ends with it.
#[derive(Debug)]
struct Open {
    exchange: Exchange,
    turn: Turn,
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
        let (planner, request, model) = (Arc::clone(&self.planner), request.clone(), model.clone());
        Work::begin(until, self.options.deadline, move || planner.plan(&request, &model).map_err(SendError::Loss))
    }

    /// Begins to send a plan. Nothing leaves before the first step.
    pub(super) fn sending(
        &self,
        plan: Plan,
        request: &Request,
        model: &Model,
        until: Instant,
        replay: Replay,
    ) -> Result<Sending, SendError> {
        let destination = self.destination(&plan, model, request.stream)?;
        let span = trace::span(request, model, self.options.record);
        span.record("server.address", destination.url.host_str().unwrap_or_default());
        if let Some(port) = destination.url.port_or_known_default() {
            span.record("server.port", port);
        }
        Ok(Sending {
            client: self.clone(),
            plan,
            destination,
            bounds: Bounds { stream: request.stream, max_response_bytes: self.options.max_response_bytes },
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
                Ok(Step::End(_, received)) => trace::answered(&self.span, received, self.client.options.record),
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
            let turn = self.tries.turn(&self.client).await?;
            let opened = self.client.http.open(&self.plan, &self.destination, self.bounds);
            let exchange = turn.within(&self.client, opened).await?;
            self.span.record("http.response.status_code", exchange.status);
            self.open.insert(Open { exchange, turn })
        };
        open.turn.within(&self.client, open.exchange.next()).await
    }
}
