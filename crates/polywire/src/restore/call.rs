//! Restores a tool call: the caller's tool name, and arguments in the caller's schema.

use polywire_answer::{Repair, Schema, Verdict, validate};
use polywire_schema::SharedEntry;
use polywire_wire::ToolCall;

use super::contract::{Contract, needs_decoding};
use super::value::{RecoverTarget, Recovered, recover};
use crate::change::{Action, Change, Effect, Kind, change};
use crate::plan::PlannedTool;

/// The maximum number of recorded repairs or faults per value.
const MAX_RECORDED: usize = 20;

/// Restores the name and the arguments of a call.
pub(super) fn restore_call(call: &mut ToolCall, contract: Contract<'_>, index: usize, changes: &mut Vec<Change>) {
    let Some(tool) = contract.plan.tool(&call.name) else { return };
    tool.name.clone_into(&mut call.name);
    call.origin = tool.origin.clone().or(call.origin.take());
    let at = format!("/content/{index}/arguments");
    let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    // The schema of a call to a shared entry is only known after decoding.
    let own = contract.parameters(&tool.name).filter(|_| tool.shared_by.is_empty());
    let schema = own.and_then(|schema| Schema::cached(schema).ok());
    let sent = || contract.plan.sent_parameters(&tool.wire_name);
    let recovered =
        recover(text, &RecoverTarget { lens: tool.lens.as_deref(), schema: schema.as_deref(), fitted_schema: &sent });
    if let Some(why) = &recovered.not_decoded {
        restore_shared_name(call, tool);
        record_not_restored(call, why, at, changes);
        return;
    }
    if !tool.shared_by.is_empty() {
        restore_shared(call, tool, recovered, at, changes);
        return;
    }
    restore_arguments(call, tool, recovered, &at, changes);
}

fn restore_arguments(
    call: &mut ToolCall,
    tool: &PlannedTool,
    recovered: Recovered,
    at: &str,
    changes: &mut Vec<Change>,
) {
    let answer = recovered.answer;
    if answer.is_truncated() || answer.verdict == Verdict::NoValue {
        record_not_restored(call, "they are not complete JSON", at.to_owned(), changes);
        return;
    }
    let is_repaired = !answer.repairs.is_empty();
    let is_valid = answer.verdict == Verdict::Valid;
    record_faults(Kind::Tools, "invalid-arguments", at, answer.verdict, changes);
    // Valid JSON that repairs do not make valid in the schema is returned unchanged.
    let is_unchanged = !needs_decoding(tool) && (!is_repaired || !is_valid && call.value().is_ok());
    if let Some(value) = answer.value.filter(|_| !is_unchanged) {
        record_repairs(Kind::Tools, at, &answer.repairs, changes);
        call.arguments = value.to_string();
    }
}

/// Restores a call of a shared entry as a call of one of its tools.
fn restore_shared(
    call: &mut ToolCall,
    tool: &PlannedTool,
    recovered: Recovered,
    at: String,
    changes: &mut Vec<Change>,
) {
    let called = recovered.answer.value.and_then(SharedEntry::called);
    let Some((name, value)) = called.filter(|(name, _)| tool.stands_for(name)) else {
        record_not_restored(call, "the call names no tool of the shared entry", at, changes);
        return;
    };
    record_repairs(Kind::Tools, &at, &recovered.answer.repairs, changes);
    call.name = name;
    call.arguments = value.to_string();
}

/// Restores the tool name of a shared entry whose arguments could not be decoded.
fn restore_shared_name(call: &mut ToolCall, tool: &PlannedTool) {
    let shared = (!tool.shared_by.is_empty()).then(|| call.value().ok().and_then(SharedEntry::called)).flatten();
    if let Some((name, value)) = shared.filter(|(name, _)| tool.stands_for(name)) {
        call.name = name;
        call.arguments = value.to_string();
    }
}

fn record_not_restored(call: &ToolCall, why: &str, at: String, changes: &mut Vec<Change>) {
    let detail = format!("the arguments of `{}` are returned unchanged: {why}", call.name);
    changes.push(change(Kind::Tools, "not-restored", at, (Action::Kept, Effect::Note), detail));
}

/// Validates a call that was forwarded as it was received. It can no longer be repaired.
pub(super) fn check_forwarded_call(call: &ToolCall, contract: Contract<'_>, index: usize, changes: &mut Vec<Change>) {
    let at = format!("/content/{index}/arguments");
    let Some(schema) = contract.parameters(&call.name) else { return };
    match call.value() {
        Ok(value) => {
            let faults = validate(&value, schema).unwrap_or_default();
            record_faults(Kind::Tools, "invalid-arguments", &at, Verdict::Invalid(faults), changes);
        }
        Err(error) => record_not_restored(call, &format!("they are not JSON: {error}"), at, changes),
    }
}

/// Records the repairs of the value at a pointer.
pub(super) fn record_repairs(kind: Kind, at: &str, repairs: &[Repair], changes: &mut Vec<Change>) {
    let repaired = (Action::Repaired, Effect::Note);
    let listed = repairs.iter().take(MAX_RECORDED);
    changes
        .extend(listed.map(|repair| {
            change(kind, repair.kind.name(), [at, &repair.at].concat(), repaired, repair.kind.meaning())
        }));
    if let Some(more) = repairs.len().checked_sub(MAX_RECORDED).filter(|more| *more > 0) {
        changes.push(change(kind, "more-repairs", at, repaired, format!("{more} more repairs were made")));
    }
}

/// Records the schema violations of the value at a pointer.
pub(super) fn record_faults(kind: Kind, code: &str, at: &str, verdict: Verdict, changes: &mut Vec<Change>) {
    let what = (Action::Kept, Effect::Wider);
    let faults = verdict.into_faults().into_iter().take(MAX_RECORDED);
    changes.extend(faults.map(|fault| change(kind, code, [at, &fault.at].concat(), what, fault.detail)));
}
