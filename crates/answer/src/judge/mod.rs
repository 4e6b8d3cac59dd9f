//! Whether a schema accepts a value, and where not, in bounded time and memory for every schema.
//!
//! The schema is compiled to a graph in which everything shared is there once (`compile`), a pair of schema node and value is judged
//! once (`evaluate`), and work is counted against a step budget. Keywords that look at one value alone are judged by the `jsonschema`
//! crate (`leaf`), which tests also ask for a second opinion on whole schemas. The crate alone would not do: it judges a shared
//! reference again on every visit, so that a schema of thirty lines can take hours.

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

/// A schema made ready to judge values by.
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

/// Whether `format` refuses values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formats {
    /// As the draft of the schema has it.
    AsTheDraftSays,
    /// It does, in every draft.
    Asserted,
}

/// How many faults are listed where the caller sets no limit.
const MAX_FAULTS: usize = 10_000;

impl Judge {
    /// Makes a schema ready.
    pub fn new(schema: &Value, formats: Formats) -> Result<Self, SchemaError> {
        let document = Box::new(schema.clone());
        let graph = compile::compile(&document, formats)?;
        Ok(Self { document, graph })
    }

    /// Whether the schema accepts a value. `false` where that is too costly to judge: [`Judge::verdict`] tells the two apart.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.accepts(value, &Budget::for_bytes(bytes_up_to(value, usize::MAX))) == Ok(true)
    }

    /// Where and why the schema refuses a value: of very many faults the first ones, with a last one that says how many more there
    /// are. Nothing where it accepts the value; one fault without a place where that is too costly to judge. A union is one place,
    /// whatever its branches say.
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
                // The value is refused, and that is known; only the places are not.
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
