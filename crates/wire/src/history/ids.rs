//! Call ids: generated if missing, replaced if invalid or not unique, consistently in calls and results.

use std::collections::{HashMap, HashSet, VecDeque};

use super::rules::{IdRule, Rules};
use crate::neutral::{Block, Message};
use crate::report::{Action, Changes, Effect};

const RENAMED: (Action, Effect) = (Action::Renamed, Effect::Same);

/// The generated id of a call without one, from the index of its message and its number there.
pub(crate) fn synthetic_call_id(turn: usize, number: usize) -> String {
    format!("call_{turn}_{number}")
}

pub(super) fn repair(messages: &mut [Message], rules: &Rules, changes: &mut Changes) {
    if are_ids_valid(messages, rules) {
        return;
    }
    let mut used: HashSet<String> = HashSet::new();
    // How often an id was replaced, so that many calls of one id do not try the same replacements again.
    let mut tries: HashMap<String, u64> = HashMap::new();
    // By old id: the new ids of calls without a result so far, in order.
    let mut open: HashMap<String, VecDeque<String>> = HashMap::new();
    let mut answered: HashMap<String, String> = HashMap::new();
    for (turn, message) in messages.iter_mut().enumerate() {
        let mut number = 0;
        for (index, block) in message.content.iter_mut().enumerate() {
            if let Block::ToolCall(call) = block {
                let old = std::mem::take(&mut call.id);
                let wanted = if old.trim().is_empty() { synthetic_call_id(turn, number) } else { old.clone() };
                number += 1;
                call.id = unique_id(&rules.ids, wanted, &used, &mut tries);
                used.insert(call.id.clone());
                open.entry(old.clone()).or_default().push_back(call.id.clone());
                if call.id != old {
                    let detail = format!("call id `{old}` changed to `{}`", call.id);
                    changes.push("call-id", format!("/messages/{turn}/content/{index}/id"), RENAMED, detail);
                }
            } else if let Some(id) = call_id_mut(block) {
                let new = open.get_mut(id.as_str()).and_then(VecDeque::pop_front).or_else(|| answered.get(id).cloned());
                if let Some(new) = new {
                    answered.insert(id.clone(), new.clone());
                    *id = new;
                }
            }
        }
    }
}

/// Mutable call id of a result block.
pub(super) fn call_id_mut(block: &mut Block) -> Option<&mut String> {
    match block {
        Block::ToolResult(result) => Some(&mut result.call_id),
        Block::ToolResultReference(reference) => Some(&mut reference.call_id),
        Block::Text(_)
        | Block::Image(_)
        | Block::Audio(_)
        | Block::Document(_)
        | Block::Thinking(_)
        | Block::RedactedThinking(_)
        | Block::ToolCall(_)
        | Block::Other(_) => None,
    }
}

fn are_ids_valid(messages: &[Message], rules: &Rules) -> bool {
    let mut used = HashSet::new();
    messages
        .iter()
        .flat_map(Message::calls)
        .all(|call| is_valid_id(&rules.ids, &call.id) && used.insert(call.id.as_str()))
}

fn is_valid_id(rule: &IdRule, id: &str) -> bool {
    let length =
        rule.exact_length.map_or((1..=rule.max_length).contains(&id.len()), |exact_length| id.len() == exact_length);
    length && id.chars().all(|one| one.is_ascii_alphanumeric() || rule.extra_chars.contains(one))
}

/// The id itself, or a valid and unused one derived from it.
fn unique_id(rule: &IdRule, wanted: String, used: &HashSet<String>, tries: &mut HashMap<String, u64>) -> String {
    if is_valid_id(rule, &wanted) && !used.contains(&wanted) {
        return wanted;
    }
    let salt = tries.entry(wanted.clone()).or_default();
    loop {
        let id = replacement_id(rule, &wanted, *salt);
        *salt += 1;
        if !used.contains(&id) {
            return id;
        }
    }
}

/// A valid id, deterministic for the old one: its valid characters and a hash.
fn replacement_id(rule: &IdRule, old: &str, salt: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // FNV-1a: stable across versions and machines, unlike the standard library's hasher.
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = old.bytes().chain(salt.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, fold);
    let mut print = String::new();
    for _ in 0..9 {
        let digit = usize::try_from(hash % 36).ok().and_then(|digit| DIGITS.get(digit)).copied().unwrap_or(b'0');
        print.push(char::from(digit));
        hash /= 36;
    }
    if rule.exact_length.is_some() {
        return print;
    }
    let mark = if rule.extra_chars.contains('_') { "_" } else { "" };
    let room = rule.max_length.saturating_sub(print.len() + mark.len());
    let kept: String =
        old.chars().filter(|one| one.is_ascii_alphanumeric() || rule.extra_chars.contains(*one)).take(room).collect();
    if kept.is_empty() { print } else { format!("{kept}{mark}{print}") }
}
