//! Tool lists in the shapes of `OpenAI`, Anthropic, Gemini, Bedrock and MCP: fitted, and calls converted back.

use std::sync::Arc;

use polywire::schema::{Dialect, FitOptions, FittedTool, FittedTools, Violation, read_tools};
use polywire::{Change, answer};
use serde_json::Value;

use crate::error::{Error, ErrorKind};
use crate::schema::{FITS, Ignored};

/// A fitted tool list, and the way back of calls.
#[derive(Clone, Debug)]
pub struct ToolList {
    fitted: Arc<FittedTools>,
    /// The callers' schemas, in the order of the tools.
    schemas: Arc<Vec<Value>>,
}

/// A call in the caller's names and schemas.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Call {
    /// The caller's name of the tool.
    pub name: String,
    /// The arguments in the shape of the caller's schema.
    pub arguments: Value,
}

/// Fits a tool list of any shape. The result has the shape of the target.
pub fn fit_tools(list: &Value, target: &Dialect, options: &FitOptions) -> Result<ToolList, Error> {
    let read = read(list)?;
    let schemas = read.tools.iter().map(|tool| tool.schema.clone()).collect();
    Ok(ToolList { fitted: Arc::new(FITS.fit_tools(&read, target, options)), schemas: Arc::new(schemas) })
}

/// What a provider refuses of a tool list or finds risky, and if asked for, what it ignores.
pub fn check_tools(list: &Value, target: &Dialect, ignored: Ignored) -> Result<Vec<Violation>, Error> {
    let mut found = polywire::schema::check_tools(&read(list)?, target);
    ignored.filter(&mut found);
    Ok(found)
}

fn read(list: &Value) -> Result<polywire::schema::ToolList, Error> {
    read_tools(list).ok_or_else(|| Error::input("not-a-tool-list", "the value is no tool list of any known shape"))
}

impl ToolList {
    /// The list in the shape of the target.
    pub fn tools(&self) -> Value {
        self.fitted.to_json()
    }

    /// Every tool, in the order of the list.
    pub fn entries(&self) -> &[FittedTool] {
        &self.fitted.tools
    }

    /// Whether every tool has the strict flag.
    pub fn strict(&self) -> bool {
        self.fitted.strict()
    }

    /// The changes of the list and of every tool.
    pub fn changes(&self) -> Vec<Change> {
        self.fitted.all_changes().cloned().collect()
    }

    /// The arguments of a call by a model, by the name that it was given, in the caller's name and schema.
    pub fn decode(&self, name: &str, arguments: Value) -> Result<Call, Error> {
        let (tool, _) = self.find(name, |tool| &tool.name)?;
        let arguments = match tool.lens() {
            Some(lens) => lens.decode(arguments)?,
            None => arguments,
        };
        Ok(Call { name: tool.original_name.clone(), arguments })
    }

    /// The same from the text of the arguments: JSON is salvaged, converted, coerced and validated by the caller's schema.
    pub fn decode_text(&self, name: &str, arguments: &str) -> Result<Call, Error> {
        let text = if arguments.trim().is_empty() { "{}" } else { arguments };
        let (tool, schema) = self.find(name, |tool| &tool.name)?;
        let read = answer::read_with(text, None, &answer::ReadOptions::default());
        let is_truncated = read.is_truncated();
        let value = read.value.filter(|_| !is_truncated).ok_or_else(|| {
            Error::new(ErrorKind::Answer, "invalid", "the arguments are not complete JSON")
                .at(tool.original_name.clone())
        })?;
        let call = self.decode(name, value)?;
        let options = answer::CoerceOptions::default();
        let (arguments, _) = answer::coerce(call.arguments, schema, &options)?;
        Ok(Call { arguments, ..call })
    }

    /// A call in the caller's name and schema as the model would have made it, for histories.
    pub fn encode(&self, name: &str, arguments: Value) -> Result<Call, Error> {
        let (tool, _) = self.find(name, |tool| &tool.original_name)?;
        let arguments = match tool.lens() {
            Some(lens) => lens.encode(arguments)?,
            None => arguments,
        };
        Ok(Call { name: tool.name.clone(), arguments })
    }

    fn find(&self, name: &str, by: impl Fn(&FittedTool) -> &str) -> Result<(&FittedTool, &Value), Error> {
        let mut pairs = self.fitted.tools.iter().zip(self.schemas.iter());
        pairs.find(|(tool, _)| by(tool) == name).ok_or_else(|| {
            let message = format!("there is no tool `{name}` in the list");
            Error::new(ErrorKind::UnknownName, "unknown-tool", message).at(name)
        })
    }
}
