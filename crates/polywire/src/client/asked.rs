//! What came of asking for a value: the value or calls of tools, and every attempt.

use polywire_answer::{Fault, Repair};
use polywire_wire::{Response, Strategy, Usage};

use crate::change::Change;
use crate::plan::Plan;
use crate::price::Cost;

/// A value that was asked for, and how it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked<T> {
    /// The value.
    pub value: T,
    /// The channel by which it was asked for.
    pub strategy: Strategy,
    /// Every attempt, the last one with the value.
    pub attempts: Vec<Attempt>,
    /// Every change and loss of the last plan and of its answer.
    pub changes: Vec<Change>,
}

/// What came of asking for a value with tools at hand.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AskOutcome<T> {
    /// The value.
    Value(Asked<T>),
    /// The model wants tools called first.
    ToolCalls(Box<ToolCalls>),
}

/// Calls of tools in the place of a value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolCalls {
    /// The answer with the calls, in the caller's names and shapes.
    pub response: Response,
    /// Every attempt, the last one with the calls.
    pub attempts: Vec<Attempt>,
    /// Every change and loss of the last plan and of its answer.
    pub changes: Vec<Change>,
}

/// One time that a value was asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attempt {
    /// The plan that was sent.
    pub plan: Plan,
    /// The answer's bytes, as far as they are text, where [`RawBytes::Keep`](super::RawBytes::Keep) asks for them.
    pub raw: Option<String>,
    /// The answer as the provider gave it.
    pub response: Response,
    /// Liberties that were taken in reading it.
    pub repairs: Vec<Repair>,
    /// What is wrong with its value; empty for a valid one, and where there is no value.
    pub faults: Vec<Fault>,
    /// Why its value could not be brought back into the caller's shape; the faults are then those of the value as it came.
    pub not_restored: Option<String>,
    /// What is wrong with the value in the shape that the model was asked for.
    pub wire_faults: Vec<Fault>,
    /// What it cost, by the list price of the model.
    pub cost: Cost,
    /// How often it was sent again because the provider could not take it.
    pub retries: usize,
}

impl<T> Asked<T> {
    /// Liberties that were taken in reading the value.
    pub fn repairs(&self) -> &[Repair] {
        self.attempts.last().map(|attempt| attempt.repairs.as_slice()).unwrap_or_default()
    }

    /// The tokens of all attempts together.
    pub fn usage(&self) -> Usage {
        let spent = self.attempts.iter().filter_map(|attempt| attempt.response.usage.as_ref());
        spent.fold(Usage::default(), Usage::plus)
    }

    /// What all attempts cost together.
    pub fn cost(&self) -> Cost {
        self.attempts.iter().map(|attempt| attempt.cost.clone()).sum()
    }
}
