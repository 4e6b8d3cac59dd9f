//! Model rows: the features and limits of a model. A line of the catalog has the differences from its family; the catalog merges the two.

use polywire_wire::{Budgets, Effort, Quirk, ThinkingMode};
use serde::{Deserialize, Serialize};

use crate::price::Price;

/// The features and limits of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModelRow {
    /// The provider's id.
    pub provider: String,
    /// The model id in requests.
    pub id: String,
    /// The family whose abilities it has.
    pub family: String,
    /// Aliases, which are replaced by the id in requests.
    pub aliases: Vec<String>,
    /// Other ids of the same model that are valid in requests.
    pub dated: Vec<String>,
    /// The context window in tokens, if known.
    pub context: Option<u64>,
    /// The maximum number of output tokens, if known.
    pub output: Option<u64>,
    /// The input modalities.
    pub input: Vec<Modality>,
    /// The abilities.
    pub can: Vec<Ability>,
    /// The support for a forced tool choice.
    pub forced: When,
    /// The support for sampling parameters such as `temperature`.
    pub sampling: When,
    /// The supported thinking modes.
    pub thinking: Vec<ThinkingMode>,
    /// The supported efforts.
    pub efforts: Vec<Effort>,
    /// The supported efforts while thinking is disabled or limited to tool calls; empty for all.
    pub efforts_without_thinking: Vec<Effort>,
    /// The supported thinking budgets; by default those of the protocol.
    pub budgets: Budgets,
    /// The provider's default effort.
    pub default_effort: Option<Effort>,
    /// The surfaces on which it is served, the first by default; empty for all.
    pub surfaces: Vec<String>,
    /// The surfaces on which tools require effort `none`.
    pub tools_stop_thinking: Vec<String>,
    /// The deviations from the protocol.
    pub quirks: Vec<Quirk>,
    /// The reason or date of its deprecation.
    pub deprecated: Option<String>,
    /// The price, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The confidence in the row.
    pub confidence: Confidence,
    /// The sources that list the model.
    pub known_from: Vec<Origin>,
}

/// A source of model rows. Later variants override earlier ones, by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Origin {
    /// The built-in rows.
    Catalog,
    /// The provider's own list.
    Provider,
    /// The caller's configuration.
    Config,
}

/// An input modality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Modality {
    /// Text.
    Text,
    /// Images.
    Image,
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// PDF documents.
    Pdf,
}

/// An ability of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ability {
    /// Call tools.
    Tools,
    /// Enforce the schemas of tools and structured output with the provider's strict flag.
    Strict,
    /// Native structured output.
    NativeOutput,
    /// JSON mode: JSON without a schema.
    JsonMode,
    /// Call several tools in one turn.
    ParallelCalls,
    /// Tools and native structured output in the same request.
    ToolsWithOutput,
}

impl Ability {
    const ALL: [Self; 6] =
        [Self::Tools, Self::Strict, Self::NativeOutput, Self::JsonMode, Self::ParallelCalls, Self::ToolsWithOutput];
}

/// The support for a parameter.
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

/// The confidence in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Confidence {
    /// The provider documents it.
    Documented,
    /// It was observed in practice.
    Observed,
    /// It is inferred from other models.
    Inferred,
}

impl ModelRow {
    /// A row with all features, for unknown models in the provider's own protocol: the provider rejects what it does not support.
    pub(crate) fn permissive(provider: &str, id: &str) -> Self {
        Self {
            input: vec![Modality::Text, Modality::Image, Modality::Audio, Modality::Video, Modality::Pdf],
            can: Ability::ALL.to_vec(),
            forced: When::Always,
            sampling: When::Always,
            ..Self::minimal(provider, id)
        }
    }

