//! The value in an answer: found, brought back, judged; and the turns that ask for another one.

use polywire_answer::{Answer, ReadOptions, Repair, Schema, Verdict, feedback, read_with};
use polywire_schema::Lens;
use polywire_wire::{Block, Message, OUTPUT_TOOL, Output, Response, Role, StopReason, Strategy, Tool, ToolResult};
use serde_json::Value;

use super::ask_error::AskErrorKind;
use super::asked::Attempt;
use crate::plan::Plan;
use crate::restore::restore;

/// What is said of an answer without a value.
const NO_VALUE: &str = "There is no JSON value in the answer. Answer with one JSON value that conforms to the schema, and with \
                        nothing else.";

/// What is said of an answer that ends before its value does.
const CUT_VALUE: &str = "The JSON value in the answer ends before it is complete. Answer with the whole value.";

/// What an answer is.
#[derive(Debug)]
pub(super) enum Read {
    Value(Reading),
    /// Calls of tools, in the caller's names and shapes.
    ToolCalls(Box<Response>),
}

/// What the value of an answer came to.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) answer: Answer,
    /// Why its value could not be brought back into the caller's shape.
    pub(super) not_restored: Option<String>,
}

impl From<Answer> for Read {
    fn from(answer: Answer) -> Self {
        Self::Value(Reading { answer, not_restored: None })
    }
}

/// Reads the value of an answer. An answer that is none is not one to ask again about.
pub(super) fn read(response: &Response, plan: &Plan, schema: &Schema) -> Result<Read, AskErrorKind> {
    if let Some(words) = &response.refusal {
        return Err(AskErrorKind::Refused(words.clone()));
    }
    if matches!(response.stop, StopReason::Refusal | StopReason::ContentFilter) {
        return Err(AskErrorKind::Refused(response.text()));
    }
    if matches!(response.stop, StopReason::MaxTokens | StopReason::ContextLength) {
        return Err(AskErrorKind::Truncated);
    }
    let mut response = response.clone();
    let by_tool = plan.output.as_ref().is_some_and(|output| output.strategy == Strategy::Tool);
    let answered = by_tool && response.answer_from_tool();
    if !answered && response.calls().next().is_some() {
        return Ok(Read::ToolCalls(Box::new(restore(response, plan).response)));
    }
    let text = response.text();
    let options = ReadOptions::default();
    let Some(lens) = plan.output.as_ref().and_then(|output| output.lens.as_ref()) else {
        return Ok(read_with(&text, Some(schema), &options).into());
    };
    let mut found = read_with(&text, None, &options);
    let Some(value) = found.value.take() else { return Ok(found.into()) };
    let (value, not_restored) = match lens.decode(value.clone()) {
        Ok(value) => (value, None),
        Err(error) => match mended(&text, plan, lens, &options) {
            Some((value, repairs)) => {
                found.repairs = repairs;
                (value, None)
            }
            // What the lens does not understand may be in the caller's shape already.
            None => (value, Some(error.to_string())),
        },
    };
    let mut answer = read_with(&value.to_string(), Some(schema), &options);
    if not_restored.is_some() && !answer.repairs.is_empty() && answer.verdict == Verdict::Valid {
        // Made to fit, it is a value that nobody meant.
        answer.verdict = Verdict::NoValue;
    }
    // The places of these are in a text that nobody wrote.
    answer.repairs.iter_mut().for_each(|repair| repair.span = None);
    found.repairs.append(&mut answer.repairs);
    answer.repairs = found.repairs;
    Ok(Read::Value(Reading { answer, not_restored }))
}

/// The value of a text that the lens understands once it is made to fit the schema that was sent.
fn mended(text: &str, plan: &Plan, lens: &Lens, options: &ReadOptions) -> Option<(Value, Vec<Repair>)> {
    let sent = crate::translate::decode_request(plan.body.get().as_bytes(), plan.protocol).ok()?.value;
    let answer = sent.tools.iter().filter_map(Tool::as_function).find(|tool| tool.name == OUTPUT_TOOL);
    let schema = match (&sent.output, answer) {
        (Some(Output::Schema(format)), _) => format.schema(),
        (Some(Output::Json) | None, answer) => answer?.parameters.as_ref()?,
    };
    let answer = read_with(text, Some(&*Schema::cached(schema).ok()?), options);
    Some((lens.decode(answer.value?).ok()?, answer.repairs))
}

/// The turns that ask again: what the model said, and what is wrong with it, as the result of its call or as words of the user.
pub(super) fn again(attempt: &Attempt, cut: bool) -> Vec<Message> {
    let wrong = match attempt.faults.as_slice() {
        _ if cut => CUT_VALUE.to_owned(),
        // The faults are told in the caller's shape, which the model never saw.
        _ if let Some(why) = &attempt.not_restored => {
            format!("The answer does not fit the schema: {why}. Correct that and give the whole answer again.")
        }
        [] => NO_VALUE.to_owned(),
        faults => feedback(faults),
    };
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
