//! Options of planning.

use std::collections::BTreeMap;

use crate::change::Kind;

/// Options of planning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The use of the provider's strict flag.
    pub strict: Strict,
    /// The use of the prompt for the output schema.
    pub prompt: Prompt,
    on_loss: BTreeMap<Kind, OnLoss>,
}

/// The use of the provider's strict flag for tools and structured output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strict {
    /// Strict wherever the schema allows it, except for tools with `strict: false`.
    #[default]
    Auto,
    /// Strict only for tools with `strict: true`.
    AsAsked,
    /// Never strict.
    Off,
}

/// The use of the prompt for the output schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Prompt {
    /// The schema is in the prompt only if the model supports no other strategy.
    #[default]
    WhenNeeded,
    /// The schema is always in the prompt too, which helps where the provider does not enforce it.
    Always,
}

/// The handling of losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnLoss {
    /// Losses are recorded in the plan.
    #[default]
    Record,
    /// Planning fails with a [`LossError`](crate::LossError).
    Refuse,
}

impl PlanOptions {
    /// Sets the use of the strict flag.
    #[must_use]
    pub fn with_strict(mut self, strict: Strict) -> Self {
        self.strict = strict;
        self
    }

    /// Sets the use of the prompt.
    #[must_use]
    pub fn with_prompt(mut self, prompt: Prompt) -> Self {
        self.prompt = prompt;
        self
    }

    /// Sets the handling of losses of a kind.
    #[must_use]
    pub fn with_on_loss(mut self, kind: Kind, on_loss: OnLoss) -> Self {
        self.on_loss.insert(kind, on_loss);
        self
    }

    /// The handling of losses of a kind.
    pub fn on_loss(&self, kind: Kind) -> OnLoss {
        self.on_loss.get(&kind).copied().unwrap_or_default()
    }
}
