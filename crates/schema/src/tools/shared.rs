//! One entry for several tools, for providers that take fewer tools than there are: its arguments are a choice of the tools, each with
//! its own arguments. It knows the shape of such an entry; who shares one is the caller's choice.

use serde_json::{Map, Value, json};

use super::ToolEntry;
use crate::keyword::Kw;

/// The fields of a shared entry's arguments.
const CALL: &str = "call";
const TOOL: &str = "tool";
const ARGUMENTS: &str = "arguments";

/// An entry that several tools share.
///
/// ```
/// use polywire_schema::{SharedEntry, ToolEntry};
/// use serde_json::json;
///
/// let tools = ["now", "then"].map(|name| ToolEntry::new(name, json!({"type": "object"})));
/// assert_eq!(SharedEntry::schema(tools)["properties"]["call"]["anyOf"][1]["properties"]["tool"]["const"], "then");
/// let call = SharedEntry::call("now", &json!({"zone": "UTC"}));
/// assert_eq!(SharedEntry::called(call), Some(("now".to_owned(), json!({"zone": "UTC"}))));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct SharedEntry;

impl SharedEntry {
    /// The schema of its arguments.
    pub fn schema(tools: impl IntoIterator<Item = ToolEntry>) -> Value {
        let branches = tools.into_iter().map(branch).collect();
        let choice = object([(Kw::AnyOf, Value::Array(branches))]);
        closed([(CALL.to_owned(), choice)])
    }

    /// Its arguments for a call of one of the tools.
    pub fn call(tool: &str, arguments: &Value) -> Value {
        json!({CALL: {TOOL: tool, ARGUMENTS: arguments}})
    }

    /// The tool that its arguments call, and the tool's own arguments.
    pub fn called(mut arguments: Value) -> Option<(String, Value)> {
        let call = arguments.get_mut(CALL)?.as_object_mut()?;
        let name = call.get(TOOL)?.as_str()?.to_owned();
        Some((name, call.shift_remove(ARGUMENTS)?))
    }

    /// The number of the tool and the place in its own schema, of a place in the schema of the entry.
    pub fn place(at: &str) -> Option<(usize, &str)> {
        let inside = |at: &'static str, rest| strip(rest, [Kw::Properties.name(), at]);
        let (number, rest) = strip(inside(CALL, at)?, [Kw::AnyOf.name()])?.strip_prefix('/')?.split_once('/')?;
        // The slash that parted the number from the rest is the rest's own.
        let rest = at.get(at.len() - rest.len() - 1..)?;
        Some((number.parse().ok()?, inside(ARGUMENTS, rest)?))
    }
}

fn strip<'a, const N: usize>(at: &'a str, steps: [&str; N]) -> Option<&'a str> {
    steps.iter().try_fold(at, |rest, step| rest.strip_prefix('/')?.strip_prefix(step))
}

fn branch(tool: ToolEntry) -> Value {
    let mut schema = tool.schema;
    if let Some(map) = schema.as_object_mut()
        && !map.contains_key(Kw::Id.name())
    {
        // References of the schema are to its own root, wherever it stands.
        map.insert(Kw::Id.name().to_owned(), json!(format!("urn:tool:{}", escaped(&tool.name))));
    }
    let name = object([(Kw::Type, json!("string")), (Kw::Const, json!(tool.name))]);
    let mut branch = closed([(TOOL.to_owned(), name), (ARGUMENTS.to_owned(), schema)]);
    if let (Some(text), Some(branch)) = (tool.description, branch.as_object_mut()) {
        branch.insert(Kw::Description.name().to_owned(), Value::String(text));
    }
    branch
}

/// An object with these properties and no others.
fn closed<const N: usize>(properties: [(String, Value); N]) -> Value {
    let required: Value = properties.iter().map(|(name, _)| name.as_str()).collect();
    let properties = Value::Object(Map::from_iter(properties));
    object([
        (Kw::Type, json!("object")),
        (Kw::Properties, properties),
        (Kw::Required, required),
        (Kw::AdditionalProperties, json!(false)),
    ])
}

fn object<const N: usize>(keywords: [(Kw, Value); N]) -> Value {
    Value::Object(keywords.into_iter().map(|(kw, value)| (kw.name().to_owned(), value)).collect())
}

/// A name as a piece of an address.
fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::SharedEntry;

    #[test]
    fn places_are_those_of_the_tools() {
        let at = "/properties/call/anyOf/3/properties/arguments/properties/a";
        assert_eq!(SharedEntry::place(at), Some((3, "/properties/a")));
        assert_eq!(SharedEntry::place("/properties/call/anyOf/3"), None);
        assert_eq!(SharedEntry::place("/properties/call/anyOf/3/properties/tool"), None);
    }
}
