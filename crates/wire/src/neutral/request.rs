//! The request: conversation, tools and parameters.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::Protocol;

use super::{Cache, Extra, Message, Other, Output, OutputFormat, Text, ToolOrigin, is_default, open_words};

/// The field of Chat Completions requests that enables usage in streams.
const STREAM_OPTIONS: &str = "stream_options";

/// A request in neutral form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// The provider's model id. Empty if the protocol has it outside the body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The system instructions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Text>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools that may be called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// The tool choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Allows several tool calls in one response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The output format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// The maximum number of output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Top-k sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    /// Penalty on frequent tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Penalty on tokens that have occurred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// The sampling seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Stop sequences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Reasoning parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Requests a streamed response.
    #[serde(skip_serializing_if = "is_default")]
    pub stream: bool,
    /// Metadata that the provider stores with the request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// An opaque id of the end user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Provider-specific fields, by protocol.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Request {
    /// Copies everything but the tools, which are the largest part of many requests.
    #[must_use]
    pub fn without_tools(&self) -> Self {
        Self {
            model: self.model.clone(),
            system: self.system.clone(),
            messages: self.messages.clone(),
            tools: Vec::new(),
            tool_choice: self.tool_choice.clone(),
            parallel_tool_calls: self.parallel_tool_calls,
            output: self.output.clone(),
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            seed: self.seed,
            stop: self.stop.clone(),
            reasoning: self.reasoning.clone(),
            stream: self.stream,
            metadata: self.metadata.clone(),
            user: self.user.clone(),
            extra: self.extra.clone(),
        }
    }

    /// True if the stream should include usage. A Chat Completions stream has it only on request (`stream_options.include_usage`);
    /// streams of other protocols always have it.
    pub fn wants_stream_usage(&self) -> bool {
        let options = self.extra.field(Protocol::OpenAiChat, STREAM_OPTIONS);
        options.and_then(|options| options.get("include_usage")).and_then(Value::as_bool).unwrap_or(true)
    }

    /// Removes the stream options of Chat Completions, for a request to another protocol.
    pub fn forget_stream_options(&mut self) {
        self.extra.remove(Protocol::OpenAiChat, STREAM_OPTIONS);
    }

    /// Creates a request with one user message and no model.
    ///
    /// ```
    /// use polywire_wire::{Function, Request};
    /// use serde_json::json;
    ///
    /// let request = Request::user("Is it warm in Bern?")
    ///     .system("Be brief.")
    ///     .tool(Function::new("weather", "The weather of a city", json!({"type": "object"})))
    ///     .temperature(0.2)
    ///     .max_tokens(500);
    /// assert_eq!((request.messages.len(), request.tools.len()), (1, 1));
    /// ```
    pub fn user(text: impl Into<String>) -> Self {
        Self::new("", vec![Message::user(text)])
    }

    /// Adds a system instruction.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system.push(Text { text: text.into(), ..Text::default() });
        self
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<Tool>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the maximum number of output tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the output format.
    #[must_use]
    pub fn output(mut self, output: impl Into<Output>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// Creates a request with messages to a model.
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self { model: model.into(), messages, ..Self::default() }
    }
}

/// A tool declaration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Tool {
    /// A function that the caller executes.
    Function(Function),
    /// A tool that only its own protocol supports.
    Other(Other),
}

impl From<Function> for Tool {
    fn from(function: Function) -> Self {
        Self::Function(function)
    }
}

impl From<OutputFormat> for Output {
    fn from(format: OutputFormat) -> Self {
        Self::Schema(format)
    }
}

impl Tool {
    /// The function, if the tool is one.
    pub fn as_function(&self) -> Option<&Function> {
        if let Self::Function(function) = self { Some(function) } else { None }
    }
}

/// A function that the caller executes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// The name.
    pub name: String,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema of the arguments. `None` is a function without arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The schema as serialized JSON, for tools that are sent often. It takes precedence over `parameters`.
    #[serde(skip)]
    pub written: Option<RawSchema>,
    /// Requires the provider to enforce the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// A prompt cache breakpoint: everything up to here may be cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// The kind of the tool in its original protocol, if it is not a plain function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ToolOrigin>,
    /// Provider-specific fields, by protocol.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Function {
    /// Creates a function with a name, a description and the schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: Some(description.into()),
            parameters: Some(parameters),
            ..Self::default()
        }
    }

    /// The schema to write: `written`, or else `parameters`.
    pub(crate) fn schema(&self) -> Option<SchemaRef<'_>> {
        let written = self.written.as_ref().map(|written| SchemaRef::Text(&written.0));
        written.or_else(|| self.parameters.as_ref().map(|value| SchemaRef::Value(Cow::Borrowed(value))))
    }
}

/// Serialized JSON that requests share.
#[derive(Clone, Debug)]
pub struct RawSchema(Arc<RawValue>);

impl From<Arc<RawValue>> for RawSchema {
    fn from(text: Arc<RawValue>) -> Self {
        Self(text)
    }
}

impl PartialEq for RawSchema {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// A schema as a value or as serialized JSON.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum SchemaRef<'a> {
    Value(Cow<'a, Value>),
    Text(&'a RawValue),
}

/// The tool choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No tool is called.
    None,
    /// At least one tool is called.
    Required,
    /// This tool is called.
    Tool(String),
    /// The model decides, among these tools.
    AnyOf(Vec<String>),
    /// One of these tools is called.
    OneOf(Vec<String>),
}

/// Reasoning parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Reasoning {
    /// The effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The thinking budget in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// The thinking mode, if the protocol has one besides the effort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ThinkingMode>,
    /// Shows or hides the reasoning text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible: Option<bool>,
}

open_words! {
    /// The reasoning effort.
    Effort {
        /// No reasoning.
        None = "none",
        /// Minimal effort.
        Minimal = "minimal",
        /// Low effort.
        Low = "low",
        /// Medium effort.
        Medium = "medium",
        /// High effort.
        High = "high",
        /// Very high effort.
        XHigh = "xhigh",
        /// The maximum of the model.
        Max = "max",
    }
}

impl Effort {
    /// The effort that corresponds to a thinking budget.
    pub fn of_budget(tokens: u64) -> Self {
        match tokens {
            0 => Self::None,
            1..=2048 => Self::Low,
            2049..=8192 => Self::Medium,
            8193.. => Self::High,
        }
    }
}

open_words! {
    /// The thinking mode.
    ThinkingMode {
        /// The model decides.
        Adaptive = "adaptive",
        /// Enabled, within the budget.
        Enabled = "enabled",
        /// Disabled.
        Disabled = "disabled",
        /// Enabled between tool calls.
        BetweenTools = "between_tools",
    }
}
