//! Values asked for by a schema: read, restored, validated, and asked for again with what is wrong.

use std::fmt;
use std::time::Instant;

use polywire_answer::{Answer, Fault, ReadOptions, Repair, Schema, Verdict, feedback, read_with};
use polywire_wire::{
    Block, Message, Output, OutputFormat, Request, Response, Role, StopReason, Strategy, ToolResult, Usage,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Client;
use super::error::SendError;
use super::send::Received;
use crate::catalog::Model;
use crate::change::Change;
use crate::plan::Plan;

/// What is said of an answer without a value.
const NO_VALUE: &str = "There is no JSON value in the answer. Answer with one JSON value that conforms to the schema, and with \
                        nothing else.";

/// A value that was asked for, and how it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked<T> {
    /// The value.
    pub value: T,
    /// The channel by which it was asked for.
    pub strategy: Strategy,
    /// Every attempt, the last one with the value.
    pub attempts: Vec<Attempt>,
    /// Everything that had to give in the last plan and in its answer.
    pub changes: Vec<Change>,
}

/// One time that a value was asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The plan that was sent.
    pub plan: Plan,
    /// The answer's bytes, as far as they are text.
    pub raw: String,
    /// The answer as the provider gave it.
    pub response: Response,
    /// Liberties that were taken in reading it.
    pub repairs: Vec<Repair>,
    /// What is wrong with its value; empty for a valid one, and where there is no value.
    pub faults: Vec<Fault>,
    /// How often it was sent again because the provider could not take it.
    pub retries: usize,
}

/// Why there is no value, and every attempt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AskError {
    /// Why.
    pub why: AskFailure,
    /// Every attempt that was answered.
    pub attempts: Vec<Attempt>,
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AskFailure {
    /// The schema is none.
    Schema(String),
    /// There is no answer.
    Send(SendError),
    /// The model or a filter refused; the words are those of the refusal.
    Refused(String),
    /// The answer ended at a limit before the value did.
    Truncated,
    /// The model wants tools of the caller's called first; the calls are in the last attempt.
    ToolCalls,
    /// No attempt had a value that the schema accepts.
    Invalid,
    /// The schema accepts the value, but the type does not.
    Typed(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            AskFailure::Schema(why) => write!(f, "the schema cannot be used: {why}"),
            AskFailure::Send(error) => error.fmt(f),
            AskFailure::Refused(words) => write!(f, "the model refused: {words}"),
            AskFailure::Truncated => f.write_str("the answer was cut off at the limit of tokens"),
            AskFailure::ToolCalls => f.write_str("the model calls tools before it answers"),
            AskFailure::Invalid => {
                write!(f, "no value that fits the schema in {} attempts", self.attempts.len())?;
                let first = self.attempts.last().and_then(|attempt| attempt.faults.first());
                first.map_or(Ok(()), |fault| write!(f, "; at `{}`: {}", fault.at, fault.detail))
            }
            AskFailure::Typed(why) => write!(f, "the value is valid, but not one of the type: {why}"),
        }
    }
}

impl std::error::Error for AskError {}

impl<T> Asked<T> {
    /// Liberties that were taken in reading the value.
    pub fn repairs(&self) -> &[Repair] {
        self.attempts.last().map(|attempt| attempt.repairs.as_slice()).unwrap_or_default()
    }

    /// What all attempts cost together, in tokens read and written.
    pub fn usage(&self) -> Usage {
        let spent = self.attempts.iter().filter_map(|attempt| attempt.response.usage.as_ref());
        spent.fold(Usage::default(), |mut sum, usage| {
            sum.input_tokens = sum.input_tokens.saturating_add(usage.input_tokens);
            sum.output_tokens = sum.output_tokens.saturating_add(usage.output_tokens);
            sum
        })
    }
}

