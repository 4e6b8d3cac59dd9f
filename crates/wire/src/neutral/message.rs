//! Messages and the blocks they are made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extra::join_object;
use super::{Extra, ToolOrigin, is_default};
use crate::protocol::Protocol;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The role of the author.
    pub role: Role,
    /// The content blocks, in order.
    #[serde(default)]
    pub content: Vec<Block>,
    /// Provider-specific fields, by protocol.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// The role of a message. Tool results form a message of their own, directly after the assistant message with the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A system message inside the conversation; leading instructions are [`Request::system`](crate::Request::system).
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// Tool results.
    Tool,
}

impl Message {
    /// Creates a message of any role.
    pub fn new(role: Role, content: Vec<Block>) -> Self {
        Self { role, content, extra: Extra::default() }
    }

    /// Creates a user message with one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Block::text(text)])
    }

    /// Creates an assistant message with one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Block::text(text)])
    }

    /// Creates a message of tool results.
    pub fn tool(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Block::ToolResult).collect())
    }

    /// The tool calls of the message.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(Block::as_call)
    }
}

/// A content block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text(Text),
    /// An image.
    Image(Image),
    /// Audio.
    Audio(Audio),
    /// A PDF or another document.
    Document(Document),
    /// Reasoning of the model, as far as the provider shows it.
    Thinking(Thinking),
    /// Reasoning that only its provider can read.
    RedactedThinking(RedactedThinking),
    /// A tool call.
    ToolCall(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// A tool result that was too long to send and is stored elsewhere.
    ToolResultReference(ToolResultReference),
    /// A block that only its own protocol supports.
    Other(Other),
}

impl Block {
    /// Creates a plain text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), ..Text::default() })
    }

    /// The tool call, if the block is one.
    pub fn as_call(&self) -> Option<&ToolCall> {
        if let Self::ToolCall(call) = self { Some(call) } else { None }
    }

    /// The tool result, if the block is one.
    pub fn as_result(&self) -> Option<&ToolResult> {
        if let Self::ToolResult(result) = self { Some(result) } else { None }
    }

    /// The id of the tool call, if the block is its result.
    pub fn answers(&self) -> Option<&str> {
        match self {
            Self::ToolResult(result) => Some(&result.call_id),
            Self::ToolResultReference(reference) => Some(&reference.call_id),
            Self::Text(_)
            | Self::Image(_)
            | Self::Audio(_)
            | Self::Document(_)
            | Self::Thinking(_)
            | Self::RedactedThinking(_)
            | Self::ToolCall(_)
            | Self::Other(_) => None,
        }
    }

    /// The provider-specific fields of the block.
    pub fn extra(&self) -> Option<&Extra> {
        match self {
            Self::Text(block) => Some(&block.extra),
            Self::Image(block) => Some(&block.extra),
            Self::Audio(block) => Some(&block.extra),
            Self::Document(block) => Some(&block.extra),
            Self::Thinking(block) => Some(&block.extra),
            Self::ToolCall(block) => Some(&block.extra),
            Self::ToolResult(block) => Some(&block.extra),
            Self::ToolResultReference(block) => Some(&block.extra),
            Self::RedactedThinking(_) | Self::Other(_) => None,
        }
    }

    /// Adds provider-specific fields; returns those that the block cannot carry.
    pub(crate) fn add_fields(&mut self, mut extra: Extra) -> Extra {
        let kept = match self {
            Self::Text(block) => &mut block.extra,
            Self::Image(block) => &mut block.extra,
            Self::Audio(block) => &mut block.extra,
            Self::Document(block) => &mut block.extra,
            Self::Thinking(block) => &mut block.extra,
            Self::ToolCall(block) => &mut block.extra,
            Self::ToolResult(block) => &mut block.extra,
            Self::ToolResultReference(block) => &mut block.extra,
            Self::Other(other) => {
                join_object(&mut other.value, extra.take(other.protocol));
                return extra;
            }
            Self::RedactedThinking(_) => return extra,
        };
        kept.merge(extra);
        Extra::default()
    }

    /// The provider's signature of the block.
    pub fn signature(&self) -> Option<&Signature> {
        match self {
            Self::Text(text) => text.signature.as_ref(),
            Self::Thinking(thinking) => thinking.signature.as_ref(),
            Self::ToolCall(call) => call.signature.as_ref(),
            Self::RedactedThinking(redacted) => Some(&redacted.signature),
            Self::Image(_)
            | Self::Audio(_)
            | Self::Document(_)
            | Self::ToolResult(_)
            | Self::ToolResultReference(_)
            | Self::Other(_) => None,
        }
    }

    /// The prompt cache breakpoint after the block.
    pub fn cache(&self) -> Option<&Cache> {
        match self {
            Self::Text(block) => block.cache.as_ref(),
            Self::Image(block) => block.cache.as_ref(),
            Self::Document(block) => block.cache.as_ref(),
            Self::ToolCall(block) => block.cache.as_ref(),
            Self::ToolResult(block) => block.cache.as_ref(),
            Self::Audio(_)
            | Self::Thinking(_)
            | Self::RedactedThinking(_)
            | Self::ToolResultReference(_)
            | Self::Other(_) => None,
        }
    }

    /// Converts the block to a tool result block, if possible.
    pub(crate) fn into_result(self) -> Option<ResultBlock> {
        match self {
            Self::Text(text) => Some(ResultBlock::Text(text)),
            Self::Image(image) => Some(ResultBlock::Image(image)),
            Self::Document(document) => Some(ResultBlock::Document(document)),
            Self::Other(other) => Some(ResultBlock::Other(other)),
            Self::Audio(_)
            | Self::Thinking(_)
            | Self::RedactedThinking(_)
            | Self::ToolCall(_)
            | Self::ToolResult(_)
            | Self::ToolResultReference(_) => None,
        }
    }

    /// The `type` of the block in the JSON form.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Image(_) => "image",
            Self::Audio(_) => "audio",
            Self::Document(_) => "document",
            Self::Thinking(_) => "thinking",
            Self::RedactedThinking(_) => "redacted_thinking",
            Self::ToolCall(_) => "tool_call",
            Self::ToolResult(_) => "tool_result",
            Self::ToolResultReference(_) => "tool_result_reference",
            Self::Other(_) => "other",
        }
    }
}

