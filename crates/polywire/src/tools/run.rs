//! The loop: ask, call, ask again, within bounds, with everything on record.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use polywire_wire::{Block, Event, Message, Request, Response, Role, StopReason, Tool, ToolCall, ToolResult, Usage};
use tokio::task::{Id, JoinSet};

use super::toolbox::{Toolbox, error_result};
use crate::catalog::Model;
use crate::client::steps::{Stepper, Steps};
use crate::client::{Client, Completion, CompletionStream, SendError};

/// A loop of answers and calls: a [`Stream`] of what happens, and a future of how it ends.
///
/// Dropping it ends the exchange and the calls that are under way; [`history`](Self::history) is a conversation that another run goes on
/// with, at any point: calls without results are made first, so a call that was cut off is made again.
#[must_use = "nothing is sent before the run is awaited or polled"]
pub struct Run {
    steps: Stepper<Running>,
    record: Arc<Mutex<Record>>,
}

/// What happens in a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunEvent {
    /// A piece of the model's answer.
    Event(Event),
    /// A call begins.
    Call(ToolCall),
    /// A call has ended.
    Result(ToolResult),
}

/// One answer of the model, and the results of its calls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Turn {
    /// The answer, with its plan and changes.
    pub completion: Completion,
    /// The results, in the order of the calls once all are there.
    pub results: Vec<ToolResult>,
}

/// How a run ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The last answer.
    pub response: Response,
    /// Why it ended.
    pub stop: RunStop,
    /// The conversation, the last answer included.
    pub history: Vec<Message>,
    /// Every turn.
    pub turns: Vec<Turn>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunStop {
    /// The model answered without calls.
    Answered,
    /// The model wants more turns than [`Run::max_turns`].
    TurnLimit,
    /// The turns took [`Run::max_total_tokens`].
    TokenLimit,
    /// The model calls tools of the request that the toolbox does not have: they are the caller's to make.
    OpenCalls,
}

/// Why a run failed, and what it came to before.
#[derive(Clone, Debug, thiserror::Error)]
#[error("turn {}: {source}", turns.len() + 1)]
#[non_exhaustive]
pub struct RunError {
    /// Why.
    pub source: SendError,
    /// The conversation so far.
    pub history: Vec<Message>,
    /// Every whole turn.
    pub turns: Vec<Turn>,
}

#[derive(Debug)]
struct Record {
    history: Vec<Message>,
    turns: Vec<Turn>,
    max_turns: usize,
    max_total_tokens: Option<u64>,
}

impl Client {
    /// Answers a request with the toolbox's help: makes the calls of the model and sends it the results, until it answers without.
    ///
    /// ```no_run
    /// # async fn run(client: polywire::Client, toolbox: polywire::tools::Toolbox, model: polywire::Model) -> Result<(), polywire::tools::RunError> {
    /// use polywire::wire::Request;
    ///
    /// let outcome = client.run(Request::user("How many people live in Bern?"), &toolbox, &model).max_turns(5).await?;
    /// println!("{} after {} turns", outcome.response.text(), outcome.turns.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(&self, request: Request, toolbox: &Toolbox, models: &(impl AsRef<[Model]> + ?Sized)) -> Run {
        let mut request = request;
        request.tools.retain(|tool| tool.as_function().is_none_or(|function| !toolbox.has(&function.name)));
        let own = request.tools.iter().filter_map(Tool::as_function).map(|function| function.name.clone()).collect();
        request.tools.extend(toolbox.tools());
        let history = std::mem::take(&mut request.messages);
        let record = Record { history, turns: Vec::new(), max_turns: 16, max_total_tokens: None };
        let record = Arc::new(Mutex::new(record));
        let running = Running {
            client: self.clone(),
            request,
            toolbox: toolbox.clone(),
            own,
            models: models.as_ref().to_vec(),
            record: Arc::clone(&record),
            phase: Phase::Between,
            ready: VecDeque::new(),
        };
        Run { steps: Stepper::new(running), record }
    }
}

