//! The native module of the Python package.

use pyo3::prelude::*;

#[pymodule]
#[pyo3(name = "_polywire")]
mod native {}
