//! A call of a tool, back under the caller's name and with arguments that the caller's schema accepts.

use polywire_answer::{Repair, Schema, Verdict, validate};
use polywire_schema::SharedEntry;
use polywire_wire::ToolCall;

use super::contract::{Contract, is_carried};
use super::value::{Recovered, Wanted, recover};
use crate::change::{Action, Change, Effect, Kind, change};
use crate::plan::PlannedTool;

/// How many repairs of one value are listed.
const LISTED: usize = 20;

/// Brings a call back: its name, and its arguments.
pub(super) fn restore_call(call: &mut ToolCall, contract: Contract<'_>, index: usize, changes: &mut Vec<Change>) {
    let Some(tool) = contract.plan.tool(&call.name) else { return };
    tool.name.clone_into(&mut call.name);
    call.origin = tool.origin.clone().or(call.origin.take());
    let at = format!("/content/{index}/arguments");
    let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    // Tools that share an entry are told apart by what is decoded.
    let own = contract.parameters(&tool.name).filter(|_| tool.shared_by.is_empty());
    let schema = own.and_then(|schema| Schema::cached(schema).ok());
    let sent = || contract.plan.sent_parameters(&tool.wire_name);
    let recovered = recover(text, &Wanted { lens: tool.lens.as_deref(), schema: schema.as_deref(), sent: &sent });
    if let Some(why) = &recovered.not_decoded {
        unshare(call, tool);
        not_restored(call, why, at, changes);
        return;
    }
    if !tool.shared_by.is_empty() {
        restore_shared(call, tool, recovered, at, changes);
        return;
    }
    take_arguments(call, tool, recovered, &at, changes);
}

fn take_arguments(call: &mut ToolCall, tool: &PlannedTool, recovered: Recovered, at: &str, changes: &mut Vec<Change>) {
    let answer = recovered.answer;
    if answer.is_truncated() || answer.verdict == Verdict::NoValue {
        not_restored(call, "they are not complete JSON", at.to_owned(), changes);
        return;
    }
    let is_repaired = !answer.repairs.is_empty();
    let is_valid = answer.verdict == Verdict::Valid;
    record_faults(Kind::Tools, "invalid-arguments", at, answer.verdict, changes);
    // Valid JSON that no repair makes acceptable stays as the model wrote it.
    let stays = !is_carried(tool) && (!is_repaired || !is_valid && call.value().is_ok());
    if let Some(value) = answer.value.filter(|_| !stays) {
        record_repairs(Kind::Tools, at, &answer.repairs, changes);
        call.arguments = value.to_string();
    }
}

/// The tool that is meant by the call of an entry that several tools share.
fn restore_shared(
    call: &mut ToolCall,
    tool: &PlannedTool,
    recovered: Recovered,
    at: String,
    changes: &mut Vec<Change>,
) {
    let called = recovered.answer.value.and_then(SharedEntry::called);
    let Some((name, value)) = called.filter(|(name, _)| tool.stands_for(name)) else {
        not_restored(call, "no tool that shares this entry is called", at, changes);
        return;
    };
    record_repairs(Kind::Tools, &at, &recovered.answer.repairs, changes);
    call.name = name;
    call.arguments = value.to_string();
}

/// The name and arguments of a shared entry whose arguments could not be decoded.
fn unshare(call: &mut ToolCall, tool: &PlannedTool) {
    let shared = (!tool.shared_by.is_empty()).then(|| call.value().ok().and_then(SharedEntry::called)).flatten();
    if let Some((name, value)) = shared.filter(|(name, _)| tool.stands_for(name)) {
        call.name = name;
        call.arguments = value.to_string();
    }
}

fn not_restored(call: &ToolCall, why: &str, at: String, changes: &mut Vec<Change>) {
    let detail = format!("the arguments of `{}` stay as the model wrote them: {why}", call.name);
    changes.push(change(Kind::Tools, "not-restored", at, (Action::Kept, Effect::Note), detail));
}

/// Says what is wrong with a call that passed on as it arrived. It is too late to repair it.
pub(super) fn check_passed(call: &ToolCall, contract: Contract<'_>, index: usize, changes: &mut Vec<Change>) {
    let at = format!("/content/{index}/arguments");
    let Some(schema) = contract.parameters(&call.name) else { return };
    match call.value() {
        Ok(value) => {
            let faults = validate(&value, schema).unwrap_or_default();
            record_faults(Kind::Tools, "invalid-arguments", &at, Verdict::Invalid(faults), changes);
        }
        Err(error) => not_restored(call, &format!("they are not JSON: {error}"), at, changes),
    }
}

/// Records the repairs of a value that stands at a place.
pub(super) fn record_repairs(kind: Kind, at: &str, repairs: &[Repair], changes: &mut Vec<Change>) {
    let repaired = (Action::Repaired, Effect::Note);
    let listed = repairs.iter().take(LISTED);
    changes
        .extend(listed.map(|repair| {
            change(kind, repair.kind.name(), [at, &repair.at].concat(), repaired, repair.kind.meaning())
        }));
    if let Some(more) = repairs.len().checked_sub(LISTED).filter(|more| *more > 0) {
        changes.push(change(kind, "more-repairs", at, repaired, format!("{more} more repairs are not listed")));
    }
}

/// Records why the caller's schema refuses a value that stands at a place.
pub(super) fn record_faults(kind: Kind, code: &str, at: &str, verdict: Verdict, changes: &mut Vec<Change>) {
    let what = (Action::Kept, Effect::Wider);
    let faults = verdict.into_faults().into_iter().take(LISTED);
    changes.extend(faults.map(|fault| change(kind, code, [at, &fault.at].concat(), what, fault.detail)));
}
