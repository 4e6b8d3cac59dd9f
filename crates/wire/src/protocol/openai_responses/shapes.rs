//! The bodies of `openai-responses` as serde types. Types for writing borrow from the neutral value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::neutral::SchemaRef;

pub(super) type Rest<'a> = Option<&'a Map<String, Value>>;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<Cow<'a, str>>,
    pub(super) input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ToolShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<TextShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<ReasoningShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<&'a str>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Message(MessageItem<'a>),
    Reasoning(ReasoningItem<'a>),
    Call(CallItem<'a>),
    Output(OutputItem<'a>),
    Other(&'a Value),
}

#[derive(Serialize)]
pub(super) struct MessageItem<'a> {
    pub(super) r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'static str>,
    pub(super) content: Content<'a>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Known(KnownPart<'a>),
    Other(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum KnownPart<'a> {
    InputText {
        text: Cow<'a, str>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    OutputText {
        text: &'a str,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    Refusal {
        refusal: &'a str,
    },
    InputImage {
        #[serde(skip_serializing_if = "Option::is_none")]
        image_url: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
        detail: &'a str,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    InputFile {
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'a str>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    InputAudio {
        input_audio: InputAudio<'a>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct InputAudio<'a> {
    pub(super) data: &'a str,
    pub(super) format: &'a str,
}

#[derive(Serialize)]
pub(super) struct ReasoningItem<'a> {
    pub(super) r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) summary: Vec<Summary<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) encrypted_content: Option<&'a str>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Summary<'a> {
    pub(super) r#type: &'static str,
    pub(super) text: &'a str,
}

#[derive(Serialize)]
pub(super) struct CallItem<'a> {
    pub(super) r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) call_id: &'a str,
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<&'a str>,
    /// The text of a custom tool call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'static str>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct OutputItem<'a> {
    pub(super) r#type: &'static str,
    pub(super) call_id: &'a str,
    pub(super) output: Content<'a>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolShape<'a> {
    Function {
        r#type: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        parameters: Option<SchemaRef<'a>>,
        strict: bool,
        #[serde(flatten)]
        extra: Option<Cow<'a, Map<String, Value>>>,
    },
    Custom {
        r#type: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        #[serde(flatten)]
        extra: Option<Cow<'a, Map<String, Value>>>,
    },
    Namespace {
        r#type: &'static str,
        name: &'a str,
        tools: Vec<ToolShape<'a>>,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    Other(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Choice<'a> {
    Mode(&'static str),
    Function(Named<'a>),
    Allowed { r#type: &'static str, mode: &'static str, tools: Vec<Named<'a>> },
}

#[derive(Serialize)]
pub(super) struct Named<'a> {
    pub(super) r#type: &'static str,
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct TextShape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<FormatShape<'a>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum FormatShape<'a> {
    JsonObject,
    JsonSchema {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        schema: Cow<'a, Value>,
        strict: bool,
    },
}

#[derive(Serialize)]
pub(super) struct ReasoningShape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effort: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<&'static str>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct ResponseBody<'a> {
    pub(super) id: &'a str,
    pub(super) object: &'static str,
    pub(super) created_at: Value,
    pub(super) status: &'a str,
    pub(super) error: Value,
    pub(super) incomplete_details: Option<Incomplete<'a>>,
    pub(super) model: &'a str,
    pub(super) output: Vec<Item<'a>>,
    pub(super) parallel_tool_calls: Value,
    pub(super) tool_choice: Value,
    pub(super) tools: Value,
    pub(super) usage: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Incomplete<'a> {
    pub(super) reason: &'a str,
}

/// An event, with the fields that all events have.
#[derive(Serialize)]
pub(super) struct StreamEvent<'a, D> {
    #[serde(flatten)]
    pub(super) data: &'a D,
    pub(super) r#type: &'a str,
    pub(super) sequence_number: u64,
}

/// The delta of a text, of reasoning or of arguments.
#[derive(Serialize)]
pub(super) struct WriteDelta<'a> {
    pub(super) item_id: &'a Value,
    pub(super) output_index: usize,
    pub(super) delta: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary_index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logprobs: Option<[Value; 0]>,
}

/// The most frequent stream events, parsed without building a `Value`. Other events take the general path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainDelta<'a> {
    #[serde(rename = "type")]
    #[expect(dead_code, reason = "the event name of the frame is used")]
    kind: IgnoredAny,
    #[serde(default)]
    #[expect(dead_code, reason = "the order of the events is used")]
    sequence_number: IgnoredAny,
    #[serde(default)]
    #[expect(dead_code, reason = "`output_index` is used")]
    item_id: IgnoredAny,
    #[serde(default)]
    #[expect(dead_code, reason = "padding that hides the length of the chunk")]
    obfuscation: IgnoredAny,
    #[serde(default)]
    #[expect(dead_code, reason = "the finished part repeats them")]
    logprobs: IgnoredAny,
    pub(super) output_index: usize,
    #[serde(default)]
    pub(super) content_index: usize,
    #[serde(borrow)]
    pub(super) delta: Cow<'a, str>,
}
