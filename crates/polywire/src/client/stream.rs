//! Streamed responses with fallback models: events in the caller's tool names and schemas, and the whole response at the end.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream;
use polywire_wire::{Event, Request};

use super::blocking::BlockingTask;
use super::error::{Failed, SendError};
use super::reader::Received;
use super::send::{Replay, SendStep, Sending};
use super::steps::{Stepper, Steps};
use super::tries::instant_after;
use super::{Client, Completion};
use crate::catalog::Model;
use crate::change::{Action, Change, Effect, Kind, change};
use crate::plan::Plan;
use crate::price::Cost;
use crate::restore::{Contract, RestoreEvents, restore};

/// A streamed response: a [`Stream`] of events that ends after the first error. Dropping it cancels the request.
///
/// A failed request is retried, and then sent to the next model, until the first event is yielded. [`finish`](Self::finish) returns the
/// response that the events assemble to.
#[must_use = "nothing is sent before the first event is asked for"]
pub struct CompletionStream {
    steps: Stepper<CompletionState>,
}

impl CompletionStream {
    pub(super) fn new(client: &Client, request: Request, models: &[Model]) -> Self {
        Self { steps: Stepper::new(CompletionState::new(client, request, models, Replay::Forbidden)) }
    }

    /// The next event or the error of the response; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Event, SendError>> {
        self.steps.next().await
    }

    /// Waits for the end and returns the whole response.
    pub async fn finish(self) -> Result<Completion, SendError> {
        match self.steps.into_state().await {
            Some(state) => state.finish().await,
            None => Err(SendError::AllModelsFailed(Vec::new())),
        }
    }
}

impl Stream for CompletionStream {
    type Item = Result<Event, SendError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().steps.poll_next(cx)
    }
}

impl fmt::Debug for CompletionStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionStream").finish_non_exhaustive()
    }
}

/// The state of a completion.
#[derive(Debug)]
pub(super) struct CompletionState {
    client: Client,
    request: Request,
    models: VecDeque<Model>,
    failed: Vec<Failed>,
    until: Instant,
    replay: Replay,
    planning: Option<BlockingTask<Result<Plan, SendError>>>,
    sending: Option<Sending>,
    restore: RestoreEvents,
    ready: VecDeque<Event>,
    outcome: Option<Result<Completion, SendError>>,
    has_yielded_error: bool,
}

impl Steps for CompletionState {
    type Item = Result<Event, SendError>;

    async fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match &self.outcome {
                None => self.advance().await,
                Some(Err(error)) if !self.has_yielded_error => {
                    self.has_yielded_error = true;
                    return Some(Err(error.clone()));
                }
                Some(_) => return None,
            }
        }
    }
}

impl CompletionState {
    pub(super) fn new(client: &Client, mut request: Request, models: &[Model], replay: Replay) -> Self {
        client.call.apply(&mut request);
        Self {
            client: client.clone(),
            request,
            models: models.iter().cloned().collect(),
            failed: Vec::new(),
            until: instant_after(client.deadline()),
            replay,
            planning: None,
            sending: None,
            restore: RestoreEvents::default(),
            ready: VecDeque::new(),
            outcome: None,
            has_yielded_error: false,
        }
    }

    pub(super) async fn finish(mut self) -> Result<Completion, SendError> {
        loop {
            self.ready.clear();
            if let Some(outcome) = self.outcome.take() {
                return outcome;
            }
            self.advance().await;
        }
    }

    async fn advance(&mut self) {
        let Some(sending) = &mut self.sending else {
            return self.start().await;
        };
        match sending.next().await {
            Ok(SendStep::Events(events)) => self.restore_events(events),
            Ok(SendStep::Restart) => self.restore = RestoreEvents::default(),
            Ok(SendStep::End(events, received)) => {
                self.restore_events(events);
                self.end(*received);
            }
            Err(error) => self.fail(error),
        }
    }

    /// Plans the request for the next model and prepares to send it.
    async fn start(&mut self) {
        let Some(model) = self.models.front() else {
            let failed = std::mem::take(&mut self.failed);
            self.outcome = Some(Err(SendError::from_failed(failed, None)));
            return;
        };
        let begin = || self.client.spawn_planning(&self.request, model, self.until);
        let planned = self.planning.get_or_insert_with(begin).join().await;
        self.planning = None;
        let sending = match planned.and_then(|planned| planned) {
            Ok(plan) => self.client.prepare_sending(plan, &self.request, model, self.until, self.replay).await,
            Err(error) => Err(error),
        };
        match sending {
            Ok(sending) => self.sending = Some(sending),
            Err(error) => self.fail(error),
        }
    }

    fn restore_events(&mut self, events: Vec<Event>) {
        let Some(sending) = &self.sending else { return };
        for event in events {
            self.ready.extend(self.restore.push(event, Contract::new(&self.request, &sending.plan)));
        }
    }

    fn end(&mut self, received: Received) {
        let Some(sending) = self.sending.take() else { return };
        let restored = restore(received.response, Contract::new(&self.request, &sending.plan));
        let changes = sending.plan.changes().iter().cloned().chain(fallback_changes(&self.failed));
        let changes = changes.chain(received.changes).chain(restored.changes).collect();
        let (raw, retries) = (received.raw, received.retries);
        let price = self.models.front().and_then(|model| model.row().price.as_ref());
        let cost = Cost::of(price, restored.response.usage.as_ref());
        self.outcome =
            Some(Ok(Completion { response: restored.response, plan: sending.plan, changes, raw, cost, retries }));
    }

    fn fail(&mut self, error: SendError) {
        let is_committed = self.sending.take().is_some_and(|sending| sending.is_committed());
        let Some(model) = self.models.pop_front() else { return };
        if is_committed || !error.should_fall_back() || self.models.is_empty() {
            let failed = std::mem::take(&mut self.failed);
            self.outcome = Some(Err(SendError::from_failed(failed, Some((model, error)))));
            return;
        }
        tracing::warn!(model = model.name(), error.kind = error.error_type(), "falling back to the next model");
        self.restore = RestoreEvents::default();
        self.failed.push(Failed::from_error(&model, error));
    }
}

impl Failed {
    pub(super) fn from_error(model: &Model, error: SendError) -> Self {
        Self { model: model.name(), why: error.to_string(), error: Some(error) }
    }
}

impl SendError {
    /// The error of the only model, or of all models.
    fn from_failed(mut failed: Vec<Failed>, last: Option<(Model, Self)>) -> Self {
        match last {
            Some((_, error)) if failed.is_empty() => error,
            last => {
                failed.extend(last.map(|(model, error)| Failed::from_error(&model, error)));
                Self::AllModelsFailed(failed)
            }
        }
    }
}

/// The changes for models that failed before the last one.
pub(super) fn fallback_changes(failed: &[Failed]) -> impl Iterator<Item = Change> {
    failed.iter().map(|failed| {
        let detail = format!("`{}` failed: {}", failed.model, failed.why);
        change(Kind::Model, "fell-over", "/model", (Action::Rewritten, Effect::Note), detail)
    })
}
