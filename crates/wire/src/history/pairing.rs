//! Pairs calls and results: every call has exactly one result in the next message, and every result has a call.

use std::collections::HashMap;

use super::rules::{ResultOrder, Rules};
use crate::neutral::{Block, Message, ResultBlock, Role, ToolResult};
use crate::report::{Action, Changes, Effect};

/// The content of a placeholder result. The model sees it.
const MISSING: &str = "No result was recorded for this call.";

pub(super) fn repair(messages: &mut Vec<Message>, rules: &Rules, changes: &mut Changes) {
    if is_paired(messages, rules) {
        return;
    }
    let (mut results, mut rest) = take_results(messages, changes);
    merge_calls(&mut rest, changes);
    for (turn, message) in rest {
        let ids: Vec<String> = message.calls().map(|call| call.id.clone()).collect();
        messages.push(message);
        if ids.is_empty() {
            continue;
        }
        let answers = ids.into_iter().map(|id| {
            results.remove(&id).unwrap_or_else(|| {
                let what = (Action::Added, Effect::Same);
                changes.push(
                    "missing-result",
                    format!("/messages/{turn}"),
                    what,
                    format!("placeholder result added: call `{id}` has none"),
                );
                let content = vec![ResultBlock::text(MISSING)];
                Block::ToolResult(ToolResult { call_id: id, content, is_error: true, ..ToolResult::default() })
            })
        });
        let answers = answers.collect();
        messages.push(Message::new(Role::Tool, answers));
    }
}

/// True if every call has its result in the next message, and there are no other results.
fn is_paired(messages: &[Message], rules: &Rules) -> bool {
    let mut expected: Vec<&str> = Vec::new();
    for message in messages {
        let mut answered: Vec<&str> = message.content.iter().filter_map(Block::answers).collect();
        if answered.is_empty() && !expected.is_empty() {
            return false;
        }
        if !answered.is_empty() {
            let foreign = message.content.len() != answered.len() || message.role != Role::Tool;
            if rules.order == ResultOrder::Any {
                answered.sort_unstable();
                expected.sort_unstable();
            }
            if foreign || answered != expected {
                return false;
            }
        }
        expected = message.calls().map(|call| call.id.as_str()).collect();
    }
    expected.is_empty()
}

type Turn = (usize, Message);

/// Splits off the results, by call id, from the messages.
fn take_results(messages: &mut Vec<Message>, changes: &mut Changes) -> (HashMap<String, Block>, Vec<Turn>) {
    let mut called: HashMap<String, usize> = HashMap::new();
    let mut results: HashMap<String, Block> = HashMap::new();
    let mut rest: Vec<Turn> = Vec::new();
    for (turn, mut message) in std::mem::take(messages).into_iter().enumerate() {
        called.extend(message.calls().map(|call| (call.id.clone(), turn)));
        let mut kept = Vec::with_capacity(message.content.len());
        let mut took = false;
        for (index, block) in message.content.into_iter().enumerate() {
            let Some(id) = block.answers().map(str::to_owned) else {
                kept.push(block);
                continue;
            };
            took = true;
            let at = format!("/messages/{turn}/content/{index}");
            let dropped = (Action::Dropped, Effect::Narrower);
            match called.get(&id) {
                None => {
                    changes.push(
                        "orphan-result",
                        at,
                        dropped,
                        format!("tool result dropped: no earlier call has the id `{id}`"),
                    );
                }
                Some(_) if results.contains_key(&id) => {
                    changes.push(
                        "duplicate-result",
                        at,
                        dropped,
                        format!("tool result dropped: call `{id}` already has one"),
                    );
                }
                Some(&call) => {
                    if turn != call + 1 {
                        let what = (Action::Moved, Effect::Same);
                        changes.push(
                            "result-place",
                            at,
                            what,
                            format!("result of call `{id}` moved directly after the call"),
                        );
                    }
                    results.insert(id, block);
                }
            }
        }
        if kept.is_empty() && took {
            continue;
        }
        message.content = kept;
        rest.push((turn, message));
    }
    (results, rest)
}

/// Merges parallel calls that were split into several messages.
fn merge_calls(rest: &mut Vec<Turn>, changes: &mut Changes) {
    let mut merged: Vec<Turn> = Vec::with_capacity(rest.len());
    for (turn, message) in rest.drain(..) {
        let calls = |message: &Message| message.role == Role::Assistant && message.calls().next().is_some();
        match merged.last_mut() {
            Some((before, last)) if turn == *before + 1 && calls(last) && calls(&message) => {
                let what = (Action::Merged, Effect::Same);
                changes.push(
                    "split-calls",
                    format!("/messages/{turn}"),
                    what,
                    "consecutive assistant messages with tool calls merged",
                );
                last.content.extend(message.content);
                *before = turn;
            }
            _ => merged.push((turn, message)),
        }
    }
    *rest = merged;
}
