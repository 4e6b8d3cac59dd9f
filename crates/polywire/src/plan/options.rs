//! What a caller may choose about a plan.

use std::collections::BTreeMap;

use crate::change::Kind;

/// What a caller may choose about a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Which tools are asked for with the provider's strict flag.
    pub strict: Strict,
    /// Whether the schema of the answer is also said in the prompt.
    pub prompt: Prompt,
    on_loss: BTreeMap<Kind, OnLoss>,
}

/// Which tools and answers are asked for with the provider's strict flag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strict {
    /// All that can be, except those that say otherwise.
    #[default]
    Auto,
    /// Those that say so.
    AsAsked,
    /// None.
    Off,
}

/// Whether the schema of the answer is also said in the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Prompt {
    /// Where it is asked for in no other way.
    #[default]
    WhenNeeded,
    /// Always, as a second line of defence.
    Always,
}

/// What a loss means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnLoss {
    /// It is recorded.
    #[default]
    Record,
    /// There is no plan.
    Refuse,
}

impl PlanOptions {
    /// The same with another choice about the strict flag.
    #[must_use]
    pub fn with_strict(mut self, strict: Strict) -> Self {
        self.strict = strict;
        self
    }

    /// The same with another choice about the prompt.
    #[must_use]
    pub fn with_prompt(mut self, prompt: Prompt) -> Self {
        self.prompt = prompt;
        self
    }

    /// The same with another meaning of losses of a kind.
    #[must_use]
    pub fn with_on_loss(mut self, kind: Kind, on_loss: OnLoss) -> Self {
        self.on_loss.insert(kind, on_loss);
        self
    }

    /// What a loss of a kind means.
    pub fn on_loss(&self, kind: Kind) -> OnLoss {
        self.on_loss.get(&kind).copied().unwrap_or_default()
    }
}
