//! The response.

use serde::{Deserialize, Serialize};

use super::{Block, Extra, Message, Role, is_default, open_words};

/// A response in neutral form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Response {
    /// The provider's id of the response.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The model that responded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The content blocks.
    pub content: Vec<Block>,
    /// The stop reason.
    pub stop: StopReason,
    /// The stop sequence that ended it, if the provider reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequence: Option<String>,
    /// The refusal text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Token usage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Provider-specific fields, by protocol.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Response {
    /// The text of the response, without reasoning.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::ToolCall(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_) => None,
        });
        texts.collect()
    }

    /// Converts the response to an assistant message for the next request.
    pub fn into_message(self) -> Message {
        Message::new(Role::Assistant, self.content)
    }

    /// The tool calls of the response.
    pub fn calls(&self) -> impl Iterator<Item = &super::ToolCall> {
        self.content.iter().filter_map(Block::as_call)
    }
}

open_words! {
    /// The stop reason of a response.
    #[derive(Default)]
    StopReason {
        /// The model finished.
        #[default]
        EndTurn = "end_turn",
        /// The token limit was reached.
        MaxTokens = "max_tokens",
        /// A stop sequence was generated.
        StopSequence = "stop_sequence",
        /// The model called tools.
        ToolUse = "tool_use",
        /// The model refused.
        Refusal = "refusal",
        /// A content filter of the provider stopped the response.
        ContentFilter = "content_filter",
        /// The context window is full.
        ContextLength = "context_length",
        /// The provider paused; sending the conversation again continues it.
        Pause = "pause",
        /// The model wrote a tool call or a response that the provider could not parse.
        Malformed = "malformed",
    }
}

/// Token usage of a response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Input tokens, cached or not.
    pub input_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// Input tokens read from the cache.
    #[serde(skip_serializing_if = "is_default")]
    pub cache_read_tokens: u64,
    /// Input tokens written to the cache.
    #[serde(skip_serializing_if = "is_default")]
    pub cache_write_tokens: u64,
    /// Output tokens spent on reasoning.
    #[serde(skip_serializing_if = "is_default")]
    pub reasoning_tokens: u64,
    /// Provider-specific fields, by protocol.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Usage {
    /// Adds two usages, without provider-specific fields.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(other.reasoning_tokens),
            extra: Extra::default(),
        }
    }
}
