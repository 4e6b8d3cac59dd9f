//! Tools that are not plain functions in their original protocol: custom tools, which take free text, and members of a namespace.
//! Other protocols see them as functions; the origin of a call allows it to be converted back.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Tool, ToolCall, is_default};

/// The kind of a tool in its original protocol, if it is not a plain function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ToolOrigin {
    /// The tool takes free text. As a function it has one argument, the string `input`.
    #[serde(skip_serializing_if = "is_default")]
    pub custom: bool,
    /// The namespace that the tool is a member of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the tool inside its namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

/// The argument of a custom tool that is sent as a function.
const INPUT: &str = "input";

/// The maximum length of a function name that every protocol accepts.
const MAX_NAME_LENGTH: usize = 64;

impl ToolOrigin {
    /// The origin of a custom tool.
    pub(crate) fn custom() -> Self {
        Self { custom: true, ..Self::default() }
    }

    /// The origin of a member of a namespace.
    pub(crate) fn member(namespace: &str, member: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), member: Some(member.to_owned()), ..Self::default() }
    }

    /// The parameters of a custom tool that is sent as a function.
    pub fn custom_parameters() -> Value {
        serde_json::from_str(include_str!("custom_parameters.json")).unwrap_or_default()
    }
}

/// The JSON around the text in the arguments of a custom tool call.
pub(crate) const CUSTOM_OPEN: &str = "{\"input\":\"";
pub(crate) const CUSTOM_CLOSE: &str = "\"}";

/// Text escaped for a JSON string, without quotes.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// The function name of a namespace member: letters, digits, `_` and `-`, at most 64 characters.
pub(crate) fn flat_name(namespace: &str, member: &str) -> String {
    let legal = |one: char| if one.is_ascii_alphanumeric() || one == '-' { one } else { '_' };
    let separator = if namespace.ends_with("__") { "" } else { "__" };
    let name: String = format!("{namespace}{separator}{member}").chars().map(legal).collect();
    if name.len() <= MAX_NAME_LENGTH {
        return name;
    }
    // FNV-1a: the same for the same name on every machine, because prompt caches depend on it.
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5, fold);
    let start: String = name.chars().take(MAX_NAME_LENGTH - 9).collect();
    format!("{start}_{hash:08x}")
}

impl ToolCall {
    /// The arguments of a custom tool call with this text.
    pub(crate) fn custom_arguments(input: &str) -> String {
        [CUSTOM_OPEN, &escaped(input), CUSTOM_CLOSE].concat()
    }

    /// The text of a custom tool call; arguments of another shape are returned as they are.
    pub(crate) fn custom_input(&self) -> Cow<'_, str> {
        match serde_json::from_str::<Value>(&self.arguments) {
            Ok(Value::Object(mut fields)) => match fields.shift_remove(INPUT) {
                Some(Value::String(text)) if fields.is_empty() => Cow::Owned(text),
                _ => Cow::Borrowed(&self.arguments),
            },
            _ => Cow::Borrowed(&self.arguments),
        }
    }

    /// Sets the origin of the call to that of the tool with its name. The provider calls functions, because it was sent functions; the
    /// caller expects calls of the kind of tool that it declared.
    pub fn restore_origin(&mut self, tools: &[Tool]) {
        let tool = tools.iter().filter_map(Tool::as_function).find(|function| function.name == self.name);
        if let Some(origin) = tool.and_then(|function| function.origin.clone()) {
            self.origin = Some(origin);
        }
    }
}
