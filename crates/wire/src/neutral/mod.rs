//! The neutral model that every protocol is decoded into and encoded from. Its JSON form is a stable format.

mod event;
mod extra;
mod message;
mod origin;
mod output;
mod request;
mod response;

pub use event::{Delta, Event};
pub use extra::Extra;
pub(crate) use extra::MergeMode;
pub use message::{
    Audio, Block, Cache, Document, Image, Message, Other, RedactedThinking, ResultBlock, Role, Signature, Source, Text,
    Thinking, ToolCall, ToolResult, ToolResultReference,
};
pub use origin::ToolOrigin;
pub(crate) use origin::{CUSTOM_CLOSE, CUSTOM_OPEN, escaped, flat_name};
pub use output::{Output, OutputError, OutputFormat, Strategy};
pub(crate) use request::SchemaRef;
pub use request::{Effort, Function, RawSchema, Reasoning, Request, ThinkingMode, Tool, ToolChoice};
pub use response::{Response, StopReason, Usage};

/// True for default values, which the JSON form omits.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Declares an enum that is a string in JSON, with `Other` for unknown strings.
macro_rules! open_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$about])* $variant,)*
            /// An unknown value.
            Other(String),
        }

        impl $name {
            /// The string in the neutral JSON form.
            pub fn word(&self) -> &str {
                match self { $(Self::$variant => $word,)* Self::Other(word) => word }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() { $($word => Self::$variant,)* _ => Self::Other(word) }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                Self::from(word.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                match value { $name::Other(word) => word, known => known.word().to_owned() }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}
pub(crate) use open_words;
