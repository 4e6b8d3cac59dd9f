//! Recovers a value from the model's text: salvages, decodes, coerces and validates it.

use polywire_answer::{Answer, Fault, ReadOptions, Repair, Schema, Verdict, read_with, validate};
use polywire_schema::Lens;
use serde_json::Value;

/// The schemas of a value.
pub(crate) struct RecoverTarget<'a> {
    /// The mapping from the fitted schema; `None` if the schemas are identical.
    pub(crate) lens: Option<&'a Lens>,
    /// The caller's schema.
    pub(crate) schema: Option<&'a Schema>,
    /// The schema in the request. It is only decoded if the value is invalid.
    pub(crate) fitted_schema: &'a dyn Fn() -> Option<Value>,
}

/// A recovered value.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// The value in the caller's schema, with its repairs and verdict.
    pub(crate) answer: Answer,
    /// The reason why the lens could not decode the value; `answer` then has the model's value.
    pub(crate) not_decoded: Option<String>,
    /// The violations of the fitted schema.
    pub(crate) wire_faults: Vec<Fault>,
}

impl Recovered {
    fn without_lens(answer: Answer) -> Self {
        Self { answer, not_decoded: None, wire_faults: Vec::new() }
    }

    /// Returns `true` unless the caller's schema is known to accept the value.
    pub(crate) fn is_invalid(&self) -> bool {
        !matches!(self.answer.verdict, Verdict::Valid)
    }
}

/// Recovers the value of a text in the caller's schema.
pub(crate) fn recover(text: &str, target: &RecoverTarget<'_>) -> Recovered {
    let options = ReadOptions::default();
    let Some(lens) = target.lens else {
        return Recovered::without_lens(read_with(text, target.schema, &options));
    };
    let mut found = read_with(text, None, &options);
    let Some(written) = found.value.take() else { return Recovered::without_lens(found) };
    let (value, not_decoded) = match lens.decode_repaired(written.clone()) {
        Ok((value, repairs)) => {
            found.repairs.extend(repairs.into_iter().map(|repair| Repair::of_shape(repair.at)));
            (value, None)
        }
        Err(error) => match coerce_and_decode(text, target, lens, &options) {
            Some((value, repairs)) => {
                found.repairs = repairs;
                (value, None)
            }
            // A value that the lens cannot decode may already conform to the caller's schema.
            None => (written.clone(), Some(error.to_string())),
        },
    };
    let mut answer = read_with(&value.to_string(), target.schema, &options);
    if not_decoded.is_some() && !answer.repairs.is_empty() && answer.verdict == Verdict::Valid {
        // Coercion after a failed decoding may produce a value that the model did not intend.
        answer.verdict = Verdict::NoValue;
    }
    // These spans refer to the decoded text, not to the model's.
    answer.repairs.iter_mut().for_each(|repair| repair.span = None);
    found.repairs.append(&mut answer.repairs);
    answer.repairs = found.repairs;
    let mut recovered = Recovered { answer, not_decoded, wire_faults: Vec::new() };
    if recovered.is_invalid() {
        recovered.wire_faults = wire_faults(&written, target);
    }
    recovered
}

/// Coerces the value to the fitted schema and decodes it.
fn coerce_and_decode(
    text: &str,
    target: &RecoverTarget<'_>,
    lens: &Lens,
    options: &ReadOptions,
) -> Option<(Value, Vec<Repair>)> {
    let answer = read_with(text, Some(&*Schema::cached(&(target.fitted_schema)()?).ok()?), options);
    Some((lens.decode(answer.value?).ok()?, answer.repairs))
}

/// The violations of the fitted schema. The model has not seen the caller's schema.
fn wire_faults(written: &Value, target: &RecoverTarget<'_>) -> Vec<Fault> {
    (target.fitted_schema)().and_then(|sent| validate(written, &sent).ok()).unwrap_or_default()
}