impl Client {
    /// Asks for a value of a type.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        request: Request,
        model: &Model,
    ) -> Result<Asked<T>, AskError> {
        let schema = schemars::schema_for!(T).to_value();
        let Asked { value, strategy, attempts, changes } = self.ask_value(request, &schema, model).await?;
        match serde_json::from_value(value) {
            Ok(value) => Ok(Asked { value, strategy, attempts, changes }),
            Err(error) => Err(AskError { why: AskFailure::Typed(error.to_string()), attempts }),
        }
    }

    /// Asks for a value that a schema accepts.
    pub async fn ask_value(&self, request: Request, schema: &Value, model: &Model) -> Result<Asked<Value>, AskError> {
        let name = schema.get("title").and_then(Value::as_str).unwrap_or("answer");
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(64).collect();
        let name = if name.is_empty() { "answer" } else { &name };
        let format = OutputFormat::strict(name, schema.clone());
        let format = format.map_err(|error| AskFailure::Schema(error.to_string()).after(Vec::new()))?;
        self.ask_format(request, format, model).await
    }

    /// Asks for a value of an output format, by the channel that it names.
    pub async fn ask_format(
        &self,
        mut request: Request,
        format: OutputFormat,
        model: &Model,
    ) -> Result<Asked<Value>, AskError> {
        let mut attempts = Vec::new();
        let schema = match Schema::cached(format.schema()) {
            Ok(schema) => schema,
            Err(error) => return Err(AskFailure::Schema(error.to_string()).after(attempts)),
        };
        request.output = Some(Output::Schema(format));
        let until = Instant::now() + self.options.deadline;
        loop {
            let planned = self.planner.plan(&request, model).map_err(SendError::Loss);
            let sent = match planned {
                Ok(plan) => self.send(&plan, model, request.stream, until).await.map(|sent| (plan, sent)),
                Err(error) => Err(error),
            };
            let (plan, sent) = match sent {
                Ok(sent) => sent,
                Err(error) => return Err(AskFailure::Send(error).after(attempts)),
            };
            let Received { response, raw, changes, retries } = sent;
            let read = read(&response, &plan, &schema);
            let strategy = plan.output.as_ref().map(|output| output.strategy).unwrap_or_default();
            let changes = plan.changes().iter().cloned().chain(changes).collect();
            let raw = String::from_utf8_lossy(&raw).into_owned();
            let mut attempt = Attempt { plan, raw, response, repairs: Vec::new(), faults: Vec::new(), retries };
            let Answer { value, repairs, verdict, .. } = match read {
                Ok(answer) => answer,
                Err(why) => {
                    attempts.push(attempt);
                    return Err(why.after(attempts));
                }
            };
            attempt.repairs = repairs;
            match (verdict, value) {
                (Verdict::Valid, Some(value)) => {
                    attempts.push(attempt);
                    return Ok(Asked { value, strategy, attempts, changes });
                }
                (Verdict::Invalid(faults), _) => attempt.faults = faults,
                (Verdict::Valid | Verdict::NoValue, _) => {}
            }
            request.messages.extend(again(&attempt));
            attempts.push(attempt);
            if attempts.len() >= self.options.attempts {
                return Err(AskFailure::Invalid.after(attempts));
            }
        }
    }
}

impl AskFailure {
    fn after(self, attempts: Vec<Attempt>) -> AskError {
        AskError { why: self, attempts }
    }
}

/// Reads the value of an answer. An answer that is none is not one to ask again about.
fn read(response: &Response, plan: &Plan, schema: &Schema) -> Result<Answer, AskFailure> {
    if let Some(words) = &response.refusal {
        return Err(AskFailure::Refused(words.clone()));
    }
    if matches!(response.stop, StopReason::Refusal | StopReason::ContentFilter) {
        return Err(AskFailure::Refused(response.text()));
    }
    if matches!(response.stop, StopReason::MaxTokens | StopReason::ContextLength) {
        return Err(AskFailure::Truncated);
    }
    let mut response = response.clone();
    let by_tool = plan.output.as_ref().is_some_and(|output| output.strategy == Strategy::Tool);
    let answered = by_tool && response.answer_from_tool();
    if !answered && response.calls().next().is_some() {
        return Err(AskFailure::ToolCalls);
    }
    let text = response.text();
    let options = ReadOptions::default();
    let Some(lens) = plan.output.as_ref().and_then(|output| output.lens.as_ref()) else {
        return Ok(read_with(&text, Some(schema), &options));
    };
    let mut found = read_with(&text, None, &options);
    let Some(value) = found.value.take() else { return Ok(found) };
    // What the lens does not understand is judged as it is.
    let value = lens.decode(value.clone()).unwrap_or(value);
    let mut answer = read_with(&value.to_string(), Some(schema), &options);
    // The places of these are in a text that nobody wrote.
    answer.repairs.iter_mut().for_each(|repair| repair.span = None);
    found.repairs.append(&mut answer.repairs);
    answer.repairs = found.repairs;
    Ok(answer)
}

/// The turns that ask again: what the model said, and what is wrong with it, as the result of its call or as words of the user.
fn again(attempt: &Attempt) -> Vec<Message> {
    let wrong = if attempt.faults.is_empty() { NO_VALUE.to_owned() } else { feedback(&attempt.faults) };
    let said = attempt.response.content.clone();
    let results: Vec<ToolResult> = said
        .iter()
        .filter_map(Block::as_call)
        .map(|call| ToolResult { is_error: true, ..ToolResult::text(call.id.clone(), wrong.clone()) })
        .collect();
    let said = (!said.is_empty()).then(|| Message::new(Role::Assistant, said));
    let reply = if results.is_empty() { Message::user(wrong) } else { Message::tool(results) };
    said.into_iter().chain([reply]).collect()
}
