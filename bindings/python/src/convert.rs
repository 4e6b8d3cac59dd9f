//! Python objects to values and back, without text in between.

use foldhash::{HashMap, HashMapExt as _};
use polywire_bindings::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value};

use crate::error::raise;

/// Objects nested deeper than this are refused: Python's own `json` fails at about the same depth.
const MAX_DEPTH: usize = 900;

/// An argument that is converted when a function is called.
pub(crate) struct Json(pub(crate) Value);

impl<'a, 'py> FromPyObject<'a, 'py> for Json {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        to_value(&object).map(Self)
    }
}

/// The value of an object of `None`, `bool`, `int`, `float`, `str`, `dict`, `list` and `tuple`.
pub(crate) fn to_value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(object, 0).map_err(|refusal| match refusal {
        Refusal::Python(error) => error,
        Refusal::Here { code, message, steps } => {
            let escaped = |step: &String| step.replace('~', "~0").replace('/', "~1");
            let at = steps.iter().rev().fold(String::new(), |at, step| at + "/" + &escaped(step));
            raise(object.py(), Error::new(ErrorKind::Input, code, message).at(at))
        }
    })
}

enum Refusal {
    Python(PyErr),
    /// The steps from the inside out.
    Here {
        code: &'static str,
        message: String,
        steps: Vec<String>,
    },
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl Refusal {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self::Here { code, message: message.into(), steps: Vec::new() }
    }

    fn below(mut self, step: impl FnOnce() -> String) -> Self {
        if let Self::Here { steps, .. } = &mut self {
            steps.push(step());
        }
        self
    }
}

fn read(object: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Refusal> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(read_text(text)?.to_owned()));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        if depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        let mut members = Map::with_capacity(dict.len());
        for (key, value) in dict {
            let Ok(key) = key.cast::<PyString>() else {
                let message = format!("a key of a `dict` must be a `str`, not a `{}`", type_name(&key));
                return Err(Refusal::new("not-json", message));
            };
            let key = read_text(key)?;
            let value = read(&value, depth + 1).map_err(|refusal| refusal.below(|| key.to_owned()))?;
            members.insert(key.to_owned(), value);
        }
        return Ok(Value::Object(members));
    }
    if let Ok(list) = object.cast::<PyList>() {
        return read_items(list.iter(), depth);
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(boolean) = object.cast::<PyBool>() {
        return Ok(Value::Bool(boolean.is_true()));
    }
    if let Ok(int) = object.cast::<PyInt>() {
        if let Ok(number) = int.extract::<i64>() {
            return Ok(Value::Number(number.into()));
        }
        let number = int.extract::<u64>();
        let number = number.map_err(|_| Refusal::new("number", "an `int` must fit into 64 bits"))?;
        return Ok(Value::Number(number.into()));
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        let number = Number::from_f64(float.value());
        return number.map(Value::Number).ok_or_else(|| Refusal::new("number", "JSON has no NaN and no infinity"));
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return read_items(tuple.iter(), depth);
    }
    Err(Refusal::new("not-json", format!("a `{}` is no JSON value", type_name(object))))
}

fn read_items<'py>(items: impl ExactSizeIterator<Item = Bound<'py, PyAny>>, depth: usize) -> Result<Value, Refusal> {
    if depth >= MAX_DEPTH {
        return Err(too_deep());
    }
    let mut values = Vec::with_capacity(items.len());
    for (place, item) in items.enumerate() {
        values.push(read(&item, depth + 1).map_err(|refusal| refusal.below(|| place.to_string()))?);
    }
    Ok(Value::Array(values))
}

fn read_text<'t>(text: &'t Bound<'_, PyString>) -> Result<&'t str, Refusal> {
    text.to_str().map_err(|_| Refusal::new("not-utf8", "a `str` has half of a surrogate pair"))
}

fn too_deep() -> Refusal {
    Refusal::new("too-deep", format!("the value is nested deeper than {MAX_DEPTH}"))
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "value".to_owned(), |name| name.to_string())
}

/// The object of a value.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Writer { py, keys: HashMap::new() }.write(value)
}

/// Keys repeat: each is made once.
struct Writer<'py, 'v> {
    py: Python<'py>,
    keys: HashMap<&'v str, Bound<'py, PyString>>,
}

impl<'py, 'v> Writer<'py, 'v> {
    fn write(&mut self, value: &'v Value) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match value {
            Value::Null => py.None().into_bound(py),
            Value::Bool(boolean) => PyBool::new(py, *boolean).to_owned().into_any(),
            Value::String(text) => PyString::new(py, text).into_any(),
            Value::Number(number) => write_number(py, number)?,
            Value::Array(items) => {
                let items = items.iter().map(|item| self.write(item)).collect::<PyResult<Vec<_>>>()?;
                PyList::new(py, items)?.into_any()
            }
            Value::Object(members) => {
                let dict = PyDict::new(py);
                for (key, value) in members {
                    let value = self.write(value)?;
                    let key = self.keys.entry(key).or_insert_with(|| PyString::new(py, key));
                    dict.set_item(&*key, value)?;
                }
                dict.into_any()
            }
        })
    }
}

fn write_number<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    if let Some(number) = number.as_i64() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    if let Some(number) = number.as_u64() {
        return Ok(number.into_pyobject(py)?.into_any());
    }
    Ok(PyFloat::new(py, number.as_f64().unwrap_or_default()).into_any())
}
