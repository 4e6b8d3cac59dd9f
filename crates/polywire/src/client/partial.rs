//! Partial values of a streamed response, in the caller's schema.

use polywire_answer::{OpenText, Stream};
use polywire_schema::Lens;
use polywire_wire::{Block, Delta, Event, OUTPUT_TOOL, Strategy, ToolCall};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::plan::Plan;

/// The text must grow by 1/64 before it is parsed again, so that the total cost is proportional to its length.
const STEP: usize = 64;

/// The received part of a value. It has the structure of the caller's schema but is not validated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Partial {
    /// The value so far.
    pub value: Value,
    /// The number of the attempt, from 1. A later attempt starts a new value.
    pub attempt: usize,
}

impl Partial {
    /// Deserializes the value. Its type should have defaults for fields that are still missing.
    pub fn read<P: DeserializeOwned>(&self) -> Option<P> {
        P::deserialize(&self.value).ok()
    }
}

/// Reads the value of a response from its events.
#[derive(Debug)]
pub(super) struct PartialReader {
    text: Stream,
    lens: Option<Lens>,
    strategy: Strategy,
    /// The call whose arguments are the value.
    call: Option<usize>,
    /// The length of the text when it was last parsed.
    parsed: usize,
    last: Option<Value>,
}

impl PartialReader {
    pub(super) fn new(plan: &Plan) -> Self {
        let output = plan.output.as_ref();
        Self {
            text: Stream::new(),
            lens: output.and_then(|output| output.lens.clone()),
            strategy: output.map(|output| output.strategy).unwrap_or_default(),
            call: None,
            parsed: 0,
            last: None,
        }
    }

    pub(super) fn push(&mut self, event: &Event) {
        match event {
            Event::Open { index, block: Block::ToolCall(call) } if self.is_output_call(call) => {
                // Text before the call of the output tool is not part of the value.
                self.text = Stream::new();
                self.parsed = 0;
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

    fn is_output_call(&self, call: &ToolCall) -> bool {
        self.strategy == Strategy::Tool && self.call.is_none() && call.name == OUTPUT_TOOL
    }

    /// The value so far, if it has changed since the last call.
    pub(super) fn value(&mut self) -> Option<Value> {
        let length = self.text.text().len();
        if length.saturating_sub(self.parsed) <= length / STEP {
            return None;
        }
        let value = self.text.value(OpenText::Show)?;
        self.parsed = length;
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
