//! Stored items and the reasoning items before them.
//!
//! The Responses API rejects an item with a known id if its reasoning item is missing, and a reasoning item that nothing follows ("…
//! was provided without its required …"). It accepts an item without an id.

use std::collections::HashSet;

use serde_json::Value;

use super::rules::{Items, Rules};
use crate::neutral::{Block, Extra, Message, Role};
use crate::report::{Action, Changes, Effect};

const DROPPED_NOTE: (Action, Effect) = (Action::Dropped, Effect::Note);

/// The provider-specific field of a text that stores the fields of its message item.
const ITEM: &str = "item";

pub(super) fn repair(messages: &mut Vec<Message>, rules: &Rules, changes: &mut Changes) {
    if rules.items == Items::Free {
        return;
    }
    drop_empty_texts(messages, changes);
    drop_lone_reasoning(messages, changes);
    let mut after_reasoning = false;
    for (turn, message) in messages.iter_mut().enumerate() {
        if message.role != Role::Assistant {
            after_reasoning = false;
            continue;
        }
        for (index, block) in message.content.iter_mut().enumerate() {
            match block {
                Block::Thinking(_) | Block::RedactedThinking(_) => after_reasoning = true,
                Block::ToolCall(call) if !after_reasoning => {
                    drop_id(&mut call.extra, rules, &[], (turn, index), changes);
                }
                Block::Text(text) if !after_reasoning => {
                    drop_id(&mut text.extra, rules, &[ITEM], (turn, index), changes);
                }
                Block::Text(_)
                | Block::ToolCall(_)
                | Block::Image(_)
                | Block::Audio(_)
                | Block::Document(_)
                | Block::ToolResult(_)
                | Block::ToolResultReference(_)
                | Block::Other(_) => {}
            }
        }
    }
}

fn drop_id(extra: &mut Extra, rules: &Rules, path: &[&str], (turn, index): (usize, usize), changes: &mut Changes) {
    let own = rules.protocol;
    let mut fields = extra.take(own);
    let id = match path {
        [] => fields.shift_remove("id"),
        [outer, ..] => {
            let id = fields.get_mut(*outer).and_then(Value::as_object_mut).and_then(|item| item.shift_remove("id"));
            if fields.get(*outer).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
                fields.shift_remove(*outer);
            }
            id
        }
    };
    extra.set(own, fields);
    if let Some(Value::String(id)) = id {
        let path: String = path.iter().flat_map(|step| ["/", step]).collect();
        let at = format!("/messages/{turn}/content/{index}/extra/{own}{path}/id");
        let detail =
            format!("item id `{id}` dropped: the reasoning item that it belongs to is not in the conversation");
        changes.push("item-id", at, DROPPED_NOTE, detail);
    }
}

/// Message index and block index.
type Place = (usize, usize);

/// The positions of assistant blocks, grouped by runs of consecutive assistant messages.
fn assistant_runs(messages: &[Message]) -> Vec<Vec<Place>> {
    let mut runs: Vec<Vec<Place>> = vec![Vec::new()];
    for (turn, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant {
            let places = (0..message.content.len()).map(|index| (turn, index));
            runs.last_mut().into_iter().for_each(|run| run.extend(places.clone()));
        } else {
            runs.push(Vec::new());
        }
    }
    runs
}

fn block_at(messages: &[Message], (turn, index): Place) -> Option<&Block> {
    messages.get(turn)?.content.get(index)
}

fn is_reasoning(block: Option<&Block>) -> bool {
    matches!(block, Some(Block::Thinking(_) | Block::RedactedThinking(_)))
}

/// Drops empty texts that separate reasoning from its tool call.
fn drop_empty_texts(messages: &mut Vec<Message>, changes: &mut Changes) {
    let empty = |place| matches!(block_at(messages, place), Some(Block::Text(text)) if text.text.trim().is_empty());
    let mut gone = Vec::new();
    for run in assistant_runs(messages) {
        let mut held: Option<Vec<Place>> = None;
        for place in run {
            let block = block_at(messages, place);
            if is_reasoning(block) {
                held = Some(Vec::new());
            } else if empty(place) {
                if let Some(held) = &mut held {
                    held.push(place);
                }
            } else if block.is_some_and(|block| block.as_call().is_some()) {
                gone.extend(held.take().unwrap_or_default());
            } else {
                held = None;
            }
        }
    }
    drop_blocks(
        messages,
        &gone,
        changes,
        ("blank-text", DROPPED_NOTE, "empty text between reasoning and tool call dropped"),
    );
}

/// Drops reasoning that nothing follows.
fn drop_lone_reasoning(messages: &mut Vec<Message>, changes: &mut Changes) {
    let mut gone = Vec::new();
    for run in assistant_runs(messages) {
        let lone = run.into_iter().rev().take_while(|place| is_reasoning(block_at(messages, *place)));
        gone.extend(lone);
    }
    gone.sort_unstable();
    let what = (Action::Dropped, Effect::Narrower);
    drop_blocks(messages, &gone, changes, ("lone-thinking", what, "reasoning dropped: no message or call follows it"));
}

fn drop_blocks(
    messages: &mut Vec<Message>,
    gone: &[Place],
    changes: &mut Changes,
    (code, what, detail): (&'static str, (Action, Effect), &'static str),
) {
    for (turn, index) in gone.iter().rev() {
        if let Some(message) = messages.get_mut(*turn).filter(|message| *index < message.content.len()) {
            message.content.remove(*index);
        }
    }
    for (turn, index) in gone {
        changes.push(code, format!("/messages/{turn}/content/{index}"), what, detail);
    }
    let touched: HashSet<usize> = gone.iter().map(|(turn, _)| *turn).collect();
    let mut turn = 0;
    messages.retain(|message| {
        let emptied = message.content.is_empty() && touched.contains(&turn);
        turn += 1;
        !emptied
    });
}
