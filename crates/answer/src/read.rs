//! The whole pipeline: salvage, coercion, validation.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::assert::broken;
use crate::budget::{Budget, Exhausted};
use crate::calls;
use crate::coerce::{CoerceOptions, Coercer, Stage};
use crate::keyword;
use crate::options::Options;
use crate::readings::{Page, Reading};
use crate::repair::{Cost, Repair, RepairKind};
use crate::salvage::{Whole, read_strict, salvage};
use crate::schema::{Schema, SchemaError};
use crate::tree::Tree;
use crate::validate::{Fault, TOO_COSTLY, bytes_up_to, verdict};

/// The result of reading a text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The value, if there is one, valid or not.
    pub value: Option<Value>,
    /// Every repair, in order.
    pub repairs: Vec<Repair>,
    /// The result of validation.
    pub verdict: Verdict,
    /// The steps used; the budget is [`ReadOptions::max_steps`].
    pub steps: u64,
}

/// The result of validation.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The schema accepts the value, or there is no schema.
    Valid,
    /// The schema rejects the value, for these reasons.
    Invalid(Vec<Fault>),
    /// The step budget ran out first. Do not treat the value as valid.
    TooCostly,
    /// The text contains no value.
    NoValue,
}

impl Verdict {
    /// The validation errors. A value that is too costly to validate has one, without a place.
    pub fn into_faults(self) -> Vec<Fault> {
        match self {
            Self::Valid | Self::NoValue => Vec::new(),
            Self::Invalid(faults) => faults,
            Self::TooCostly => vec![Fault::too_costly()],
        }
    }
}

impl Answer {
    /// The value, if it is valid.
    pub fn valid(&self) -> Option<&Value> {
        self.value.as_ref().filter(|_| self.verdict == Verdict::Valid)
    }

    /// Whether the text ended before the value did. Do not act on such a value.
    pub fn is_truncated(&self) -> bool {
        self.repairs.iter().any(|repair| repair.kind == RepairKind::Truncated)
    }

    fn nothing() -> Self {
        Self { value: None, repairs: Vec::new(), verdict: Verdict::NoValue, steps: 0 }
    }

    fn judged(value: Value, repairs: Vec<Repair>, schema: &Schema, budget: &Budget) -> Self {
        let verdict = verdict(&value, schema, budget);
        Self::checked(value, repairs, verdict, schema, budget)
    }

    /// Validates by the schema and by its assertions (`x-assert`).
    fn checked(value: Value, repairs: Vec<Repair>, verdict: Verdict, schema: &Schema, budget: &Budget) -> Self {
        let found = match verdict {
            Verdict::Valid | Verdict::NoValue => Some(Vec::new()),
            Verdict::Invalid(faults) => Some(faults),
            Verdict::TooCostly => None,
        };
        let broken = found.and_then(|mut found| {
            found.extend(calls::leaked_markup(&value));
            found.extend(echo_of_schema(&value, schema));
            found.extend(broken(&value, &schema.shapes, budget).ok()?);
            Some(found)
        });
        let verdict = match broken {
            Some(found) if found.is_empty() => Verdict::Valid,
            Some(found) => Verdict::Invalid(found),
            None => Verdict::TooCostly,
        };
        Self { value: Some(value), repairs, verdict, steps: 0 }
    }
}

/// The fault of a value that repeats the schema instead of filling it in.
fn echo_of_schema(value: &Value, schema: &Schema) -> Option<Fault> {
    let inner;
    let value = if let Some(text) = value.as_str().filter(|text| text.trim_start().starts_with('{')) {
        inner = serde_json::from_str::<Value>(text).ok()?;
        &inner
    } else {
        value
    };
    let properties = value.get(keyword::PROPERTIES)?.as_object().filter(|properties| !properties.is_empty())?;
    value.get(keyword::TYPE).filter(|name| *name == "object")?;
    let root = schema.shapes.get(schema.shapes.root)?;
    let is_declared = |key: &str| root.field(key).is_some();
    let is_schema =
        |value: &Value| [keyword::TYPE, keyword::REF, keyword::ANY_OF].iter().any(|key| value.get(key).is_some());
    let repeats = properties.iter().all(|(key, value)| is_declared(key) && is_schema(value));
    (repeats && !is_declared(keyword::PROPERTIES)).then(Fault::echo)
}

/// Options for reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Options for salvage.
    pub salvage: Options,
    /// Options for coercion.
    pub coerce: CoerceOptions,
    /// Maximum steps of salvage, coercion and validation together; by default about eight million plus a hundred for each byte of the
    /// text. A text that needs more is [`Verdict::TooCostly`].
    pub max_steps: Option<u64>,
}

impl ReadOptions {
    /// Sets the options for salvage.
    #[must_use]
    pub fn with_salvage(mut self, options: Options) -> Self {
        self.salvage = options;
        self
    }

    /// Sets the options for coercion.
    #[must_use]
    pub fn with_coerce(mut self, options: CoerceOptions) -> Self {
        self.coerce = options;
        self
    }

