//! Fitted schemas, checks and tool lists.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use polywire_bindings::{self as shared, Dialect, FitSettings, Ignored, settings};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;

use crate::convert::{Json, to_python, to_value};
use crate::error::OrRaise as _;
use crate::records::{Change, Violation, list};

/// A schema fitted to a dialect, and its conversions.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeFitted {
    fitted: Arc<shared::Fitted>,
    schema: OnceLock<Py<PyAny>>,
}

#[pymethods]
impl NativeFitted {
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(schema) = self.schema.get() {
            return Ok(schema.clone_ref(py));
        }
        let schema = to_python(py, &self.fitted.schema)?.unbind();
        Ok(self.schema.get_or_init(|| schema).clone_ref(py))
    }

    #[getter]
    fn strict(&self) -> bool {
        self.fitted.strict()
    }

    #[getter]
    fn changes(&self) -> Vec<Change> {
        list(&self.fitted.changes, Change)
    }

    #[getter]
    fn is_identity(&self) -> bool {
        self.fitted.lens().is_identity()
    }

    fn schema_text(&self) -> String {
        self.fitted.schema.to_string()
    }

    fn encode<'py>(&self, py: Python<'py>, value: Json) -> PyResult<Bound<'py, PyAny>> {
        let encoded = py.detach(|| self.fitted.encode(value.0).map_err(shared::Error::from)).or_raise(py)?;
        to_python(py, &encoded)
    }

    fn decode<'py>(&self, py: Python<'py>, value: Json) -> PyResult<Bound<'py, PyAny>> {
        let decoded = py.detach(|| self.fitted.decode(value.0).map_err(shared::Error::from)).or_raise(py)?;
        to_python(py, &decoded)
    }

    fn decode_json<'py>(&self, py: Python<'py>, value: Json) -> PyResult<Bound<'py, PyBytes>> {
        let text = py.detach(|| {
            let decoded = self.fitted.decode(value.0).map_err(shared::Error::from)?;
            Ok(decoded.to_string())
        });
        Ok(PyBytes::new(py, text.or_raise(py)?.as_bytes()))
    }
}

/// Options of a call; `None` for the defaults.
pub(crate) fn options_of<T: serde::de::DeserializeOwned + Default>(options: Option<&Bound<'_, PyDict>>) -> PyResult<T> {
    match options {
        None => Ok(T::default()),
        Some(options) => settings(to_value(options.as_any())?).or_raise(options.py()),
    }
}

fn target(py: Python<'_>, ids: &[String]) -> PyResult<Cow<'static, Dialect>> {
    py.detach(|| shared::target(ids)).or_raise(py)
}

#[pyfunction]
#[pyo3(signature = (schema, ids, options=None))]
pub(crate) fn fit(
    py: Python<'_>,
    schema: Json,
    ids: Vec<String>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<NativeFitted> {
    let (target, options) = (target(py, &ids)?, options_of::<FitSettings>(options)?.options());
    let fitted = py.detach(|| shared::fit(&schema.0, &target, &options)).or_raise(py)?;
    Ok(NativeFitted { fitted, schema: OnceLock::new() })
}

#[pyfunction]
#[pyo3(signature = (schema, ids, options=None, ignored=false))]
pub(crate) fn check(
    py: Python<'_>,
    schema: Json,
    ids: Vec<String>,
    options: Option<&Bound<'_, PyDict>>,
    ignored: bool,
) -> PyResult<Vec<Violation>> {
    let (target, options) = (target(py, &ids)?, options_of::<FitSettings>(options)?.options());
    let found = py.detach(|| shared::check(&schema.0, &target, options.slot, wanted(ignored))).or_raise(py)?;
    Ok(list(&found, Violation))
}

fn wanted(ignored: bool) -> Ignored {
    if ignored { Ignored::List } else { Ignored::Omit }
}

/// Reads JSON text.
#[pyfunction]
pub(crate) fn read_schema<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let value = py.detach(|| shared::read_schema(text)).or_raise(py)?;
    to_python(py, &value)
}

/// The JSON text of a value.
#[pyfunction]
pub(crate) fn to_json(py: Python<'_>, value: Json) -> String {
    py.detach(|| value.0.to_string())
}

/// Raises the error of a value that a schema does not accept.
#[pyfunction]
pub(crate) fn accept(py: Python<'_>, value: Json, schema: Json) -> PyResult<()> {
    py.detach(|| shared::accept(value.0, &schema.0)).or_raise(py)?;
    Ok(())
}

/// A fitted tool list, and the way back of calls.
#[pyclass(frozen, module = "polywire._polywire")]
pub(crate) struct NativeTools {
    list: shared::ToolList,
}

#[pymethods]
impl NativeTools {
    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tools = py.detach(|| self.list.tools());
        to_python(py, &tools)
    }

    #[getter]
    fn strict(&self) -> bool {
        self.list.strict()
    }

    #[getter]
    fn changes(&self) -> Vec<Change> {
        list(&self.list.changes(), Change)
    }

    #[getter]
    fn names(&self) -> Vec<(String, String)> {
        self.list.entries().iter().map(|tool| (tool.original_name.clone(), tool.name.clone())).collect()
    }

    fn schema<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<(Bound<'py, PyAny>, bool)>> {
        let tool = self.list.entries().iter().find(|tool| tool.original_name == name);
        tool.map(|tool| Ok((to_python(py, &tool.schema)?, tool.strict))).transpose()
    }

    fn decode<'py>(&self, py: Python<'py>, name: &str, arguments: Json) -> PyResult<(String, Bound<'py, PyAny>)> {
        let Json(value) = arguments;
        let call = match value {
            Value::String(text) => py.detach(|| self.list.decode_text(name, &text)),
            value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                py.detach(|| self.list.decode(name, value))
            }
        };
        let call = call.or_raise(py)?;
        Ok((call.name, to_python(py, &call.arguments)?))
    }

    fn encode<'py>(&self, py: Python<'py>, name: &str, arguments: Json) -> PyResult<(String, Bound<'py, PyAny>)> {
        let call = py.detach(|| self.list.encode(name, arguments.0)).or_raise(py)?;
        Ok((call.name, to_python(py, &call.arguments)?))
    }
}

#[pyfunction]
#[pyo3(signature = (tools, ids, options=None))]
pub(crate) fn fit_tools(
    py: Python<'_>,
    tools: Json,
    ids: Vec<String>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<NativeTools> {
    let (target, options) = (target(py, &ids)?, options_of::<FitSettings>(options)?.options());
    let list = py.detach(|| shared::fit_tools(&tools.0, &target, &options)).or_raise(py)?;
    Ok(NativeTools { list })
}

#[pyfunction]
#[pyo3(signature = (tools, ids, ignored=false))]
pub(crate) fn check_tools(py: Python<'_>, tools: Json, ids: Vec<String>, ignored: bool) -> PyResult<Vec<Violation>> {
    let target = target(py, &ids)?;
    let found = py.detach(|| shared::check_tools(&tools.0, &target, wanted(ignored))).or_raise(py)?;
    Ok(list(&found, Violation))
}
