//! Errors as the exceptions of `polywire._errors`.

use polywire_bindings::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::Value;

use crate::convert::to_python;

/// The exception of an error.
pub(crate) fn raise(py: Python<'_>, error: Error) -> PyErr {
    let message = error.message.clone();
    make(py, error).unwrap_or_else(|_| PyRuntimeError::new_err(message))
}

fn make(py: Python<'_>, error: Error) -> PyResult<PyErr> {
    let class = py.import("polywire._errors")?.getattr(error.kind.class())?;
    let details = to_python(py, &Value::Object(*error.details))?;
    Ok(PyErr::from_value(class.call1((error.message, error.code, error.at, details))?))
}

/// Results of the façade as results of Python.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, error))
    }
}
