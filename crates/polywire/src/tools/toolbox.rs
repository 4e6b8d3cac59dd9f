//! The caller's tools, typed functions or JSON handlers, and their calls. Errors are returned to the model as tool results.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use polywire_answer::{ReadOptions, Schema, Verdict, feedback, read_with};
use polywire_wire::{Function, Tool, ToolCall, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;

type Handler = Arc<dyn Fn(Value) -> Pin<Box<dyn Future<Output = Result<Value, String>> + Send>> + Send + Sync>;

/// Functions that a model may call. Cheap to clone.
///
/// ```
/// use polywire::tools::Toolbox;
/// use serde_json::{Value, json};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct City {
///     name: String,
/// }
///
/// let toolbox = Toolbox::new()
///     .tool("population", "How many people live in a city", |city: City| async move {
///         match city.name.as_str() {
///             "Bern" => Ok(146_000),
///             other => Err(format!("nothing is known of {other}")),
///         }
///     })
///     .json("now", "The time", json!({"type": "object"}), |_: Value| async { Ok::<_, String>(json!("noon")) });
/// assert_eq!(toolbox.tools().len(), 2);
/// ```
#[derive(Clone)]
pub struct Toolbox {
    entries: Vec<Arc<ToolboxEntry>>,
    timeout: Duration,
    max_parallel: usize,
}

struct ToolboxEntry {
    function: Function,
    /// `None` if the schema cannot be compiled; arguments are then not validated.
    schema: Option<Arc<Schema>>,
    handler: Handler,
}

impl Default for Toolbox {
    fn default() -> Self {
        Self { entries: Vec::new(), timeout: Duration::from_mins(1), max_parallel: 8 }
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| &entry.function.name)).finish()
    }
}

impl Toolbox {
    /// Creates an empty toolbox with a timeout of one minute and eight parallel calls.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a typed function. Its schema is derived from its argument; the message of an error is sent to the model.
    #[must_use]
    pub fn tool<A, R, E, F, W>(self, name: &str, description: &str, run: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        R: Serialize,
        E: fmt::Display,
        F: Fn(A) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, E>> + Send + 'static,
    {
        let run = Arc::new(run);
        let handler: Handler = Arc::new(move |arguments| {
            let run = Arc::clone(&run);
            Box::pin(async move {
                let arguments = serde_json::from_value(arguments).map_err(|error| error.to_string())?;
                let result = run(arguments).await.map_err(|error| error.to_string())?;
                serde_json::to_value(result).map_err(|error| error.to_string())
            })
        });
        self.with_handler(name, description, schemars::schema_for!(A).to_value(), handler)
    }

    /// Adds a function of JSON. It is called with valid arguments only.
    #[must_use]
    pub fn json<E, F, W>(self, name: &str, description: &str, schema: Value, run: F) -> Self
    where
        E: fmt::Display,
        F: Fn(Value) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Value, E>> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |arguments| {
            let result = run(arguments);
            Box::pin(async move { result.await.map_err(|error| error.to_string()) })
        });
        self.with_handler(name, description, schema, handler)
    }

    /// Sets the timeout of a call.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the maximum number of parallel calls.
    #[must_use]
    pub fn with_max_parallel(mut self, calls: usize) -> Self {
        self.max_parallel = calls;
        self
    }

    /// Adds a tool. It replaces a tool with the same name.
    fn with_handler(mut self, name: &str, description: &str, parameters: Value, handler: Handler) -> Self {
        self.entries.retain(|entry| entry.function.name != name);
        let schema = Schema::cached(&parameters).ok();
        let function = Function::new(name, description, parameters);
        self.entries.push(Arc::new(ToolboxEntry { function, schema, handler }));
        self
    }

    /// The tools for a request.
    pub fn tools(&self) -> Vec<Tool> {
        self.entries.iter().map(|entry| Tool::Function(entry.function.clone())).collect()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.function.name == name)
    }

    pub(super) fn permits(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(self.max_parallel.clamp(1, Semaphore::MAX_PERMITS)))
    }

    /// Waits for a permit and makes a call. Errors are tool results.
    pub(super) fn call(
        &self,
        call: ToolCall,
        permits: Arc<Semaphore>,
    ) -> impl Future<Output = ToolResult> + Send + use<> {
        let entry = self.entries.iter().find(|entry| entry.function.name == call.name).cloned();
        let known: Vec<String> = self.entries.iter().map(|entry| entry.function.name.clone()).collect();
        let limit = self.timeout;
        async move {
            // The semaphore is never closed.
            let _permit = permits.acquire_owned().await.ok();
            let Some(entry) = entry else {
                let why = format!("there is no tool `{}`; the tools are: {}", call.name, known.join(", "));
                return error_result(&call.id, why);
            };
            let arguments = match entry.arguments(&call) {
                Ok(arguments) => arguments,
                Err(why) => return error_result(&call.id, why),
            };
            match tokio::time::timeout(limit, (entry.handler)(arguments)).await {
                Ok(Ok(Value::String(text))) => ToolResult::text(call.id, text),
                Ok(Ok(value)) => ToolResult::text(call.id, value.to_string()),
                Ok(Err(why)) => error_result(&call.id, why),
                Err(_) => error_result(&call.id, format!("the tool gave no result within {limit:?}")),
            }
        }
    }
}

/// The tool result of a failed call.
pub(super) fn error_result(call_id: &str, why: impl Into<String>) -> ToolResult {
    ToolResult { is_error: true, ..ToolResult::text(call_id, why) }
}

impl ToolboxEntry {
    /// The valid arguments of a call. The error is a message for the model.
    fn arguments(&self, call: &ToolCall) -> Result<Value, String> {
        let text =
            if call.arguments.trim().is_empty() { Cow::Borrowed("{}") } else { Cow::Borrowed(call.arguments.as_str()) };
        let answer = read_with(&text, self.schema.as_deref(), &ReadOptions::default());
        if answer.is_truncated() {
            // Truncated arguments may be incomplete even if they can be repaired.
            return Err("the arguments end before they are complete; give all of them".to_owned());
        }
        match (answer.verdict, answer.value) {
            (Verdict::Valid | Verdict::TooCostly, Some(value)) => Ok(value),
            (Verdict::Valid | Verdict::TooCostly, None) => Err("the arguments are not JSON".to_owned()),
            (verdict, _) => match verdict.into_faults().as_slice() {
                [] => Err("the arguments are not JSON".to_owned()),
                faults => Err(feedback(faults)),
            },
        }
    }
}
