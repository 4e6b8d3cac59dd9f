//! Message order: merges messages of one role, fixes the first and the last message, declares called tools.

use std::collections::BTreeSet;

use serde_json::json;

use super::rules::{AfterResults, Declared, First, Last, Rules, Turns};
use crate::neutral::{Block, Function, Message, Request, Role, Tool};
use crate::report::{Action, Changes, Effect};

const ADDED: (Action, Effect) = (Action::Added, Effect::Same);

/// The text of an added user message at the end. The model sees it.
const CONTINUE_PROMPT: &str = "Please continue.";
/// The text of an added assistant message between tool results and a user message.
pub(super) const BRIDGE_TEXT: &str = "(The tool results were read.)";
const START_PROMPT: &str = "(The conversation begins here.)";

pub(super) fn repair(request: &mut Request, rules: &Rules, changes: &mut Changes) {
    if rules.turns == Turns::Alternate {
        merge_same_role(&mut request.messages, changes);
    }
    if rules.after_results == AfterResults::Assistant {
        bridge(&mut request.messages, changes);
    }
    if request.messages.is_empty() {
        if rules.first == First::User || rules.last != Last::Anyone {
            changes.push("no-turn", "/messages", ADDED, "user message added: the conversation is empty");
            request.messages.push(Message::user(START_PROMPT));
        }
        return;
    }
    let first = request.messages.iter().position(|message| message.role != Role::System).unwrap_or(0);
    if rules.first == First::User && request.messages.get(first).is_some_and(|first| first.role == Role::Assistant) {
        changes.push(
            "first-turn",
            format!("/messages/{first}"),
            ADDED,
            "user message added: the first message must be from the user",
        );
        request.messages.insert(first, Message::user(START_PROMPT));
    }
    if request.messages.last().is_some_and(|last| last.role == Role::Assistant) {
        fix_last_turn(request, rules, changes);
    }
    if rules.tools == Declared::Needed && request.tools.is_empty() {
        declare_called_tools(request, changes);
    }
}

/// Merges consecutive user or assistant messages; tool messages stay separate.
fn merge_same_role(messages: &mut Vec<Message>, changes: &mut Changes) {
    let repeats = |pair: &[Message]| match pair {
        [before, after] => before.role == after.role && matches!(after.role, Role::User | Role::Assistant),
        _ => false,
    };
    if !messages.windows(2).any(repeats) {
        return;
    }
    let mut merged: Vec<Message> = Vec::with_capacity(messages.len());
    for (turn, message) in messages.drain(..).enumerate() {
        match merged.last_mut() {
            Some(last) if last.role == message.role && matches!(message.role, Role::User | Role::Assistant) => {
                let what = (Action::Merged, Effect::Same);
                changes.push("same-role", format!("/messages/{turn}"), what, "consecutive messages of one role merged");
                last.content.extend(message.content);
                last.extra.merge(message.extra);
            }
            _ => merged.push(message),
        }
    }
    *messages = merged;
}

/// Adds an assistant message between tool results and a user message.
fn bridge(messages: &mut Vec<Message>, changes: &mut Changes) {
    let mut bridged: Vec<Message> = Vec::with_capacity(messages.len());
    for (turn, message) in messages.drain(..).enumerate() {
        if message.role == Role::User && bridged.last().is_some_and(|before| before.role == Role::Tool) {
            let detail = "assistant message added: a user message may not follow a tool message";
            changes.push("user-after-tool", format!("/messages/{turn}"), ADDED, detail);
            bridged.push(Message::assistant(BRIDGE_TEXT));
        }
        bridged.push(message);
    }
    *messages = bridged;
}

/// Fixes a conversation that ends with an assistant message.
fn fix_last_turn(request: &mut Request, rules: &Rules, changes: &mut Changes) {
    let turn = request.messages.len().saturating_sub(1);
    match rules.last {
        Last::Anyone => {}
        Last::User => {
            changes.push(
                "last-turn",
                format!("/messages/{turn}"),
                ADDED,
                "user message added: the last message must be from the user",
            );
            request.messages.push(Message::user(CONTINUE_PROMPT));
        }
        Last::Trimmed => {
            let Some(Block::Text(text)) = request.messages.last_mut().and_then(|last| last.content.last_mut()) else {
                return;
            };
            let trimmed = text.text.trim_end().len();
            if trimmed < text.text.len() {
                text.text.truncate(trimmed);
                let what = (Action::Rewritten, Effect::Note);
                changes.push(
                    "trailing-space",
                    format!("/messages/{turn}"),
                    what,
                    "trailing white space removed from the last assistant message",
                );
            }
        }
    }
}

/// Declares the tools that the conversation calls.
fn declare_called_tools(request: &mut Request, changes: &mut Changes) {
    let names: BTreeSet<String> =
        request.messages.iter().flat_map(Message::calls).map(|call| call.name.clone()).collect();
    for name in names {
        changes.push("no-tools", "/tools", ADDED, format!("tool `{name}` declared: the conversation calls it"));
        let parameters = Some(json!({"type": "object"}));
        request.tools.push(Tool::Function(Function { name, parameters, ..Function::default() }));
    }
}
