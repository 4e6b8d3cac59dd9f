//! The bodies of `anthropic-messages` as serde types. Types for writing borrow from the neutral value.

use crate::protocol::claude::ThinkingShape;
use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::neutral::{Cache, SchemaRef, Usage};
use crate::protocol::context::Json;

pub(super) type Rest<'a> = Option<&'a Map<String, Value>>;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) anthropic_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    pub(super) max_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<Content<'a>>,
    pub(super) messages: Vec<Turn<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ToolShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thinking: Option<ThinkingShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) top_k: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) stop_sequences: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Map<String, Value>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct Turn<'a> {
    pub(super) role: &'static str,
    pub(super) content: Content<'a>,
    #[serde(flatten)]
    pub(super) extra: Rest<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Piece<'a>>),
}

impl<'a> Content<'a> {
    /// A string if the content is one plain text, or else an array.
    pub(super) fn of(mut blocks: Vec<Piece<'a>>) -> Self {
        if let [Piece::Known(BlockShape::Text { text, cache_control: None, extra: None })] = blocks.as_mut_slice() {
            return Self::Text(std::mem::take(text));
        }
        Self::Blocks(blocks)
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Piece<'a> {
    Known(BlockShape<'a>),
    Other(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockShape<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheShape<'a>>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Image {
        source: SourceShape<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheShape<'a>>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Document {
        source: SourceShape<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheShape<'a>>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Json<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheShape<'a>>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Content<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheShape<'a>>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct CacheShape<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'a str>,
}

impl<'a> CacheShape<'a> {
    pub(super) fn of(cache: Option<&'a Cache>) -> Option<Self> {
        cache.map(|cache| Self { r#type: "ephemeral", ttl: cache.ttl.as_deref() })
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum SourceShape<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Text { media_type: &'static str, data: &'a str },
    Url { url: &'a str },
    File { file_id: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolShape<'a> {
    Custom {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        input_schema: SchemaRef<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheShape<'a>>,
        #[serde(flatten)]
        extra: Rest<'a>,
    },
    Other(&'a Value),
}

#[derive(Serialize)]
pub(super) struct Choice<'a> {
    pub(super) r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disable_parallel_tool_use: Option<bool>,
}

#[derive(Serialize)]
pub(super) struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effort: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<FormatShape<'a>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Serialize)]
pub(super) struct FormatShape<'a> {
    pub(super) r#type: &'static str,
    pub(super) schema: &'a Value,
}

#[derive(Serialize)]
pub(super) struct ResponseBody<'a> {
    pub(super) id: &'a str,
    pub(super) r#type: &'static str,
    pub(super) role: &'static str,
    pub(super) model: &'a str,
    pub(super) content: Vec<Piece<'a>>,
    pub(super) stop_reason: Option<&'a str>,
    pub(super) stop_sequence: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stop_details: Option<Value>,
    pub(super) usage: UsageShape,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Default, Serialize)]
pub(super) struct UsageShape {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    #[serde(skip_serializing_if = "Map::is_empty")]
    output_tokens_details: Map<String, Value>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

impl UsageShape {
    pub(super) fn of(usage: &Usage, mut extra: Map<String, Value>) -> Self {
        let kept = extra.shift_remove("output_tokens_details");
        let mut details = if let Some(Value::Object(kept)) = kept { kept } else { Map::new() };
        if usage.reasoning_tokens > 0 {
            details.insert("thinking_tokens".to_owned(), usage.reasoning_tokens.into());
        }
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        Self {
            input_tokens: usage.input_tokens.saturating_sub(cached),
            output_tokens: usage.output_tokens,
            cache_creation_input_tokens: usage.cache_write_tokens,
            cache_read_input_tokens: usage.cache_read_tokens,
            output_tokens_details: details,
            extra,
        }
    }
}

#[derive(Serialize)]
pub(super) struct MessageStart<'a> {
    pub(super) r#type: &'static str,
    pub(super) message: ResponseBody<'a>,
}

#[derive(Serialize)]
pub(super) struct BlockStart<'a> {
    pub(super) r#type: &'static str,
    pub(super) index: usize,
    pub(super) content_block: &'a Piece<'a>,
}

#[derive(Serialize)]
pub(super) struct BlockDelta<'a, D> {
    pub(super) r#type: &'static str,
    pub(super) index: usize,
    pub(super) delta: &'a D,
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub(super) enum WriteDelta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'a str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
}

/// The most frequent stream event, parsed without building a `Value`. Other events take the general path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainDelta<'a> {
    #[serde(rename = "type")]
    #[expect(dead_code, reason = "the event name of the frame is used")]
    kind: IgnoredAny,
    pub(super) index: usize,
    #[serde(borrow)]
    pub(super) delta: PlainPiece<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainPiece<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) partial_json: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) signature: Option<Cow<'a, str>>,
}
