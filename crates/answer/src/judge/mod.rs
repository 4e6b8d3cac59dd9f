//! Validation in bounded time and memory, for every schema.
//!
//! The schema is compiled to a graph in which everything shared is there once (`compile`), a pair of schema node and value is judged
//! once (`evaluate`), and work is counted against a step budget. Keywords that look at one value alone are judged by the `jsonschema`
//! crate (`leaf`), which is also the oracle for whole schemas in tests. The crate alone is not enough: it evaluates a shared
//! reference again on every visit, so a schema of thirty lines can take hours.

mod compile;
mod equality;
mod evaluate;
mod graph;
mod leaf;
mod listing;
mod marks;
#[cfg(test)]
mod tests;
mod wording;

use serde_json::Value;

use crate::budget::{Budget, Exhausted};
use crate::read::Verdict;
use crate::schema::SchemaError;
use crate::validate::{Fault, bytes_up_to};
use evaluate::Evaluation;
use graph::{Graph, ROOT};
use listing::Listing;

/// A compiled schema that validates values.
///
/// ```
/// use polywire_answer::{Formats, Judge};
/// use serde_json::json;
///
/// let schema = json!({"items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]}});
/// let judge = Judge::new(&schema, Formats::Asserted).unwrap();
/// assert!(judge.is_valid(&json!(["a", [["b"]]])));
/// let faults: Vec<_> = judge.faults(&json!(["a", 2])).into_iter().map(|fault| (fault.at, fault.keyword)).collect();
/// assert_eq!(faults, [("/1".to_owned(), "anyOf".to_owned())]);
/// ```
#[derive(Debug)]
pub struct Judge {
    document: Box<Value>,
    graph: Graph,
}

/// Whether `format` is asserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formats {
    /// As the draft of the schema says.
    AsTheDraftSays,
    /// In every draft.
    Asserted,
}

/// Maximum faults if the caller sets no limit.
const MAX_FAULTS: usize = 10_000;

impl Judge {
    /// Compiles a schema.
    pub fn new(schema: &Value, formats: Formats) -> Result<Self, SchemaError> {
        compile::check_depth(schema)?;
        let document = Box::new(schema.clone());
        let graph = compile::compile(&document, formats)?;
        Ok(Self { document, graph })
    }

    /// Whether the schema accepts a value. Also `false` if that is too costly to find out; [`Judge::verdict`] distinguishes the two.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.accepts(value, &Budget::for_bytes(bytes_up_to(value, usize::MAX))) == Ok(true)
    }

    /// Where and why the schema rejects a value; of very many faults the first ones, and a last one that counts the others. Empty if it accepts
    /// the value; one fault without a place if that is too costly to find out. A union is one fault, without those of its branches.
    pub fn faults(&self, value: &Value) -> Vec<Fault> {
        self.verdict(value).into_faults()
    }

    /// Whether the schema accepts a value, within a default number of steps that grows with the value.
    pub fn verdict(&self, value: &Value) -> Verdict {
        self.judge(value, MAX_FAULTS, &Budget::for_bytes(bytes_up_to(value, usize::MAX)))
    }

    /// Whether the schema accepts a value, within a number of steps.
    ///
    /// ```
    /// use polywire_answer::{Formats, Judge, Verdict};
    /// use serde_json::json;
    ///
    /// let judge = Judge::new(&json!({"items": {"type": "integer"}}), Formats::Asserted).unwrap();
    /// assert_eq!(judge.verdict_within(&json!([1, 2, 3]), 100), Verdict::Valid);
    /// assert_eq!(judge.verdict_within(&json!([1, 2, 3]), 2), Verdict::TooCostly);
    /// ```
    pub fn verdict_within(&self, value: &Value, max_steps: u64) -> Verdict {
        self.judge(value, MAX_FAULTS, &Budget::new(max_steps))
    }

    pub(crate) fn accepts(&self, value: &Value, budget: &Budget) -> Result<bool, Exhausted> {
        if self.graph.is_cut {
            return Err(budget.exhaust());
        }
        Evaluation::new(&self.graph, budget).accepts(ROOT, value)
    }

    /// The verdict with a limited number of faults.
    pub(crate) fn judge(&self, value: &Value, limit: usize, budget: &Budget) -> Verdict {
        match self.accepts(value, budget) {
            Ok(true) => Verdict::Valid,
            Ok(false) => match Listing::new(&self.graph, &self.document, budget, limit).of_value(value) {
                Ok(faults) if !faults.is_empty() => Verdict::Invalid(faults),
                // The value is known to be invalid; only the places are unknown.
                Ok(_) | Err(Exhausted) => Verdict::Invalid(vec![Fault::without_place(value)]),
            },
            Err(Exhausted) => Verdict::TooCostly,
        }
    }

    pub(crate) fn document(&self) -> &Value {
        &self.document
    }
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}
