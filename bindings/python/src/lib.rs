//! The native module of the Python package: Python objects to plain data and back, around `polywire-bindings`.
#![allow(clippy::needless_pass_by_value, reason = "functions of Python own the arguments that are extracted for them")]

mod answer;
mod client;
mod convert;
mod error;
mod records;
mod schema;
mod translation;

#[pyo3::pymodule]
mod _polywire {
    #[pymodule_export]
    use crate::answer::{NativeAnswer, NativeParser, NativeSchema, parse};
    #[cfg(feature = "command")]
    #[pymodule_export]
    use crate::client::run_command;
    #[pymodule_export]
    use crate::client::{NativeClient, NativeStream, Operation, Reply, shutdown};
    #[pymodule_export]
    use crate::records::{Change, Fault, Repair, Violation};
    #[pymodule_export]
    use crate::schema::{NativeFitted, NativeTools, accept, check, check_tools, fit, fit_tools, read_schema, to_json};
    #[pymodule_export]
    use crate::translation::{
        NativeEmulator, NativeTranslation, NativeTranslationStream, dialects, misbehaviours, model_dialects, models,
        plan,
    };

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
