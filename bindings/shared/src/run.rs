//! The tool loop with the caller's functions.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use polywire::tools::{RunStop, Turn};
use polywire::wire::{Request, Usage};
use polywire::{Change, Toolbox};
use serde_json::{Value, json};

use crate::answer::{Schema, parse};
use crate::ask::refusal;
use crate::client::Connected;
use crate::error::{Error, ErrorKind};
use crate::settings::{ParseSettings, RunSettings, seconds};

/// The result of a call, or the message of its error for the model.
pub type ToolFuture = Pin<Box<dyn Future<Output = Result<Value, String>> + Send>>;

/// A function of the caller. Its arguments are valid by its schema.
pub type ToolHandler = Arc<dyn Fn(Value) -> ToolFuture + Send + Sync>;

/// A tool of the caller.
#[derive(Clone)]
pub struct ToolSpec {
    /// The name for the model.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub schema: Value,
    /// What a call runs. Dropping its future cancels the call.
    pub handler: ToolHandler,
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSpec").field("name", &self.name).field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// The end of a tool loop.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunEnded {
    /// The text of the last answer.
    pub text: String,
    /// The value of the last answer, if a schema was given and the loop ended with an answer.
    pub value: Option<Value>,
    /// Why it ended: `answered`, `turn-limit`, `token-limit` or `open-calls`.
    pub stop: &'static str,
    /// The model of the last answer, as `provider/model`.
    pub model: String,
    /// The conversation, as plain data.
    pub history: Value,
    /// Every turn, as plain data: `{"response", "results", "changes"}`.
    pub turns: Vec<Value>,
    /// Every change and loss of all turns.
    pub changes: Vec<Change>,
    /// The tokens of all turns.
    pub usage: Usage,
}

pub(crate) async fn run(
    connected: Connected,
    request: Request,
    tools: Vec<ToolSpec>,
    schema: Option<Value>,
    settings: &RunSettings,
) -> Result<RunEnded, Error> {
    let mut toolbox = Toolbox::new();
    for ToolSpec { name, description, schema, handler } in tools {
        toolbox = toolbox.json(&name, &description, schema, move |arguments| handler(arguments));
    }
    if let Some(limit) = seconds("tool_timeout", settings.tool_timeout)? {
        toolbox = toolbox.with_timeout(limit);
    }
    if let Some(calls) = settings.max_parallel {
        toolbox = toolbox.with_max_parallel(calls);
    }
    let mut run = connected.client.run(request, &toolbox, &connected.models);
    if let Some(turns) = settings.max_turns {
        run = run.max_turns(turns);
    }
    if let Some(tokens) = settings.max_total_tokens {
        run = run.max_total_tokens(tokens);
    }
    let ended = run.finish().await.map_err(|error| {
        let message = error.to_string();
        let history = json!(error.history);
        Error { message, ..error.source.into() }.with("history", history)
    })?;
    let text = ended.response.text();
    let value = match (&schema, ended.stop) {
        (Some(schema), RunStop::Answered) => {
            refusal(&ended.response)?;
            Some(value_of(&text, schema)?)
        }
        (Some(_) | None, _) => None,
    };
    Ok(RunEnded {
        value,
        stop: stop_word(ended.stop),
        model: ended
            .turns
            .last()
            .map(|turn| format!("{}/{}", turn.completion.plan.provider, turn.completion.plan.model))
            .unwrap_or_default(),
        history: json!(ended.history),
        usage: ended.usage(),
        changes: ended.turns.iter().flat_map(|turn| turn.completion.changes.iter().cloned()).collect(),
        turns: ended.turns.iter().map(turn_data).collect(),
        text,
    })
}

fn stop_word(stop: RunStop) -> &'static str {
    match stop {
        RunStop::Answered => "answered",
        RunStop::TurnLimit => "turn-limit",
        RunStop::TokenLimit => "token-limit",
        RunStop::OpenCalls => "open-calls",
        _ => "ended",
    }
}

fn turn_data(turn: &Turn) -> Value {
    json!({"response": turn.completion.response, "results": turn.results, "changes": turn.completion.changes})
}

/// The last answer as a value of the schema.
fn value_of(text: &str, schema: &Value) -> Result<Value, Error> {
    let parsed = parse(text, Some(&Schema::new(schema)?), &ParseSettings::default().options());
    match parsed.value {
        Some(value) if parsed.valid => Ok(value),
        _ => {
            let at = parsed.errors.first().map(|fault| fault.at.clone()).unwrap_or_default();
            let error = Error::new(ErrorKind::Answer, "invalid", "the last answer is no valid value").at(at);
            Err(error.with("errors", json!(parsed.errors)).with("text", json!(text)))
        }
    }
}
