//! The client: every call is an operation that Python waits for, asynchronously or not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polywire_bindings::{self as shared, AskSettings, ClientSettings, Error, RunSettings, ToolSpec, callback_tool};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use tokio::sync::Mutex as AsyncMutex;

use crate::convert::{Json, to_python, to_value};
use crate::error::{OrRaise as _, raise};
use crate::records::{Change, Repair, list};
use crate::schema::options_of;

/// How often a thread that waits looks for signals, such as Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(50);

/// What becomes of an outcome when Python asks for it.
type Convert = Box<dyn for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>> + Send>;

/// Work that waits for a provider.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct Operation(Mutex<shared::Operation<Convert>>);

impl Operation {
    /// Starts work; `wake` is called from another thread when it is done.
    fn start<T: Send + 'static>(
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
        wake: Option<Py<PyAny>>,
        convert: impl for<'py> FnOnce(Python<'py>, T) -> PyResult<Bound<'py, PyAny>> + Send + 'static,
    ) -> Self {
        let work = async move {
            let done = work.await?;
            let convert: Convert = Box::new(move |py| convert(py, done));
            Ok(convert)
        };
        let on_done = move || {
            let Some(wake) = wake else { return };
            // `None` while the interpreter ends: nobody waits then.
            Python::try_attach(|py| {
                // An event loop that was closed needs no waking.
                let _ = wake.call0(py);
            });
        };
        Self(Mutex::new(shared::spawn(work, on_done)))
    }

    fn inner(&self) -> MutexGuard<'_, shared::Operation<Convert>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Operation {
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.inner().cancel());
    }

    /// The outcome; `wake` was called before.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let outcome = py.detach(|| self.inner().take());
        outcome.unwrap_or_else(|| Err(Error::input("pending", "the operation is not done"))).or_raise(py)?(py)
    }

    /// Waits for the outcome. An exception of a signal handler cancels the work.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        while !py.detach(|| self.inner().wait(Some(SIGNALS))) {
            if let Err(error) = py.check_signals() {
                self.cancel(py);
                return Err(error);
            }
        }
        self.result(py)
    }
}

/// The client.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeClient(shared::Client);

/// A tool: its name, description, schema, and what starts a call.
type Tool = (String, String, Json, Py<PyAny>);

#[pymethods]
impl NativeClient {
    #[new]
    #[pyo3(signature = (options=None))]
    fn new(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let settings = options_of::<ClientSettings>(options)?;
        py.detach(|| shared::Client::new(&settings)).or_raise(py).map(Self)
    }

    #[pyo3(signature = (asked, schema, models, options=None, wake=None))]
    fn ask(
        &self,
        asked: Json,
        schema: Option<Json>,
        models: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
        wake: Option<Py<PyAny>>,
    ) -> PyResult<Operation> {
        let settings = options_of::<AskSettings>(options)?;
        let client = self.0.clone();
        let work = async move {
            match schema {
                Some(schema) => client.ask(asked.0, schema.0, &models, &settings).await,
                None => Ok(client.ask_text(asked.0, &models, &settings).await?.into()),
            }
        };
        Ok(Operation::start(work, wake, |py, asked| asked_dict(py, &asked)))
    }

    #[pyo3(signature = (asked, schema, models, options=None, wake=None))]
    fn ask_stream(
        &self,
        asked: Json,
        schema: Option<Json>,
        models: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
        wake: Option<Py<PyAny>>,
    ) -> PyResult<Operation> {
        let settings = options_of::<AskSettings>(options)?;
        let client = self.0.clone();
        let work = async move { client.ask_stream(asked.0, schema.map(|schema| schema.0), &models, &settings).await };
        Ok(Operation::start(work, wake, |py, stream| {
            let stream = NativeStream(Mutex::new(Some(Arc::new(AsyncMutex::new(Some(stream))))));
            Ok(Bound::new(py, stream)?.into_any())
        }))
    }

    #[pyo3(signature = (asked, tools, schema, models, options=None, wake=None))]
    fn run(
        &self,
        asked: Json,
        tools: Vec<Tool>,
        schema: Option<Json>,
        models: Vec<String>,
        options: Option<&Bound<'_, PyDict>>,
        wake: Option<Py<PyAny>>,
    ) -> PyResult<Operation> {
        let settings = options_of::<RunSettings>(options)?;
        let client = self.0.clone();
        let tools = tools.into_iter().map(tool_spec).collect();
        let work = async move { client.run(asked.0, tools, schema.map(|schema| schema.0), &models, &settings).await };
        Ok(Operation::start(work, wake, |py, ended| run_dict(py, &ended)))
    }
}

