//! An answer as it arrives, from the first of several models that answers: events in the caller's names and shapes, and the whole
//! answer at the end.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream;
use polywire_wire::{Event, Request};

use super::error::{Failed, SendError};
use super::reader::Received;
use super::send::{Replay, Sending, Step};
use super::steps::{Stepper, Steps};
use super::tries::after;
use super::work::Work;
use super::{Client, Completion};
use crate::catalog::Model;
use crate::change::{Action, Change, Effect, Kind, change};
use crate::plan::Plan;
use crate::price::Cost;
use crate::restore::{Contract, RestoreEvents, restore};

/// An answer as it arrives: a [`Stream`] of events that ends after the first error. Dropping it ends the exchange.
///
/// A request that failed is sent again, and then to the next model, as long as no event was given out. Put together, the events are the
/// answer, which [`finish`](Self::finish) gives whole.
#[must_use = "nothing is sent before the first event is asked for"]
pub struct CompletionStream {
    steps: Stepper<Completing>,
}

impl CompletionStream {
    pub(super) fn new(client: &Client, request: Request, models: &[Model]) -> Self {
        Self { steps: Stepper::new(Completing::new(client, request, models, Replay::Forbidden)) }
    }

    /// The next event, or the error that the answer ended with; none at the end.
    pub async fn next(&mut self) -> Option<Result<Event, SendError>> {
        self.steps.next().await
    }

    /// The whole answer, or why there is none. Waits for the end.
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

/// An answer on its way.
#[derive(Debug)]
pub(super) struct Completing {
    client: Client,
    request: Request,
    models: VecDeque<Model>,
    failed: Vec<Failed>,
    until: Instant,
    replay: Replay,
    planning: Option<Work<Result<Plan, SendError>>>,
    sending: Option<Sending>,
    restore: RestoreEvents,
    ready: VecDeque<Event>,
    outcome: Option<Result<Completion, SendError>>,
    /// Whether the error was given out as the last item.
    is_over: bool,
}

impl Steps for Completing {
    type Item = Result<Event, SendError>;

    async fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match &self.outcome {
                None => self.advance().await,
                Some(Err(error)) if !self.is_over => {
                    self.is_over = true;
                    return Some(Err(error.clone()));
                }
                Some(_) => return None,
            }
        }
    }
}

impl Completing {
    pub(super) fn new(client: &Client, mut request: Request, models: &[Model], replay: Replay) -> Self {
        client.call.apply(&mut request);
        Self {
            client: client.clone(),
            request,
            models: models.iter().cloned().collect(),
            failed: Vec::new(),
            until: after(client.deadline()),
            replay,
            planning: None,
            sending: None,
            restore: RestoreEvents::default(),
            ready: VecDeque::new(),
            outcome: None,
            is_over: false,
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
            return self.begin().await;
        };
        match sending.next().await {
            Ok(Step::Events(events)) => self.take(events),
            Ok(Step::Restart) => self.restore = RestoreEvents::default(),
            Ok(Step::End(events, received)) => {
                self.take(events);
                self.end(*received);
            }
            Err(error) => self.fail(error),
        }
    }

    /// Turns to the next model.
    async fn begin(&mut self) {
        let Some(model) = self.models.front() else {
            let failed = std::mem::take(&mut self.failed);
            self.outcome = Some(Err(SendError::after(failed, None)));
            return;
        };
        let begin = || self.client.planning(&self.request, model, self.until);
        let planned = self.planning.get_or_insert_with(begin).done().await;
        self.planning = None;
        let sending = match planned.and_then(|planned| planned) {
            Ok(plan) => self.client.sending(plan, &self.request, model, self.until, self.replay).await,
            Err(error) => Err(error),
        };
        match sending {
            Ok(sending) => self.sending = Some(sending),
            Err(error) => self.fail(error),
        }
    }

    fn take(&mut self, events: Vec<Event>) {
        let Some(sending) = &self.sending else { return };
        for event in events {
            self.ready.extend(self.restore.push(event, Contract::new(&self.request, &sending.plan)));
        }
    }

    fn end(&mut self, received: Received) {
        let Some(sending) = self.sending.take() else { return };
        let restored = restore(received.response, Contract::new(&self.request, &sending.plan));
        let fallen = fallen_over(&self.failed);
        let changes = sending.plan.changes().iter().cloned().chain(fallen);
        let changes = changes.chain(received.changes).chain(restored.changes).collect();
        let (raw, retries) = (received.raw, received.retries);
        let price = self.models.front().and_then(|model| model.row().price.as_ref());
        let cost = Cost::of(price, restored.response.usage.as_ref());
        self.outcome =
            Some(Ok(Completion { response: restored.response, plan: sending.plan, changes, raw, cost, retries }));
    }

    fn fail(&mut self, error: SendError) {
        let given = self.sending.take().is_some_and(|sending| sending.is_shown());
        let Some(model) = self.models.pop_front() else { return };
        if given || !error.should_fall_back() || self.models.is_empty() {
            let failed = std::mem::take(&mut self.failed);
            self.outcome = Some(Err(SendError::after(failed, Some((model, error)))));
            return;
        }
        tracing::warn!(model = model.name(), error.kind = error.word(), "the next model is asked");
        self.restore = RestoreEvents::default();
        self.failed.push(Failed::of(&model, error));
    }
}

impl Failed {
    pub(super) fn of(model: &Model, error: SendError) -> Self {
        Self { model: model.name(), why: error.to_string(), error: Some(error) }
    }
}

impl SendError {
    /// The error of one model, or of all that were asked.
    fn after(mut failed: Vec<Failed>, last: Option<(Model, Self)>) -> Self {
        match last {
            Some((_, error)) if failed.is_empty() => error,
            last => {
                failed.extend(last.map(|(model, error)| Failed::of(&model, error)));
                Self::AllModelsFailed(failed)
            }
        }
    }
}

/// That other models were asked before.
pub(super) fn fallen_over(failed: &[Failed]) -> impl Iterator<Item = Change> {
    failed.iter().map(|failed| {
        let detail = format!("`{}` gave no answer: {}", failed.model, failed.why);
        change(Kind::Model, "fell-over", "/model", (Action::Rewritten, Effect::Note), detail)
    })
}
