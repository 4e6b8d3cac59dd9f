//! Calls and their results: each result follows its call, and each call has a result where the protocol wants it.

use std::collections::BTreeSet;

use polywire::wire::{Protocol, WireError};

use super::read::{Part, Speaker, Turn};
use super::{Pairing, Rules};
use crate::judge::refusal;

type Judged = Result<(), Box<WireError>>;

pub(super) fn judge(turns: &[Turn], rules: &Rules) -> Judged {
    match rules.pairing {
        Pairing::MessagesAfter => messages_after(turns, rules),
        Pairing::AnywhereAfter => anywhere_after(turns, rules),
        Pairing::NextTurn => next_turn(turns, rules),
        Pairing::NextTurnByCount => next_turn_by_count(turns, rules),
    }
}

/// Chat: the messages after a message with calls are its results, all of them and nothing else.
fn messages_after(turns: &[Turn], rules: &Rules) -> Judged {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for turn in turns {
        let place = rules.place(turn.index);
        if let Some(id) = turn.results().next() {
            if !known.contains(id) {
                let message = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
                return Err(refusal(message, &place));
            }
            open.remove(id);
            continue;
        }
        unanswered(&open, &place)?;
        known = turn.calls().map(|call| call.id.as_str()).collect();
        open.clone_from(&known);
    }
    unanswered(&open, "messages")
}

fn unanswered(open: &BTreeSet<&str>, place: &str) -> Judged {
    if open.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = open.iter().copied().collect();
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        ids.join(", ")
    );
    Err(refusal(&message, place))
}

/// Responses: pairs by id, in any order after the call.
fn anywhere_after(turns: &[Turn], rules: &Rules) -> Judged {
    let mut called: BTreeSet<&str> = BTreeSet::new();
    let mut answered: BTreeSet<&str> = BTreeSet::new();
    for turn in turns {
        called.extend(turn.calls().map(|call| call.id.as_str()));
        for id in turn.results() {
            if !called.contains(id) {
                let message = format!("No tool call found for function call output with call_id {id}.");
                return Err(refusal(&message, &rules.place(turn.index)));
            }
            answered.insert(id);
        }
    }
    match called.difference(&answered).next() {
        Some(id) => Err(refusal(&format!("No tool output found for function call {id}."), "input")),
        None => Ok(()),
    }
}

/// Anthropic and Bedrock: the next turn of the user starts with the results, by id. Turns of one speaker count as one at Anthropic.
fn next_turn(turns: &[Turn], rules: &Rules) -> Judged {
    let is_bedrock = rules.protocol == Protocol::BedrockConverse;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut server_calls: BTreeSet<&str> = BTreeSet::new();
    for turn in turns {
        let place = rules.place(turn.index);
        server_results(turn, &mut server_calls, &place)?;
        if turn.speaker == Speaker::Model {
            // Between calls and their results the model may only go on calling.
            if turn.calls().next().is_none() {
                missing(&open, &place, is_bedrock)?;
            }
            let mut own: BTreeSet<&str> = BTreeSet::new();
            for call in turn.calls() {
                if !own.insert(&call.id) || (!is_bedrock && !seen.insert(&call.id)) {
                    let message = if is_bedrock {
                        format!("The toolUse blocks at {place}.content contain duplicate Ids: {}", call.id)
                    } else {
                        "messages: `tool_use` ids must be unique".to_owned()
                    };
                    return Err(refusal(&message, &place));
                }
            }
            open.extend(own);
            continue;
        }
        if turn.speaker == Speaker::System {
            missing(&open, &place, is_bedrock)?;
            continue;
        }
        let mut has_text = false;
        for part in &turn.parts {
            let Part::Result { id } = part else {
                has_text = true;
                continue;
            };
            if has_text && !is_bedrock {
                // The results must come before anything else (ANT-MSG-07), so the call counts as unanswered.
                missing(&open, &place, is_bedrock)?;
            }
            if !open.remove(id.as_str()) {
                let message = if is_bedrock {
                    format!(
                        "The number of toolResult blocks at {place}.content exceeds the number of toolUse blocks of previous turn."
                    )
                } else {
                    format!(
                        "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                    )
                };
                return Err(refusal(&message, &place));
            }
        }
        missing(&open, &place, is_bedrock)?;
    }
    missing(&open, "messages", is_bedrock)
}

/// Results of tools that the provider runs follow their calls too.
fn server_results<'t>(turn: &'t Turn, calls: &mut BTreeSet<&'t str>, place: &str) -> Judged {
    for part in &turn.parts {
        if let Part::ServerCall { id } = part {
            calls.insert(id);
        } else if let Part::ServerResult { id, kind } = part
            && !calls.contains(id.as_str())
        {
            return Err(refusal(&format!("{place}: unexpected `tool_use_id` found in `{kind}` blocks: {id}"), place));
        }
    }
    Ok(())
}

fn missing(open: &BTreeSet<&str>, place: &str, is_bedrock: bool) -> Judged {
    if open.is_empty() {
        return Ok(());
    }
    let ids = open.iter().copied().collect::<Vec<_>>().join(", ");
    let message = if is_bedrock {
        format!("Expected toolResult blocks at {place}.content for the following Ids: {ids}")
    } else {
        format!(
            "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )
    };
    Err(refusal(&message, place))
}

/// Gemini: a turn of calls follows the user, and the next turn has as many results. Ids need not be there (GEM-FN-28).
fn next_turn_by_count(turns: &[Turn], rules: &Rules) -> Judged {
    let mut before: Option<&Turn> = None;
    for turn in turns {
        let place = rules.place(turn.index);
        let (calls, results) = (turn.calls().count(), turn.results().count());
        let open = before.map_or(0, |turn| turn.calls().count());
        if calls > 0 && before.is_none_or(|before| before.speaker == Speaker::Model) {
            let message = "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
            return Err(refusal(message, &place));
        }
        if results > 0 && open == 0 {
            return Err(refusal(
                "Please ensure that function response turn comes immediately after a function call turn.",
                &place,
            ));
        }
        if results != open {
            let message = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
            return Err(refusal(message, &place));
        }
        before = Some(turn);
    }
    match before {
        Some(last) if last.calls().next().is_some() => Err(refusal(
            "Please ensure that function response turn comes immediately after a function call turn.",
            &rules.place(last.index),
        )),
        Some(_) | None => Ok(()),
    }
}
