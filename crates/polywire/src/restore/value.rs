//! A value that a model wrote, back in the caller's shape: salvaged, decoded by the lens, coerced and validated.

use polywire_answer::{Answer, Fault, ReadOptions, Repair, Schema, Verdict, read_with, validate};
use polywire_schema::Lens;
use serde_json::Value;

/// What a text must become.
pub(crate) struct Wanted<'a> {
    /// How the value travels; none where it travels as it is.
    pub(crate) lens: Option<&'a Lens>,
    /// The schema of the caller.
    pub(crate) schema: Option<&'a Schema>,
    /// The schema that the model was given. It is asked for only when the value does not fit.
    pub(crate) sent: &'a dyn Fn() -> Option<Value>,
}

/// What a text became.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// The value in the caller's shape, the repairs, and whether the caller's schema accepts it.
    pub(crate) answer: Answer,
    /// Why the lens could not bring the value back; the value is then the one that the model wrote.
    pub(crate) not_decoded: Option<String>,
    /// What is wrong with the value in the shape that the model was asked for.
    pub(crate) wire_faults: Vec<Fault>,
}

impl Recovered {
    fn of(answer: Answer) -> Self {
        Self { answer, not_decoded: None, wire_faults: Vec::new() }
    }

    /// Whether the caller's schema refuses the value, or nobody knows.
    pub(crate) fn is_invalid(&self) -> bool {
        !matches!(self.answer.verdict, Verdict::Valid)
    }
}

/// Brings the value in a text back into the caller's shape.
pub(crate) fn recover(text: &str, wanted: &Wanted<'_>) -> Recovered {
    let options = ReadOptions::default();
    let Some(lens) = wanted.lens else {
        return Recovered::of(read_with(text, wanted.schema, &options));
    };
    let mut found = read_with(text, None, &options);
    let Some(written) = found.value.take() else { return Recovered::of(found) };
    let (value, not_decoded) = match lens.decode(written.clone()) {
        Ok(value) => (value, None),
        Err(error) => match coerced_to_sent(text, wanted, lens, &options) {
            Some((value, repairs)) => {
                found.repairs = repairs;
                (value, None)
            }
            // What the lens does not understand may be in the caller's shape already.
            None => (written.clone(), Some(error.to_string())),
        },
    };
    let mut answer = read_with(&value.to_string(), wanted.schema, &options);
    if not_decoded.is_some() && !answer.repairs.is_empty() && answer.verdict == Verdict::Valid {
        // Coerced after a failed decoding, it is a value that nobody meant.
        answer.verdict = Verdict::NoValue;
    }
    // These spans are of a text that the model did not write.
    answer.repairs.iter_mut().for_each(|repair| repair.span = None);
    found.repairs.append(&mut answer.repairs);
    answer.repairs = found.repairs;
    let mut recovered = Recovered { answer, not_decoded, wire_faults: Vec::new() };
    if recovered.is_invalid() {
        recovered.wire_faults = wire_faults(&written, wanted);
    }
    recovered
}

/// The value of a text that the lens understands once it is coerced to the schema that was sent.
fn coerced_to_sent(
    text: &str,
    wanted: &Wanted<'_>,
    lens: &Lens,
    options: &ReadOptions,
) -> Option<(Value, Vec<Repair>)> {
    let answer = read_with(text, Some(&*Schema::cached(&(wanted.sent)()?).ok()?), options);
    Some((lens.decode(answer.value?).ok()?, answer.repairs))
}

/// What is wrong with a value in the words of the schema that the model was given. The caller's schema may ask for another shape,
/// which the model never saw.
fn wire_faults(written: &Value, wanted: &Wanted<'_>) -> Vec<Fault> {
    (wanted.sent)().and_then(|sent| validate(written, &sent).ok()).unwrap_or_default()
}
