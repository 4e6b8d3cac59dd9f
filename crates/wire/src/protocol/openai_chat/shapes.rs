//! The bodies of `openai-chat` as serde types. Types for writing borrow from the neutral value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::neutral::SchemaRef;

type Rest<'a> = Option<&'a Map<String, Value>>;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub(super) model: &'a str,
    pub(super) messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ToolShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response_format: Option<Format<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_effort: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<&'a str>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: bool,
}

#[derive(Default, Serialize)]
pub(super) struct Turn<'a> {
    pub(super) role: &'static str,
    pub(super) content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<CallShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<&'a str>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Default, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    #[default]
    Null,
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl Content<'_> {
    pub(super) fn has_content(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Text(text) => !text.is_empty(),
            Self::Parts(parts) => !parts.is_empty(),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Known {
        #[serde(flatten)]
        part: KnownPart<'a>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Other(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum KnownPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    InputAudio { input_audio: InputAudio<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
pub(super) struct ImageUrl<'a> {
    pub(super) url: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct InputAudio<'a> {
    pub(super) data: &'a str,
    pub(super) format: &'a str,
}

#[derive(Default, Serialize)]
pub(super) struct File<'a> {
    #[serde(rename = "file_id", skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    #[serde(rename = "file_data", skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filename: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum CallShape<'a> {
    Function {
        id: &'a str,
        r#type: &'static str,
        function: CallFunction<'a>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Custom {
        id: &'a str,
        r#type: &'static str,
        custom: CustomCall<'a>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Other(&'a Value),
}

#[derive(Serialize)]
pub(super) struct CustomCall<'a> {
    pub(super) name: &'a str,
    pub(super) input: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct CallFunction<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolShape<'a> {
    Function { r#type: &'static str, function: FunctionShape<'a> },
    Custom { r#type: &'static str, custom: FunctionShape<'a> },
    Other(&'a Value),
}

#[derive(Serialize)]
pub(super) struct FunctionShape<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters: Option<SchemaRef<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strict: Option<bool>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Choice<'a> {
    Mode(&'static str),
    Tool(NamedTool<'a>),
    Allowed { r#type: &'static str, allowed_tools: Allowed<'a> },
}

#[derive(Serialize)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
}

#[derive(Serialize)]
pub(super) struct Allowed<'a> {
    pub(super) mode: &'static str,
    pub(super) tools: Vec<NamedTool<'a>>,
}

#[derive(Serialize)]
pub(super) struct NamedTool<'a> {
    pub(super) r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function: Option<Named<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) custom: Option<Named<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Format<'a> {
    JsonObject {
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<&'a Value>,
    },
    JsonSchema {
        json_schema: FormatSchema<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct FormatSchema<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    pub(super) schema: Cow<'a, Value>,
    pub(super) strict: bool,
}

#[derive(Serialize)]
pub(super) struct ResponseBody<'a> {
    pub(super) id: &'a str,
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) choices: Vec<ResponseChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ResponseChoice<'a> {
    First {
        index: u8,
        message: Turn<'a>,
        finish_reason: &'a str,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Other(&'a Value),
}

/// An encoded stream chunk.
#[derive(Serialize)]
pub(super) struct WriteChunk<'a> {
    pub(super) id: &'a str,
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) choices: &'a [WriteChoice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub(super) extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct WriteChoice<'a> {
    pub(super) index: u8,
    pub(super) delta: WriteDelta<'a>,
    pub(super) finish_reason: Option<&'a str>,
}

#[derive(Default, Serialize)]
pub(super) struct WriteDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_calls: Option<[WriteCall<'a>; 1]>,
}

#[derive(Serialize)]
pub(super) struct WriteCall<'a> {
    pub(super) index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) r#type: Option<&'static str>,
    pub(super) function: WriteFunction<'a>,
    #[serde(flatten)]
    pub(super) extra: Option<&'a Map<String, Value>>,
}

#[derive(Serialize)]
pub(super) struct WriteFunction<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    pub(super) arguments: &'a str,
}

/// The most frequent chunk, with known fields only, parsed without building a `Value`. Other chunks take the general path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "fields that repeat the first chunk are checked and not read")]
pub(super) struct PlainChunk<'a> {
    #[serde(default)]
    id: IgnoredAny,
    #[serde(default)]
    object: IgnoredAny,
    #[serde(default)]
    created: IgnoredAny,
    #[serde(default)]
    model: IgnoredAny,
    #[serde(borrow, default)]
    pub(super) system_fingerprint: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) service_tier: Option<Cow<'a, str>>,
    #[serde(default)]
    obfuscation: IgnoredAny,
    usage: Option<NoValue>,
    #[serde(borrow)]
    pub(super) choices: [PlainChoice<'a>; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only their presence matters")]
pub(super) struct PlainChoice<'a> {
    index: Zero,
    #[serde(borrow)]
    pub(super) delta: PlainDelta<'a>,
    logprobs: Option<NoValue>,
    finish_reason: Option<NoValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainDelta<'a> {
    #[serde(default)]
    #[expect(dead_code, reason = "the role is always `assistant`")]
    role: IgnoredAny,
    #[serde(borrow, default)]
    pub(super) content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<PlainCall<'a>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainCall<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(default, rename = "type")]
    #[expect(dead_code, reason = "a call with `custom` takes the general path")]
    kind: IgnoredAny,
    #[serde(borrow)]
    pub(super) function: PlainFunction<'a>,
    /// Provider-specific fields, from the general path only.
    #[serde(skip)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainFunction<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<Cow<'a, str>>,
}

impl<'a> PlainDelta<'a> {
    pub(super) fn new(
        [content, reasoning_content, reasoning, refusal]: [Option<String>; 4],
        calls: Vec<PlainCall<'a>>,
    ) -> Self {
        let own = |text: Option<String>| text.map(Cow::Owned);
        Self {
            role: IgnoredAny,
            content: own(content),
            reasoning_content: own(reasoning_content),
            reasoning: own(reasoning),
            refusal: own(refusal),
            tool_calls: Some(calls),
        }
    }
}

impl<'a> PlainCall<'a> {
    pub(super) fn new(
        index: Option<u64>,
        id: Option<Cow<'a, str>>,
        name: Option<Cow<'a, str>>,
        arguments: Option<Cow<'a, str>>,
        extra: Map<String, Value>,
    ) -> Self {
        Self { index, id, kind: IgnoredAny, function: PlainFunction { name, arguments }, extra }
    }
}

/// Accepts only `null`.
#[derive(Deserialize)]
pub(super) enum NoValue {}

/// Accepts only the number 0.
#[derive(Deserialize)]
#[serde(try_from = "u64")]
struct Zero;

impl TryFrom<u64> for Zero {
    type Error = &'static str;

    fn try_from(number: u64) -> Result<Self, Self::Error> {
        if number == 0 { Ok(Self) } else { Err("another choice") }
    }
}
