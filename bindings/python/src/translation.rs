//! Translations between protocols, plans, and the catalog.

use std::sync::{Mutex, PoisonError};

use polywire_bindings::{self as shared, PlanSettings, TranslationSettings};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};

use crate::convert::{Json, to_python};
use crate::error::{OrRaise as _, raise};
use crate::records::{Change, list};
use crate::schema::options_of;

/// A request of one protocol to a model of any other.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeTranslation(shared::Translation);

type Headers = Vec<(String, String)>;

#[pymethods]
impl NativeTranslation {
    #[new]
    #[pyo3(signature = (body, source, model, options=None))]
    fn new(
        py: Python<'_>,
        body: Vec<u8>,
        source: &str,
        model: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let settings = options_of::<TranslationSettings>(options)?;
        py.detach(|| shared::Translation::new(&body, source, model, &settings)).or_raise(py).map(Self)
    }

    #[getter]
    fn method(&self) -> &str {
        &self.0.endpoint().method
    }

    #[getter]
    fn url(&self) -> &str {
        &self.0.endpoint().url
    }

    #[getter]
    fn headers(&self) -> Headers {
        self.0.endpoint().headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.body().as_bytes())
    }

    #[getter]
    fn changes(&self) -> Vec<Change> {
        list(self.0.changes(), Change)
    }

    #[getter]
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let plan = py.detach(|| self.0.plan());
        to_python(py, &plan)
    }

    #[getter]
    fn is_stream(&self) -> bool {
        self.0.is_stream()
    }

    #[getter]
    fn stream_content_type(&self) -> &'static str {
        self.0.stream_content_type()
    }

    fn response<'py>(
        &self,
        py: Python<'py>,
        body: Vec<u8>,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<Change>, Bound<'py, PyAny>)> {
        let back = py.detach(|| self.0.response(&body)).or_raise(py)?;
        Ok((PyBytes::new(py, &back.body), list(&back.changes, Change), to_python(py, &json!(back.usage))?))
    }

    fn error<'py>(
        &self,
        py: Python<'py>,
        status: u16,
        headers: Headers,
        body: Vec<u8>,
    ) -> (u16, Headers, Bound<'py, PyBytes>) {
        let back = py.detach(|| self.0.error(status, &headers, &body));
        (back.status, back.headers, PyBytes::new(py, &back.body))
    }

    fn stream(&self) -> NativeTranslationStream {
        NativeTranslationStream(Mutex::new(self.0.stream()))
    }
}

/// A streamed answer on its way back.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeTranslationStream(Mutex<shared::TranslationStream>);

/// The last bytes, changes, usage, and the error that the stream ended with.
type StreamEnd<'py> = (Bound<'py, PyBytes>, Vec<Change>, Bound<'py, PyAny>, Option<Py<PyAny>>);

#[pymethods]
impl NativeTranslationStream {
    fn push<'py>(&self, py: Python<'py>, data: Vec<u8>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).push(&data)).or_raise(py)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn finish<'py>(&self, py: Python<'py>) -> PyResult<StreamEnd<'py>> {
        let end = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).finish()).or_raise(py)?;
        let error = end.error.map(|error| raise(py, error).into_value(py).into_any());
        Ok((PyBytes::new(py, &end.body), list(&end.changes, Change), to_python(py, &json!(end.usage))?, error))
    }
}

#[pyfunction]
#[pyo3(signature = (request, model, source=None, options=None))]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    request: Json,
    model: &str,
    source: Option<&str>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let settings = options_of::<PlanSettings>(options)?;
    let plan = py.detach(|| shared::plan(request.0, model, source, &settings)).or_raise(py)?;
    to_python(py, &plan)
}

#[pyfunction]
#[pyo3(signature = (provider=None))]
pub(crate) fn models<'py>(py: Python<'py>, provider: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let models = py.detach(|| shared::models(provider)).or_raise(py)?;
    to_python(py, &Value::Array(models))
}

#[pyfunction]
pub(crate) fn dialects(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &Value::Array(py.detach(shared::dialects)))
}

#[pyfunction]
pub(crate) fn model_dialects<'py>(py: Python<'py>, model: &str) -> PyResult<Bound<'py, PyAny>> {
    let slots = py.detach(|| shared::model_dialects(model)).or_raise(py)?;
    to_python(py, &slots)
}

#[pyfunction]
pub(crate) fn misbehaviours(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &Value::Array(py.detach(shared::misbehaviours)))
}

/// A running emulator.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeEmulator(shared::Emulator);

#[pymethods]
impl NativeEmulator {
    #[new]
    fn new(py: Python<'_>, port: u16) -> PyResult<Self> {
        py.detach(|| shared::Emulator::start(port)).or_raise(py).map(Self)
    }

    #[getter]
    fn url(&self) -> &str {
        self.0.url()
    }

    fn base_url(&self, py: Python<'_>, provider: &str) -> PyResult<String> {
        self.0.base_url(provider).or_raise(py)
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}
