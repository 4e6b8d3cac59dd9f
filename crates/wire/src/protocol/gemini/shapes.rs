//! The bodies of `gemini` as serde types. Types for writing borrow from the neutral value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::neutral::SchemaRef;
use crate::protocol::context::Json;

pub(super) type Rest<'a> = Option<&'a Map<String, Value>>;

/// Provider-specific fields, possibly filtered.
pub(super) type Kept<'a> = Option<Cow<'a, Map<String, Value>>>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    pub(super) contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ToolShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) generation_config: Option<GenerationConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) labels: Option<&'a BTreeMap<String, String>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Enveloped<'a> {
    pub(super) model: &'a str,
    pub(super) request: Body<'a>,
    #[serde(flatten)]
    pub(super) fields: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    pub(super) parts: Vec<Part<'a>>,
    #[serde(flatten)]
    pub(super) extra: Kept<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Part<'a> {
    Known(Box<KnownPart<'a>>),
    Other(Cow<'a, Value>),
}

impl<'a> Part<'a> {
    pub(super) fn known(part: KnownPart<'a>) -> Self {
        Self::Known(Box::new(part))
    }
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KnownPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inline_data: Option<Blob<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_data: Option<FileData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_call: Option<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_response: Option<CallResult<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<&'a str>,
    #[serde(flatten)]
    pub(super) extra: Kept<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    pub(super) mime_type: &'a str,
    pub(super) data: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) display_name: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<&'a str>,
    pub(super) file_uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) display_name: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) args: Json<'a>,
}

#[derive(Serialize)]
pub(super) struct CallResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) response: FunctionOutput<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Part<'a>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

/// The `response` of a function, always an object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum FunctionOutput<'a> {
    Output(Payload<'a>),
    Error(Payload<'a>),
    #[serde(untagged)]
    Object(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Payload<'a> {
    Text(Cow<'a, str>),
    Json(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolShape<'a> {
    #[serde(rename_all = "camelCase")]
    Functions {
        function_declarations: Vec<Declaration<'a>>,
    },
    Other(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Declaration<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters_json_schema: Option<SchemaRef<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters: Option<SchemaRef<'a>>,
    #[serde(flatten)]
    pub(super) extra: Kept<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) function_calling_config: Option<CallingConfig<'a>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallingConfig<'a> {
    pub(super) mode: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) allowed_function_names: Vec<Cow<'a, str>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerationConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_k: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_sequences: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seed: Option<i64>,
    #[serde(flatten)]
    pub(super) format: FormatShape<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_config: Option<ThinkingConfig>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Default, PartialEq, Serialize)]
pub(super) struct FormatShape<'a> {
    #[serde(rename = "responseMimeType", skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<&'static str>,
    #[serde(rename = "responseJsonSchema", skip_serializing_if = "Option::is_none")]
    pub(super) json_schema: Option<&'a Value>,
    #[serde(rename = "responseSchema", skip_serializing_if = "Option::is_none")]
    pub(super) open_api: Option<&'a Value>,
    #[serde(rename = "responseFormat", skip_serializing_if = "Option::is_none")]
    pub(super) entries: Option<[FormatEntry<'a>; 1]>,
}

#[derive(PartialEq, Serialize)]
pub(super) struct FormatEntry<'a> {
    pub(super) text: FormatText<'a>,
}

#[derive(PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FormatText<'a> {
    pub(super) mime_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<&'a Value>,
}

#[derive(Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_budget: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking_level: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseBody<'a, C> {
    pub(super) candidates: C,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage_metadata: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) model_version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) response_id: &'a str,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct EnvelopedResponse<'a, C> {
    pub(super) response: ResponseBody<'a, C>,
    #[serde(flatten)]
    pub(super) fields: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Candidate<'a> {
    #[serde(rename_all = "camelCase")]
    First {
        content: Content<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        finish_reason: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        finish_message: Option<&'a str>,
        index: u8,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Other(&'a Value),
}

/// The most frequent chunk, parsed without building a `Value`. Other chunks take the general path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "the last chunk repeats them")]
pub(super) struct PlainChunk<'a> {
    #[serde(borrow)]
    pub(super) candidates: [PlainCandidate<'a>; 1],
    #[serde(default)]
    usage_metadata: IgnoredAny,
    #[serde(default)]
    model_version: IgnoredAny,
    #[serde(default)]
    response_id: IgnoredAny,
    #[serde(borrow, default)]
    pub(super) create_time: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainCandidate<'a> {
    #[serde(borrow)]
    pub(super) content: PlainContent<'a>,
    #[serde(default)]
    pub(super) index: u8,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainContent<'a> {
    #[serde(borrow, default)]
    pub(super) role: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) parts: [PlainPart<'a>; 1],
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainPart<'a> {
    #[serde(borrow)]
    pub(super) text: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) thought: bool,
}
