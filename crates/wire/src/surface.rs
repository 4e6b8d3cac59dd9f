//! What differs between those who host one protocol: plain data that the caller passes, so that a provider is a row.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::neutral::Effort;

/// How one provider (or one model there) departs from the protocol as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Surface {
    /// What the body is wrapped in.
    pub envelope: Envelope,
    /// The version of the API, where the body or its rules depend on it.
    pub version: Option<String>,
    /// The token limit that is sent when the request has none and the protocol needs one.
    pub max_tokens: Option<u64>,
    /// The efforts that are taken; empty is all.
    pub efforts: Vec<Effort>,
    /// The budgets of thinking that are taken; where nothing is said, what the protocol takes.
    pub budgets: Budgets,
    /// Departures from the protocol.
    pub quirks: Vec<Quirk>,
    /// Fields that the envelope carries beside the request, such as a project.
    pub envelope_fields: BTreeMap<String, Value>,
}

impl Surface {
    /// Whether the surface departs in this way.
    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// Whether the endpoint keeps no items: ids of items mean nothing and thoughts travel sealed.
    pub(crate) fn is_stateless(&self) -> bool {
        self.has(Quirk::Stateless)
    }

    /// Whether thoughts are refused in a request.
    pub(crate) fn refuses_thoughts(&self) -> bool {
        self.has(Quirk::NoReasoningInput)
    }

    /// Whether calls and results carry ids.
    pub(crate) fn has_call_ids(&self) -> bool {
        !self.has(Quirk::NoCallIds)
    }

    /// Whether schemas stand in the `OpenAPI` slots.
    pub(crate) fn has_open_api_slots(&self) -> bool {
        self.has(Quirk::OpenApiSlots)
    }

    /// Whether thinking has a budget, not an effort.
    pub(crate) fn has_thinking_budget(&self) -> bool {
        self.has(Quirk::ThinkingBudget)
    }

    /// The role of instructions.
    pub(crate) fn system_role(&self) -> &'static str {
        if self.has(Quirk::DeveloperRole) { "developer" } else { "system" }
    }

    /// Whether a parameter of the request is refused.
    pub(crate) fn refuses_parameter(&self, field: &str) -> bool {
        let quirk = match field {
            "temperature" | "top_p" | "top_k" => Quirk::NoSampling,
            "frequency_penalty" | "presence_penalty" => Quirk::NoPenalties,
            "stop" => Quirk::NoStop,
            "seed" => Quirk::NoSeed,
            "parallel_tool_calls" => Quirk::NoParallelFlag,
            "metadata" => Quirk::NoMetadata,
            "user" => Quirk::NoUser,
            "reasoning" => Quirk::NoEffort,
            _ => return false,
        };
        self.has(quirk)
    }

    /// Whether a kind of content is refused.
    pub(crate) fn refuses_medium(&self, medium: Medium) -> bool {
        self.has(match medium {
            Medium::Image => Quirk::NoImages,
            Medium::Audio => Quirk::NoAudio,
            Medium::Document => Quirk::NoDocuments,
        })
    }

    /// The same with one more departure.
    #[must_use]
    pub fn with(mut self, quirk: Quirk) -> Self {
        if !self.has(quirk) {
            self.quirks.push(quirk);
        }
        self
    }

    /// The same in an envelope.
    #[must_use]
    pub fn with_envelope(mut self, envelope: Envelope) -> Self {
        self.envelope = envelope;
        self
    }

    /// The same with a version of the API.
    #[must_use]
    pub fn with_version(mut self, version: &str) -> Self {
        self.version = Some(version.to_owned());
        self
    }
}

/// Content beside text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    Image,
    Audio,
    Document,
}

impl Medium {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Document => "document",
        }
    }

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Image => "images",
            Self::Audio => "audio",
            Self::Document => "documents",
        }
    }
}

/// The budgets of thinking that are taken, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Budgets {
    /// The least, beside no budget at all.
    pub least: Option<u64>,
    /// The most.
    pub most: Option<u64>,
    /// Whether thinking cannot be switched off: no budget at all is refused.
    pub always: bool,
}

