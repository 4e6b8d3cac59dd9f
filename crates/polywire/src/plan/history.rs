//! Calls in the history as the model would have made them: names that the provider takes, arguments in the fitted shape. Pairing,
//! order and ids are the wire's business.

use std::collections::{BTreeMap, BTreeSet};

use polywire_schema::{FitOptions, SharedEntry, StrictMode, ToolEntry, ToolList};
use polywire_wire::{Block, OUTPUT_TOOL, ToolCall};
use serde_json::{Value, json};

use super::{Draft, PlannedTool};
use crate::change::{Action, Change, Effect, Kind, change};

pub(super) fn apply(draft: &mut Draft<'_>, tools: &[PlannedTool]) {
    let mut known: BTreeMap<&str, &PlannedTool> = BTreeMap::new();
    for tool in tools {
        let own = tool.shared_by.is_empty().then_some(&tool.name);
        for name in tool.shared_by.iter().chain(own) {
            known.entry(name).or_insert(tool);
        }
    }
    let foreign = foreign_names(draft, &known);
    let mut changes = Vec::new();
    for (turn, message) in draft.request.messages.iter_mut().enumerate() {
        for (index, block) in message.content.iter_mut().enumerate() {
            let Block::ToolCall(call) = block else { continue };
            let place = Place { turn, index };
            match known.get(call.name.as_str()) {
                Some(tool) => carry(call, tool, place, &mut changes),
                None => {
                    if let Some(name) = foreign.get(&call.name) {
                        rename(call, name, place, &mut changes);
                    }
                }
            }
        }
    }
    draft.changes.append(&mut changes);
}

#[derive(Clone, Copy)]
struct Place {
    turn: usize,
    index: usize,
}

impl Place {
    fn at(self, field: &str) -> String {
        format!("/messages/{}/content/{}/{field}", self.turn, self.index)
    }
}

fn carry(call: &mut ToolCall, tool: &PlannedTool, place: Place, changes: &mut Vec<Change>) {
    let carried = (tool.lens.is_some() || !tool.shared_by.is_empty()).then(|| carried(call, tool));
    let name = call.name.clone();
    rename(call, &tool.wire_name, place, changes);
    let Some(carried) = carried else { return };
    match carried {
        Ok(value) => {
            let text = value.to_string();
            if text != call.arguments {
                call.arguments = text;
                let detail = format!("the arguments of `{name}` are said in the fitted shape");
                let at = place.at("arguments");
                changes.push(change(Kind::History, "carried", at, (Action::Carried, Effect::Same), detail));
            }
        }
        Err(why) => {
            if let (false, Ok(value)) = (tool.shared_by.is_empty(), call.value()) {
                call.arguments = SharedEntry::call(&name, &value).to_string();
            }
            let detail = format!("the arguments of `{name}` stay as they are: {why}");
            changes.push(change(
                Kind::History,
                "uncarried",
                place.at("arguments"),
                (Action::Kept, Effect::Note),
                detail,
            ));
        }
    }
}

/// The arguments as the model would have written them.
fn carried(call: &ToolCall, tool: &PlannedTool) -> Result<Value, String> {
    let value = call.value().map_err(|error| error.to_string())?;
    let value = if tool.shared_by.is_empty() { value } else { SharedEntry::call(&call.name, &value) };
    match &tool.lens {
        Some(lens) => lens.encode(value).map_err(|error| error.to_string()),
        None => Ok(value),
    }
}

fn rename(call: &mut ToolCall, name: &str, place: Place, changes: &mut Vec<Change>) {
    if call.name == name {
        return;
    }
    let detail = format!("`{}` is called `{name}`", call.name);
    changes.push(change(Kind::History, "renamed", place.at("name"), (Action::Renamed, Effect::Same), detail));
    name.clone_into(&mut call.name);
}

/// Names for calls of tools that are no longer there: legal, and nobody else's.
fn foreign_names(draft: &Draft<'_>, known: &BTreeMap<&str, &PlannedTool>) -> BTreeMap<String, String> {
    let calls = draft.request.messages.iter().flat_map(polywire_wire::Message::calls);
    let strange: BTreeSet<&str> =
        calls.map(|call| call.name.as_str()).filter(|name| !known.contains_key(name) && *name != OUTPUT_TOOL).collect();
    let Some(dialect) = draft.model.slots().tool.as_ref().filter(|_| !strange.is_empty()) else {
        return BTreeMap::new();
    };
    let taken: BTreeSet<&str> = known.values().map(|tool| tool.wire_name.as_str()).collect();
    let own = taken.len();
    let names: Vec<&str> = taken.into_iter().chain(strange).collect();
    let list: ToolList = names.iter().map(|name| ToolEntry::new(*name, json!({"type": "object"}))).collect();
    let fitted = draft.cache.fit_tools(&list, dialect, &FitOptions::default().with_strict(StrictMode::Off));
    let pairs = fitted.tools.into_iter().skip(own);
    pairs.map(|tool| (tool.original_name, tool.name)).collect()
}
