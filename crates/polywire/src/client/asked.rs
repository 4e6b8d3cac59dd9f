//! What came of asking for a value: the value or calls of tools, and every attempt.

use polywire_answer::{Fault, Repair};
use polywire_wire::{Response, Strategy, Usage};

use crate::change::Change;
use crate::plan::Plan;
use crate::price::Cost;

/// A valid value and the attempts that led to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked<T> {
    /// The value.
    pub value: T,
    /// The strategy by which it was requested.
    pub strategy: Strategy,
    /// Every attempt; the last one has the value.
    pub attempts: Vec<Attempt>,
    /// Every change and loss of the last attempt.
    pub changes: Vec<Change>,
}

/// The outcome of a request for a value with tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AskOutcome<T> {
    /// The value.
    Value(Asked<T>),
    /// The model calls tools before it returns the value.
    ToolCalls(Box<ToolCalls>),
}

/// Tool calls instead of a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolCalls {
    /// The response with the calls, in the caller's tool names and schemas.
    pub response: Response,
    /// Every attempt; the last one has the calls.
    pub attempts: Vec<Attempt>,
    /// Every change and loss of the last attempt.
    pub changes: Vec<Change>,
}

/// One request for a value and its response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The plan that was sent.
    pub plan: Plan,
    /// The response body as text, with [`RawBytes::Keep`](super::RawBytes::Keep).
    pub raw: Option<String>,
    /// The provider's response, before it is restored.
    pub response: Response,
    /// The repairs of the value.
    pub repairs: Vec<Repair>,
    /// The violations of the caller's schema; empty for a valid value and without a value.
    pub faults: Vec<Fault>,
    /// The reason why the value could not be converted to the caller's schema; `faults` then refers to the unconverted value.
    pub not_restored: Option<String>,
    /// The violations of the fitted schema.
    pub wire_faults: Vec<Fault>,
    /// The cost at the model's list price.
    pub cost: Cost,
    /// The number of retries.
    pub retries: usize,
}

impl<T> Asked<T> {
    /// The repairs of the value.
    pub fn repairs(&self) -> &[Repair] {
        self.attempts.last().map(|attempt| attempt.repairs.as_slice()).unwrap_or_default()
    }

    /// The tokens of all attempts together.
    pub fn usage(&self) -> Usage {
        let spent = self.attempts.iter().filter_map(|attempt| attempt.response.usage.as_ref());
        spent.fold(Usage::default(), Usage::plus)
    }

    /// The cost of all attempts together.
    pub fn cost(&self) -> Cost {
        self.attempts.iter().map(|attempt| attempt.cost.clone()).sum()
    }
}
