//! Model rows: what one model can do and what it refuses. A row says what differs from its family; settling joins the two.

use polywire_wire::{Effort, Quirk, ThinkingMode};
use serde::{Deserialize, Serialize};

/// What one model can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModelRow {
    /// The provider's id.
    pub provider: String,
    /// The model's id, as it is sent.
    pub id: String,
    /// The family whose abilities it has.
    pub family: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// Further ids of the same model that are sent as they are.
    pub dated: Vec<String>,
    /// The most tokens of a conversation, where known.
    pub context: Option<u64>,
    /// The most tokens of an answer, where known.
    pub output: Option<u64>,
    /// What it reads.
    pub input: Vec<Modality>,
    /// What it can do.
    pub can: Vec<Ability>,
    /// Whether a tool can be forced.
    pub forced: When,
    /// Whether temperature and its kin are taken.
    pub sampling: When,
    /// When to think: the modes that are taken.
    pub thinking: Vec<ThinkingMode>,
    /// How hard to think: the efforts that are taken.
    pub efforts: Vec<Effort>,
    /// What an effort that is not said means.
    pub default_effort: Option<Effort>,
    /// The surfaces on which it is served, the first by default; empty is all.
    pub surfaces: Vec<String>,
    /// Surfaces on which tools only go with effort `none`.
    pub tools_stop_thinking: Vec<String>,
    /// How it departs from its provider's protocol.
    pub quirks: Vec<Quirk>,
    /// Why not to begin with it any more.
    pub deprecated: Option<String>,
    /// How sure the row is.
    pub confidence: Confidence,
}

/// What a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Modality {
    /// Text.
    Text,
    /// Images.
    Image,
    /// Recordings.
    Audio,
    /// Films.
    Video,
    /// PDF documents.
    Pdf,
}

/// What a model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ability {
    /// Call tools.
    Tools,
    /// Be held to the schemas of tools and answers by the provider's strict flag.
    Strict,
    /// Take a schema of the answer.
    NativeOutput,
    /// Answer in free JSON.
    JsonMode,
    /// Call several tools in one turn.
    ParallelCalls,
    /// Take tools and a schema of the answer in one request.
    ToolsWithOutput,
}

/// When something is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum When {
    /// Always.
    Always,
    /// Not while the model thinks.
    UnlessThinking,
    /// Never.
    Never,
}

/// How sure a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Confidence {
    /// The provider says so.
    Documented,
    /// Others saw it in practice.
    Observed,
    /// It follows from what is known of others.
    Inferred,
}

impl ModelRow {
    /// A row of which nothing is known: it reads text and can do nothing else.
    pub(crate) fn careful(provider: &str, id: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            id: id.to_owned(),
            family: String::new(),
            aliases: Vec::new(),
            dated: Vec::new(),
            context: None,
            output: None,
            input: vec![Modality::Text],
            can: Vec::new(),
            forced: When::Never,
            sampling: When::Never,
            thinking: Vec::new(),
            efforts: Vec::new(),
            default_effort: None,
            surfaces: Vec::new(),
            tools_stop_thinking: Vec::new(),
            quirks: Vec::new(),
            deprecated: None,
            confidence: Confidence::Inferred,
        }
    }

    /// Whether the model can do this.
    pub fn can(&self, ability: Ability) -> bool {
        self.can.contains(&ability)
    }

    /// Whether the model reads this.
    pub fn reads(&self, modality: Modality) -> bool {
        self.input.contains(&modality)
    }
}

/// What a row or a family says of itself; what it does not say is the family's to say.
macro_rules! abilities {
    ($(#[$doc:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub(crate) struct $name {
            $($own)*
            context: Option<u64>,
            output: Option<u64>,
            input: Option<Vec<Modality>>,
            forced: Option<When>,
            sampling: Option<When>,
            thinking: Option<Vec<ThinkingMode>>,
            efforts: Option<Vec<Effort>>,
            default_effort: Option<Effort>,
            surfaces: Option<Vec<String>>,
            tools_stop_thinking: Option<Vec<String>>,
            quirks: Option<Vec<Quirk>>,
            deprecated: Option<String>,
            confidence: Option<Confidence>,
        }
    };
}

abilities! {
    /// What models have in common.
    Family {
        pub(crate) id: String,
        can: Vec<Ability>,
    }
}

abilities! {
    /// One line of the catalog.
    Line {
        pub(crate) provider: String,
        pub(crate) id: String,
        pub(crate) family: String,
        #[serde(default)]
        aliases: Vec<String>,
        #[serde(default)]
        dated: Vec<String>,
        #[serde(default)]
        also: Vec<Ability>,
        #[serde(default)]
        not: Vec<Ability>,
    }
}

impl Line {
    /// A line that says nothing: a model of which only the family is known.
    pub(crate) fn unknown(provider: &str, id: &str, family: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            id: id.to_owned(),
            family: family.to_owned(),
            aliases: Vec::new(),
            dated: Vec::new(),
            also: Vec::new(),
            not: Vec::new(),
            context: None,
            output: None,
            input: None,
            forced: None,
            sampling: None,
            thinking: None,
            efforts: None,
            default_effort: None,
            surfaces: None,
            tools_stop_thinking: None,
            quirks: None,
            deprecated: None,
            confidence: None,
        }
    }

    /// The row: what the line says, else what the family says, else the careful answer.
    pub(crate) fn settle(self, family: &Family) -> ModelRow {
        let mut can: Vec<Ability> = family.can.iter().chain(&self.also).copied().collect();
        can.retain(|ability| !self.not.contains(ability));
        let either = |own: Option<Vec<String>>, theirs: &Option<Vec<String>>| own.or_else(|| theirs.clone());
        let text = || vec![Modality::Text];
        ModelRow {
            context: self.context.or(family.context),
            output: self.output.or(family.output),
            input: self.input.or_else(|| family.input.clone()).unwrap_or_else(text),
            can,
            forced: self.forced.or(family.forced).unwrap_or(When::Never),
            sampling: self.sampling.or(family.sampling).unwrap_or(When::Never),
            thinking: self.thinking.or_else(|| family.thinking.clone()).unwrap_or_default(),
            efforts: self.efforts.or_else(|| family.efforts.clone()).unwrap_or_default(),
            default_effort: self.default_effort.or_else(|| family.default_effort.clone()),
            surfaces: either(self.surfaces, &family.surfaces).unwrap_or_default(),
            tools_stop_thinking: either(self.tools_stop_thinking, &family.tools_stop_thinking).unwrap_or_default(),
            quirks: self.quirks.or_else(|| family.quirks.clone()).unwrap_or_default(),
            deprecated: self.deprecated.or_else(|| family.deprecated.clone()),
            confidence: self.confidence.or(family.confidence).unwrap_or(Confidence::Inferred),
            provider: self.provider,
            id: self.id,
            family: self.family,
            aliases: self.aliases,
            dated: self.dated,
        }
    }
}
