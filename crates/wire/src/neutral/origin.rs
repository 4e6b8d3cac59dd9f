//! Tools that are more than functions in the protocol they came by: custom tools, which take free text, and members of a
//! namespace. Everywhere else they are functions, and their calls carry what brings them back.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Tool, ToolCall, is_default};

/// What a tool is in the protocol that it came by, where that is more than a function.
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
    /// The name of the tool inside of its namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
}

/// The argument of a custom tool that is sent as a function.
const INPUT: &str = "input";

/// The longest name of a function that every protocol accepts.
const LONGEST_NAME: usize = 64;

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
        json!({
            "type": "object",
            "properties": {INPUT: {"type": "string"}},
            "required": [INPUT],
            "additionalProperties": false,
        })
    }
}

/// What stands before and after the text in the arguments of a custom call.
pub(crate) const CUSTOM_OPEN: &str = "{\"input\":\"";
pub(crate) const CUSTOM_CLOSE: &str = "\"}";

/// A piece of free text as a piece of a JSON string.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// The name of a namespace's member as a function of its own: letters, digits, `_` and `-`, at most 64.
pub(crate) fn flat_name(namespace: &str, member: &str) -> String {
    let legal = |one: char| if one.is_ascii_alphanumeric() || one == '-' { one } else { '_' };
    let separator = if namespace.ends_with("__") { "" } else { "__" };
    let name: String = format!("{namespace}{separator}{member}").chars().map(legal).collect();
    if name.len() <= LONGEST_NAME {
        return name;
    }
    // FNV-1a: the same for the same name on every machine, because prompt caches depend on it.
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5, fold);
    let start: String = name.chars().take(LONGEST_NAME - 9).collect();
    format!("{start}_{hash:08x}")
}

impl ToolCall {
    /// A call of a custom tool with its free text.
    pub(crate) fn custom_arguments(input: &str) -> String {
        [CUSTOM_OPEN, &escaped(input), CUSTOM_CLOSE].concat()
    }

    /// The free text of a call of a custom tool; arguments of another shape are the text themselves.
    pub(crate) fn custom_input(&self) -> Cow<'_, str> {
        match serde_json::from_str::<Value>(&self.arguments) {
            Ok(Value::Object(mut fields)) => match fields.shift_remove(INPUT) {
                Some(Value::String(text)) if fields.is_empty() => Cow::Owned(text),
                _ => Cow::Borrowed(&self.arguments),
            },
            _ => Cow::Borrowed(&self.arguments),
        }
    }

    /// Marks a call as one of a custom tool or of a namespace, if the tool of its name is one. A provider that was sent
    /// functions calls functions; a caller that declared another kind of tool expects its kind of call back.
    pub fn restore_origin(&mut self, tools: &[Tool]) {
        let tool = tools.iter().filter_map(Tool::as_function).find(|function| function.name == self.name);
        if let Some(origin) = tool.and_then(|function| function.origin.clone()) {
            self.origin = Some(origin);
        }
    }
}
