//! Differences between hosts of one protocol, as plain data: a provider is a row of a table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::neutral::Effort;

/// How one provider, or one of its models, deviates from the protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Surface {
    /// The envelope around the body.
    pub envelope: Envelope,
    /// The API version, if the body or its rules depend on it.
    pub version: Option<String>,
    /// The `max_tokens` of requests that have none.
    pub max_tokens: Option<u64>,
    /// The accepted reasoning efforts; empty means all.
    pub efforts: Vec<Effort>,
    /// The accepted thinking budgets; the default is the range of the protocol.
    pub budgets: Budgets,
    /// Deviations from the protocol.
    pub quirks: Vec<Quirk>,
    /// Additional fields of the envelope, such as a project.
    pub envelope_fields: BTreeMap<String, Value>,
}

impl Surface {
    /// True if the surface has the quirk.
    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// True if the endpoint stores no items: item ids are not accepted and reasoning is sent encrypted.
    pub(crate) fn is_stateless(&self) -> bool {
        self.has(Quirk::Stateless)
    }

    /// True if reasoning is rejected in requests.
    pub(crate) fn rejects_reasoning(&self) -> bool {
        self.has(Quirk::NoReasoningInput)
    }

    /// True if tool calls and results have ids.
    pub(crate) fn has_call_ids(&self) -> bool {
        !self.has(Quirk::NoCallIds)
    }

    /// True if schemas are sent in the `OpenAPI` fields.
    pub(crate) fn uses_open_api_fields(&self) -> bool {
        self.has(Quirk::OpenApiSlots)
    }

    /// True if thinking is controlled by a budget instead of an effort.
    pub(crate) fn has_thinking_budget(&self) -> bool {
        self.has(Quirk::ThinkingBudget)
    }

    /// The role of system messages.
    pub(crate) fn system_role(&self) -> &'static str {
        if self.has(Quirk::DeveloperRole) { "developer" } else { "system" }
    }

    /// True if the request parameter is rejected.
    pub(crate) fn rejects_parameter(&self, field: &str) -> bool {
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

    /// True if the kind of content is rejected.
    pub(crate) fn rejects_medium(&self, medium: Medium) -> bool {
        self.has(match medium {
            Medium::Image => Quirk::NoImages,
            Medium::Audio => Quirk::NoAudio,
            Medium::Document => Quirk::NoDocuments,
        })
    }

    /// Adds a quirk.
    #[must_use]
    pub fn with(mut self, quirk: Quirk) -> Self {
        if !self.has(quirk) {
            self.quirks.push(quirk);
        }
        self
    }

    /// Sets the envelope.
    #[must_use]
    pub fn with_envelope(mut self, envelope: Envelope) -> Self {
        self.envelope = envelope;
        self
    }

    /// Sets the API version.
    #[must_use]
    pub fn with_version(mut self, version: &str) -> Self {
        self.version = Some(version.to_owned());
        self
    }
}

/// Kinds of content other than text.
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

/// The accepted thinking budgets, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Budgets {
    /// The smallest budget other than 0.
    pub least: Option<u64>,
    /// The largest budget.
    pub most: Option<u64>,
    /// True if thinking cannot be disabled: a budget of 0 is rejected.
    pub always: bool,
}

impl Budgets {
    /// The accepted budget nearest to `wanted` and less than `below`, if there is one.
    pub(crate) fn nearest(self, wanted: u64, below: Option<u64>) -> Option<u64> {
        if wanted == 0 && !self.always {
            return Some(0);
        }
        let least = self.least.unwrap_or(0);
        let most = self.most.unwrap_or(u64::MAX).min(below.map_or(u64::MAX, |limit| limit.saturating_sub(1)));
        (least <= most).then(|| wanted.clamp(least, most))
    }
}

/// The envelope around a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Envelope {
    /// No envelope: the protocol as its owner serves it.
    #[default]
    Plain,
    /// The model is in the URL and the API version in the body.
    ModelInUrl,
    /// As [`Envelope::ModelInUrl`], with the streaming flag in the URL too; streams use AWS event stream frames.
    Invoke,
    /// `{model, project, request}`; responses as `{response}`.
    CodeAssist,
    /// As [`Envelope::CodeAssist`], with additional agent fields.
    Agent,
}

/// One deviation from the protocol. Each is read in exactly one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Quirk {
    /// The token limit is `max_tokens`, not `max_completion_tokens`.
    LegacyMaxTokens,
    /// System messages have the role `developer`.
    DeveloperRole,
    /// All tools are functions: custom tools and namespaces are not supported.
    FunctionsOnly,
    /// Tools have no `strict` field.
    NoStrict,
    /// Either all tools are strict or none is.
    UniformStrict,
    /// Tool call ids are exactly nine letters or digits.
    NineCharacterIds,
    /// Every assistant message with tool calls needs its `reasoning_content`, empty if there is none.
    ReasoningReplay,
    /// Reasoning is in the field `reasoning`.
    ReasoningField,
    /// Reasoning is not accepted in requests.
    NoReasoningInput,
    /// Tools cannot be combined with an output format.
    NoToolsWithFormat,
    /// A single tool cannot be forced by name.
    NoNamedChoice,
    /// No tool can be forced.
    NoForcedChoice,
    /// The tool choice `required` is called `any`.
    RequiredIsAny,
    /// There is no JSON mode without a schema: the schema of any object is sent instead.
    NoFreeJson,
    /// Output schemas are not accepted: JSON mode is used instead.
    NoSchemaFormat,
    /// JSON mode accepts a schema in the same object.
    SchemaInFreeJson,
    /// `temperature`, `top_p` and `top_k` are not accepted.
    NoSampling,
    /// `temperature` and `top_p` cannot be combined. Read by the request planner.
    OneSampling,
    /// System instructions are not accepted: they are sent in the first user message. Read by the request planner.
    NoInstructions,
    /// Penalties are not accepted.
    NoPenalties,
    /// Stop sequences are not accepted.
    NoStop,
    /// `seed` is not accepted.
    NoSeed,
    /// `parallel_tool_calls` is not accepted.
    NoParallelFlag,
    /// `metadata` is not accepted.
    NoMetadata,
    /// `user` is not accepted.
    NoUser,
    /// Images are not accepted.
    NoImages,
    /// Audio is not accepted.
    NoAudio,
    /// Documents are not accepted.
    NoDocuments,
    /// The reasoning effort is not accepted.
    NoEffort,
    /// System messages inside the conversation are accepted.
    SystemMessages,
    /// User and assistant messages must alternate.
    Alternate,
    /// A user message may not follow a tool message: an assistant message is needed between them.
    NoUserAfterTool,
    /// `content` of an assistant message is a string or an array, never `null`.
    NoNullContent,
    /// The last message may not be from the assistant.
    NoPrefill,
    /// Thinking is controlled by a budget instead of an effort.
    ThinkingBudget,
    /// The thinking budget must be less than the token limit.
    BudgetBelowLimit,
    /// Schemas are sent in the `OpenAPI` fields.
    OpenApiSlots,
    /// The output format is sent as `responseFormat`.
    ResponseFormat,
    /// Tool calls and results have no ids.
    NoCallIds,
    /// The first tool call of a step needs a signature; a call of another model gets a placeholder.
    SignedCalls,
    /// Images of a tool result are sent inside the result.
    MediaInResults,
    /// Tool calls are validated against their schema with the tool choice `auto` too.
    ValidatedCalls,
    /// The endpoint stores no items: item ids are not sent, and reasoning only encrypted.
    Stateless,
}