impl Budgets {
    /// The taken budget that is nearest to the wanted one, below what else is written if that is limited. There may be none.
    pub(crate) fn nearest(self, wanted: u64, below: Option<u64>) -> Option<u64> {
        if wanted == 0 && !self.always {
            return Some(0);
        }
        let least = self.least.unwrap_or(0);
        let most = self.most.unwrap_or(u64::MAX).min(below.map_or(u64::MAX, |limit| limit.saturating_sub(1)));
        (least <= most).then(|| wanted.clamp(least, most))
    }
}

/// What a body is wrapped in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Envelope {
    /// Nothing: the protocol as its owner serves it.
    #[default]
    Plain,
    /// The model stands in the URL and the version in the body.
    ModelInUrl,
    /// As [`Envelope::ModelInUrl`], and whether it is a stream stands in the URL too; streams come in AWS frames.
    Invoke,
    /// `{model, project, request}`, answers as `{response}`.
    CodeAssist,
    /// As [`Envelope::CodeAssist`], with the fields of an agent.
    Agent,
}

/// One departure from the protocol. Each is read in exactly one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Quirk {
    /// The limit of tokens is `max_tokens`, not `max_completion_tokens`.
    LegacyMaxTokens,
    /// Instructions have the role `developer`.
    DeveloperRole,
    /// Tools are functions alone: there are no custom tools and no namespaces.
    FunctionsOnly,
    /// Tools have no `strict`.
    NoStrict,
    /// Either all tools are strict or none.
    UniformStrict,
    /// Ids of calls are exactly nine letters or digits.
    NineCharacterIds,
    /// Every assistant turn that calls tools repeats its `reasoning_content`, empty if there is none.
    ReasoningReplay,
    /// Thoughts are said as `reasoning`.
    ReasoningField,
    /// Thoughts are not taken back.
    NoReasoningInput,
    /// Tools and a format of the answer do not go together.
    NoToolsWithFormat,
    /// A single tool cannot be forced by name.
    NoNamedChoice,
    /// No tool can be forced.
    NoForcedChoice,
    /// "Some tool" is called `any`.
    RequiredIsAny,
    /// There is no free JSON mode: the schema of any object stands for it.
    NoFreeJson,
    /// Schemas of answers are not taken: free JSON stands for them.
    NoSchemaFormat,
    /// Free JSON carries its schema beside it.
    SchemaInFreeJson,
    /// Temperature, `top_p` and `top_k` are not taken.
    NoSampling,
    /// Temperature and `top_p` do not go together. Read where a request is planned.
    OneSampling,
    /// There are no instructions: the first words of the user stand for them. Read where a request is planned.
    NoInstructions,
    /// Penalties are not taken.
    NoPenalties,
    /// Stop texts are not taken.
    NoStop,
    /// A seed is not taken.
    NoSeed,
    /// Whether tools are called in parallel cannot be said.
    NoParallelFlag,
    /// Labels are not taken.
    NoMetadata,
    /// Who the request is for is not taken.
    NoUser,
    /// Images are not taken.
    NoImages,
    /// Recordings are not taken.
    NoAudio,
    /// Documents are not taken.
    NoDocuments,
    /// The effort is not taken.
    NoEffort,
    /// Instructions in the middle are taken.
    SystemMessages,
    /// User and assistant must take turns.
    Alternate,
    /// A user message may not follow a tool message: the assistant speaks between them.
    NoUserAfterTool,
    /// `content` of an assistant message is a text or a list, never `null`.
    NoNullContent,
    /// The last turn may not be the assistant's.
    NoPrefill,
    /// Thinking has a budget, not an effort.
    ThinkingBudget,
    /// The budget of thinking is below the limit of tokens.
    BudgetBelowLimit,
    /// Schemas stand in the `OpenAPI` slots.
    OpenApiSlots,
    /// The format of the answer is `responseFormat`.
    ResponseFormat,
    /// Calls and results carry no id.
    NoCallIds,
    /// The first call of a step needs a signature; a call from elsewhere gets the sentinel.
    SignedCalls,
    /// Images of a result stand inside the result.
    MediaInResults,
    /// Calls are held to their schema even when the model decides.
    ValidatedCalls,
    /// The endpoint keeps no items: ids of items are not sent, thoughts only sealed.
    Stateless,
}
