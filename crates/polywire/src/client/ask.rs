//! Values asked for by a schema: read, restored, validated, and asked for again with what is wrong.

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
use super::error::{Failed, SendError};
use super::partial::{Arriving, Partial};
use super::read::{Read, again, read};
use super::reader::Received;
use super::send::{Replay, Sending, Step};
use super::steps::{Stepper, Steps};
use super::stream::fallen_over;
use super::tries::after;
use super::work::Work;
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
        self.asking(request, format, models.as_ref()).value().await
    }

    /// Asks for a value that a schema accepts.
    pub async fn ask_value(
        &self,
        request: Request,
        schema: &Value,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<Asked<Value>, AskError> {
        self.asking(request, format_of(schema), models.as_ref()).value().await
    }

    /// Asks for a value of an output format, by the channel that it names.
    pub async fn ask_format(
        &self,
        request: Request,
        format: OutputFormat,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<Asked<Value>, AskError> {
        self.asking(request, Ok(format), models.as_ref()).value().await
    }

    /// Asks for a value of an output format, and takes calls of the request's tools for an answer too.
    pub async fn ask_or_call(
        &self,
        request: Request,
        format: OutputFormat,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<AskOutcome<Value>, AskError> {
        self.asking(request, Ok(format), models.as_ref()).outcome().await
    }

    /// Asks for a value of a type that is shown while it arrives.
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
        AskStream::new(self.asking(Request { stream: true, ..request }, format, models.as_ref()))
    }

    /// Asks for a value of an output format that is shown while it arrives.
    pub fn ask_format_stream(
        &self,
        request: Request,
        format: OutputFormat,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> AskStream<Value> {
        AskStream::new(self.asking(Request { stream: true, ..request }, Ok(format), models.as_ref()))
    }

    fn asking(&self, mut request: Request, format: Result<OutputFormat, String>, models: &[Model]) -> Asking {
        self.call.apply(&mut request);
        let failure = format.as_ref().err().map(|why| AskErrorKind::Schema(why.clone()));
        request.output = format.ok().map(Output::Schema);
        Asking {
            client: self.clone(),
            compiling: None,
            schema: None,
            turns: request.messages.len(),
            request,
            models: models.iter().cloned().collect(),
            until: after(self.deadline()),
            planning: None,
            sending: None,
            reading: None,
            arriving: None,
            tries: 0,
            attempts: Vec::new(),
            failed: Vec::new(),
            outcome: failure.map(|why| Err(why.after(Vec::new(), Vec::new()))),
            is_over: false,
        }
    }
}

fn format_of(schema: &Value) -> Result<OutputFormat, String> {
    let name = schema.get("title").and_then(Value::as_str).unwrap_or("answer");
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(64).collect();
    let name = if name.is_empty() { "answer" } else { &name };
    OutputFormat::strict(name, schema.clone()).map_err(|error| error.to_string())
}

/// A value that is being asked for: a [`Stream`] of what of it has arrived, which ends after the first error. Dropping it ends the
/// exchange.
#[must_use = "nothing is sent before something is asked of it"]
pub struct AskStream<T = Value> {
    steps: Stepper<Asking>,
    of: PhantomData<fn() -> T>,
}

impl<T> AskStream<T> {
    fn new(asking: Asking) -> Self {
        Self { steps: Stepper::new(asking), of: PhantomData }
    }

    /// The value as far as it has arrived, when there is more of it, or why there is none; none at the end.
    pub async fn next(&mut self) -> Option<Result<Partial, AskError>> {
        self.steps.next().await
    }
}

impl<T: DeserializeOwned> AskStream<T> {
    /// The whole value, valid, or why there is none. Waits for the end.
    pub async fn finish(self) -> Result<Asked<T>, AskError> {
        match self.steps.into_state().await {
            Some(asking) => asking.value().await,
            None => Err(lost()),
        }
    }

    /// The same, with calls of tools as an answer.
    pub async fn outcome(self) -> Result<AskOutcome<T>, AskError> {
        match self.steps.into_state().await {
            Some(asking) => asking.outcome().await,
            None => Err(lost()),
        }
    }
}

/// The error of a state that a panic took.
fn lost() -> AskError {
    AskErrorKind::Send(SendError::AllModelsFailed(Vec::new())).after(Vec::new(), Vec::new())
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

/// The state of asking.
#[derive(Debug)]
struct Asking {
    client: Client,
    compiling: Option<Work<Result<Arc<Schema>, String>>>,
    schema: Option<Arc<Schema>>,
    /// The conversation, with the attempts of the model that is asked.
    request: Request,
    /// How many turns of it are the caller's.
    turns: usize,
    models: VecDeque<Model>,
    until: Instant,
    planning: Option<Work<Result<Plan, SendError>>>,
    sending: Option<Sending>,
    reading: Option<Work<Judged>>,
    arriving: Option<Arriving>,
    /// How often the model that is asked was asked.
    tries: usize,
    attempts: Vec<Attempt>,
    failed: Vec<Failed>,
    outcome: Option<Result<AskOutcome<Value>, AskError>>,
    /// Whether the error was given out as the last item.
    is_over: bool,
}

impl Steps for Asking {
    type Item = Result<Partial, AskError>;

    async fn next(&mut self) -> Option<Self::Item> {
        loop {
            match &self.outcome {
                None => self.advance(Watch::Partials).await,
                Some(Err(error)) if !self.is_over => {
                    self.is_over = true;
                    return Some(Err(error.clone()));
                }
                Some(_) => return None,
            }
            let attempt = self.attempts.len() + 1;
            if let Some(value) = self.arriving.as_mut().and_then(Arriving::value) {
                return Some(Ok(Partial { value, attempt }));
            }
        }
    }
}

impl Asking {
    /// The value alone: calls of tools are unexpected.
    async fn value<T: DeserializeOwned>(self) -> Result<Asked<T>, AskError> {
        match self.outcome().await? {
            AskOutcome::Value(asked) => Ok(asked),
            AskOutcome::ToolCalls(calls) => {
                let ToolCalls { response, attempts, .. } = *calls;
                Err(AskErrorKind::UnexpectedToolCalls(Box::new(response)).after(attempts, Vec::new()))
            }
        }
    }

    async fn outcome<T: DeserializeOwned>(mut self) -> Result<AskOutcome<T>, AskError> {
        let outcome = loop {
            match self.outcome.take() {
                Some(outcome) => break outcome?,
                None => self.advance(Watch::End).await,
            }
        };
        let Asked { value, strategy, attempts, changes } = match outcome {
            AskOutcome::Value(asked) => asked,
            AskOutcome::ToolCalls(calls) => return Ok(AskOutcome::ToolCalls(calls)),
        };
        match serde_json::from_value(value) {
            Ok(value) => Ok(AskOutcome::Value(Asked { value, strategy, attempts, changes })),
            Err(error) => Err(AskErrorKind::Typed(Arc::new(error)).after(attempts, self.failed)),
        }
    }

    async fn advance(&mut self, watch: Watch) {
        if let Some(reading) = &mut self.reading {
            let read = reading.done().await;
            self.reading = None;
            return match read {
                Ok(read) => self.judge(read),
                Err(error) => self.fail(AskErrorKind::Send(error)),
            };
        }
        let Some(schema) = self.schema.clone() else { return self.compile().await };
        let Some(sending) = &mut self.sending else { return self.begin(watch).await };
        match sending.next().await {
            Ok(Step::Events(events)) => self.watch(&events),
            Ok(Step::Restart) => {
                let plan = &sending.plan;
                self.arriving = self.arriving.is_some().then(|| Arriving::new(plan));
            }
            Ok(Step::End(_, received)) => self.read(*received, schema),
            Err(error) => self.fail(AskErrorKind::Send(error)),
        }
    }

    /// Makes the schema ready to judge values.
    async fn compile(&mut self) {
        let schema = match &self.request.output {
            Some(Output::Schema(format)) => format.schema(),
            Some(Output::Json) | None => &Value::Null,
        };
        let begin = || {
            let schema = schema.clone();
            let compile = move || Schema::cached(&schema).map_err(|error| error.to_string());
            Work::begin(self.until, self.client.deadline(), compile)
        };
        let compiled = self.compiling.get_or_insert_with(begin).done().await;
        self.compiling = None;
        let failure = match compiled {
            Ok(Ok(schema)) => {
                self.schema = Some(schema);
                self.models.is_empty().then(|| AskErrorKind::Send(SendError::AllModelsFailed(Vec::new())))
            }
            Ok(Err(why)) => Some(AskErrorKind::Schema(why)),
            Err(error) => Some(AskErrorKind::Send(error)),
        };
        self.outcome = failure.map(|why| Err(why.after(Vec::new(), Vec::new())));
    }

    /// Asks the model whose turn it is.
    async fn begin(&mut self, watch: Watch) {
        let Some(model) = self.models.front() else { return self.fail(AskErrorKind::Invalid) };
        let begin = || self.client.planning(&self.request, model, self.until);
        let planned = self.planning.get_or_insert_with(begin).done().await;
        self.planning = None;
        let sending = match planned.and_then(|planned| planned) {
            Ok(plan) => self.client.sending(plan, &self.request, model, self.until, Replay::Allowed).await,
            Err(error) => Err(error),
        };
        match sending {
            Ok(sending) => {
                self.arriving = (watch == Watch::Partials).then(|| Arriving::new(&sending.plan));
                self.sending = Some(sending);
            }
            Err(error) => self.fail(AskErrorKind::Send(error)),
        }
    }

    /// Begins to read a whole answer.
    fn read(&mut self, received: Received, schema: Arc<Schema>) {
        self.arriving = None;
        let Some(sending) = self.sending.take() else { return };
        let plan = sending.plan;
        let read = move || {
            let reading = read(&received.response, &plan, &schema);
            Judged { plan, received, reading }
        };
        self.reading = Some(Work::begin(self.until, self.client.deadline(), read));
    }

    fn watch(&mut self, events: &[Event]) {
        let Some(arriving) = &mut self.arriving else { return };
        for event in events {
            arriving.push(event);
        }
    }

    /// Takes an answer that was read: the value, or another attempt, or the end.
    fn judge(&mut self, read: Judged) {
        let Judged { plan, received, reading } = read;
        let Received { response, raw, changes, retries } = received;
        let strategy = plan.output.as_ref().map(|output| output.strategy).unwrap_or_default();
        let changes = plan.changes().iter().cloned().chain(fallen_over(&self.failed)).chain(changes).collect();
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
        self.tries += 1;
        let answer = match reading {
            Ok(Read::Value(Recovered { answer, not_decoded, wire_faults })) => {
                attempt.not_restored = not_decoded;
                attempt.wire_faults = wire_faults;
                answer
            }
            Ok(Read::ToolCalls(response)) => {
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
        let cut = answer.is_truncated();
        attempt.repairs = answer.repairs;
        match (answer.verdict, answer.value) {
            (Verdict::Valid, Some(value)) if !cut => {
                self.attempts.push(attempt);
                let attempts = std::mem::take(&mut self.attempts);
                self.outcome = Some(Ok(AskOutcome::Value(Asked { value, strategy, attempts, changes })));
                return;
            }
            (Verdict::TooCostly, _) => {
                // Nothing is known to be wrong with the value, so there is nothing to correct.
                self.attempts.push(attempt);
                return self.fail(AskErrorKind::TooCostly);
            }
            (verdict, _) => attempt.faults = verdict.into_faults(),
        }
        self.request.messages.extend(again(&attempt, cut));
        self.attempts.push(attempt);
        if self.tries >= self.client.options().attempts {
            self.fail(AskErrorKind::Invalid);
        }
    }

    /// Turns to the next model, if there is one and it may do better.
    fn fail(&mut self, why: AskErrorKind) {
        self.sending = None;
        self.arriving = None;
        let model = self.models.pop_front();
        let next = model.filter(|_| why.should_fall_back() && !self.models.is_empty());
        let Some(model) = next else {
            let (attempts, failed) = (std::mem::take(&mut self.attempts), std::mem::take(&mut self.failed));
            self.outcome = Some(Err(why.after(attempts, failed)));
            return;
        };
        tracing::warn!(model = model.name(), "the next model is asked");
        self.failed.push(if let AskErrorKind::Send(error) = why {
            Failed::of(&model, error)
        } else {
            Failed { model: model.name(), why: why.after(self.attempts.clone(), Vec::new()).to_string(), error: None }
        });
        // What one model said in its own shapes is nothing that another one said.
        self.request.messages.truncate(self.turns);
        self.tries = 0;
    }
}

/// A whole answer, and what was read in it.
#[derive(Debug)]
struct Judged {
    plan: Plan,
    received: Received,
    reading: Result<Read, AskErrorKind>,
}

/// Whether values are shown while they arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Partials,
    End,
}
