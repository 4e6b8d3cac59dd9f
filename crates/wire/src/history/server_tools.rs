//! Pairs calls and results of server tools by id. They are blocks of the provider's own protocol.

use std::collections::HashMap;

use serde_json::Value;

use super::rules::{Rules, ServerTools};
use crate::neutral::{Block, Message, Role};
use crate::protocol::Protocol;
use crate::report::{Action, Changes, Effect};

const DROPPED: (Action, Effect) = (Action::Dropped, Effect::Narrower);

pub(super) fn repair(messages: &mut Vec<Message>, rules: &Rules, changes: &mut Changes) {
    if rules.server_tools == ServerTools::Free {
        return;
    }
    let mut results: HashMap<String, usize> = HashMap::new();
    for block in messages.iter().flat_map(|message| &message.content) {
        if let Some(Part::Result(id)) = part(block, rules.protocol) {
            *results.entry(id.to_owned()).or_default() += 1;
        }
    }
    // The server tool calls of the last assistant message may still be running.
    let last = messages.iter().rposition(|message| message.role == Role::Assistant);
    let mut open: HashMap<String, usize> = HashMap::new();
    let mut turn = 0;
    messages.retain_mut(|message| {
        let mut index = 0;
        let before = message.content.len();
        message.content.retain(|block| {
            let at = format!("/messages/{turn}/content/{index}");
            index += 1;
            match part(block, rules.protocol) {
                None => true,
                Some(Part::Call(id)) => {
                    let answered = results.contains_key(id) || Some(turn) == last;
                    if answered {
                        *open.entry(id.to_owned()).or_default() += 1;
                    } else {
                        let detail = format!("server tool call `{id}` dropped: the conversation has no result for it");
                        changes.push("server-call-without-result", at, DROPPED, detail);
                    }
                    answered
                }
                Some(Part::Result(id)) => {
                    let waits = open.get_mut(id).filter(|count| **count > 0);
                    let paired = waits.is_some();
                    if let Some(count) = waits {
                        *count -= 1;
                    } else {
                        let detail = format!("server tool result dropped: no call `{id}` is before it");
                        changes.push("orphan-server-result", at, DROPPED, detail);
                    }
                    paired
                }
            }
        });
        let emptied = before > 0 && message.content.is_empty();
        if emptied {
            let what = (Action::Dropped, Effect::Note);
            changes.push("empty-turn", format!("/messages/{turn}"), what, "message dropped: it has no content");
        }
        turn += 1;
        !emptied
    });
}

enum Part<'b> {
    Call(&'b str),
    Result(&'b str),
}

/// `server_tool_use`, `mcp_tool_use`, and every `…_tool_result`. New kinds of server tools have the same suffixes.
fn part(block: &Block, own: Protocol) -> Option<Part<'_>> {
    let Block::Other(other) = block else { return None };
    if other.protocol != own {
        return None;
    }
    let text = |name: &str| other.value.get(name).and_then(Value::as_str);
    let kind = text("type")?;
    if kind.ends_with("_tool_use") {
        return text("id").map(Part::Call);
    }
    if kind.ends_with("_tool_result") { text("tool_use_id").map(Part::Result) } else { None }
}
