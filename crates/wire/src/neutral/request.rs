//! What is asked: the conversation, the tools, the wishes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::protocol::Protocol;

use super::{Cache, Extra, Message, Other, Output, OutputFormat, Text, ToolOrigin, is_default, open_words};

/// The field of Chat requests that says whether a stream has its usage.
const STREAM_OPTIONS: &str = "stream_options";

/// One request, in no provider's words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// The model, as its provider calls it. Empty where the protocol says it elsewhere.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The instructions that everything begins with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Text>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools that may be called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Whether and which tools are called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether several tools may be called in one turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// What the answer must be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// The most tokens of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Sampling among the k likeliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    /// Penalty on what was said often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Penalty on what was said at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// The seed of the sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// How much to think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Whether the answer comes as a stream.
    #[serde(skip_serializing_if = "is_default")]
    pub stream: bool,
    /// Labels that the provider keeps with the request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Who the request is made for, in words that only the caller understands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Provider-specific fields, by protocol.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Request {
    /// A copy of everything but the tools, which are most of many requests.
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

    /// Whether the caller wants the usage in a stream. A Chat stream has it only on request (`stream_options.include_usage`); every
    /// other protocol has it always.
    pub fn wants_stream_usage(&self) -> bool {
        let options = self.extra.field(Protocol::OpenAiChat, STREAM_OPTIONS);
        options.and_then(|options| options.get("include_usage")).and_then(Value::as_bool).unwrap_or(true)
    }

    /// Forgets how its own protocol streams, for a request that goes elsewhere.
    pub fn forget_stream_options(&mut self) {
        self.extra.remove(Protocol::OpenAiChat, STREAM_OPTIONS);
    }

    /// A request of one text of the user's, to whatever model it is sent.
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

    /// The same with one more instruction that everything begins with.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system.push(Text { text: text.into(), ..Text::default() });
        self
    }

    /// The same with one more message.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.messages.push(message);
        self
    }

    /// The same with one more tool.
    #[must_use]
    pub fn tool(mut self, tool: impl Into<Tool>) -> Self {
        self.tools.push(tool.into());
        self
    }

    /// The same with a sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// The same with a limit of output tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// The same with an answer in this form.
    #[must_use]
    pub fn output(mut self, output: impl Into<Output>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// A request of some messages to a model.
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self { model: model.into(), messages, ..Self::default() }
    }
}

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Tool {
    /// A function of the caller's.
    Function(Function),
    /// A tool that only its own protocol understands.
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
    /// The function, if it is one.
    pub fn as_function(&self) -> Option<&Function> {
        if let Self::Function(function) = self { Some(function) } else { None }
    }
}

/// A function of the caller's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema of its arguments. None is a function without arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The same as JSON that is written already, for those who send one tool often. It goes before `parameters`.
    #[serde(skip)]
    pub written: Option<RawSchema>,
    /// Whether the provider must hold the arguments to the schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// A prompt cache breakpoint: everything up to here may be cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// What it is in the protocol that it came by, where that is more than a function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ToolOrigin>,
    /// Provider-specific fields, by protocol.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Function {
    /// A function by its name, what it is for, and the schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: Some(description.into()),
            parameters: Some(parameters),
            ..Self::default()
        }
    }

    /// The schema of its arguments, as it is to be written.
    pub(crate) fn schema(&self) -> Option<SchemaRef<'_>> {
        let written = self.written.as_ref().map(|written| SchemaRef::Text(&written.0));
        written.or_else(|| self.parameters.as_ref().map(|value| SchemaRef::Value(Cow::Borrowed(value))))
    }
}

/// JSON that is written already, shared by all who send it.
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

/// A schema, or its text.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum SchemaRef<'a> {
    Value(Cow<'a, Value>),
    Text(&'a RawValue),
}

/// Whether and which tools are called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// No tool.
    None,
    /// Some tool.
    Required,
    /// This tool.
    Tool(String),
    /// The model decides, among these.
    AnyOf(Vec<String>),
    /// One of these.
    OneOf(Vec<String>),
}

/// How much to think.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Reasoning {
    /// How hard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The most tokens of thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// When, where the protocol tells that apart from how hard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ThinkingMode>,
    /// Whether the thoughts are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visible: Option<bool>,
}

open_words! {
    /// How hard to think.
    Effort {
        /// Not at all.
        None = "none",
        /// Hardly.
        Minimal = "minimal",
        /// A little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Very much.
        XHigh = "xhigh",
        /// As much as the model can.
        Max = "max",
    }
}

impl Effort {
    /// The effort that a budget of tokens comes near to.
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
    /// When to think.
    ThinkingMode {
        /// When the model sees fit.
        Adaptive = "adaptive",
        /// Always, within the budget.
        Enabled = "enabled",
        /// Never.
        Disabled = "disabled",
        /// Between calls of tools.
        BetweenTools = "between_tools",
    }
}
