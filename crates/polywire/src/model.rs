//! Model rows: what one model can do and what it refuses. A row says what differs from its family; settling joins the two.

use polywire_wire::{Budgets, Effort, Quirk, ThinkingMode};
use serde::{Deserialize, Serialize};

use crate::price::Price;

/// What one model can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The efforts that go with thinking switched off or kept between tools; empty is all.
    pub efforts_without_thinking: Vec<Effort>,
    /// The budgets of thinking that are taken; where nothing is said, what the protocol takes.
    pub budgets: Budgets,
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
    /// What it costs, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// How sure the row is.
    pub confidence: Confidence,
    /// Who knows of the model.
    pub known_from: Vec<Origin>,
}

/// Who knows of a model. Later ones have the last word, field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Origin {
    /// The rows that come with the crate.
    Catalog,
    /// The provider's own list.
    Provider,
    /// The caller's configuration.
    Config,
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

impl Ability {
    const ALL: [Self; 6] =
        [Self::Tools, Self::Strict, Self::NativeOutput, Self::JsonMode, Self::ParallelCalls, Self::ToolsWithOutput];
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
    /// A row of which nothing is known and everything is believed: the provider judges what its own callers ask for.
    pub(crate) fn trusting(provider: &str, id: &str) -> Self {
        Self {
            input: vec![Modality::Text, Modality::Image, Modality::Audio, Modality::Video, Modality::Pdf],
            can: Ability::ALL.to_vec(),
            forced: When::Always,
            sampling: When::Always,
            ..Self::careful(provider, id)
        }
    }

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
            efforts_without_thinking: Vec::new(),
            budgets: Budgets::default(),
            default_effort: None,
            surfaces: Vec::new(),
            tools_stop_thinking: Vec::new(),
            quirks: Vec::new(),
            deprecated: None,
            price: None,
            confidence: Confidence::Inferred,
            known_from: Vec::new(),
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

/// What somebody says of models; what is not said is somebody else's to say.
macro_rules! said {
    ($(#[$doc:meta])* $vis:vis $name:ident { $($own:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        #[non_exhaustive]
        pub struct $name {
            $($own)*
            /// The most tokens of a conversation.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub context: Option<u64>,
            /// The most tokens of an answer.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub output: Option<u64>,
            /// What it reads.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub input: Option<Vec<Modality>>,
            /// Whether a tool can be forced.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub forced: Option<When>,
            /// Whether temperature and its kin are taken.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub sampling: Option<When>,
            /// The modes of thinking that are taken.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub thinking: Option<Vec<ThinkingMode>>,
            /// The efforts that are taken.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub efforts: Option<Vec<Effort>>,
            /// The efforts that go with thinking switched off or kept between tools.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub efforts_without_thinking: Option<Vec<Effort>>,
            /// The budgets of thinking that are taken.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub budgets: Option<Budgets>,
            /// What an effort that is not said means.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub default_effort: Option<Effort>,
            /// The surfaces on which it is served, the first by default.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub surfaces: Option<Vec<String>>,
            /// Surfaces on which tools only go with effort `none`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub tools_stop_thinking: Option<Vec<String>>,
            /// How it departs from its provider's protocol.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub quirks: Option<Vec<Quirk>>,
            /// Why not to begin with it any more.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub deprecated: Option<String>,
            /// What it costs.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub price: Option<Price>,
            /// How sure this is.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub confidence: Option<Confidence>,
        }

        impl $name {
            /// Puts what is said here over a row.
            fn say(&self, row: &mut ModelRow) {
                said!(self row: input forced sampling thinking efforts efforts_without_thinking budgets surfaces
                    tools_stop_thinking quirks confidence);
                said!(optional self row: context output default_effort deprecated price);
            }
        }
    };
    ($self:ident $row:ident: $($field:ident)*) => {
        $(if let Some(value) = &$self.$field { $row.$field.clone_from(value); })*
    };
    (optional $self:ident $row:ident: $($field:ident)*) => {
        $(if $self.$field.is_some() { $row.$field.clone_from(&$self.$field); })*
    };
}

said! {
    /// What models have in common.
    pub Family {
        /// Its id.
        pub id: String,
        /// What its models can do.
        pub can: Vec<Ability>,
    }
}

said! {
    /// What one source says of one model: a line of the catalog, an entry of a provider's list, a table of a configuration.
    pub ModelPatch {
        /// The provider's id.
        pub provider: String,
        /// The model's id.
        pub id: String,
        /// The family whose abilities it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub family: Option<String>,
        /// Other names for it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub aliases: Vec<String>,
        /// Further ids of the same model that are sent as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub dated: Vec<String>,
        /// What it can do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub also: Vec<Ability>,
        /// What it cannot do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub not: Vec<Ability>,
        /// What it reads beside what others say.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub also_reads: Vec<Modality>,
        /// What it does not read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub not_reads: Vec<Modality>,
    }
}

impl Family {
    /// The row of a model of which only the family is known: what it says, else the careful answer.
    pub(crate) fn row(&self, provider: &str, id: &str) -> ModelRow {
        let mut row = ModelRow::careful(provider, id);
        row.family.clone_from(&self.id);
        row.can.clone_from(&self.can);
        self.say(&mut row);
        row
    }
}

impl ModelPatch {
    /// A patch that says nothing yet.
    pub fn new(provider: &str, id: &str) -> Self {
        Self { provider: provider.to_owned(), id: id.to_owned(), ..Self::default() }
    }

    /// Puts what is said here over a row. The provider, the id and the family stay the row's.
    pub(crate) fn over(&self, row: &mut ModelRow) {
        self.say(row);
        let taken = |row: &ModelRow, name: &String| {
            let mut names = row.aliases.iter().chain(&row.dated).chain([&row.id]);
            names.any(|taken| taken.eq_ignore_ascii_case(name))
        };
        let dated: Vec<String> = self.dated.iter().filter(|name| !taken(row, name)).cloned().collect();
        row.dated.extend(dated);
        let aliases: Vec<String> = self.aliases.iter().filter(|name| !taken(row, name)).cloned().collect();
        row.aliases.extend(aliases);
        adjust(&mut row.can, &self.also, &self.not);
        adjust(&mut row.input, &self.also_reads, &self.not_reads);
    }
}

/// Adds what is missing and takes away what is not there.
fn adjust<T: Copy + PartialEq>(all: &mut Vec<T>, also: &[T], not: &[T]) {
    let more: Vec<T> = also.iter().filter(|one| !all.contains(one)).copied().collect();
    all.extend(more);
    all.retain(|one| !not.contains(one));
}
