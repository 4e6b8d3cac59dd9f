//! The way back: an answer as the model gave it, in the caller's names and shapes. Arguments and structured output are salvaged,
//! decoded, coerced and validated by the caller's own schemas.

mod call;
mod contract;
mod events;
mod value;

use std::borrow::Cow;

use polywire_answer::{Schema, Verdict};
use polywire_wire::{Block, Response, StopReason};
use serde_json::Value;

use crate::change::{Action, Change, Effect, Kind, change};

pub use contract::Contract;
pub use events::RestoreEvents;

use call::{record_faults, record_repairs, restore_call};
pub(crate) use value::{Recovered, Wanted, recover};

/// An answer in the caller's names and shapes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Restored {
    /// The answer.
    pub response: Response,
    /// The value of the shape that was asked for, where the answer holds one.
    pub output: Option<Value>,
    /// What could not be brought back, and every repair.
    pub changes: Vec<Change>,
}

/// Brings an answer back: names of tools, arguments, and the value that was asked for.
pub fn restore<'a>(response: Response, contract: impl Into<Contract<'a>>) -> Restored {
    let contract = contract.into();
    let mut restored = Restored { response, output: None, changes: Vec::new() };
    if contract.plan.output.is_some() || contract.request.output.is_some() {
        if contract.answers_by_tool() {
            restored.response.answer_from_tool();
        }
        restored.take_output(contract);
    }
    for (index, block) in restored.response.content.iter_mut().enumerate() {
        if let Block::ToolCall(call) = block {
            restore_call(call, contract, index, &mut restored.changes);
        }
    }
    restored
}

impl Restored {
    /// The answer's text as the caller's value.
    fn take_output(&mut self, contract: Contract<'_>) {
        let text = self.response.text();
        // Words beside calls are no answer yet, and what a limit or a filter cut is none any more.
        let is_cut = matches!(
            self.response.stop,
            StopReason::MaxTokens | StopReason::ContextLength | StopReason::Refusal | StopReason::ContentFilter
        );
        if text.trim().is_empty() || self.response.calls().next().is_some() || is_cut {
            return;
        }
        let schema = contract.output_schema().and_then(|schema| Schema::cached(schema).ok());
        let sent = || contract.plan.sent_output();
        let wanted = Wanted { lens: contract.output_lens(), schema: schema.as_deref(), sent: &sent };
        let Recovered { answer, not_decoded, .. } = recover(&text, &wanted);
        // Without a schema any words would be a string.
        let is_strict = || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let is_json = |value: &Value| schema.is_some() || value.is_object() || value.is_array() || is_strict();
        let value = answer.value.filter(|value| is_json(value));
        let (Some(value), false) = (value, answer.verdict == Verdict::NoValue && not_decoded.is_none()) else {
            self.record("not-json", "the text of the answer is not JSON");
            return;
        };
        if let Some(why) = not_decoded {
            self.record("not-restored", format!("the answer stays as the model wrote it: {why}"));
            return;
        }
        let is_repaired = !answer.repairs.is_empty();
        let is_valid = answer.verdict == Verdict::Valid;
        record_faults(Kind::Output, "invalid-output", "/content", answer.verdict, &mut self.changes);
        if wanted.lens.is_some() || (is_repaired && is_valid) {
            record_repairs(Kind::Output, "/content", &answer.repairs, &mut self.changes);
            self.replace_text(&value.to_string());
        }
        self.output = Some(value);
    }

    fn record(&mut self, code: &str, detail: impl Into<Cow<'static, str>>) {
        self.changes.push(change(Kind::Output, code, "/content", (Action::Kept, Effect::Note), detail));
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