    /// A row with text input and no other features.
    pub(crate) fn minimal(provider: &str, id: &str) -> Self {
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

    /// Returns `true` if the model has the ability.
    pub fn can(&self, ability: Ability) -> bool {
        self.can.contains(&ability)
    }

    /// Returns `true` if the model accepts the modality.
    pub fn reads(&self, modality: Modality) -> bool {
        self.input.contains(&modality)
    }
}

/// Defines a type with optional fields of a row, and its application to a row.
macro_rules! row_fields {
    ($(#[$doc:meta])* $vis:vis $name:ident { $($own:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        #[non_exhaustive]
        pub struct $name {
            $($own)*
            /// The context window in tokens.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub context: Option<u64>,
            /// The maximum number of output tokens.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub output: Option<u64>,
            /// The input modalities.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub input: Option<Vec<Modality>>,
            /// The support for a forced tool choice.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub forced: Option<When>,
            /// The support for sampling parameters such as `temperature`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub sampling: Option<When>,
            /// The supported thinking modes.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub thinking: Option<Vec<ThinkingMode>>,
            /// The supported efforts.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub efforts: Option<Vec<Effort>>,
            /// The supported efforts while thinking is disabled or limited to tool calls.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub efforts_without_thinking: Option<Vec<Effort>>,
            /// The supported thinking budgets.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub budgets: Option<Budgets>,
            /// The provider's default effort.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub default_effort: Option<Effort>,
            /// The surfaces on which it is served, the first by default.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub surfaces: Option<Vec<String>>,
            /// The surfaces on which tools require effort `none`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub tools_stop_thinking: Option<Vec<String>>,
            /// The deviations from the protocol.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub quirks: Option<Vec<Quirk>>,
            /// The reason or date of its deprecation.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub deprecated: Option<String>,
            /// The price.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub price: Option<Price>,
            /// The confidence in these fields.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub confidence: Option<Confidence>,
        }

        impl $name {
            /// Overrides the fields of a row with those that are set here.
            fn apply_fields(&self, row: &mut ModelRow) {
                row_fields!(self row: input forced sampling thinking efforts efforts_without_thinking budgets surfaces
                    tools_stop_thinking quirks confidence);
                row_fields!(optional self row: context output default_effort deprecated price);
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

row_fields! {
    /// The common features of several models.
    pub Family {
        /// The family's id.
        pub id: String,
        /// The abilities of its models.
        pub can: Vec<Ability>,
    }
}

row_fields! {
    /// A model in one source: a line of the catalog, an entry of a provider's list, a table of a configuration.
    pub ModelPatch {
        /// The provider's id.
        pub provider: String,
        /// The model's id.
        pub id: String,
        /// The family whose abilities it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub family: Option<String>,
        /// Aliases, which are replaced by the id in requests.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub aliases: Vec<String>,
        /// Other ids of the same model that are valid in requests.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub dated: Vec<String>,
        /// Additional abilities.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub also: Vec<Ability>,
        /// Abilities that it does not have.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub not: Vec<Ability>,
        /// Additional input modalities.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub also_reads: Vec<Modality>,
        /// Input modalities that it does not accept.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub not_reads: Vec<Modality>,
    }
}

impl Family {
    /// The row of a model of which only the family is known.
    pub(crate) fn row(&self, provider: &str, id: &str) -> ModelRow {
        let mut row = ModelRow::minimal(provider, id);
        row.family.clone_from(&self.id);
        row.can.clone_from(&self.can);
        self.apply_fields(&mut row);
        row
    }
}

impl ModelPatch {
    /// Creates a patch without fields.
    pub fn new(provider: &str, id: &str) -> Self {
        Self { provider: provider.to_owned(), id: id.to_owned(), ..Self::default() }
    }

    /// Applies the patch to a row, except for the provider, the id and the family.
    pub(crate) fn apply_to(&self, row: &mut ModelRow) {
        self.apply_fields(row);
        let taken = |row: &ModelRow, name: &String| {
            let mut names = row.aliases.iter().chain(&row.dated).chain([&row.id]);
            names.any(|taken| taken.eq_ignore_ascii_case(name))
        };
        let dated: Vec<String> = self.dated.iter().filter(|name| !taken(row, name)).cloned().collect();
        row.dated.extend(dated);
        let aliases: Vec<String> = self.aliases.iter().filter(|name| !taken(row, name)).cloned().collect();
        row.aliases.extend(aliases);
        add_and_remove(&mut row.can, &self.also, &self.not);
        add_and_remove(&mut row.input, &self.also_reads, &self.not_reads);
    }
}

fn add_and_remove<T: Copy + PartialEq>(all: &mut Vec<T>, also: &[T], not: &[T]) {
    let more: Vec<T> = also.iter().filter(|one| !all.contains(one)).copied().collect();
    all.extend(more);
    all.retain(|one| !not.contains(one));
}
