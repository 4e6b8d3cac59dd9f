//! What is answered.

use serde::{Deserialize, Serialize};

use super::{Block, Extra, Message, Role, is_default, open_words};

/// One answer, in no provider's words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Response {
    /// The provider's id of the answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The model that answered.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// What it said.
    pub content: Vec<Block>,
    /// Why it ended.
    pub stop: StopReason,
    /// The text that ended it, if one did and the provider says which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequence: Option<String>,
    /// The words in which the model refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Provider-specific fields, by protocol.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Response {
    /// The text of the answer, thoughts left out.
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

    /// The answer as a turn of the conversation, to be sent again with what is said next.
    pub fn into_message(self) -> Message {
        Message::new(Role::Assistant, self.content)
    }

    /// The tool calls of the answer.
    pub fn calls(&self) -> impl Iterator<Item = &super::ToolCall> {
        self.content.iter().filter_map(Block::as_call)
    }
}

open_words! {
    /// Why an answer ended.
    #[derive(Default)]
    StopReason {
        /// The model was done.
        #[default]
        EndTurn = "end_turn",
        /// The limit of tokens was reached.
        MaxTokens = "max_tokens",
        /// One of the stop texts came.
        StopSequence = "stop_sequence",
        /// Tools are to be called.
        ToolUse = "tool_use",
        /// The model refused.
        Refusal = "refusal",
        /// A filter of the provider cut it off.
        ContentFilter = "content_filter",
        /// The context window is full.
        ContextLength = "context_length",
        /// The provider paused; the same conversation sent again goes on.
        Pause = "pause",
        /// The model wrote a call or an answer that the provider could not read.
        Malformed = "malformed",
    }
}

/// What an answer cost, in tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Everything that was read, from the cache or not.
    pub input_tokens: u64,
    /// Everything that was written, thoughts included.
    pub output_tokens: u64,
    /// The part of the input that came from the cache.
    #[serde(skip_serializing_if = "is_default")]
    pub cache_read_tokens: u64,
    /// The part of the input that went into the cache.
    #[serde(skip_serializing_if = "is_default")]
    pub cache_write_tokens: u64,
    /// The part of the output that was thought.
    #[serde(skip_serializing_if = "is_default")]
    pub reasoning_tokens: u64,
    /// Provider-specific fields, by protocol.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Usage {
    /// The tokens of both. What has no neutral name is left out.
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