impl Run {
    /// The same with another limit of turns; it is 16.
    pub fn max_turns(self, turns: usize) -> Self {
        lock(&self.record).max_turns = turns;
        self
    }

    /// The same with a limit of tokens, in and out, of all turns together. The turn that reaches it is the last.
    pub fn max_total_tokens(self, tokens: u64) -> Self {
        lock(&self.record).max_total_tokens = Some(tokens);
        self
    }

    /// What happens next, or why the run failed; none at the end.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunError>> {
        self.steps.next().await
    }

    /// The conversation so far: what another run of the same request goes on with.
    pub fn history(&self) -> Vec<Message> {
        lock(&self.record).history.clone()
    }

    /// The turns so far.
    pub fn turns(&self) -> Vec<Turn> {
        lock(&self.record).turns.clone()
    }

    /// How the run ended. Waits for the end.
    pub async fn finish(mut self) -> Result<RunOutcome, RunError> {
        while let Some(step) = self.next().await {
            step?;
        }
        let stop = match self.steps.into_state().await.map(|state| state.phase) {
            Some(Phase::Over(stop)) => stop,
            Some(Phase::Failed(error)) => return Err(*error),
            Some(Phase::Between | Phase::Answering(_) | Phase::Calling(_)) | None => RunStop::TurnLimit,
        };
        let Record { history, turns, .. } = &*lock(&self.record);
        let response = turns.last().map(|turn| turn.completion.response.clone()).unwrap_or_default();
        Ok(RunOutcome { response, stop, history: history.clone(), turns: turns.clone() })
    }
}

impl RunOutcome {
    /// The tokens of all turns together.
    pub fn usage(&self) -> Usage {
        usage(&self.turns)
    }
}

fn usage(turns: &[Turn]) -> Usage {
    turns.iter().filter_map(|turn| turn.completion.response.usage.as_ref()).fold(Usage::default(), Usage::plus)
}

impl IntoFuture for Run {
    type Output = Result<RunOutcome, RunError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.finish())
    }
}

impl Stream for Run {
    type Item = Result<RunEvent, RunError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().steps.poll_next(cx)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Running {
    client: Client,
    /// Without its messages, which are on record.
    request: Request,
    toolbox: Toolbox,
    /// The tools of the request that the toolbox does not have.
    own: Vec<String>,
    models: Vec<Model>,
    record: Arc<Mutex<Record>>,
    phase: Phase,
    ready: VecDeque<RunEvent>,
}

enum Phase {
    Between,
    Answering(Box<CompletionStream>),
    Calling(Calls),
    Over(RunStop),
    Failed(Box<RunError>),
}

/// Calls under way. They end when this is dropped.
struct Calls {
    tasks: JoinSet<ToolResult>,
    /// Which task makes which call.
    ids: Vec<(Id, String)>,
}

impl Steps for Running {
    type Item = Result<RunEvent, RunError>;

    async fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match &mut self.phase {
                Phase::Between => self.phase = self.go_on(),
                Phase::Answering(stream) => match stream.next().await {
                    Some(Ok(event)) => return Some(Ok(RunEvent::Event(event))),
                    Some(Err(error)) => return Some(Err(self.fail(error))),
                    None => {
                        let Phase::Answering(stream) = std::mem::replace(&mut self.phase, Phase::Between) else {
                            continue;
                        };
                        match stream.finish().await {
                            Ok(completion) => self.phase = self.answered(completion),
                            Err(error) => return Some(Err(self.fail(error))),
                        }
                    }
                },
                Phase::Calling(calls) => {
                    if let Some(result) = calls.next().await {
                        lock(&self.record).push(result.clone());
                        return Some(Ok(RunEvent::Result(result)));
                    }
                    let open = lock(&self.record).open_calls();
                    self.phase = if open.is_empty() { Phase::Between } else { Phase::Over(RunStop::OpenCalls) };
                }
                Phase::Over(_) | Phase::Failed(_) => return None,
            }
        }
    }
}

