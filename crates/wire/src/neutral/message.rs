//! Messages and the blocks they are made of.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extra::join_object;
use super::{Extra, ToolOrigin, is_default};
use crate::protocol::Protocol;

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    #[serde(default)]
    pub content: Vec<Block>,
    /// Provider-specific fields, by protocol.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

/// Who speaks. Results of tools have a turn of their own, directly after the assistant's turn that called the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// An instruction in the middle of the conversation; the first ones are [`Request::system`](crate::Request::system).
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// Results of tools.
    Tool,
}

impl Message {
    /// A turn of any role.
    pub fn new(role: Role, content: Vec<Block>) -> Self {
        Self { role, content, extra: Extra::default() }
    }

    /// A user's turn of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Block::text(text)])
    }

    /// A model's turn of one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Block::text(text)])
    }

    /// A turn of results.
    pub fn tool(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Block::ToolResult).collect())
    }

    /// The tool calls of the turn.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(Block::as_call)
    }
}

/// A piece of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Text.
    Text(Text),
    /// An image.
    Image(Image),
    /// A recording.
    Audio(Audio),
    /// A PDF or another document.
    Document(Document),
    /// What the model thought, as far as the provider shows it.
    Thinking(Thinking),
    /// What the model thought, closed to everybody but its provider.
    RedactedThinking(RedactedThinking),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// The result of a call.
    ToolResult(ToolResult),
    /// The result of a call that is stored elsewhere and was too long to be said.
    ToolResultReference(ToolResultReference),
    /// A block that only its own protocol understands.
    Other(Other),
}

impl Block {
    /// A plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), ..Text::default() })
    }

    /// The call, if it is one.
    pub fn as_call(&self) -> Option<&ToolCall> {
        if let Self::ToolCall(call) = self { Some(call) } else { None }
    }

    /// The result, if it is one.
    pub fn as_result(&self) -> Option<&ToolResult> {
        if let Self::ToolResult(result) = self { Some(result) } else { None }
    }

    /// The id of the call that it answers, if it answers one.
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

    /// What it carries without a neutral name.
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

    /// Adds fields without a neutral name; gives back those that it has no place for.
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

    /// What the provider wants to see again beside it.
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

    /// The block as a piece of a tool's result, if it can be one.
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

    /// The name of its kind in the JSON form.
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

/// A piece of a tool's result.
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
    /// A block that only its own protocol understands.
    Other(Other),
}

impl ResultBlock {
    /// A plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), ..Text::default() })
    }
}

/// Declares the struct of a block: every one can carry what has no neutral name.
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
        /// What the provider wants to see again beside this text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
    }
}

block! {
    /// An image.
    Image {
        /// Where its bytes are.
        source: Source,
        /// How closely to look (`low`, `high`, `auto`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// A prompt cache breakpoint: everything up to here may be cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<Cache>,
    }
}

block! {
    /// A recording.
    Audio {
        /// Where its bytes are.
        source: Source,
    }
}

block! {
    /// A PDF or another document.
    Document {
        /// Where its bytes are.
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
    /// What the model thought, as far as the provider shows it.
    Thinking {
        /// The thought; empty where the provider hides it.
        text: String,
        /// What the provider wants to see again beside this thought.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
    }
}

block! {
    /// A call of a tool.
    ToolCall {
        /// Pairs the call with its result.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as JSON text, as the model wrote them; not necessarily valid.
        arguments: String,
        /// What its tool is in the protocol that it came by, where that is more than a function.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<ToolOrigin>,
        /// What the provider wants to see again beside this call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
        /// A prompt cache breakpoint: everything up to here may be cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<Cache>,
    }
}

block! {
    /// The result of a call.
    ToolResult {
        /// The id of the call.
        call_id: String,
        /// What came out.
        #[serde(default)]
        content: Vec<ResultBlock>,
        /// Whether the tool failed.
        #[serde(default, skip_serializing_if = "is_default")]
        is_error: bool,
        /// A prompt cache breakpoint: everything up to here may be cached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache: Option<Cache>,
    }
}

block! {
    /// The result of a call that is stored elsewhere and was too long to be said.
    ToolResultReference {
        /// The id of the call.
        call_id: String,
        /// How the result begins.
        preview: String,
        /// Its whole length in bytes.
        bytes: u64,
        /// Where it is stored.
        path: String,
    }
}

impl ToolCall {
    /// A call with arguments as JSON text.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into(), ..Self::default() }
    }

    /// The arguments as a value, if their text is JSON. No text is no arguments.
    pub fn value(&self) -> Result<Value, serde_json::Error> {
        if self.arguments.trim().is_empty() {
            Ok(Value::Object(serde_json::Map::new()))
        } else {
            serde_json::from_str(&self.arguments)
        }
    }
}

impl ToolResult {
    /// A result of one text.
    pub fn text(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), content: vec![ResultBlock::text(text)], ..Self::default() }
    }
}

impl ToolResultReference {
    /// What is said in its place: the beginning, and where the rest is.
    pub fn note(&self) -> String {
        let Self { preview, bytes, path, .. } = self;
        format!("{preview}\n[truncated: the whole result has {bytes} bytes and is stored at {path}]")
    }
}

/// Where bytes are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Here.
    Base64 {
        /// What they are.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// At an address.
    Url {
        /// The address.
        url: String,
        /// What they are, where the protocol says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
    },
    /// In the provider's own store.
    File {
        /// Its name there.
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
    /// Bytes that are here.
    pub fn base64(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self::Base64 { media_type: media_type.into(), data: data.into() }
    }

    /// Bytes that are here, not in base64 yet.
    pub fn bytes(media_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self::base64(media_type, crate::frame::base64_encode(bytes))
    }

    /// Bytes at an address; a `data:` address is bytes that are here.
    pub fn url(url: impl Into<String>) -> Self {
        let url = url.into();
        let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        if let Some((media_type, data)) = inline {
            return Self::base64(media_type, data);
        }
        Self::Url { url, media_type: None }
    }
}

/// What a provider wants to see again, unread and unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The protocol that it came by.
    pub from: Protocol,
    /// The opaque text.
    pub data: String,
}

/// What the model thought, closed to everybody but its provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RedactedThinking {
    /// The closed thought.
    #[serde(flatten)]
    pub signature: Signature,
}

/// A prompt cache breakpoint: everything up to here may be cached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// For how long (`5m`, `1h`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<String>,
}

/// What only its own protocol understands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// The protocol.
    pub protocol: Protocol,
    /// The thing as the protocol says it.
    pub value: Value,
}
