//! Restores a response to the caller's tool names and schemas. Arguments and structured output are salvaged, decoded, coerced and
//! validated.

mod call;
mod contract;
mod events;
pub(crate) mod value;

use std::borrow::Cow;

use polywire_answer::{Schema, Verdict};
use polywire_wire::{Block, Response, StopReason};
use serde_json::Value;

use crate::change::{Action, Change, Effect, Kind, change};

pub use contract::Contract;
pub use events::RestoreEvents;

use call::{record_faults, record_repairs, restore_call};
pub(crate) use value::{RecoverTarget, Recovered, recover};

/// A response in the caller's tool names and schemas.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Restored {
    /// The response.
    pub response: Response,
    /// The value of the structured output, if the response has one.
    pub output: Option<Value>,
    /// Every repair, and everything that could not be restored.
    pub changes: Vec<Change>,
}

/// Restores a response: tool names, arguments and structured output.
pub fn restore<'a>(response: Response, contract: impl Into<Contract<'a>>) -> Restored {
    let contract = contract.into();
    let mut restored = Restored { response, output: None, changes: Vec::new() };
    if contract.plan.output.is_some() || contract.request.output.is_some() {
        if contract.has_output_tool() {
            restored.response.answer_from_tool();
        }
        restored.restore_output(contract);
    }
    for (index, block) in restored.response.content.iter_mut().enumerate() {
        if let Block::ToolCall(call) = block {
            restore_call(call, contract, index, &mut restored.changes);
        }
    }
    restored
}

impl Restored {
    /// Restores the structured output from the text of the response.
    fn restore_output(&mut self, contract: Contract<'_>) {
        let text = self.response.text();
        // Text beside tool calls is not the output, and neither is a truncated or filtered text.
        let is_cut = matches!(
            self.response.stop,
            StopReason::MaxTokens | StopReason::ContextLength | StopReason::Refusal | StopReason::ContentFilter
        );
        if text.trim().is_empty() || self.response.calls().next().is_some() || is_cut {
            return;
        }
        let schema = contract.output_schema().and_then(|schema| Schema::cached(schema).ok());
        let sent = || contract.plan.sent_output();
        let target = RecoverTarget { lens: contract.output_lens(), schema: schema.as_deref(), fitted_schema: &sent };
        let Recovered { answer, not_decoded, .. } = recover(&text, &target);
        // Without a schema the reader accepts any text as a string.
        let is_strict = || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let is_json = |value: &Value| schema.is_some() || value.is_object() || value.is_array() || is_strict();
        let value = answer.value.filter(|value| is_json(value));
        let (Some(value), false) = (value, answer.verdict == Verdict::NoValue && not_decoded.is_none()) else {
            self.record_note("not-json", "the response text is not JSON");
            return;
        };
        if let Some(why) = not_decoded {
            self.record_note("not-restored", format!("the output is returned unchanged: {why}"));
            return;
        }
        let is_repaired = !answer.repairs.is_empty();
        let is_valid = answer.verdict == Verdict::Valid;
        record_faults(Kind::Output, "invalid-output", "/content", answer.verdict, &mut self.changes);
        if target.lens.is_some() || (is_repaired && is_valid) {
            record_repairs(Kind::Output, "/content", &answer.repairs, &mut self.changes);
            self.replace_text(&value.to_string());
        }
        self.output = Some(value);
    }

    fn record_note(&mut self, code: &str, detail: impl Into<Cow<'static, str>>) {
        self.changes.push(change(Kind::Output, code, "/content", (Action::Kept, Effect::Note), detail));
    }

    /// Replaces all text blocks with one.
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
