//! The client.

use std::sync::Arc;

use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Result, Status};
use napi_derive::napi;
use polywire_bindings as bindings;
use polywire_bindings::{
    AskSettings, AskedText, AskedValue, Error, Partial, Reply, RunEnded, RunSettings, ToolSpec, callback_tool,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::operation::{Done, Operation, start};
use crate::text::{read_settings, read_value, thrown};

/// Sends requests.
#[napi]
pub struct Client(bindings::Client);

/// Tells JavaScript to make a call.
type Handle = ThreadsafeFunction<ToolCall, (), ToolCall, Status, false>;

#[napi]
impl Client {
    /// Creates a client.
    #[napi(constructor)]
    pub fn new(settings: String) -> Result<Self> {
        let made = read_settings(&settings).and_then(|settings| bindings::Client::new(&settings));
        Ok(Self(made.map_err(thrown)?))
    }

    /// Asks for a value.
    #[napi]
    pub fn ask(
        &self,
        asked: String,
        schema: String,
        models: Vec<String>,
        settings: String,
        done: Done,
    ) -> Result<Operation> {
        let client = self.0.clone();
        let (asked, settings) = question(&asked, &settings).map_err(thrown)?;
        let schema = bindings::read_schema(&schema).map_err(thrown)?;
        let work = async move { Ok(Some(value(client.ask(asked, schema, &models, &settings).await?).to_string())) };
        Ok(start(work, done))
    }

    /// Asks for text.
    #[napi]
    pub fn ask_text(&self, asked: String, models: Vec<String>, settings: String, done: Done) -> Result<Operation> {
        let client = self.0.clone();
        let (asked, settings) = question(&asked, &settings).map_err(thrown)?;
        let work = async move { Ok(Some(text(client.ask_text(asked, &models, &settings).await?).to_string())) };
        Ok(start(work, done))
    }

    /// Asks for a value, or without a schema for text, and shows it while it arrives.
    #[napi]
    pub fn ask_stream(
        &self,
        asked: String,
        schema: Option<String>,
        models: Vec<String>,
        settings: String,
    ) -> Result<AskStream> {
        let (asked, settings) = question(&asked, &settings).map_err(thrown)?;
        let schema = schema.map(|schema| bindings::read_schema(&schema)).transpose().map_err(thrown)?;
        let question = Question { client: self.0.clone(), asked, schema, models, settings };
        Ok(AskStream(Arc::new(Mutex::new(StreamState::Asked(Box::new(question))))))
    }

    /// Runs a tool loop. JavaScript makes the calls.
    #[allow(clippy::too_many_arguments, reason = "each is one value of the caller, and napi has no tuples")]
    #[napi]
    pub fn run(
        &self,
        asked: String,
        tools: String,
        schema: Option<String>,
        models: Vec<String>,
        settings: String,
        handle: Handle,
        done: Done,
    ) -> Result<Operation> {
        let read = || {
            let listed: Vec<ListedTool> =
                serde_json::from_str(&tools).map_err(|error| Error::input("not-a-tool-list", error.to_string()))?;
            let schema = schema.as_deref().map(bindings::read_schema).transpose()?;
            Ok((read_value(&asked)?, listed, schema, read_settings::<RunSettings>(&settings)?))
        };
        let (asked, listed, schema, settings) = read().map_err(thrown)?;
        let handle = Arc::new(handle);
        let tools = listed.into_iter().zip(0..).map(|(tool, number)| tool.spec(number, &handle)).collect();
        // Nothing but the running work may keep this JavaScript alive.
        drop(handle);
        let client = self.0.clone();
        let work =
            async move { Ok(Some(ended(client.run(asked, tools, schema, &models, &settings).await?).to_string())) };
        Ok(start(work, done))
    }
}

fn question(asked: &str, settings: &str) -> std::result::Result<(Value, AskSettings), Error> {
    Ok((read_value(asked)?, read_settings(settings)?))
}

fn value(asked: AskedValue) -> Value {
    json!({
        "value": asked.value,
        "model": asked.model,
        "strategy": asked.strategy,
        "changes": asked.changes,
        "repairs": asked.repairs,
        "usage": asked.usage,
        "costUsd": asked.cost_usd,
        "attempts": asked.attempts,
    })
}

fn text(asked: AskedText) -> Value {
    json!({
        "text": asked.text,
        "model": asked.model,
        "response": asked.response,
        "changes": asked.changes,
        "usage": asked.usage,
        "costUsd": asked.cost_usd,
    })
}

fn ended(ended: RunEnded) -> Value {
    json!({
        "text": ended.text,
        "value": ended.value,
        "stop": ended.stop,
        "model": ended.model,
        "history": ended.history,
        "turns": ended.turns,
        "changes": ended.changes,
        "usage": ended.usage,
    })
}

/// What is asked, and whom.
struct Question {
    client: bindings::Client,
    asked: Value,
    schema: Option<Value>,
    models: Vec<String>,
    settings: AskSettings,
}

impl Question {
    async fn send(self) -> std::result::Result<bindings::AskStream, Error> {
        self.client.ask_stream(self.asked, self.schema, &self.models, &self.settings).await
    }
}

enum StreamState {
    Asked(Box<Question>),
    Arriving(bindings::AskStream),
    Over,
}

impl StreamState {
    /// The stream, which the first call starts; nothing, where it is over. It is over until it is put back.
    async fn open(&mut self) -> std::result::Result<Option<bindings::AskStream>, Error> {
        match std::mem::replace(self, Self::Over) {
            Self::Asked(question) => Ok(Some(question.send().await?)),
            Self::Arriving(stream) => Ok(Some(stream)),
            Self::Over => Ok(None),
        }
    }
}

/// An answer while it arrives. Nothing is sent before it is read.
#[napi]
pub struct AskStream(Arc<Mutex<StreamState>>);

#[napi]
impl AskStream {
    /// The next part; nothing at the end.
    #[napi]
    pub fn next(&self, done: Done) -> Operation {
        let state = Arc::clone(&self.0);
        let work = async move {
            let mut state = state.lock().await;
            let Some(mut stream) = state.open().await? else { return Ok(None) };
            let part = stream.next().await;
            *state = StreamState::Arriving(stream);
            Ok(part?.map(|Partial { value, attempt, .. }| json!({"value": value, "attempt": attempt}).to_string()))
        };
        start(work, done)
    }

    /// Waits for the end.
    #[napi]
    pub fn finish(&self, done: Done) -> Operation {
        let state = Arc::clone(&self.0);
        let work = async move {
            let stream = state.lock().await.open().await?;
            let stream = stream.ok_or_else(Error::cancelled)?;
            Ok(Some(value(stream.finish().await?).to_string()))
        };
        start(work, done)
    }

    /// Cancels the request, unless a part of it is being waited for: the operation of that cancels it.
    #[napi]
    pub fn cancel(&self) {
        if let Ok(mut state) = self.0.try_lock() {
            *state = StreamState::Over;
        }
    }
}

/// A tool as JavaScript lists it.
#[derive(Deserialize)]
struct ListedTool {
    name: String,
    description: String,
    schema: Value,
}

impl ListedTool {
    fn spec(self, number: u32, handle: &Arc<Handle>) -> ToolSpec {
        let handle = Arc::clone(handle);
        let handler = callback_tool(move |arguments, reply: Reply| {
            let call = ToolCall { tool: number, arguments: arguments.to_string(), reply: reply.clone() };
            if handle.call(call, ThreadsafeFunctionCallMode::NonBlocking) != Status::Ok {
                reply.resolve(Err("the program ends".to_owned()));
            }
        });
        ToolSpec { name: self.name, description: self.description, schema: self.schema, handler }
    }
}

/// A call that JavaScript makes.
#[napi]
pub struct ToolCall {
    tool: u32,
    arguments: String,
    reply: Reply,
}

#[napi]
impl ToolCall {
    /// The number of the tool in the list.
    #[napi(getter)]
    pub fn tool(&self) -> u32 {
        self.tool
    }

    /// The arguments as JSON.
    #[napi(getter)]
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// The result as JSON.
    #[napi]
    pub fn resolve(&self, value: String) {
        self.reply.resolve(read_value(&value).map_err(|error| error.to_string()));
    }

    /// The message of an error, for the model.
    #[napi]
    pub fn reject(&self, message: String) {
        self.reply.resolve(Err(message));
    }
}
