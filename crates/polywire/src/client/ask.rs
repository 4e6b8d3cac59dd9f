//! Structured output: values are read, restored and validated; the model is asked to correct invalid ones.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream;
use polywire_answer::{Schema, Verdict};
use polywire_wire::{Event, Output, OutputFormat, Request};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Client;
use super::ask_error::{AskError, AskErrorKind};
use super::asked::{AskOutcome, Asked, Attempt, ToolCalls};
use super::blocking::BlockingTask;
use super::error::{Failed, SendError};
use super::partial::{Partial, PartialReader};
use super::read::{ReadOutcome, correction_messages, read_value};
use super::reader::Received;
use super::send::{Replay, SendStep, Sending};
use super::steps::{Stepper, Steps};
use super::stream::fallback_changes;
use super::tries::instant_after;
use crate::catalog::Model;
use crate::plan::Plan;
use crate::price::Cost;
use crate::restore::{Contract, Recovered, restore};

impl Client {
    /// Asks for a value of a type.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        request: Request,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<Asked<T>, AskError> {
        let format = format_of(&schemars::schema_for!(T).to_value());
        self.ask_state(request, format, models.as_ref()).value().await
    }

    /// Asks for a value that a schema accepts.
    pub async fn ask_value(
        &self,
        request: Request,
        schema: &Value,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<Asked<Value>, AskError> {
        self.ask_state(request, format_of(schema), models.as_ref()).value().await
    }

    /// Asks for a value of an output format, with its strategy.
    pub async fn ask_format(
        &self,
        request: Request,
        format: OutputFormat,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<Asked<Value>, AskError> {
        self.ask_state(request, Ok(format), models.as_ref()).value().await
    }

    /// Asks for a value of an output format. Calls of the request's tools are an accepted outcome too.
    pub async fn ask_or_call(
        &self,
        request: Request,
        format: OutputFormat,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<AskOutcome<Value>, AskError> {
        self.ask_state(request, Ok(format), models.as_ref()).outcome().await
    }

    /// Asks for a value of a type and streams partial values.
    ///
    /// ```no_run
    /// # async fn run(client: polywire::Client, request: polywire::wire::Request, model: polywire::Model) -> Result<(), polywire::AskError> {
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Town {
    ///     name: String,
    ///     sights: Vec<String>,
    /// }
    ///
    /// let mut town = client.ask_stream::<Town>(request, &model);
    /// while let Some(partial) = town.next().await {
    ///     println!("{}", partial?.value);
    /// }
    /// println!("{}", town.finish().await?.value.name);
    /// # Ok(())
    /// # }
    /// ```
    pub fn ask_stream<T: DeserializeOwned + JsonSchema>(
        &self,
        request: Request,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> AskStream<T> {
        let format = format_of(&schemars::schema_for!(T).to_value());
        AskStream::new(self.ask_state(Request { stream: true, ..request }, format, models.as_ref()))
    }

    /// Asks for a value of an output format and streams partial values.
    pub fn ask_format_stream(
        &self,
        request: Request,
        format: OutputFormat,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> AskStream<Value> {
        AskStream::new(self.ask_state(Request { stream: true, ..request }, Ok(format), models.as_ref()))
    }

    fn ask_state(&self, mut request: Request, format: Result<OutputFormat, String>, models: &[Model]) -> AskState {
        self.call.apply(&mut request);
        let failure = format.as_ref().err().map(|why| AskErrorKind::Schema(why.clone()));
        request.output = format.ok().map(Output::Schema);
        AskState {
            client: self.clone(),
            compiling: None,
            schema: None,
            caller_messages: request.messages.len(),
            request,
            models: models.iter().cloned().collect(),
            until: instant_after(self.deadline()),
            planning: None,
            sending: None,
            reading: None,
            partial: None,
            model_attempts: 0,
            attempts: Vec::new(),
            failed: Vec::new(),
            outcome: failure.map(|why| Err(why.with_attempts(Vec::new(), Vec::new()))),
            has_yielded_error: false,
        }
    }
}

fn format_of(schema: &Value) -> Result<OutputFormat, String> {
    let name = schema.get("title").and_then(Value::as_str).unwrap_or("answer");
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(64).collect();
    let name = if name.is_empty() { "answer" } else { &name };
    OutputFormat::strict(name, schema.clone()).map_err(|error| error.to_string())
}

/// A streamed value: a [`Stream`] of partial values that ends after the first error. Dropping it cancels the request.
#[must_use = "nothing is sent before the stream is polled or finished"]
pub struct AskStream<T = Value> {
    steps: Stepper<AskState>,
    of: PhantomData<fn() -> T>,
}

impl<T> AskStream<T> {
    fn new(state: AskState) -> Self {
        Self { steps: Stepper::new(state), of: PhantomData }
    }

    /// The next partial value or the error; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Partial, AskError>> {
        self.steps.next().await
    }
}

impl<T: DeserializeOwned> AskStream<T> {
    /// Waits for the end and returns the valid value.
    pub async fn finish(self) -> Result<Asked<T>, AskError> {
        match self.steps.into_state().await {
            Some(state) => state.value().await,
            None => Err(state_lost()),
        }
    }

    /// Waits for the end and returns the valid value or tool calls.
    pub async fn outcome(self) -> Result<AskOutcome<T>, AskError> {
        match self.steps.into_state().await {
            Some(state) => state.outcome().await,
            None => Err(state_lost()),
        }
    }
}

/// The error after a step that panicked and took the state with it.
fn state_lost() -> AskError {
    AskErrorKind::Send(SendError::AllModelsFailed(Vec::new())).with_attempts(Vec::new(), Vec::new())
}

impl<T> Stream for AskStream<T> {
    type Item = Result<Partial, AskError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().steps.poll_next(cx)
    }
}

impl<T> fmt::Debug for AskStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AskStream").finish_non_exhaustive()
    }
}

/// The state of a request for a value.
#[derive(Debug)]
struct AskState {
    client: Client,
    compiling: Option<BlockingTask<Result<Arc<Schema>, String>>>,
    schema: Option<Arc<Schema>>,
    /// The conversation, with the attempts of the current model.
    request: Request,
    /// The number of the caller's messages.
    caller_messages: usize,
    models: VecDeque<Model>,
    until: Instant,
    planning: Option<BlockingTask<Result<Plan, SendError>>>,
    sending: Option<Sending>,
    reading: Option<BlockingTask<ReadAttempt>>,
    partial: Option<PartialReader>,
    /// The number of attempts of the current model.
    model_attempts: usize,
    attempts: Vec<Attempt>,
    failed: Vec<Failed>,
    outcome: Option<Result<AskOutcome<Value>, AskError>>,
    has_yielded_error: bool,
}

impl Steps for AskState {
    type Item = Result<Partial, AskError>;

    async fn next(&mut self) -> Option<Self::Item> {
        loop {
            match &self.outcome {
                None => self.advance(PartialValues::Read).await,
                Some(Err(error)) if !self.has_yielded_error => {
                    self.has_yielded_error = true;
                    return Some(Err(error.clone()));
                }
                Some(_) => return None,
            }
            let attempt = self.attempts.len() + 1;
            if let Some(value) = self.partial.as_mut().and_then(PartialReader::value) {
                return Some(Ok(Partial { value, attempt }));
            }
        }
    }
}

impl AskState {
    /// Waits for the value. Tool calls are an error.
    async fn value<T: DeserializeOwned>(self) -> Result<Asked<T>, AskError> {
        match self.outcome().await? {
            AskOutcome::Value(asked) => Ok(asked),
            AskOutcome::ToolCalls(calls) => {
                let ToolCalls { response, attempts, .. } = *calls;
                Err(AskErrorKind::UnexpectedToolCalls(Box::new(response)).with_attempts(attempts, Vec::new()))
            }
        }
    }

    async fn outcome<T: DeserializeOwned>(mut self) -> Result<AskOutcome<T>, AskError> {
        let outcome = loop {
            match self.outcome.take() {
                Some(outcome) => break outcome?,
                None => self.advance(PartialValues::Skip).await,
            }
        };
        let Asked { value, strategy, attempts, changes } = match outcome {
            AskOutcome::Value(asked) => asked,
            AskOutcome::ToolCalls(calls) => return Ok(AskOutcome::ToolCalls(calls)),
        };
        match serde_json::from_value(value) {
            Ok(value) => Ok(AskOutcome::Value(Asked { value, strategy, attempts, changes })),
            Err(error) => Err(AskErrorKind::Typed(Arc::new(error)).with_attempts(attempts, self.failed)),
        }
    }

    async fn advance(&mut self, partials: PartialValues) {
        if let Some(reading) = &mut self.reading {
            let read = reading.join().await;
            self.reading = None;
            return match read {
                Ok(read) => self.finish_attempt(read),
                Err(error) => self.fail(AskErrorKind::Send(error)),
            };
        }
        let Some(schema) = self.schema.clone() else { return self.compile().await };
        let Some(sending) = &mut self.sending else { return self.start(partials).await };
        match sending.next().await {
            Ok(SendStep::Events(events)) => self.push_events(&events),
            Ok(SendStep::Restart) => {
                let plan = &sending.plan;
                self.partial = self.partial.is_some().then(|| PartialReader::new(plan));
            }
            Ok(SendStep::End(_, received)) => self.read(*received, schema),
            Err(error) => self.fail(AskErrorKind::Send(error)),
        }
    }

    /// Compiles the schema for validation.
    async fn compile(&mut self) {
        let schema = match &self.request.output {
            Some(Output::Schema(format)) => format.schema(),
            Some(Output::Json) | None => &Value::Null,
        };
        let begin = || {
            let schema = schema.clone();
            let compile = move || Schema::cached(&schema).map_err(|error| error.to_string());
            BlockingTask::spawn(self.until, self.client.deadline(), compile)
        };
        let compiled = self.compiling.get_or_insert_with(begin).join().await;
        self.compiling = None;
        let failure = match compiled {
            Ok(Ok(schema)) => {
                self.schema = Some(schema);
                self.models.is_empty().then(|| AskErrorKind::Send(SendError::AllModelsFailed(Vec::new())))
            }
            Ok(Err(why)) => Some(AskErrorKind::Schema(why)),
            Err(error) => Some(AskErrorKind::Send(error)),
        };
        self.outcome = failure.map(|why| Err(why.with_attempts(Vec::new(), Vec::new())));
    }

    /// Plans the request for the current model and prepares to send it.
    async fn start(&mut self, partials: PartialValues) {
        let Some(model) = self.models.front() else { return self.fail(AskErrorKind::Invalid) };
        let begin = || self.client.spawn_planning(&self.request, model, self.until);
        let planned = self.planning.get_or_insert_with(begin).join().await;
        self.planning = None;
        let sending = match planned.and_then(|planned| planned) {
            Ok(plan) => self.client.prepare_sending(plan, &self.request, model, self.until, Replay::Allowed).await,
            Err(error) => Err(error),
        };
        match sending {
            Ok(sending) => {
                self.partial = (partials == PartialValues::Read).then(|| PartialReader::new(&sending.plan));
                self.sending = Some(sending);
            }
            Err(error) => self.fail(AskErrorKind::Send(error)),
        }
    }

    /// Starts to read and validate a whole response.
    fn read(&mut self, received: Received, schema: Arc<Schema>) {
        self.partial = None;
        let Some(sending) = self.sending.take() else { return };
        let plan = sending.plan;
        let read = move || {
            let reading = read_value(&received.response, &plan, &schema);
            ReadAttempt { plan, received, reading }
        };
        self.reading = Some(BlockingTask::spawn(self.until, self.client.deadline(), read));
    }

    fn push_events(&mut self, events: &[Event]) {
        let Some(partial) = &mut self.partial else { return };
        for event in events {
            partial.push(event);
        }
    }

    /// Sets the outcome, or adds a correction to the conversation for the next attempt.
    fn finish_attempt(&mut self, read: ReadAttempt) {
        let ReadAttempt { plan, received, reading } = read;
        let Received { response, raw, changes, retries } = received;
        let strategy = plan.output.as_ref().map(|output| output.strategy).unwrap_or_default();
        let changes = plan.changes().iter().cloned().chain(fallback_changes(&self.failed)).chain(changes).collect();
        let price = self.models.front().and_then(|model| model.row().price.as_ref());
        let cost = Cost::of(price, response.usage.as_ref());
        let (repairs, faults) = (Vec::new(), Vec::new());
        let mut attempt = Attempt {
            plan,
            raw,
            response,
            repairs,
            faults,
            wire_faults: Vec::new(),
            not_restored: None,
            cost,
            retries,
        };
        self.model_attempts += 1;
        let answer = match reading {
            Ok(ReadOutcome::Value(Recovered { answer, not_decoded, wire_faults })) => {
                attempt.not_restored = not_decoded;
                attempt.wire_faults = wire_faults;
                answer
            }
            Ok(ReadOutcome::ToolCalls(response)) => {
                let response = restore(*response, Contract::new(&self.request, &attempt.plan)).response;
                self.attempts.push(attempt);
                let attempts = std::mem::take(&mut self.attempts);
                let calls = Box::new(ToolCalls { response, attempts, changes });
                self.outcome = Some(Ok(AskOutcome::ToolCalls(calls)));
                return;
            }
            Err(why) => {
                self.attempts.push(attempt);
                return self.fail(why);
            }
        };
        let is_truncated = answer.is_truncated();
        attempt.repairs = answer.repairs;
        match (answer.verdict, answer.value) {
            (Verdict::Valid, Some(value)) if !is_truncated => {
                self.attempts.push(attempt);
                let attempts = std::mem::take(&mut self.attempts);
                self.outcome = Some(Ok(AskOutcome::Value(Asked { value, strategy, attempts, changes })));
                return;
            }
            (Verdict::TooCostly, _) => {
                // Validation did not finish, so there are no faults to report to the model.
                self.attempts.push(attempt);
                return self.fail(AskErrorKind::TooCostly);
            }
            (verdict, _) => attempt.faults = verdict.into_faults(),
        }
        self.request.messages.extend(correction_messages(&attempt, is_truncated));
        self.attempts.push(attempt);
        if self.model_attempts >= self.client.options().attempts {
            self.fail(AskErrorKind::Invalid);
        }
    }

    /// Falls back to the next model, or sets the error as the outcome.
    fn fail(&mut self, why: AskErrorKind) {
        self.sending = None;
        self.partial = None;
        let model = self.models.pop_front();
        let next = model.filter(|_| why.should_fall_back() && !self.models.is_empty());
        let Some(model) = next else {
            let (attempts, failed) = (std::mem::take(&mut self.attempts), std::mem::take(&mut self.failed));
            self.outcome = Some(Err(why.with_attempts(attempts, failed)));
            return;
        };
        tracing::warn!(model = model.name(), "falling back to the next model");
        self.failed.push(if let AskErrorKind::Send(error) = why {
            Failed::from_error(&model, error)
        } else {
            Failed {
                model: model.name(),
                why: why.with_attempts(self.attempts.clone(), Vec::new()).to_string(),
                error: None,
            }
        });
        // The attempts use the failed model's fitted schemas, so the next model does not get them.
        self.request.messages.truncate(self.caller_messages);
        self.model_attempts = 0;
    }
}

/// A whole response and the value that was read from it.
#[derive(Debug)]
struct ReadAttempt {
    plan: Plan,
    received: Received,
    reading: Result<ReadOutcome, AskErrorKind>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartialValues {
    Read,
    Skip,
}
