//! Sends one plan, with retries.

use std::sync::Arc;
use std::time::Instant;

use polywire_wire::{Event, Request};
use tracing::{Instrument as _, Span};

use super::address::Destination;
use super::blocking::BlockingTask;
use super::error::SendError;
use super::exchange::{Exchange, ReadSettings, ResponseChunk};
use super::reader::Received;
use super::tries::{ProviderPermit, RetryState, TimeoutKind};
use super::{Client, trace};
use crate::catalog::Model;
use crate::plan::Plan;

/// The handling of an interrupted response after events were passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replay {
    /// The request may be sent again: the consumer discards earlier events on [`SendStep::Restart`].
    Allowed,
    /// The request is not sent again: the caller has already received events.
    Forbidden,
}

/// A plan that is being sent.
#[derive(Debug)]
pub(super) struct Sending {
    client: Client,
    pub(super) plan: Plan,
    destination: Destination,
    settings: ReadSettings,
    tries: RetryState,
    replay: Replay,
    has_emitted_events: bool,
    open: Option<OpenExchange>,
    span: Span,
}

/// The current exchange and its permit.
#[derive(Debug)]
struct OpenExchange {
    exchange: Exchange,
    permit: ProviderPermit,
}

/// A step of sending.
#[derive(Debug)]
pub(super) enum SendStep {
    Events(Vec<Event>),
    /// The request is sent again; earlier events are void.
    Restart,
    End(Vec<Event>, Box<Received>),
}

impl Client {
    /// Plans a request on a blocking thread.
    pub(super) fn spawn_planning(
        &self,
        request: &Request,
        model: &Model,
        until: Instant,
    ) -> BlockingTask<Result<Plan, SendError>> {
        let (planner, request, model) = (Arc::clone(&self.shared.planner), request.clone(), model.clone());
        BlockingTask::spawn(until, self.deadline(), move || planner.plan(&request, &model).map_err(SendError::Loss))
    }

    /// Prepares to send a plan. The request is sent by the first step.
    pub(super) async fn prepare_sending(
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
            settings: ReadSettings {
                stream: request.stream,
                max_response_bytes: self.options().max_response_bytes,
                raw_bytes: self.options().raw_bytes,
            },
            tries: RetryState::new(&model.provider().id, until),
            replay,
            has_emitted_events: false,
            open: None,
            span,
        })
    }
}

impl Sending {
    /// Events were passed on that cannot be withdrawn, so neither retries nor other models are possible.
    pub(super) fn is_committed(&self) -> bool {
        self.has_emitted_events && self.replay == Replay::Forbidden
    }

    /// The next step. An error is final.
    pub(super) async fn next(&mut self) -> Result<SendStep, SendError> {
        let span = self.span.clone();
        async {
            let step = self.step().await;
            match &step {
                Ok(SendStep::End(_, received)) => {
                    trace::record_response(&self.span, received, self.client.options().record);
                }
                Err(error) => trace::record_error(&self.span, error, self.tries.retries),
                Ok(SendStep::Events(_) | SendStep::Restart) => {}
            }
            step
        }
        .instrument(span)
        .await
    }

    async fn step(&mut self) -> Result<SendStep, SendError> {
        loop {
            let error = match self.next_chunk().await {
                Ok(ResponseChunk::Events(events)) => {
                    self.has_emitted_events = true;
                    return Ok(SendStep::Events(events));
                }
                Ok(ResponseChunk::End(events, mut received)) => {
                    received.retries = self.tries.retries;
                    self.open = None;
                    return Ok(SendStep::End(events, received));
                }
                Err(error) => error,
            };
            self.open = None;
            if self.is_committed() {
                return Err(error);
            }
            self.tries.wait_for_retry(&self.client, error).await?;
            if std::mem::take(&mut self.has_emitted_events) {
                return Ok(SendStep::Restart);
            }
        }
    }

    /// The next chunk of the current exchange, or of a new one.
    async fn next_chunk(&mut self) -> Result<ResponseChunk, SendError> {
        let open = if let Some(open) = &mut self.open {
            open
        } else {
            let permit = self.tries.acquire(&self.client).await?;
            let transport = self.client.shared.transport.as_ref();
            let opened = Exchange::open(transport, &self.plan, &self.destination, self.settings);
            let exchange = permit.within(&self.client, TimeoutKind::FirstByte, opened).await?;
            self.span.record("http.response.status_code", exchange.status());
            self.open.insert(OpenExchange { exchange, permit })
        };
        loop {
            // The idle timeout applies to every chunk, even if it completes no event.
            match open.permit.within(&self.client, TimeoutKind::NextChunk, open.exchange.next()).await? {
                ResponseChunk::Events(events) if events.is_empty() => {}
                chunk @ (ResponseChunk::Events(_) | ResponseChunk::End(..)) => return Ok(chunk),
            }
        }
    }
}
