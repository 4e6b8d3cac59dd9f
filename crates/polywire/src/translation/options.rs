//! What a caller may choose about a translation.

use polywire_wire::{Stamp, Surface};

use super::Echo;
use crate::plan::{PlanOptions, Strict};

/// What a caller may choose about a translation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TranslateOptions {
    /// How the request is planned. By default a tool is strict only where the request says so.
    pub plan: PlanOptions,
    /// When answers are made, and what made-up ids are derived from.
    pub stamp: Stamp,
    /// How the caller departs from its protocol: the envelope of its answers.
    pub surface: Surface,
    /// Whether the answer is streamed, where the caller's protocol says so in the URL and not in the body.
    pub stream: Option<bool>,
    /// Where reasoning and signatures are kept that the caller's protocol has no place for; nowhere by default.
    pub echo: Option<Echo>,
}

impl Default for TranslateOptions {
    fn default() -> Self {
        let plan = PlanOptions::default().with_strict(Strict::AsAsked);
        Self { plan, stamp: Stamp::default(), surface: Surface::default(), stream: None, echo: None }
    }
}

impl TranslateOptions {
    /// Sets how the request is planned.
    #[must_use]
    pub fn with_plan(mut self, plan: PlanOptions) -> Self {
        self.plan = plan;
        self
    }

    /// Sets the time of answers and the seed of made-up ids.
    #[must_use]
    pub fn with_stamp(mut self, stamp: Stamp) -> Self {
        self.stamp = stamp;
        self
    }

    /// Sets how the caller departs from its protocol.
    #[must_use]
    pub fn with_surface(mut self, surface: Surface) -> Self {
        self.surface = surface;
        self
    }

    /// Keeps reasoning and signatures that the caller's protocol has no place for, and puts them back into later requests.
    #[must_use]
    pub fn with_echo(mut self, echo: Echo) -> Self {
        self.echo = Some(echo);
        self
    }

    /// Says whether the answer is streamed, where the URL says so.
    #[must_use]
    pub fn with_stream(mut self, stream: bool) -> Self {
        self.stream = Some(stream);
        self
    }
}
