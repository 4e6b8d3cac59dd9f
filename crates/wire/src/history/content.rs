//! Removes content that the protocol rejects: foreign reasoning and signatures, empty texts.

use serde_json::Value;

use super::rules::{AcceptedReasoning, Blank, Rules, SignedCalls};
use crate::neutral::{Block, Extra, Message, Request, Role, Signature};
use crate::protocol::Protocol;
use crate::report::{Action, Changes, Effect};

/// The placeholder signature of a call that another model made.
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>, read 2026-11.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

const DROPPED: (Action, Effect) = (Action::Dropped, Effect::Narrower);
const DROPPED_NOTE: (Action, Effect) = (Action::Dropped, Effect::Note);

pub(super) fn repair(request: &mut Request, rules: &Rules, changes: &mut Changes) {
    let mut index = 0;
    request.system.retain(|text| {
        let kept = !is_blank(&text.text, rules.blank);
        if !kept {
            changes.push("blank-text", format!("/system/{index}"), DROPPED_NOTE, "empty text dropped");
        }
        index += 1;
        kept
    });
    let mut turn = 0;
    request.messages.retain_mut(|message| {
        let before = message.content.len();
        let mut index = 0;
        message.content.retain_mut(|block| {
            let at = format!("/messages/{turn}/content/{index}");
            index += 1;
            keep_block(block, message.role, &at, rules, changes)
        });
        // A message that was empty from the start is dropped only where empty texts are rejected.
        let empty = message.content.is_empty() && (before > 0 || rules.blank != Blank::None);
        if empty {
            changes.push("empty-turn", format!("/messages/{turn}"), DROPPED_NOTE, "empty message dropped");
        }
        turn += 1;
        !empty
    });
}

fn is_blank(text: &str, rule: Blank) -> bool {
    match rule {
        Blank::None => false,
        Blank::Empty => text.is_empty(),
        Blank::Whitespace => text.trim().is_empty(),
    }
}

/// Drops a foreign signature of the block; returns false if the block itself must be dropped.
fn keep_block(block: &mut Block, role: Role, at: &str, rules: &Rules, changes: &mut Changes) -> bool {
    let own = rules.protocol;
    match block {
        Block::Text(text) => {
            drop_foreign_signature(&mut text.signature, at, own, changes);
            // A signed text is kept even if it is empty.
            if text.signature.is_none() && is_blank(&text.text, rules.blank) {
                changes.push("blank-text", at, DROPPED_NOTE, "empty text dropped");
                return false;
            }
            true
        }
        Block::ToolCall(_) if role != Role::Assistant => {
            changes.push("call-of-others", at, DROPPED, "tool call dropped: only assistant messages can contain one");
            false
        }
        Block::ToolCall(call) => {
            drop_foreign_signature(&mut call.signature, at, own, changes);
            true
        }
        Block::Thinking(thinking) => {
            let taken = is_accepted(thinking.signature.as_ref(), &thinking.extra, rules);
            if !taken {
                changes.push(
                    "foreign-thinking",
                    at,
                    DROPPED,
                    format!("reasoning dropped: {} does not accept it in requests", own.title()),
                );
            }
            taken
        }
        Block::RedactedThinking(redacted) => {
            let taken = redacted.signature.from == own && rules.reasoning != AcceptedReasoning::None;
            if !taken {
                changes.push(
                    "foreign-thinking",
                    at,
                    DROPPED,
                    format!("redacted reasoning dropped: {} does not accept it in requests", own.title()),
                );
            }
            taken
        }
        Block::Other(other) => {
            let empty = other.value.as_object().is_some_and(serde_json::Map::is_empty) || other.value.is_null();
            if empty {
                changes.push("empty-block", at, DROPPED_NOTE, "empty content block dropped");
            }
            !empty
        }
        // Results are paired with their calls in a later step.
        Block::Image(_)
        | Block::Audio(_)
        | Block::Document(_)
        | Block::ToolResult(_)
        | Block::ToolResultReference(_) => true,
    }
}

fn is_accepted(signature: Option<&Signature>, extra: &Extra, rules: &Rules) -> bool {
    let own = signature.is_some_and(|signature| signature.from == rules.protocol);
    match rules.reasoning {
        AcceptedReasoning::Any => true,
        AcceptedReasoning::None => false,
        AcceptedReasoning::NotForeign => signature.is_none() || own,
        AcceptedReasoning::Signed => own,
        AcceptedReasoning::SignedOrKept => own || extra.field(rules.protocol, "id").is_some_and(Value::is_string),
    }
}

fn drop_foreign_signature(signature: &mut Option<Signature>, at: &str, own: Protocol, changes: &mut Changes) {
    if let Some(foreign) = signature.take_if(|signature| signature.from != own) {
        let (own, from) = (own.title(), foreign.from.title());
        changes.push(
            "foreign-signature",
            format!("{at}/signature"),
            DROPPED_NOTE,
            format!("signature dropped: {own} does not accept signatures of {from}"),
        );
    }
}

/// Adds the placeholder signature to the first call of every message, if it has none.
pub(super) fn sign_calls(messages: &mut [Message], rules: &Rules, changes: &mut Changes) {
    if rules.signed == SignedCalls::Free {
        return;
    }
    for (turn, message) in messages.iter_mut().enumerate() {
        let mut calls = message.content.iter_mut().enumerate().filter_map(|(index, block)| match block {
            Block::ToolCall(call) => Some((index, call)),
            Block::Text(_)
            | Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_) => None,
        });
        if let Some((index, call)) = calls.next()
            && call.signature.is_none()
        {
            call.signature = Some(Signature { from: rules.protocol, data: NO_SIGNATURE.to_owned() });
            let at = format!("/messages/{turn}/content/{index}/signature");
            changes.push(
                "unsigned-call",
                at,
                (Action::Added, Effect::Same),
                "placeholder signature added: the call has none",
            );
        }
    }
}
