//! The neutral model: what every protocol is read into and written from. Its JSON form is a format we promise.

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

/// Whether a value is the one that its type begins with, and so is left out of the JSON form.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A unit enum with a word for every variant and `Other` for words it does not know, on the wire and in JSON.
macro_rules! open_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$about])* $variant,)*
            /// A word that has no neutral name.
            Other(String),
        }

        impl $name {
            /// The word in the neutral JSON form.
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
