//! What arrives of an answer while it is being made.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Block, Extra, Signature, StopReason, Usage};
use crate::fault::WireError;
use crate::protocol::Protocol;

/// One step of an answer that arrives in pieces. [`Assembler`](crate::Assembler) makes the answer of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The answer begins.
    Start {
        /// The provider's id of the answer.
        id: String,
        /// The model that answers.
        model: String,
        /// Provider-specific fields, by protocol.
        #[serde(default, skip_serializing_if = "Extra::is_empty")]
        extra: Extra,
    },
    /// A block begins, with as much of it as is known; what follows for the same index is added to it.
    Open {
        /// Orders the blocks of the answer; numbers may be missing.
        index: usize,
        /// The block.
        block: Block,
    },
    /// More of a block.
    Delta {
        /// The block.
        index: usize,
        /// What is added.
        delta: Delta,
    },
    /// A block is complete. A tool call that was never closed is not a call.
    Close {
        /// The block.
        index: usize,
    },
    /// Fields without a neutral name that came after the beginning of what they belong to.
    Fields {
        /// The block that they belong to; without one, it is the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<usize>,
        /// Provider-specific fields, by protocol.
        extra: Extra,
    },
    /// More of the words in which the model refuses.
    Refusal {
        /// What is added.
        text: String,
    },
    /// The answer ends.
    Stop {
        /// Why.
        reason: StopReason,
        /// The text that ended it, if one did and the provider says which.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sequence: Option<String>,
        /// Provider-specific fields, by protocol.
        #[serde(default, skip_serializing_if = "Extra::is_empty")]
        extra: Extra,
    },
    /// What it cost so far; the last one counts.
    Usage(Usage),
    /// Nothing follows.
    End,
    /// The provider ended the stream with an error.
    Error(WireError),
    /// Something that only its own protocol understands.
    Other {
        /// The protocol.
        protocol: Protocol,
        /// The name of the event, where the protocol has one.
        name: String,
        /// The event as the protocol says it.
        data: Value,
    },
}

/// What is added to a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// Text of a text.
    Text(String),
    /// Text of a thought.
    Thinking(String),
    /// JSON text of a call's arguments.
    Arguments(String),
    /// What the provider wants to see again.
    Signature(Signature),
}
