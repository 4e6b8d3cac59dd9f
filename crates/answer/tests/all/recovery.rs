//! Broken texts of real instances, and how many of them are read exactly. Shared by the tests and `benches/recover.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use flate2::read::GzDecoder;
use polywire_answer::{ReadOptions, Schema, read_with};
use polywire_testkit::faults::{Broken, Extent, Fault, break_value};
use serde_json::{Value, json};

/// A schema and a value that it accepts.
pub(crate) struct Instance {
    schema: Value,
    value: Value,
}

/// A broken text.
pub(crate) struct Case {
    /// The set that it is counted in: a fault alone, several, or cut.
    pub(crate) set: String,
    pub(crate) broken: Broken,
    pub(crate) schema: Value,
    pub(crate) compiled: Arc<Schema>,
    /// With what it can be decided what was meant.
    decidable: Vec<Guide>,
}

/// Bytes of the values that are broken.
const SIZES: std::ops::Range<usize> = 30..3_000;

/// The instances of every so many lines of the shared corpus, or those of the repository where it is missing.
pub(crate) fn instances(step: usize) -> Vec<Instance> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = root.join("../../../shared/corpus/schemas.jsonl.gz");
    let Ok(file) = fs::File::open(shared) else {
        let own = own_instances(&root.join("../../corpus/answer"));
        assert!(!own.is_empty(), "there are no instances");
        return own;
    };
    let mut instances = Vec::new();
    for line in BufReader::new(GzDecoder::new(file)).lines().step_by(step) {
        let line: Value = serde_json::from_str(&line.expect("a line")).expect("a schema and its tests");
        let (Some(schema), Some(tests)) = (line.get("schema"), line.get("tests").and_then(Value::as_array)) else {
            continue;
        };
        let valid =
            tests.iter().filter(|test| test.get("valid") == Some(&json!(true))).filter_map(|test| test.get("data"));
        let fitting = valid.filter(|value| is_fitting(value)).take(2);
        instances.extend(fitting.map(|value| Instance { schema: schema.clone(), value: value.clone() }));
    }
    instances
}

fn own_instances(folder: &Path) -> Vec<Instance> {
    let files = fs::read_dir(folder).expect("the folder of cases");
    let texts = files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("a file of cases"));
    let lines: Vec<Value> = texts
        .flat_map(|text| text.lines().map(|line| serde_json::from_str(line).expect("a case")).collect::<Vec<_>>())
        .collect();
    let valued = lines.iter().filter(|case| case.get("value").is_some_and(is_fitting));
    valued
        .map(|case| Instance {
            schema: case.get("schema").cloned().unwrap_or(json!({})),
            value: case.get("value").cloned().unwrap_or_default(),
        })
        .collect()
}

fn is_fitting(value: &Value) -> bool {
    (value.is_object() || value.is_array()) && SIZES.contains(&value.to_string().len())
}

/// How many cases of each set are made.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) single: usize,
    pub(crate) several: usize,
    pub(crate) cut: usize,
}

/// Cases of a seed.
pub(crate) fn cases(instances: &[Instance], counts: Counts, seed: u64) -> Vec<Case> {
    let mut maker = Maker {
        instances,
        seed: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        schemas: BTreeMap::new(),
        cases: Vec::new(),
    };
    for fault in Fault::ALL {
        maker.fill(fault.name(), counts.single, Extent::Whole, |_| vec![*fault]);
    }
    for count in 1..=3 {
        maker.fill(&format!("{count} at once"), counts.several / 3, Extent::Whole, |seed| Fault::pick(count, seed));
    }
    for count in 0..=2 {
        maker.fill(&format!("cut, {count} more"), counts.cut / 3, Extent::Cut, |seed| Fault::pick(count, seed));
    }
    maker.cases
}

struct Maker<'i> {
    instances: &'i [Instance],
    seed: u64,
    schemas: BTreeMap<usize, Option<Arc<Schema>>>,
    cases: Vec<Case>,
}

impl Maker<'_> {
    fn fill(&mut self, set: &str, count: usize, extent: Extent, faults: impl Fn(u64) -> Vec<Fault>) {
        let mut made = 0;
        for _ in 0..count * 40 {
            if made == count {
                return;
            }
            self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let seed = self.seed ^ (self.seed >> 29);
            let index = usize::try_from(seed >> 8).unwrap_or(0) % self.instances.len();
            let Some(instance) = self.instances.get(index) else { continue };
            let Some(broken) = break_value(&instance.value, &faults(seed), extent, seed) else { continue };
            let compiled =
                self.schemas.entry(index).or_insert_with(|| Schema::new(&instance.schema).ok().map(Arc::new));
            let Some(compiled) = compiled.clone() else { continue };
            let accepts = |value: &Value| {
                read_with(&value.to_string(), Some(&compiled), &ReadOptions::default()).repairs.is_empty()
                    && polywire_answer::validate(value, &instance.schema).is_ok_and(|faults| faults.is_empty())
            };
            // A cut value may lack what the schema requires.
            let judged = accepts(&broken.value);
            // A string that the schema accepts is what it is.
            let is_string = serde_json::from_str::<Value>(&broken.text).is_ok_and(|value| accepts(&value));
            if is_string || broken.is_other_json() || (extent == Extent::Whole && !judged) {
                continue;
            }
            let without = !broken.needs_schema && broken.rivals.is_empty();
            let with = judged && !broken.rivals.iter().any(accepts);
            if without || with {
                made += 1;
                self.cases.push(Case {
                    set: set.to_owned(),
                    broken,
                    schema: instance.schema.clone(),
                    compiled,
                    decidable: [(Guide::None, without), (Guide::Schema, with)]
                        .into_iter()
                        .filter(|(_, is_decidable)| *is_decidable)
                        .map(|(guide, _)| guide)
                        .collect(),
                });
            }
        }
    }
}

/// Whether a schema is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guide {
    None,
    Schema,
}

impl Case {
    pub(crate) fn is_decidable(&self, guide: Guide) -> bool {
        self.decidable.contains(&guide)
    }

    /// What our reader makes of the text.
    pub(crate) fn read(&self, guide: Guide) -> Option<Value> {
        let schema = (guide == Guide::Schema).then_some(&*self.compiled);
        read_with(&self.broken.text, schema, &ReadOptions::default()).value
    }

    pub(crate) fn is_recovered(&self, got: Option<&Value>) -> bool {
        got.is_some_and(|got| same(got, &self.broken.value))
    }
}

/// Numbers by value, keys in any order.
pub(crate) fn same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || one.as_f64() == two.as_f64(),
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
        }
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len() && one.iter().all(|(key, one)| two.get(key).is_some_and(|two| same(one, two)))
        }
        _ => one == two,
    }
}

/// Recovered and decidable cases.
#[derive(Clone, Copy, Default)]
pub(crate) struct Score {
    pub(crate) recovered: usize,
    pub(crate) of: usize,
}

impl Score {
    pub(crate) fn add(&mut self, recovered: bool) {
        self.recovered += usize::from(recovered);
        self.of += 1;
    }

    pub(crate) fn percent(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts of cases are small")]
        let (recovered, of) = (self.recovered as f64, self.of.max(1) as f64);
        recovered * 100.0 / of
    }
}
