//! Values of texts.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use polywire_bindings::{self as shared, ParseSettings};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::convert::{Json, to_python};
use crate::error::OrRaise as _;
use crate::records::{Fault, Repair, list};
use crate::schema::options_of;

/// A compiled schema of values.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeSchema(shared::Schema);

#[pymethods]
impl NativeSchema {
    #[new]
    fn new(py: Python<'_>, schema: Json) -> PyResult<Self> {
        py.detach(|| shared::Schema::new(&schema.0)).or_raise(py).map(Self)
    }
}

/// The value of a text, converted when it is asked for.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeAnswer {
    parsed: shared::Parsed,
    value: OnceLock<Py<PyAny>>,
}

#[pymethods]
impl NativeAnswer {
    #[getter]
    fn value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(value) = self.value.get() {
            return Ok(value.clone_ref(py));
        }
        let value = match &self.parsed.value {
            Some(value) => to_python(py, value)?.unbind(),
            None => py.None(),
        };
        Ok(self.value.get_or_init(|| value).clone_ref(py))
    }

    #[getter]
    fn has_value(&self) -> bool {
        self.parsed.value.is_some()
    }

    #[getter]
    fn valid(&self) -> bool {
        self.parsed.valid
    }

    #[getter]
    fn truncated(&self) -> bool {
        self.parsed.truncated
    }

    #[getter]
    fn repairs(&self) -> Vec<Repair> {
        list(&self.parsed.repairs, Repair)
    }

    #[getter]
    fn errors(&self) -> Vec<Fault> {
        list(&self.parsed.errors, Fault)
    }

    #[getter]
    fn code(&self) -> &'static str {
        self.parsed.code
    }

    #[getter]
    fn message(&self) -> &'static str {
        self.parsed.message
    }

    fn to_json<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let text = py.detach(|| self.parsed.value.as_ref().map(ToString::to_string));
        text.map(|text| PyBytes::new(py, text.as_bytes()))
    }
}

fn answer(parsed: shared::Parsed) -> NativeAnswer {
    NativeAnswer { parsed, value: OnceLock::new() }
}

#[pyfunction]
#[pyo3(signature = (text, schema=None, options=None))]
pub(crate) fn parse(
    py: Python<'_>,
    text: &str,
    schema: Option<&Bound<'_, NativeSchema>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<NativeAnswer> {
    let options = options_of::<ParseSettings>(options)?.options();
    let schema = schema.map(|schema| &schema.get().0);
    Ok(answer(py.detach(|| shared::parse(text, schema, &options))))
}

/// Reads a text as it arrives.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeParser {
    parser: Mutex<shared::PartialParser>,
    last: Mutex<Option<Py<PyAny>>>,
}

impl NativeParser {
    fn parser(&self) -> MutexGuard<'_, shared::PartialParser> {
        self.parser.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, Option<Py<PyAny>>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl NativeParser {
    #[new]
    #[pyo3(signature = (schema=None))]
    fn new(schema: Option<&Bound<'_, NativeSchema>>) -> Self {
        let parser = shared::PartialParser::new(schema.map(|schema| schema.get().0.clone()));
        Self { parser: Mutex::new(parser), last: Mutex::new(None) }
    }

    fn push(&self, py: Python<'_>, chunk: &str) -> PyResult<Py<PyAny>> {
        if let Some(value) = py.detach(|| self.parser().push(chunk)) {
            let value = to_python(py, &value)?.unbind();
            *self.last() = Some(value);
        }
        Ok(self.last().as_ref().map_or_else(|| py.None(), |last| last.clone_ref(py)))
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = py.detach(|| self.parser().value());
        value.map(|value| to_python(py, &value)).transpose()
    }

    #[getter]
    fn complete_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = py.detach(|| self.parser().complete_value());
        value.map(|value| to_python(py, &value)).transpose()
    }

    #[getter]
    fn is_done(&self, py: Python<'_>) -> bool {
        py.detach(|| self.parser().is_done())
    }

    #[getter]
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.parser().text().to_owned())
    }

    fn is_complete(&self, py: Python<'_>, at: &str) -> bool {
        py.detach(|| self.parser().is_complete(at))
    }

    #[pyo3(signature = (options=None))]
    fn finish(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<NativeAnswer> {
        let options = options_of::<ParseSettings>(options)?.options();
        Ok(answer(py.detach(|| self.parser().finish(&options))))
    }
}
