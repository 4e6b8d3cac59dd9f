//! Events of a streamed response.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Block, Extra, Signature, StopReason, Usage};
use crate::fault::WireError;
use crate::protocol::Protocol;

/// One event of a streamed response. [`Assembler`](crate::Assembler) turns events into a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The response starts.
    Start {
        /// The provider's id of the response.
        id: String,
        /// The model that responds.
        model: String,
        /// Provider-specific fields, by protocol.
        #[serde(default, skip_serializing_if = "Extra::is_empty")]
        extra: Extra,
    },
    /// A block starts, possibly with initial content; later deltas of the same index are appended.
    Open {
        /// The position among the blocks of the response; indexes may have gaps.
        index: usize,
        /// The initial content of the block.
        block: Block,
    },
    /// More content of a block.
    Delta {
        /// The index of the block.
        index: usize,
        /// The content to append.
        delta: Delta,
    },
    /// A block is complete. A tool call that is never closed is incomplete.
    Close {
        /// The index of the block.
        index: usize,
    },
    /// Provider-specific fields that arrived after the start of their block or response.
    Fields {
        /// The block that they belong to; `None` is the response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<usize>,
        /// Provider-specific fields, by protocol.
        extra: Extra,
    },
    /// More of the refusal text.
    Refusal {
        /// The content to append.
        text: String,
    },
    /// The response ends.
    Stop {
        /// The stop reason.
        reason: StopReason,
        /// The stop sequence that ended it, if the provider reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sequence: Option<String>,
        /// Provider-specific fields, by protocol.
        #[serde(default, skip_serializing_if = "Extra::is_empty")]
        extra: Extra,
    },
    /// Token usage so far; the last event is authoritative.
    Usage(Usage),
    /// The stream is complete.
    End,
    /// The provider ended the stream with an error.
    Error(WireError),
    /// An event that only its own protocol supports.
    Other {
        /// The protocol.
        protocol: Protocol,
        /// The event name, if the protocol has one.
        name: String,
        /// The event data on the wire.
        data: Value,
    },
}

/// An addition to a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Delta {
    /// Text of a text block.
    Text(String),
    /// Text of a thinking block.
    Thinking(String),
    /// JSON text of tool call arguments.
    Arguments(String),
    /// The signature of the block.
    Signature(Signature),
}