    /// Sets the maximum steps of salvage, coercion and validation together.
    ///
    /// ```
    /// use polywire_answer::{ReadOptions, Schema, Verdict, read_with};
    /// use serde_json::json;
    ///
    /// let schema = Schema::new(&json!({"type": "array", "items": {"type": "integer"}})).unwrap();
    /// let answer = read_with("[1, 2, 3, 4]", Some(&schema), &ReadOptions::default());
    /// assert_eq!(answer.verdict, Verdict::Valid);
    /// let few = ReadOptions::default().with_max_steps(answer.steps - 1);
    /// assert_eq!(read_with("[1, 2, 3, 4]", Some(&schema), &few).verdict, Verdict::TooCostly);
    /// ```
    #[must_use]
    pub fn with_max_steps(mut self, max_steps: u64) -> Self {
        self.max_steps = Some(max_steps);
        self
    }

    fn budget(&self, text: &str) -> Budget {
        self.max_steps.map_or_else(|| Budget::for_bytes(text.len()), Budget::new)
    }
}

/// Extracts, coerces and validates the value of a text by a schema.
///
/// ```
/// use polywire_answer::{Verdict, read};
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
///     "required": ["city", "days"]
/// });
/// let answer = read("Of course: {city: 'Paris', \"Days\": \"3\"}", &schema).unwrap();
/// assert_eq!(answer.value, Some(json!({"city": "Paris", "days": 3})));
/// assert_eq!(answer.verdict, Verdict::Valid);
/// ```
pub fn read(text: &str, schema: &Value) -> Result<Answer, SchemaError> {
    Ok(read_with(text, Some(&*Schema::cached(schema)?), &ReadOptions::default()))
}

/// Like [`read`], with a prepared schema or none, and with options.
///
/// Without a schema, a tool call in a model's own notation is read as `{"tool_calls": [{"name", "arguments", "id"}]}`; an
/// `id` is present if the notation has one.
pub fn read_with(text: &str, schema: Option<&Schema>, options: &ReadOptions) -> Answer {
    let budget = options.budget(text);
    let answer = match schema {
        Some(schema) => read_by(schema, text, options, &budget),
        None => read_any(text, options),
    };
    Answer { steps: budget.used(), ..answer }
}

fn read_by(schema: &Schema, text: &str, options: &ReadOptions, budget: &Budget) -> Answer {
    if let Whole::Value(whole) = read_strict(text)
        && !schema.shapes.aliased
    {
        match schema.judge.accepts(&whole.value, budget) {
            Ok(true) => return Answer::checked(whole.value, Vec::new(), Verdict::Valid, schema, budget),
            Ok(false) => {}
            Err(Exhausted) => return Answer::checked(whole.value, Vec::new(), Verdict::TooCostly, schema, budget),
        }
    }
    best(text, schema, options, budget)
}

/// Like [`read`], and deserializes the value.
///
/// ```
/// #[derive(serde::Deserialize, PartialEq, Debug)]
/// struct Trip { city: String, days: u32 }
///
/// let schema = serde_json::json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
///     "required": ["city", "days"]
/// });
/// let trip: Trip = polywire_answer::read_typed("{'city': 'Oslo', 'days': '2'}", &schema).unwrap();
/// assert_eq!(trip, Trip { city: "Oslo".into(), days: 2 });
/// ```
pub fn read_typed<T: DeserializeOwned>(text: &str, schema: &Value) -> Result<T, ReadError> {
    let answer = read(text, schema).map_err(ReadError::Schema)?;
    match (answer.value, answer.verdict) {
        (Some(value), Verdict::Valid) => {
            serde_json::from_value(value).map_err(|error| ReadError::Type(error.to_string()))
        }
        (_, Verdict::Invalid(faults)) => Err(ReadError::Invalid(faults)),
        (_, Verdict::TooCostly) => Err(ReadError::TooCostly),
        (_, Verdict::NoValue | Verdict::Valid) => Err(ReadError::NoValue),
    }
}

