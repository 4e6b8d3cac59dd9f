//! The bodies of `bedrock-converse` as serde types. Types for writing borrow from the neutral value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::neutral::{Cache, SchemaRef};
use crate::protocol::context::Json;

pub(super) type Rest<'a> = Option<&'a Map<String, Value>>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    pub(super) messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) system: Vec<Piece<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) inference_config: Option<InferenceConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) additional_model_request_fields: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_metadata: Option<&'a BTreeMap<String, String>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Turn<'a> {
    pub(super) role: &'static str,
    pub(super) content: Vec<Piece<'a>>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Piece<'a> {
    Known(Block<'a>),
    Other(&'a Value),
}

/// A content block: an object with one field that names its kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Block<'a> {
    Text(Cow<'a, str>),
    Json(Cow<'a, Value>),
    Image(Media<'a>),
    Audio(Media<'a>),
    Document(Media<'a>),
    ReasoningContent(Reasoning<'a>),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResultShape<'a>),
    CachePoint(CachePoint<'a>),
}

#[derive(Serialize)]
pub(super) struct CachePoint<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'a str>,
}

impl<'a> CachePoint<'a> {
    pub(super) fn of(cache: &'a Cache) -> Self {
        Self { r#type: "default", ttl: cache.ttl.as_deref() }
    }
}

#[derive(Serialize)]
pub(super) struct Media<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    pub(super) format: &'a str,
    pub(super) source: SourceShape<'a>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum SourceShape<'a> {
    Bytes(&'a str),
    Text(&'a str),
    S3Location(S3Location<'a>),
}

#[derive(Serialize)]
pub(super) struct S3Location<'a> {
    pub(super) uri: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Reasoning<'a> {
    ReasoningText(ReasoningText<'a>),
    RedactedContent(&'a str),
}

#[derive(Serialize)]
pub(super) struct ReasoningText<'a> {
    pub(super) text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolUse<'a> {
    #[serde(rename = "toolUseId")]
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) input: Json<'a>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolResultShape<'a> {
    pub(super) tool_use_id: &'a str,
    pub(super) content: Vec<Piece<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'static str>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InferenceConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_sequences: Option<&'a [String]>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolConfig<'a> {
    pub(super) tools: Vec<ToolShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolShape<'a> {
    Known(KnownTool<'a>),
    Other(&'a Value),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum KnownTool<'a> {
    ToolSpec(ToolSpec<'a>),
    CachePoint(CachePoint<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolSpec<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    pub(super) input_schema: InputSchema<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strict: Option<bool>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
pub(super) struct InputSchema<'a> {
    pub(super) json: SchemaRef<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Choice {
    Auto {},
    Any {},
    Tool { name: String },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text_format: Option<TextFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effort: Option<Cow<'a, str>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct TextFormat<'a> {
    pub(super) r#type: &'static str,
    pub(super) structure: Structure<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Structure<'a> {
    pub(super) json_schema: SchemaText<'a>,
}

#[derive(Serialize)]
pub(super) struct SchemaText<'a> {
    /// The schema as JSON text, as the protocol requires.
    pub(super) schema: String,
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseBody<'a> {
    pub(super) output: Output<'a>,
    pub(super) stop_reason: &'a str,
    pub(super) usage: Map<String, Value>,
    pub(super) metrics: Value,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Output<'a> {
    pub(super) message: Turn<'a>,
}

/// A stream event of one block.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BlockEvent<'a, D> {
    #[serde(flatten)]
    pub(super) data: &'a D,
    pub(super) content_block_index: usize,
}

#[derive(Serialize)]
pub(super) struct BlockDelta<'a> {
    pub(super) delta: WriteDelta<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum WriteDelta<'a> {
    Text(&'a str),
    ReasoningContent(WriteReasoning<'a>),
    ToolUse { input: &'a str },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum WriteReasoning<'a> {
    Text(&'a str),
    Signature(&'a str),
    RedactedContent(&'a str),
}

/// The most frequent stream event, parsed without building a `Value`. Other events take the general path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PlainDelta<'a> {
    pub(super) content_block_index: usize,
    #[serde(borrow)]
    pub(super) delta: PlainPiece<'a>,
    #[serde(default)]
    #[expect(dead_code, reason = "padding that hides the length of the chunk")]
    p: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct PlainPiece<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) tool_use: Option<PlainInput<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainInput<'a> {
    #[serde(borrow)]
    pub(super) input: Cow<'a, str>,
}
