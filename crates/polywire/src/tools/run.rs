//! The tool loop, with limits and a complete history.

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

/// A tool loop: a [`Stream`] of events, and a future of the outcome.
///
/// Dropping it cancels the request and the running calls. Another run can continue with [`history`](Self::history) at any point: it first
/// makes the calls without results, so a cancelled call is made again.
#[must_use = "nothing is sent before the run is awaited or polled"]
pub struct Run {
    steps: Stepper<RunState>,
    record: Arc<Mutex<RunRecord>>,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunEvent {
    /// An event of the model's response.
    Event(Event),
    /// A tool call starts.
    Call(ToolCall),
    /// A tool call has ended.
    Result(ToolResult),
}

/// A response of the model and the results of its calls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Turn {
    /// The response, with its plan and changes.
    pub completion: Completion,
    /// The results, in the order of the calls.
    pub results: Vec<ToolResult>,
}

/// The outcome of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The last response.
    pub response: Response,
    /// The reason for its end.
    pub stop: RunStop,
    /// The conversation, including the last response.
    pub history: Vec<Message>,
    /// Every turn.
    pub turns: Vec<Turn>,
}

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunStop {
    /// The model responded without calls.
    Answered,
    /// The limit [`Run::max_turns`] was reached.
    TurnLimit,
    /// The limit [`Run::max_total_tokens`] was reached.
    TokenLimit,
    /// The model called tools of the request that the toolbox does not have; the caller has to make these calls.
    OpenCalls,
}

/// The error of a run, with its history.
#[derive(Clone, Debug, thiserror::Error)]
#[error("turn {}: {source}", turns.len() + 1)]
#[non_exhaustive]
pub struct RunError {
    /// The error of the failed turn.
    pub source: SendError,
    /// The conversation so far.
    pub history: Vec<Message>,
    /// Every complete turn.
    pub turns: Vec<Turn>,
}

#[derive(Debug)]
struct RunRecord {
    history: Vec<Message>,
    turns: Vec<Turn>,
    max_turns: usize,
    max_total_tokens: Option<u64>,
}

impl Client {
    /// Runs a tool loop: makes the model's calls with the toolbox and sends back their results until it responds without calls.
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
        let caller_tools =
            request.tools.iter().filter_map(Tool::as_function).map(|function| function.name.clone()).collect();
        request.tools.extend(toolbox.tools());
        let history = std::mem::take(&mut request.messages);
        let record = RunRecord { history, turns: Vec::new(), max_turns: 16, max_total_tokens: None };
        let record = Arc::new(Mutex::new(record));
        let running = RunState {
            client: self.clone(),
            request,
            toolbox: toolbox.clone(),
            caller_tools,
            models: models.as_ref().to_vec(),
            record: Arc::clone(&record),
            phase: RunPhase::Between,
            ready: VecDeque::new(),
        };
        Run { steps: Stepper::new(running), record }
    }
}

impl Run {
    /// Sets the maximum number of turns. The default is 16.
    pub fn max_turns(self, turns: usize) -> Self {
        lock(&self.record).max_turns = turns;
        self
    }

    /// Sets the limit for the input and output tokens of all turns together. The turn that reaches it is the last.
    pub fn max_total_tokens(self, tokens: u64) -> Self {
        lock(&self.record).max_total_tokens = Some(tokens);
        self
    }