impl Running {
    /// What comes between answers: calls that have no result, the end, or the next answer.
    fn go_on(&mut self) -> Phase {
        let open = lock(&self.record).open_calls();
        if !open.is_empty() {
            return self.call(open);
        }
        let record = lock(&self.record);
        let spent = usage(&record.turns);
        if record.turns.len() >= record.max_turns {
            return Phase::Over(RunStop::TurnLimit);
        }
        if record.max_total_tokens.is_some_and(|most| spent.input_tokens.saturating_add(spent.output_tokens) >= most) {
            return Phase::Over(RunStop::TokenLimit);
        }
        let request = Request { messages: record.history.clone(), ..self.request.clone() };
        Phase::Answering(Box::new(self.client.stream(&request, &self.models)))
    }

    fn answered(&mut self, completion: Completion) -> Phase {
        let mut record = lock(&self.record);
        let goes_on = completion.response.calls().next().is_some() || completion.response.stop == StopReason::Pause;
        if !completion.response.content.is_empty() {
            record.history.push(completion.response.clone().into_message());
        }
        record.turns.push(Turn { completion, results: Vec::new() });
        if goes_on { Phase::Between } else { Phase::Over(RunStop::Answered) }
    }

    fn call(&mut self, open: Vec<ToolCall>) -> Phase {
        let permits = self.toolbox.permits();
        let mut calls = Calls { tasks: JoinSet::new(), ids: Vec::new() };
        for call in open.into_iter().filter(|call| !self.own.contains(&call.name)) {
            self.ready.push_back(RunEvent::Call(call.clone()));
            let id = call.id.clone();
            // A task of its own, so that a panic is an error of this call alone.
            let task = calls.tasks.spawn(self.toolbox.call(call, Arc::clone(&permits)));
            calls.ids.push((task.id(), id));
        }
        Phase::Calling(calls)
    }

    fn fail(&mut self, source: SendError) -> RunError {
        let Record { history, turns, .. } = &*lock(&self.record);
        let error = RunError { source, history: history.clone(), turns: turns.clone() };
        self.phase = Phase::Failed(Box::new(error.clone()));
        error
    }
}

impl Calls {
    async fn next(&mut self) -> Option<ToolResult> {
        match self.tasks.join_next().await? {
            Ok(result) => Some(result),
            Err(error) => {
                let call = self.ids.iter().find(|(id, _)| *id == error.id()).map(|(_, call)| call.as_str());
                Some(error_result(call.unwrap_or_default(), "the tool failed unexpectedly"))
            }
        }
    }
}

impl Record {
    /// The calls of the last answer that have no result yet.
    fn open_calls(&self) -> Vec<ToolCall> {
        let Some(at) = self.history.iter().rposition(|message| message.role == Role::Assistant) else {
            return Vec::new();
        };
        let (before, after) = self.history.split_at(at + 1);
        let answered: Vec<&str> =
            after.iter().flat_map(|message| &message.content).filter_map(Block::answers).collect();
        let calls = before.last().into_iter().flat_map(Message::calls);
        calls.filter(|call| !answered.contains(&call.id.as_str())).cloned().collect()
    }

    /// Puts a result on record, among those of the same answer in the order of its calls.
    fn push(&mut self, result: ToolResult) {
        if self.history.last().is_none_or(|message| message.role != Role::Tool) {
            self.history.push(Message::tool([]));
        }
        let at = self.history.iter().rposition(|message| message.role == Role::Assistant);
        let calls = at.and_then(|at| self.history.get(at)).into_iter().flat_map(Message::calls);
        let order: Vec<String> = calls.map(|call| call.id.clone()).collect();
        let place = |id: &str| order.iter().position(|call| call == id);
        if let Some(turn) = self.turns.last_mut() {
            turn.results.push(result.clone());
            turn.results.sort_by_key(|result| place(&result.call_id));
        }
        if let Some(message) = self.history.last_mut() {
            message.content.push(Block::ToolResult(result));
            message.content.sort_by_key(|block| block.answers().and_then(place));
        }
    }
}