/// A content block of a tool result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultBlock {
    /// Text.
    Text(Text),
    /// An image.
    Image(Image),
    /// A PDF or another document.
    Document(Document),
    /// A JSON value.
    Json {
        /// The value.
        value: Value,
    },
    /// A block that only its own protocol supports.
    Other(Other),
}

impl ResultBlock {
    /// Creates a plain text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), ..Text::default() })
    }
}

/// Declares the struct of a block with provider-specific fields.
macro_rules! block {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$about])* pub $field: $type,)*
            /// Provider-specific fields, by protocol.
            #[serde(default, skip_serializing_if = "Extra::is_empty")]
            pub extra: Extra,
        }
    };
}

block! {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// A prompt cache breakpoint: everything up to here may be cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<Cache>,
        /// The provider's signature, to be sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
    }
}

block! {
    /// An image.
    Image {
        /// The source of the data.
        source: Source,
        /// The image resolution (`low`, `high`, `auto`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// A prompt cache breakpoint: everything up to here may be cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<Cache>,
    }
}

block! {
    /// Audio.
    Audio {
        /// The source of the data.
        source: Source,
    }
}

block! {
    /// A PDF or another document.
    Document {
        /// The source of the data.
        source: Source,
        /// Its file name or title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// A prompt cache breakpoint: everything up to here may be cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<Cache>,
    }
}

block! {
    /// Reasoning of the model, as far as the provider shows it.
    Thinking {
        /// The text; empty if the provider hides it.
        text: String,
        /// The provider's signature, to be sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
    }
}

block! {
    /// A tool call.
    ToolCall {
        /// The id that links the call to its result.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments as JSON text, as the model wrote them; possibly invalid.
        arguments: String,
        /// The kind of the tool in its original protocol, if it is not a plain function.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<ToolOrigin>,
        /// The provider's signature, to be sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
        /// A prompt cache breakpoint: everything up to here may be cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<Cache>,
    }
}

block! {
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// The content of the result.
        #[serde(default)]
        content: Vec<ResultBlock>,
        /// True if the tool failed.
        #[serde(default, skip_serializing_if = "is_default")]
        is_error: bool,
        /// A prompt cache breakpoint: everything up to here may be cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<Cache>,
    }
}

block! {
    /// A tool result that was too long to send and is stored elsewhere.
    ToolResultReference {
        /// The id of the call.
        call_id: String,
        /// The start of the result.
        preview: String,
        /// The full length in bytes.
        bytes: u64,
        /// The location of the full result.
        path: String,
    }
}

impl ToolCall {
    /// Creates a call with arguments as JSON text.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into(), ..Self::default() }
    }

    /// Parses the arguments. Empty text is an empty object.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        if self.arguments.trim().is_empty() {
            Ok(Value::Object(serde_json::Map::new()))
        } else {
            serde_json::from_str(&self.arguments)
        }
    }
}

impl ToolResult {
    /// Creates a result with one text.
    pub fn text(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), content: vec![ResultBlock::text(text)], ..Self::default() }
    }
}

impl ToolResultReference {
    /// The text that is sent instead of the result: the preview and the location of the rest.
    pub fn note(&self) -> String {
        let Self { preview, bytes, path, .. } = self;
        format!("{preview}\n[truncated: the whole result has {bytes} bytes and is stored at {path}]")
    }
}

/// The source of media data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Inline data.
    Base64 {
        /// The media type.
        media_type: String,
        /// The data in base64.
        data: String,
    },
    /// A URL.
    Url {
        /// The URL.
        url: String,
        /// The media type, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
    },
    /// A file stored at the provider.
    File {
        /// The file id.
        id: String,
    },
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
}

impl Default for Source {
    fn default() -> Self {
        Self::Text { text: String::new() }
    }
}

impl Source {
    /// Inline data in base64.
    pub fn base64(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self::Base64 { media_type: media_type.into(), data: data.into() }
    }

    /// Inline data from bytes.
    pub fn bytes(media_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self::base64(media_type, crate::frame::base64_encode(bytes))
    }

    /// A URL; a `data:` URL becomes inline data.
    pub fn url(url: impl Into<String>) -> Self {
        let url = url.into();
        let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        if let Some((media_type, data)) = inline {
            return Self::base64(media_type, data);
        }
        Self::Url { url, media_type: None }
    }
}

/// Opaque data of a provider that must be sent back unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The protocol that issued the signature.
    pub from: Protocol,
    /// The opaque data.
    pub data: String,
}

/// Reasoning that only its provider can read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RedactedThinking {
    /// The encrypted reasoning.
    #[serde(flatten)]
    pub signature: Signature,
}

/// A prompt cache breakpoint: everything up to here may be cached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// The time to live (`5m`, `1h`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

/// A value that only its own protocol supports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// The protocol.
    pub protocol: Protocol,
    /// The value on the wire.
    pub value: Value,
}