    /// The next event or the error of the run; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunError>> {
        self.steps.next().await
    }

    /// The conversation so far. Another run can continue with it.
    pub fn history(&self) -> Vec<Message> {
        lock(&self.record).history.clone()
    }

    /// The turns so far.
    pub fn turns(&self) -> Vec<Turn> {
        lock(&self.record).turns.clone()
    }

    /// Waits for the end and returns the outcome.
    pub async fn finish(mut self) -> Result<RunOutcome, RunError> {
        while let Some(step) = self.next().await {
            step?;
        }
        let stop = match self.steps.into_state().await.map(|state| state.phase) {
            Some(RunPhase::Done(stop)) => stop,
            Some(RunPhase::Failed(error)) => return Err(*error),
            Some(RunPhase::Between | RunPhase::Answering(_) | RunPhase::Calling(_)) | None => RunStop::TurnLimit,
        };
        let RunRecord { history, turns, .. } = &*lock(&self.record);
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

fn lock(record: &Mutex<RunRecord>) -> MutexGuard<'_, RunRecord> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

struct RunState {
    client: Client,
    /// The request without messages, which are in `record`.
    request: Request,
    toolbox: Toolbox,
    /// The tools of the request that the toolbox does not have.
    caller_tools: Vec<String>,
    models: Vec<Model>,
    record: Arc<Mutex<RunRecord>>,
    phase: RunPhase,
    ready: VecDeque<RunEvent>,
}

enum RunPhase {
    Between,
    Answering(Box<CompletionStream>),
    Calling(RunningCalls),
    Done(RunStop),
    Failed(Box<RunError>),
}

/// Running calls. They are cancelled on drop.
struct RunningCalls {
    tasks: JoinSet<ToolResult>,
    /// The call id of each task.
    ids: Vec<(Id, String)>,
}

impl Steps for RunState {
    type Item = Result<RunEvent, RunError>;

    async fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match &mut self.phase {
                RunPhase::Between => self.phase = self.next_phase(),
                RunPhase::Answering(stream) => match stream.next().await {
                    Some(Ok(event)) => return Some(Ok(RunEvent::Event(event))),
                    Some(Err(error)) => return Some(Err(self.fail(error))),
                    None => {
                        let RunPhase::Answering(stream) = std::mem::replace(&mut self.phase, RunPhase::Between) else {
                            continue;
                        };
                        match stream.finish().await {
                            Ok(completion) => self.phase = self.record_turn(completion),
                            Err(error) => return Some(Err(self.fail(error))),
                        }
                    }
                },
                RunPhase::Calling(calls) => {
                    if let Some(result) = calls.next().await {
                        lock(&self.record).push_result(result.clone());
                        return Some(Ok(RunEvent::Result(result)));
                    }
                    let open = lock(&self.record).open_calls();
                    self.phase = if open.is_empty() { RunPhase::Between } else { RunPhase::Done(RunStop::OpenCalls) };
                }
                RunPhase::Done(_) | RunPhase::Failed(_) => return None,
            }
        }
    }
}

impl RunState {
    /// The phase after a turn: open calls, the end, or the next request.
    fn next_phase(&mut self) -> RunPhase {
        let open = lock(&self.record).open_calls();
        if !open.is_empty() {
            return self.start_calls(open);
        }
        let record = lock(&self.record);
        let spent = usage(&record.turns);
        if record.turns.len() >= record.max_turns {
            return RunPhase::Done(RunStop::TurnLimit);
        }
        if record.max_total_tokens.is_some_and(|most| spent.input_tokens.saturating_add(spent.output_tokens) >= most) {
            return RunPhase::Done(RunStop::TokenLimit);
        }
        let request = Request { messages: record.history.clone(), ..self.request.clone() };
        RunPhase::Answering(Box::new(self.client.stream(&request, &self.models)))
    }

    fn record_turn(&mut self, completion: Completion) -> RunPhase {
        let mut record = lock(&self.record);
        let continues = completion.response.calls().next().is_some() || completion.response.stop == StopReason::Pause;
        if !completion.response.content.is_empty() {
            record.history.push(completion.response.clone().into_message());
        }
        record.turns.push(Turn { completion, results: Vec::new() });
        if continues { RunPhase::Between } else { RunPhase::Done(RunStop::Answered) }
    }

    fn start_calls(&mut self, open: Vec<ToolCall>) -> RunPhase {
        let permits = self.toolbox.permits();
        let mut calls = RunningCalls { tasks: JoinSet::new(), ids: Vec::new() };
        for call in open.into_iter().filter(|call| !self.caller_tools.contains(&call.name)) {
            self.ready.push_back(RunEvent::Call(call.clone()));
            let id = call.id.clone();
            // Each call is a task, so that a panic only fails this call.
            let task = calls.tasks.spawn(self.toolbox.call(call, Arc::clone(&permits)));
            calls.ids.push((task.id(), id));
        }
        RunPhase::Calling(calls)
    }

    fn fail(&mut self, source: SendError) -> RunError {
        let RunRecord { history, turns, .. } = &*lock(&self.record);
        let error = RunError { source, history: history.clone(), turns: turns.clone() };
        self.phase = RunPhase::Failed(Box::new(error.clone()));
        error
    }
}

impl RunningCalls {
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

impl RunRecord {
    /// The calls of the last response without a result.
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

    /// Adds a result. The results of a response are in the order of its calls.
    fn push_result(&mut self, result: ToolResult) {
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