fn tool_spec((name, description, schema, start): Tool) -> ToolSpec {
    let start = move |arguments, reply: shared::Reply| {
        Python::try_attach(|py| {
            let called =
                to_python(py, &arguments).and_then(|arguments| start.call1(py, (arguments, Reply(reply.clone()))));
            if let Err(error) = called {
                reply.resolve(Err(error.to_string()));
            }
        });
    };
    ToolSpec { name, description, schema: schema.0, handler: callback_tool(start) }
}

/// The place for the result of a call.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct Reply(shared::Reply);

#[pymethods]
impl Reply {
    fn resolve(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.resolve(Ok(to_value(value)?));
        Ok(())
    }

    fn reject(&self, message: String) {
        self.0.resolve(Err(message));
    }

    fn on_cancel(&self, call: Py<PyAny>) {
        self.0.on_cancel(move || {
            Python::try_attach(|py| {
                // A closed event loop has cancelled its tasks by itself.
                let _ = call.call0(py);
            });
        });
    }
}

/// An answer while it arrives. Operations share it; closing it ends the request.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeStream(Mutex<Option<Arc<AsyncMutex<Option<shared::AskStream>>>>>);

impl NativeStream {
    fn open(&self, py: Python<'_>) -> PyResult<Arc<AsyncMutex<Option<shared::AskStream>>>> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.ok_or_else(|| raise(py, ended()))
    }
}

fn ended() -> Error {
    Error::input("ended", "the stream has ended")
}

#[pymethods]
impl NativeStream {
    /// The next part, as the value and the number of the attempt, or `None` at the end.
    #[pyo3(signature = (wake=None))]
    fn next(&self, py: Python<'_>, wake: Option<Py<PyAny>>) -> PyResult<Operation> {
        let stream = self.open(py)?;
        let work = async move { stream.lock().await.as_mut().ok_or_else(ended)?.next().await };
        Ok(Operation::start(work, wake, |py, partial| match partial {
            Some(partial) => Ok((to_python(py, &partial.value)?, partial.attempt).into_pyobject(py)?.into_any()),
            None => Ok(py.None().into_bound(py)),
        }))
    }

    #[pyo3(signature = (wake=None))]
    fn finish(&self, py: Python<'_>, wake: Option<Py<PyAny>>) -> PyResult<Operation> {
        let stream = self.open(py)?;
        let work = async move {
            let stream = stream.lock().await.take().ok_or_else(ended)?;
            stream.finish().await
        };
        Ok(Operation::start(work, wake, |py, asked| asked_dict(py, &asked)))
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

fn asked_dict<'py>(py: Python<'py>, asked: &shared::AskedValue) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    dict.set_item("value", to_python(py, &asked.value)?)?;
    dict.set_item("model", &asked.model)?;
    dict.set_item("strategy", to_python(py, &json!(asked.strategy))?)?;
    dict.set_item("changes", list(&asked.changes, Change))?;
    dict.set_item("repairs", list(&asked.repairs, Repair))?;
    dict.set_item("usage", to_python(py, &json!(asked.usage))?)?;
    dict.set_item("cost_usd", asked.cost_usd)?;
    dict.set_item("attempts", to_python(py, &json!(asked.attempts))?)?;
    Ok(dict.into_any())
}

fn run_dict<'py>(py: Python<'py>, ended: &shared::RunEnded) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    dict.set_item("text", &ended.text)?;
    dict.set_item("value", ended.value.as_ref().map(|value| to_python(py, value)).transpose()?)?;
    dict.set_item("stop", ended.stop)?;
    dict.set_item("model", &ended.model)?;
    dict.set_item("history", to_python(py, &ended.history)?)?;
    dict.set_item("turns", to_python(py, &json!(ended.turns))?)?;
    dict.set_item("changes", list(&ended.changes, Change))?;
    dict.set_item("usage", to_python(py, &json!(ended.usage))?)?;
    Ok(dict.into_any())
}

/// Ends the runtime; called when the interpreter ends.
#[pyfunction]
pub(crate) fn shutdown(py: Python<'_>) {
    py.detach(shared::shutdown);
}

/// Runs the command; the first argument is the name of the program.
#[cfg(feature = "command")]
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| polywire_cli::run(arguments.into_iter().map(Into::into)))
}