/// The error of [`read_typed`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReadError {
    /// The schema is invalid.
    Schema(SchemaError),
    /// The text contains no value.
    NoValue,
    /// The schema rejects the value.
    Invalid(Vec<Fault>),
    /// The value is too costly to validate.
    TooCostly,
    /// The schema accepts the value, but it cannot be deserialized.
    Type(String),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Schema(error) => error.fmt(f),
            Self::NoValue => f.write_str("there is no value in the text"),
            Self::Invalid(faults) => f.write_str(&crate::validate::feedback(faults)),
            Self::TooCostly => f.write_str(TOO_COSTLY),
            Self::Type(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for ReadError {}

/// Coerces a value to a schema. A valid value is returned unchanged, and so is one that is too costly to validate.
///
/// ```
/// use polywire_answer::{CoerceOptions, coerce};
/// use serde_json::json;
///
/// let schema = json!({"type": "array", "items": {"enum": ["red", "green"]}});
/// let (value, repairs) = coerce(json!("Green"), &schema, &CoerceOptions::default()).unwrap();
/// assert_eq!(value, json!(["green"]));
/// assert_eq!(repairs.len(), 2);
/// ```
pub fn coerce(value: Value, schema: &Value, options: &CoerceOptions) -> Result<(Value, Vec<Repair>), SchemaError> {
    let schema: Arc<Schema> = Schema::cached(schema)?;
    let budget = Budget::for_bytes(bytes_up_to(&value, usize::MAX));
    let is_settled = !matches!(schema.judge.accepts(&value, &budget), Ok(false));
    if !schema.shapes.aliased && is_settled {
        return Ok((value, Vec::new()));
    }
    let mut tree = Tree::default();
    let root = tree.plant(&value, &(0..0));
    let mut coercer = Coercer::new(&schema.shapes, tree, "", (*options, Stage::Whole), &budget);
    let built = coercer.build(root);
    // What was not coerced to its end is no better than what it was.
    Ok(if budget.is_exhausted() { (value, Vec::new()) } else { built })
}

fn read_any(text: &str, options: &ReadOptions) -> Answer {
    let valid =
        |value: Value, repairs: Vec<Repair>| Answer { value: Some(value), repairs, verdict: Verdict::Valid, steps: 0 };
    if let Whole::Value(whole) = read_strict(text) {
        return match calls::of_value(&whole.value) {
            Some((value, repairs)) => valid(value, repairs),
            None => valid(whole.value, whole.repairs),
        };
    }
    if let Some((value, repairs)) = calls::read(text, &options.salvage.of_known()) {
        return valid(value, repairs);
    }
    let Some(mut salvaged) = salvage(text, &options.salvage) else { return Answer::nothing() };
    match calls::of_value(&salvaged.value).filter(|_| salvaged.span.start == 0) {
        Some((value, mut repairs)) => {
            salvaged.repairs.append(&mut repairs);
            valid(value, salvaged.repairs)
        }
        None => valid(salvaged.value, salvaged.repairs),
    }
}

/// States of the search for the cheapest reading that cost as much as a step.
const STATES_PER_STEP: usize = 4;
/// Readings that are built and validated, cheapest first.
const MAX_JUDGED: usize = 4;

fn best(text: &str, schema: &Schema, options: &ReadOptions, budget: &Budget) -> Answer {
    let salvage = options.salvage.of_known();
    // Finding values reads every byte a few times; a budget that is spent here is noticed by the first plan.
    let _ = budget.spend(text.len() / 16);
    let mut page = Page::new(text, &salvage, Some(&schema.shapes));
    let _ = budget.spend(page.states() / STATES_PER_STEP);
    let quoted = page.quoted();
    let mut cheapest: Vec<(Reading<'_>, Coercer<'_>)> = Vec::new();
    let mut main: Option<Cost> = None;
    for mut reading in page.readings(quoted.as_ref(), schema, &salvage) {
        let tree = std::mem::take(&mut reading.tree);
        let mut coercer = Coercer::new(&schema.shapes, tree, reading.text, (options.coerce, stage(options)), budget);
        let coercion = coercer.cost(reading.root);
        reading.cost = match main {
            Some(main) if reading.is_alternative && (main.unmet == 0 || coercion.unmet >= main.unmet) => {
                // Dearer than the reading that it is an alternative to, whatever coercing it takes.
                reading.cost.plus(main)
            }
            _ => reading.cost.plus(coercion),
        };
        if !reading.is_alternative {
            main = Some(coercion);
        }
        // Plans take memory: only those of the cheapest readings are kept, the first of equal ones before the others.
        let place = cheapest.partition_point(|(known, _)| known.cost <= reading.cost);
        if place < MAX_JUDGED {
            cheapest.insert(place, (reading, coercer));
            cheapest.truncate(MAX_JUDGED);
        }
    }
    let mut first = None;
    for (mut reading, mut coercer) in cheapest {
        if !options.salvage.arriving
            && !schema.shapes.aliased
            && let Some(value) = coercer.accepted(reading.root, &schema.judge)
        {
            // What the schema accepts as it was read is not touched.
            reading.tree = coercer.into_tree();
            let repairs = reading.repairs(Vec::new());
            return Answer::checked(value, repairs, Verdict::Valid, schema, budget);
        }
        let (value, coerced) = if options.salvage.arriving {
            match coercer.build_partial(reading.root) {
                Some(value) => (value, Vec::new()),
                None => continue,
            }
        } else {
            coercer.build(reading.root)
        };
        let cost = reading.cost;
        reading.tree = coercer.into_tree();
        let repairs = reading.repairs(coerced);
        if options.salvage.arriving {
            let verdict = if budget.is_exhausted() { Verdict::TooCostly } else { Verdict::Valid };
            return Answer { value: Some(value), repairs, verdict, steps: 0 };
        }
        let mut answer = Answer::judged(value, repairs, schema, budget);
        if schema.shapes.aliased && cost.unmet > 0 && answer.verdict == Verdict::Valid {
            // Names that the model was never shown are not its own.
            answer.verdict = Verdict::Invalid(vec![Fault::unknown_name()]);
        }
        if answer.verdict == Verdict::Valid {
            return answer;
        }
        first = first.or(Some(answer));
    }
    first.unwrap_or_else(Answer::nothing)
}

fn stage(options: &ReadOptions) -> Stage {
    if options.salvage.arriving { Stage::Arriving } else { Stage::Whole }
}
