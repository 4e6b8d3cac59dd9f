//! What happened to a schema, a request or a value: records with named fields.

use polywire_bindings as shared;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::to_python;

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident($twin:ty) { $($(#[$field_doc:meta])* $field:ident: $type:ty = $read:expr;)* })*) => { $(
        $(#[$doc])*
        #[pyclass(frozen, module = "polywire")]
        #[derive(Clone)]
        pub(crate) struct $name(pub(crate) $twin);

        #[pymethods]
        impl $name {
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
                PyTuple::new(py, [$(stringify!($field)),*])
            }

            $(
                $(#[$field_doc])*
                #[getter]
                fn $field<'py>(&self, py: Python<'py>) -> PyResult<$type> {
                    let read: for<'r> fn(&'r $twin, Python<'py>) -> PyResult<$type> = $read;
                    read(&self.0, py)
                }
            )*

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let mut fields: Vec<String> = Vec::new();
                $(
                    let shown = self.$field(py)?.into_bound_py_any(py)?.repr()?;
                    fields.push(format!("{}={}", stringify!($field), shown));
                )*
                Ok(format!("{}({})", stringify!($name), fields.join(", ")))
            }

            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                other.cast::<Self>().is_ok_and(|other| self.0 == other.get().0)
            }

            fn __hash__(&self) -> u64 {
                use std::hash::{DefaultHasher, Hash, Hasher};
                let mut hasher = DefaultHasher::new();
                self.0.at.hash(&mut hasher);
                stringify!($name).hash(&mut hasher);
                hasher.finish()
            }

            /// The record as a `dict`, for JSON.
            fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                to_python(py, &serde_json::json!(self.0))
            }
        }
    )* };
}

records! {
    /// One change of a schema, a request or an answer, or one loss.
    Change(shared::Change) {
        /// The rule or the reason, such as `OAI-STRICT-07`.
        code: String = |change, _| Ok(change.code.as_str().to_owned());
        /// The JSON Pointer of the place.
        at: String = |change, _| Ok(change.at.clone());
        /// The keyword or field, or an empty text.
        keyword: String = |change, _| Ok(change.keyword.to_string());
        /// What was done, such as `made-nullable`.
        action: String = |change, _| Ok(change.action.to_string());
        /// `same`, `wider`, `narrower` or `note`.
        effect: String = |change, _| Ok(change.effect.to_string());
        /// What happened, in words.
        detail: String = |change, _| Ok(change.detail.to_string());
        /// The part of a request: `model`, `tools`, `output`, `history`, `parameters`, or `None`.
        kind: Option<String> = |change, _| Ok(change.kind.map(|kind| kind.to_string()));
        /// Whether something is lost: the effect is `wider` or `narrower`.
        is_loss: bool = |change, _| Ok(change.effect.is_loss());
    }
    /// What a provider refuses of a schema, ignores, or may not follow.
    Violation(shared::Violation) {
        /// The code of the rule.
        code: String = |violation, _| Ok(violation.code.clone());
        /// The JSON Pointer of the place.
        at: String = |violation, _| Ok(violation.at.clone());
        /// The keyword.
        keyword: String = |violation, _| Ok(violation.keyword.clone());
        /// The error in the provider's words.
        says: String = |violation, _| Ok(violation.says.clone());
        /// `rejected`, `risk` or `ignored`.
        severity: String = |violation, _| Ok(violation.severity.to_string());
        /// How sure the rule is: `measured`, `observed`, `documented` or `inferred`.
        confidence: String = |violation, _| Ok(violation.confidence.to_string());
        /// Where the rule comes from.
        source: String = |violation, _| Ok(violation.source.clone());
    }
    /// One liberty that was taken to get from a text to its value.
    Repair(shared::Repair) {
        /// What was done, such as `fence`.
        kind: String = |repair, _| Ok(repair.kind.name().to_owned());
        /// The JSON Pointer of the place in the value.
        at: String = |repair, _| Ok(repair.at.clone());
        /// The byte range in the text, for repairs of the text.
        span: Option<(usize, usize)> = |repair, _| Ok(repair.span.as_ref().map(|span| (span.start, span.end)));
        /// What it means, in words.
        meaning: String = |repair, _| Ok(repair.kind.meaning().to_owned());
    }
    /// Why a schema does not accept a value, at one place.
    Fault(shared::Fault) {
        /// The JSON Pointer of the place in the value.
        at: String = |fault, _| Ok(fault.at.clone());
        /// The keyword of the schema.
        keyword: String = |fault, _| Ok(fault.keyword.clone());
        /// What the schema expects.
        expected: Py<PyAny> = |fault, py| Ok(to_python(py, &fault.expected)?.unbind());
        /// What the value has.
        got: String = |fault, _| Ok(fault.got.clone());
        /// The reason, in words.
        detail: String = |fault, _| Ok(fault.detail.clone());
    }
}

/// A list of records.
pub(crate) fn list<T, R>(twins: &[T], make: impl Fn(T) -> R) -> Vec<R>
where
    T: Clone,
{
    twins.iter().cloned().map(make).collect()
}
