//! Structured output: the requested format and the strategy.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The requested output format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Output {
    /// JSON without a schema.
    Json,
    /// JSON that follows a schema.
    Schema(OutputFormat),
}

/// A named schema for the output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(try_from = "Unchecked")]
pub struct OutputFormat {
    name: String,
    schema: Value,
    strict: bool,
    #[serde(skip_serializing_if = "Strategy::is_auto")]
    strategy: Strategy,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

/// How structured output is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// The best strategy for the model.
    #[default]
    Auto,
    /// Native structured output.
    Native,
    /// A forced tool call.
    Tool,
    /// Instructions in the prompt.
    Prompted,
}

impl Strategy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// An invalid [`OutputFormat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputError {
    /// The name is empty.
    NoName,
    /// The schema is not an object.
    NotASchema,
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoName => "the name of an output format is empty",
            Self::NotASchema => "the schema of an output format is not an object",
        })
    }
}

impl std::error::Error for OutputError {}

impl OutputFormat {
    /// Creates a format that the provider enforces.
    pub fn strict(name: &str, schema: Value) -> Result<Self, OutputError> {
        Self::new(name, schema, Strictness::Strict)
    }

    /// Creates a format that the provider does not enforce.
    pub fn best_effort(name: &str, schema: Value) -> Result<Self, OutputError> {
        Self::new(name, schema, Strictness::BestEffort)
    }

    fn new(name: &str, schema: Value, strictness: Strictness) -> Result<Self, OutputError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(OutputError::NoName);
        }
        if !schema.is_object() {
            return Err(OutputError::NotASchema);
        }
        let strict = strictness == Strictness::Strict;
        Ok(Self { name: name.to_owned(), schema, strict, strategy: Strategy::Auto, description: None })
    }

    /// Sets the strategy.
    #[must_use]
    pub fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn with_description(mut self, description: Option<String>) -> Self {
        self.description = description;
        self
    }

    /// Sets the schema; a value that is not an object is ignored.
    #[must_use]
    pub fn with_schema(mut self, schema: Value) -> Self {
        if schema.is_object() {
            self.schema = schema;
        }
        self
    }

    /// The name, never empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The schema, always an object.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// True if the provider enforces the schema.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// The strategy.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The description.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    Strict,
    BestEffort,
}

/// The JSON form before validation.
#[derive(Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Unchecked {
    name: String,
    schema: Value,
    strict: Option<bool>,
    #[serde(default)]
    strategy: Strategy,
    description: Option<String>,
}

impl TryFrom<Unchecked> for OutputFormat {
    type Error = OutputError;

    fn try_from(raw: Unchecked) -> Result<Self, OutputError> {
        let strictness = if raw.strict.unwrap_or(true) { Strictness::Strict } else { Strictness::BestEffort };
        let format = Self::new(&raw.name, raw.schema, strictness)?;
        Ok(format.with_strategy(raw.strategy).with_description(raw.description))
    }
}
