//! The way back: an answer as the model gave it, in the caller's names and shapes. Text that is no JSON is left as it is, for the
//! reader of answers to salvage.

mod events;

use polywire_schema::{Lens, SharedEntry};
use polywire_wire::{Block, Response, Strategy, ToolCall};
use serde_json::Value;

use crate::change::{Change, Effect, Kind};
use crate::plan::{Plan, PlannedTool};

pub use events::RestoreEvents;

/// An answer in the caller's names and shapes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Restored {
    /// The answer.
    pub response: Response,
    /// The value of the shape that was asked for, where the answer holds one that is JSON.
    pub output: Option<Value>,
    /// What could not be brought back.
    pub changes: Vec<Change>,
}

/// Brings an answer back: names of tools, arguments, and the value that was asked for, through the plan that it answers.
pub fn restore(response: Response, plan: &Plan) -> Restored {
    let mut restored = Restored { response, output: None, changes: Vec::new() };
    if let Some(output) = &plan.output {
        if output.strategy == Strategy::Tool {
            restored.response.answer_from_tool();
        }
        restored.take_output(output.lens.as_ref());
    }
    for (index, block) in restored.response.content.iter_mut().enumerate() {
        if let Block::ToolCall(call) = block {
            restored.changes.extend(restore_call(call, plan, index));
        }
    }
    restored
}

/// Brings a call back: its name, and its arguments where they travel in another shape.
fn restore_call(call: &mut ToolCall, plan: &Plan, index: usize) -> Option<Change> {
    let tool = plan.tool(&call.name)?;
    tool.name.clone_into(&mut call.name);
    call.origin = tool.origin.clone().or(call.origin.take());
    if is_carried(tool) { decode_arguments(call, tool, index) } else { None }
}

/// Whether a call of this name on the wire is known only when it is whole.
fn waits(name: &str, plan: &Plan) -> bool {
    plan.tool(name).is_some_and(is_carried)
}

fn is_carried(tool: &PlannedTool) -> bool {
    tool.lens.is_some() || !tool.shared_by.is_empty()
}

fn decode_arguments(call: &mut ToolCall, tool: &PlannedTool, index: usize) -> Option<Change> {
    match meant(call, tool) {
        Ok((name, value)) => {
            call.name = name;
            call.arguments = value.to_string();
            None
        }
        Err(why) => {
            let shared =
                (!tool.shared_by.is_empty()).then(|| call.value().ok().and_then(SharedEntry::called)).flatten();
            if let Some((name, value)) = shared.filter(|(name, _)| tool.stands_for(name)) {
                call.name = name;
                call.arguments = value.to_string();
            }
            let detail = format!("the arguments of `{}` stay as the model wrote them: {why}", call.name);
            let at = format!("/content/{index}/arguments");
            Some(Change::new(Kind::Tools, "not-restored", at, ("kept", Effect::Note), detail))
        }
    }
}

/// The caller's tool that is called, and its arguments.
fn meant(call: &ToolCall, tool: &PlannedTool) -> Result<(String, Value), String> {
    let value = call.value().map_err(|error| error.to_string())?;
    let value = match &tool.lens {
        Some(lens) => lens.decode(value).map_err(|error| error.to_string())?,
        None => value,
    };
    if tool.shared_by.is_empty() {
        return Ok((tool.name.clone(), value));
    }
    let known = SharedEntry::called(value).filter(|(name, _)| tool.stands_for(name));
    known.ok_or_else(|| "no tool that shares this entry is called".to_owned())
}

impl Restored {
    /// The answer's text as the caller's value.
    fn take_output(&mut self, lens: Option<&Lens>) {
        let text = self.response.text();
        if text.trim().is_empty() {
            return;
        }
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            // Words beside calls are no answer yet.
            if self.response.calls().next().is_some() {
                return;
            }
            let what = ("kept", Effect::Note);
            let detail = "the text of the answer is not JSON";
            self.changes.push(Change::new(Kind::Output, "not-json", "/content", what, detail));
            return;
        };
        let Some(lens) = lens else {
            self.output = Some(value);
            return;
        };
        match lens.decode(value) {
            Ok(value) => {
                self.replace_text(&value.to_string());
                self.output = Some(value);
            }
            Err(error) => {
                let detail = format!("the answer stays as the model wrote it: {error}");
                let what = ("kept", Effect::Note);
                self.changes.push(Change::new(Kind::Output, "not-restored", "/content", what, detail));
            }
        }
    }

    /// One text in place of all.
    fn replace_text(&mut self, text: &str) {
        let mut text = Some(text.to_owned());
        self.response.content.retain_mut(|block| {
            let Block::Text(old) = block else { return true };
            match text.take() {
                Some(new) => {
                    old.text = new;
                    true
                }
                None => false,
            }
        });
    }
}
