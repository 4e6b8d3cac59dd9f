//! Reads, restores and validates the value of a response, and builds the messages that ask the model to correct it.

use polywire_answer::{Schema, feedback};
use polywire_wire::{Block, Message, Response, Role, StopReason, Strategy, ToolResult};

use super::ask_error::AskErrorKind;
use super::asked::Attempt;
use crate::plan::Plan;
use crate::restore::{RecoverTarget, Recovered, recover};

/// The correction message for a response without a value.
const NO_VALUE: &str = "There is no JSON value in the answer. Answer with one JSON value that conforms to the schema, and with \
                        nothing else.";

/// The correction message for a truncated value.
const TRUNCATED_VALUE: &str = "The JSON value in the answer ends before it is complete. Answer with the whole value.";

/// The content of a response.
#[derive(Debug)]
pub(super) enum ReadOutcome {
    Value(Recovered),
    /// Tool calls, with wire names and arguments.
    ToolCalls(Box<Response>),
}

/// Reads the value of a response. Errors are final: the model is not asked to correct refused or truncated responses.
pub(super) fn read_value(response: &Response, plan: &Plan, schema: &Schema) -> Result<ReadOutcome, AskErrorKind> {
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
    let is_output_tool = plan.output.as_ref().is_some_and(|output| output.strategy == Strategy::Tool);
    let answered = is_output_tool && response.answer_from_tool();
    if !answered && response.calls().next().is_some() {
        return Ok(ReadOutcome::ToolCalls(Box::new(response)));
    }
    let text = response.text();
    let lens = plan.output.as_ref().and_then(|output| output.lens.as_ref());
    let sent = || plan.sent_output();
    Ok(ReadOutcome::Value(recover(&text, &RecoverTarget { lens, schema: Some(schema), fitted_schema: &sent })))
}

/// The model's invalid response and a message with its faults, as the result of its tool call or as a user message.
pub(super) fn correction_messages(attempt: &Attempt, is_truncated: bool) -> Vec<Message> {
    let correction = match attempt.faults.as_slice() {
        _ if is_truncated => TRUNCATED_VALUE.to_owned(),
        // The other faults refer to the caller's schema, which the model has not seen.
        _ if !attempt.wire_faults.is_empty() => feedback(&attempt.wire_faults),
        _ if let Some(why) = &attempt.not_restored => {
            format!("The answer does not fit the schema: {why}. Correct that and give the whole answer again.")
        }
        [] => NO_VALUE.to_owned(),
        faults => feedback(faults),
    };
    let content = attempt.response.content.clone();
    let results: Vec<ToolResult> = content
        .iter()
        .filter_map(Block::as_call)
        .map(|call| ToolResult { is_error: true, ..ToolResult::text(call.id.clone(), correction.clone()) })
        .collect();
    let response = (!content.is_empty()).then(|| Message::new(Role::Assistant, content));
    let reply = if results.is_empty() { Message::user(correction) } else { Message::tool(results) };
    response.into_iter().chain([reply]).collect()
}
