//! The value in an answer: found, brought back, judged; and the turns that ask for another one.

use polywire_answer::{Schema, feedback};
use polywire_wire::{Block, Message, Response, Role, StopReason, Strategy, ToolResult};

use super::ask_error::AskErrorKind;
use super::asked::Attempt;
use crate::plan::Plan;
use crate::restore::{Recovered, Wanted, recover};

/// What is said of an answer without a value.
const NO_VALUE: &str = "There is no JSON value in the answer. Answer with one JSON value that conforms to the schema, and with \
                        nothing else.";

/// What is said of an answer that ends before its value does.
const CUT_VALUE: &str = "The JSON value in the answer ends before it is complete. Answer with the whole value.";

/// What an answer is.
#[derive(Debug)]
pub(super) enum Read {
    Value(Recovered),
    /// Calls of tools, in the names and shapes of the wire.
    ToolCalls(Box<Response>),
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
        return Ok(Read::ToolCalls(Box::new(response)));
    }
    let text = response.text();
    let lens = plan.output.as_ref().and_then(|output| output.lens.as_ref());
    let sent = || plan.sent_output();
    Ok(Read::Value(recover(&text, &Wanted { lens, schema: Some(schema), sent: &sent })))
}

/// The turns that ask again: what the model said, and what is wrong with it, as the result of its call or as words of the user.
pub(super) fn again(attempt: &Attempt, cut: bool) -> Vec<Message> {
    let wrong = match attempt.faults.as_slice() {
        _ if cut => CUT_VALUE.to_owned(),
        // The other faults are in the caller's shape, which the model never saw.
        _ if !attempt.wire_faults.is_empty() => feedback(&attempt.wire_faults),
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
