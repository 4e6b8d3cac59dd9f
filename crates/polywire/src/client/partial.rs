//! Values that are still arriving: what of them is there, in the caller's shape.

use polywire_answer::{OpenText, Stream};
use polywire_schema::Lens;
use polywire_wire::{Block, Delta, Event, OUTPUT_TOOL, Strategy, ToolCall};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::plan::Plan;

/// A part of the text that must have come before the value is shown again, so that showing all of it costs time in proportion to
/// its length.
const STEP: usize = 64;

/// A value as far as it has arrived. It is in the caller's shape, but nothing holds it to the schema yet.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Partial {
    /// What is there.
    pub value: Value,
    /// The attempt that it belongs to, counted from 1; a value of a later one has nothing to do with those before.
    pub attempt: usize,
}

impl Partial {
    /// The value as a type that does not mind what is missing: one whose fields have defaults.
    pub fn read<P: DeserializeOwned>(&self) -> Option<P> {
        P::deserialize(&self.value).ok()
    }
}

/// Reads the value of an answer while it arrives.
#[derive(Debug)]
pub(super) struct Arriving {
    text: Stream,
    lens: Option<Lens>,
    strategy: Strategy,
    /// The call whose arguments are the value.
    call: Option<usize>,
    /// How much of the text was shown.
    shown: usize,
    last: Option<Value>,
}

impl Arriving {
    pub(super) fn new(plan: &Plan) -> Self {
        let output = plan.output.as_ref();
        Self {
            text: Stream::new(),
            lens: output.and_then(|output| output.lens.clone()),
            strategy: output.map(|output| output.strategy).unwrap_or_default(),
            call: None,
            shown: 0,
            last: None,
        }
    }

    pub(super) fn push(&mut self, event: &Event) {
        match event {
            Event::Open { index, block: Block::ToolCall(call) } if self.is_answer(call) => {
                // What was said before the call is not the answer.
                self.text = Stream::new();
                self.shown = 0;
                self.call = Some(*index);
                self.text.push(&call.arguments);
            }
            Event::Open { block: Block::Text(text), .. } if self.call.is_none() => self.text.push(&text.text),
            Event::Delta { delta: Delta::Text(more), .. } if self.call.is_none() => self.text.push(more),
            Event::Delta { index, delta: Delta::Arguments(more) } if self.call == Some(*index) => self.text.push(more),
            Event::Start { .. }
            | Event::Open { .. }
            | Event::Delta { .. }
            | Event::Close { .. }
            | Event::Refusal { .. }
            | Event::Fields { .. }
            | Event::Stop { .. }
            | Event::Usage(_)
            | Event::End
            | Event::Error(_)
            | Event::Other { .. }
            | _ => {}
        }
    }

    fn is_answer(&self, call: &ToolCall) -> bool {
        self.strategy == Strategy::Tool && self.call.is_none() && call.name == OUTPUT_TOOL
    }

    /// The value so far, if it is another one than was last shown.
    pub(super) fn value(&mut self) -> Option<Value> {
        let length = self.text.text().len();
        if length.saturating_sub(self.shown) <= length / STEP {
            return None;
        }
        let value = self.text.value(OpenText::Show)?;
        self.shown = length;
        let value = match &self.lens {
            Some(lens) => lens.decode_partial(value)?,
            None => value,
        };
        if self.last.as_ref() == Some(&value) {
            return None;
        }
        self.last = Some(value.clone());
        Some(value)
    }
}
