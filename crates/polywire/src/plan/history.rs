//! Rewrites the tool calls of the history to the names and fitted schemas of the plan, so that they match the tools in the request.
//! Pairing, order and ids of calls and results are handled by the wire crate.

use std::collections::{BTreeMap, BTreeSet};

use polywire_schema::{FitOptions, SharedEntry, StrictMode, ToolEntry, ToolList};
use polywire_wire::{Block, OUTPUT_TOOL, ToolCall};
use serde_json::{Value, json};

use super::{Draft, PlannedTool};
use crate::change::{Action, Change, Effect, Kind, change};

pub(super) fn rewrite_calls(draft: &mut Draft<'_>, tools: &[PlannedTool]) {
    let mut known: BTreeMap<&str, &PlannedTool> = BTreeMap::new();
    for tool in tools {
        let own = tool.shared_by.is_empty().then_some(&tool.name);
        for name in tool.shared_by.iter().chain(own) {
            known.entry(name).or_insert(tool);
        }
    }
    let removed = removed_tool_names(draft, &known);
    let mut changes = Vec::new();
    for (turn, message) in draft.request.messages.iter_mut().enumerate() {
        for (index, block) in message.content.iter_mut().enumerate() {
            let Block::ToolCall(call) = block else { continue };
            let path = CallPath { turn, index };
            match known.get(call.name.as_str()) {
                Some(tool) => rewrite_call(call, tool, path, &mut changes),
                None => {
                    if let Some(name) = removed.get(&call.name) {
                        rename(call, name, path, &mut changes);
                    }
                }
            }
        }
    }
    draft.changes.append(&mut changes);
}

#[derive(Clone, Copy)]
struct CallPath {
    turn: usize,
    index: usize,
}

impl CallPath {
    fn field_pointer(self, field: &str) -> String {
        format!("/messages/{}/content/{}/{field}", self.turn, self.index)
    }
}

fn rewrite_call(call: &mut ToolCall, tool: &PlannedTool, path: CallPath, changes: &mut Vec<Change>) {
    let arguments = (tool.lens.is_some() || !tool.shared_by.is_empty()).then(|| encode_arguments(call, tool));
    let name = call.name.clone();
    rename(call, &tool.wire_name, path, changes);
    let Some(arguments) = arguments else { return };
    match arguments {
        Ok(value) => {
            let text = value.to_string();
            if text != call.arguments {
                call.arguments = text;
                let detail = format!("the arguments of `{name}` are converted to the fitted schema");
                let at = path.field_pointer("arguments");
                changes.push(change(Kind::History, "carried", at, (Action::Carried, Effect::Same), detail));
            }
        }
        Err(error) => {
            if let (false, Ok(value)) = (tool.shared_by.is_empty(), call.value()) {
                call.arguments = SharedEntry::call(&name, &value).to_string();
            }
            let detail = format!("the arguments of `{name}` are sent unchanged: {error}");
            changes.push(change(
                Kind::History,
                "uncarried",
                path.field_pointer("arguments"),
                (Action::Kept, Effect::Note),
                detail,
            ));
        }
    }
}

/// Converts the arguments to the tool's fitted schema.
fn encode_arguments(call: &ToolCall, tool: &PlannedTool) -> Result<Value, String> {
    let value = call.value().map_err(|error| error.to_string())?;
    let value = if tool.shared_by.is_empty() { value } else { SharedEntry::call(&call.name, &value) };
    match &tool.lens {
        Some(lens) => lens.encode(value).map_err(|error| error.to_string()),
        None => Ok(value),
    }
}

fn rename(call: &mut ToolCall, name: &str, path: CallPath, changes: &mut Vec<Change>) {
    if call.name == name {
        return;
    }
    let detail = format!("`{}` is renamed to `{name}`", call.name);
    changes.push(change(Kind::History, "renamed", path.field_pointer("name"), (Action::Renamed, Effect::Same), detail));
    name.clone_into(&mut call.name);
}

/// Valid and unused names for called tools that are no longer in the request, by their original names.
fn removed_tool_names(draft: &Draft<'_>, known: &BTreeMap<&str, &PlannedTool>) -> BTreeMap<String, String> {
    let calls = draft.request.messages.iter().flat_map(polywire_wire::Message::calls);
    let unknown: BTreeSet<&str> =
        calls.map(|call| call.name.as_str()).filter(|name| !known.contains_key(name) && *name != OUTPUT_TOOL).collect();
    let Some(dialect) = draft.model.slots().tool.as_ref().filter(|_| !unknown.is_empty()) else {
        return BTreeMap::new();
    };
    let taken: BTreeSet<&str> = known.values().map(|tool| tool.wire_name.as_str()).collect();
    let own = taken.len();
    let names: Vec<&str> = taken.into_iter().chain(unknown).collect();
    let list: ToolList = names.iter().map(|name| ToolEntry::new(*name, json!({"type": "object"}))).collect();
    let fitted = draft.cache.fit_tools(&list, dialect, &FitOptions::default().with_strict(StrictMode::Off));
    let pairs = fitted.tools.into_iter().skip(own);
    pairs.map(|tool| (tool.original_name, tool.name)).collect()
}
