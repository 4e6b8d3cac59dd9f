//! Pairs tool results of unknown call id with calls that have no result: by tool name, then by position.
//!
//! Gemini results may lack id and name, some clients invent ids (qwen-code does), and truncated conversations lose them. A result is
//! paired only if the match is unambiguous.

use std::collections::{HashMap, VecDeque};

use super::ids::call_id_mut;
use crate::neutral::{Block, Message};
use crate::protocol::Protocol;
use crate::report::{Action, Changes, Effect};

/// A tool call without a result.
struct OpenCall {
    id: String,
    name: String,
    group: usize,
}

/// A tool result with an unknown call id.
struct Orphan {
    turn: usize,
    index: usize,
    name: Option<String>,
    group: usize,
}

/// Sets the call id of results with an unknown one. Ambiguous results stay as they are.
pub(super) fn repair(messages: &mut [Message], changes: &mut Changes) {
    let (open, orphans) = unpaired(messages);
    let mut waiting: HashMap<usize, (Vec<OpenCall>, Vec<Orphan>)> = HashMap::new();
    for call in open {
        waiting.entry(call.group).or_default().0.push(call);
    }
    let mut groups = Vec::new();
    for orphan in orphans {
        if groups.last() != Some(&orphan.group) {
            groups.push(orphan.group);
        }
        waiting.entry(orphan.group).or_default().1.push(orphan);
    }
    for group in groups {
        let (calls, orphans) = waiting.remove(&group).unwrap_or_default();
        let mut of_name: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (place, call) in calls.iter().enumerate() {
            of_name.entry(&call.name).or_default().push_back(place);
        }
        let mut taken = vec![false; calls.len()];
        let mut unnamed = Vec::new();
        for orphan in orphans {
            let Some(name) = &orphan.name else {
                unnamed.push(orphan);
                continue;
            };
            let place = of_name.get_mut(name.as_str()).and_then(VecDeque::pop_front);
            if let Some((call, taken)) = place.and_then(|place| Some((calls.get(place)?, taken.get_mut(place)?))) {
                *taken = true;
                assign_call_id(messages, &orphan, call, "name", changes);
            }
        }
        let left = || calls.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(call, _)| call);
        // With fewer or more results than calls, the match would be ambiguous.
        if unnamed.len() == left().count() {
            for (orphan, call) in unnamed.iter().zip(left()) {
                assign_call_id(messages, orphan, call, "position", changes);
            }
        }
    }
}

fn assign_call_id(messages: &mut [Message], orphan: &Orphan, call: &OpenCall, by: &str, changes: &mut Changes) {
    let Orphan { turn, index, .. } = *orphan;
    let block = messages.get_mut(turn).and_then(|message| message.content.get_mut(index));
    let Some(id) = block.and_then(call_id_mut) else { return };
    let detail = format!("tool result has no known call id: paired with the call of `{}` by {by}", call.name);
    changes.push(
        "unnamed-result",
        format!("/messages/{turn}/content/{index}/call_id"),
        (Action::Renamed, Effect::Same),
        detail,
    );
    id.clone_from(&call.id);
}

/// Calls without results and results without calls. A group is the calls of one step and the results that follow.
fn unpaired(messages: &[Message]) -> (Vec<OpenCall>, Vec<Orphan>) {
    let mut calls: Vec<Option<OpenCall>> = Vec::new();
    let mut by_id: HashMap<&str, VecDeque<usize>> = HashMap::new();
    let mut orphans = Vec::new();
    let (mut group, mut answered) = (0, false);
    for (turn, message) in messages.iter().enumerate() {
        for (index, block) in message.content.iter().enumerate() {
            if let Block::ToolCall(call) = block {
                group += usize::from(std::mem::take(&mut answered));
                by_id.entry(&call.id).or_default().push_back(calls.len());
                calls.push(Some(OpenCall { id: call.id.clone(), name: call.name.clone(), group }));
            } else if let Some(id) = block.answers() {
                answered = true;
                match by_id.get_mut(id) {
                    Some(places) => {
                        if let Some(slot) = places.pop_front().and_then(|place| calls.get_mut(place)) {
                            *slot = None;
                        }
                    }
                    None => orphans.push(Orphan { turn, index, name: tool_name(block), group }),
                }
            }
        }
    }
    (calls.into_iter().flatten().collect(), orphans)
}

/// The tool name of a result, if its protocol has one.
fn tool_name(block: &Block) -> Option<String> {
    let extra = block.extra()?;
    let name = |protocol| extra.field(protocol, "name")?.as_str().filter(|name| !name.is_empty());
    Protocol::ALL.into_iter().find_map(name).map(str::to_owned)
}
