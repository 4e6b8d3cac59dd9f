//! What commands read, and how they say that it is no use.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Read};

use anyhow::{Result, anyhow};
use polywire::schema::{OutputSchema, Slot, ToolList, is_schema, read_output, read_tools};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::mcp;

/// Bad input: what is wrong, where, and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    place: String,
    next: String,
}

impl Failure {
    pub(crate) fn new(what: impl fmt::Display, place: &str, next: &str) -> Self {
        Self { what: what.to_string(), place: place.to_owned(), next: next.to_owned() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})\n{}", self.what, self.place, self.next)
    }
}

impl std::error::Error for Failure {}

/// A schema, or a document that contains schemas.
pub(crate) struct Input {
    /// The path, or "standard input".
    pub(crate) name: String,
    pub(crate) text: String,
    /// The tools, if the document is a tool list.
    pub(crate) tools: Option<ToolList>,
    /// What the schema is for; a structured-output body says so itself.
    pub(crate) slot: Slot,
    /// The structured-output body, if the document is one.
    pub(crate) body: Option<Body>,
}

/// A document that holds the schema of a structured output.
pub(crate) struct Body {
    pub(crate) text: String,
    pub(crate) output: OutputSchema,
}

impl Input {
    /// A file, or what an MCP server lists.
    pub(crate) fn of(file: Option<&str>, server: Option<&str>) -> Result<Self> {
        let Some(server) = server else { return Self::read(file.unwrap_or("-")) };
        let listed = mcp::tools_of(&mcp::server_of(server)?)?;
        let text = serde_json::to_string_pretty(&json!({ "tools": listed.tools }))?;
        Ok(Self::from_text(listed.server.unwrap_or_else(|| server.to_owned()), text))
    }

    pub(crate) fn read(path: &str) -> Result<Self> {
        let name = if path == "-" { "standard input".to_owned() } else { path.to_owned() };
        Ok(Self::from_text(name, read_text(path)?))
    }

    fn from_text(name: String, text: String) -> Self {
        // Text that is not JSON is left to the reader of schemas, which says where it goes wrong.
        let document = if says_schema(&text) { None } else { parse(&text).ok() };
        let tools = document.as_ref().and_then(read_tools);
        let output = document.as_ref().and_then(read_output);
        match (output, tools) {
            (Some(output), None) => {
                let schema = output.schema.to_string();
                Self { name, text: schema, tools: None, slot: Slot::Output, body: Some(Body { text, output }) }
            }
            (Some(output), tools) => {
                let body = Body { text: text.clone(), output };
                Self { name, text, tools, slot: Slot::Tool, body: Some(body) }
            }
            (None, tools) => Self { name, text, tools, slot: Slot::Tool, body: None },
        }
    }

    pub(crate) fn refused(&self, error: impl fmt::Display) -> anyhow::Error {
        Failure::new(error, &self.name, "expected: one JSON Schema, or a tool list of MCP or of a provider").into()
    }
}

/// Whether a text is a bare schema. Only its outermost keys are read, so a large one costs little.
fn says_schema(text: &str) -> bool {
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else { return false };
    let known = |(key, value): (String, &RawValue)| {
        let value = if key == "type" { parse(value.get()).unwrap_or_default() } else { Value::Null };
        (key, value)
    };
    is_schema(&members.into_iter().map(known).collect())
}

pub(crate) fn read_text(path: &str) -> Result<String> {
    let text = if path == "-" { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let name = if path == "-" { "standard input" } else { path };
    let text = text.map_err(|error| unreadable(&error, name))?;
    // Some editors put a mark of the encoding before the text.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Whether two paths are the same file.
pub(crate) fn is_same_file(one: &str, other: &str) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// Reads a file as bytes.
pub(crate) fn read_bytes(path: &str) -> Result<Vec<u8>> {
    if path == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map_err(|error| unreadable(&error, "standard input"))?;
        return Ok(bytes);
    }
    fs::read(path).map_err(|error| unreadable(&error, path))
}

pub(crate) fn unreadable(error: &io::Error, path: &str) -> anyhow::Error {
    anyhow!(Failure::new(error, path, "give the path of a readable file in UTF-8, or `-` for standard input"))
}

/// Deeper than the library reads, and shallow enough for the stack.
const DEEPEST: usize = 1024;

/// Reads JSON to any depth that the library's own limits allow.
pub(crate) fn parse(text: &str) -> serde_json::Result<Value> {
    if is_deeper(text, DEEPEST) {
        return Err(serde::de::Error::custom(format!("nested more than {DEEPEST} deep")));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = Value::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Whether the nesting exceeds a depth anywhere.
fn is_deeper(text: &str, most: usize) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > most {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, parse};

    #[test]
    fn depth_is_bounded_and_brackets_in_texts_do_not_count() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(DEEPEST)).is_ok());
        let error = parse(&nested(200_000)).expect_err("too deep");
        assert!(error.to_string().contains("nested more than 1024 deep"), "{error}");
        assert!(parse(&"[".repeat(200_000)).is_err());
        let text = format!(r#"["\"{}"]"#, "[".repeat(2 * DEEPEST));
        assert!(parse(&text).is_ok());
    }
}
