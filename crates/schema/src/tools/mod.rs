//! Tool lists: read from every provider's shape, each tool fitted or checked on its own, written in the shape of the target.
//! It knows the shapes of tools; dialects know schemas.

mod check;
mod fit;
mod names;
mod output;
mod shapes;
mod shared;

use std::collections::HashMap;

use serde_json::{Map, Value};

pub use check::{check_output, check_tools};
pub(crate) use fit::fit_tools_by;
pub use fit::{FittedTool, FittedTools, fit_tools};
pub use output::{OutputSchema, read_output};
pub use shapes::is_schema;
pub use shared::SharedEntry;

use crate::keyword::Kw;
use crate::{Dialect, ToolShape};

/// The tools of a request or of a server, in order.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolList {
    /// The tools that have arguments of their own.
    pub tools: Vec<ToolEntry>,
    /// Tools that the vendor runs, and whatever else has no schema.
    pub(crate) hosted: Vec<HostedTool>,
}

/// One tool of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolEntry {
    /// The name as the caller gave it.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The schema of its arguments; a tool without one takes no arguments.
    pub schema: Value,
    /// The strict flag, where the caller set one.
    pub strict: Option<bool>,
    /// The schema of its result, where the shape has room for one.
    pub output_schema: Option<Value>,
    /// JSON Pointer of the schema in the document.
    pub at: String,
    /// JSON Pointer of the object that has the tool's name.
    pub(crate) holder: String,
    /// The members that only the caller's shape knows, kept where the target has the same shape.
    pub(crate) extra: ForeignMembers,
}

/// Members of a tool that pass through untouched.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForeignMembers {
    pub(crate) shape: Option<ToolShape>,
    /// The form in which the schema was given.
    pub(crate) raw_schema: RawSchema,
    /// The member in which the schema of the result stood.
    pub(crate) output: Option<&'static str>,
    /// Members that repeat one of the schemas for another slot.
    pub(crate) duplicates: Vec<&'static str>,
    /// Beside the name.
    pub(crate) inside: Map<String, Value>,
    /// Beside the member that holds the tool, in shapes that wrap it.
    pub(crate) outside: Map<String, Value>,
}

impl ToolEntry {
    /// A pointer into the schema as written: callers may give the properties without the schema around them.
    fn as_written(&self, at: &str) -> String {
        let properties = format!("{}/{}", self.at, Kw::Properties.name());
        match at.strip_prefix(&properties).filter(|_| self.extra.raw_schema == RawSchema::AsProperties) {
            Some(rest) => format!("{}{rest}", self.at),
            None => at.to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RawSchema {
    #[default]
    AsSchema,
    /// As JSON text.
    AsText,
    /// Beside the member that should hold it.
    Outside,
    /// As its properties alone, by name.
    AsProperties,
    /// Not at all, or as `null`.
    Not,
}

/// A member of a list that has no schema: it passes through untouched.
#[derive(Clone, Debug)]
pub(crate) struct HostedTool {
    /// The number of tools before it.
    pub(crate) after: usize,
    pub(crate) at: String,
    pub(crate) value: Value,
}

/// The dialect of those who read the schemas of results in a list, of which `own` is the dialect of the tool. Where several providers are
/// meant in the shape of MCP, these are the clients: they compile the schema, and no provider gets to see it.
pub(crate) fn results_dialect<'d>(list: &'d Dialect, own: &'d Dialect) -> &'d Dialect {
    let is_for_clients = list.is_meet() && list.shape() == ToolShape::Mcp;
    crate::dialect(MCP_CLIENTS).filter(|_| is_for_clients).unwrap_or(own)
}

/// The dialect of what MCP clients themselves read.
const MCP_CLIENTS: &str = "mcp";

/// Reads a tool list in the shape of MCP, `OpenAI` Chat, `OpenAI` Responses, Anthropic, Gemini or Bedrock: a request body, the
/// answer of a server, a bare array or a single tool. `None` means that the document is something else, such as a bare schema.
///
/// ```
/// let document = serde_json::json!({"tools": [{"name": "now", "inputSchema": {"type": "object"}}]});
/// let list = polywire_schema::read_tools(&document).expect("a tool list");
/// assert_eq!(list.tools[0].name, "now");
/// assert_eq!(list.tools[0].at, "/tools/0/inputSchema");
/// ```
pub fn read_tools(document: &Value) -> Option<ToolList> {
    shapes::read(document)
}

impl ToolEntry {
    /// A tool that was not read from a document.
    pub fn new(name: impl Into<String>, schema: Value) -> Self {
        Self {
            name: name.into(),
            description: None,
            schema,
            strict: None,
            output_schema: None,
            at: String::new(),
            holder: String::new(),
            extra: ForeignMembers::default(),
        }
    }
}

/// The tools of a list by their places in the document.
#[derive(Clone, Debug)]
pub struct ToolsByPlace<'l>(HashMap<&'l str, &'l ToolEntry>);

impl<'l> ToolsByPlace<'l> {
    /// The tool that a place belongs to, by its JSON Pointer.
    pub fn at(&self, pointer: &str) -> Option<&'l ToolEntry> {
        let mut around = std::iter::successors(Some(pointer), |at| Some(at.rsplit_once('/')?.0));
        around.find_map(|at| self.0.get(at).copied())
    }
}

impl FromIterator<ToolEntry> for ToolList {
    fn from_iter<I: IntoIterator<Item = ToolEntry>>(tools: I) -> Self {
        Self { tools: tools.into_iter().collect(), hosted: Vec::new() }
    }
}

impl ToolList {
    /// The tools by their places in the document.
    pub fn by_place(&self) -> ToolsByPlace<'_> {
        // Of two tools at one place the first counts.
        ToolsByPlace(self.tools.iter().rev().map(|entry| (entry.holder.as_str(), entry)).collect())
    }

    /// The shape in which the list was written, as far as its tools agree.
    pub(crate) fn shape(&self) -> Option<ToolShape> {
        self.tools.first().and_then(|entry| entry.extra.shape)
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
