//! What a fit costs, from text to text, beside parsing the same text into a `serde_json` value and printing it again: over a
//! corpus, for the schema that takes the longest beside its own parsing, by size, and for many references to one definition.
//! `cargo bench -p polywire-schema` first prints the ratios that matter, then every figure.
//!
//! What does not depend on how busy a machine is, instructions and memory, is told by the benchmark `cost`.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark fails loudly and prints what it finds"
)]

mod material;

use std::fmt;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::BytesCount;
use polywire_schema::{Dialect, FitOptions, fit_text};
use serde_json::{Map, Value, json};

use material::{MAIN, made_up, named};

/// From 1 KB to 10 MB.
const SIZES: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

static CORPUS: LazyLock<Vec<String>> = LazyLock::new(material::corpus);

/// Every real schema, and those that are made up.
static EVERY: LazyLock<Vec<String>> = LazyLock::new(|| [material::corpus(), material::shared_schemas(1)].concat());

fn main() {
    print_ratios();
    divan::main();
}

/// How many times the cost of `serde_json` each main dialect takes over the whole corpus, the best of several rounds, and at most
/// for one schema, beside parsing it.
fn print_ratios() {
    let bytes: usize = CORPUS.iter().map(String::len).sum();
    println!("{} schemas, {:.1} KB each on average", CORPUS.len(), bytes as f64 / CORPUS.len() as f64 / 1e3);
    let plain = best(parse_and_print_all);
    println!("{:18} {:8.1} MB/s", "serde_json", bytes as f64 / plain.as_secs_f64() / 1e6);
    for id in MAIN {
        let target = named(id);
        let time = best(|| fit_all(target));
        let ratio = time.as_secs_f64() / plain.as_secs_f64();
        let worst = worst(target);
        println!("{id:18} {:8.1} MB/s {ratio:6.2} times, at most {worst:4.0}", bytes as f64 / time.as_secs_f64() / 1e6);
    }
}

/// How many times its own parsing the slowest fit of one schema takes, over all schemas there are.
fn worst(target: &Dialect) -> f64 {
    let ratios = EVERY.iter().map(|text| {
        let parsing = best(|| drop(black_box(serde_json::from_str::<Value>(text))));
        best(|| drop(black_box(fit_text(text, target, &FitOptions::default())))).as_secs_f64() / parsing.as_secs_f64()
    });
    ratios.fold(0.0, f64::max)
}

fn best(work: impl Fn()) -> Duration {
    let rounds = (0..7).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    rounds.min().unwrap_or_default()
}

#[divan::bench(max_time = 3)]
fn corpus_serde_json(bencher: Bencher<'_, '_>) {
    let bytes = CORPUS.iter().map(String::len).sum::<usize>();
    bencher.counter(BytesCount::new(bytes)).bench(parse_and_print_all);
}

#[divan::bench(args = MAIN, max_time = 3)]
fn corpus_fit(bencher: Bencher<'_, '_>, id: &str) {
    let bytes = CORPUS.iter().map(String::len).sum::<usize>();
    let target = named(id);
    bencher.counter(BytesCount::new(bytes)).bench(|| fit_all(target));
}

#[divan::bench(args = SIZES, max_time = 2)]
fn growth_serde_json(bencher: Bencher<'_, '_>, size: usize) {
    let text = made_up(size).to_string();
    bencher.counter(BytesCount::new(text.len())).bench(|| parse_and_print(&text));
}

#[divan::bench(args = growths(), max_time = 2)]
fn growth_fit(bencher: Bencher<'_, '_>, growth: &Growth) {
    let text = made_up(growth.size).to_string();
    bencher.counter(BytesCount::new(text.len())).bench(|| fit_one(&text, named(growth.id)));
}

/// One dialect and one size.
struct Growth {
    id: &'static str,
    size: usize,
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.size)
    }
}

/// The dialects that rewrite most, and one that rewrites little, by size.
fn growths() -> impl Iterator<Item = Growth> {
    let ids = ["openai-strict", "gemini-openapi", "cca", "anthropic-strict", "openai"];
    ids.into_iter().flat_map(|id| SIZES.map(|size| Growth { id, size }))
}

#[divan::bench(args = MAIN, max_time = 2)]
fn ten_thousand_references(bencher: Bencher<'_, '_>, id: &str) {
    let text = references(10_000).to_string();
    let target = named(id);
    bencher.counter(BytesCount::new(text.len())).bench(|| fit_one(&text, target));
}

#[divan::bench(args = [100, 1_000, 10_000, 100_000], max_time = 2)]
fn references_fit(bencher: Bencher<'_, '_>, count: usize) {
    let text = references(count).to_string();
    let target = named("openai-strict");
    bencher.counter(BytesCount::new(text.len())).bench(|| fit_one(&text, target));
}

fn parse_and_print_all() {
    CORPUS.iter().for_each(|text| parse_and_print(text));
}

fn parse_and_print(text: &str) {
    let value: Value = serde_json::from_str(black_box(text)).expect("JSON");
    black_box(value.to_string());
}

fn fit_all(target: &Dialect) {
    CORPUS.iter().for_each(|text| fit_one(text, target));
}

fn fit_one(text: &str, target: &Dialect) {
    black_box(fit_text(black_box(text), target, &FitOptions::default()).expect("a fit"));
}

/// An object with so many references to one definition.
fn references(count: usize) -> Value {
    let properties: Map<String, Value> =
        (0..count).map(|index| (format!("field_{index}"), json!({"$ref": "#/$defs/Shared"}))).collect();
    json!({
        "type": "object",
        "properties": properties,
        "$defs": {"Shared": {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}, "b": {"type": "integer"}}}}
    })
}
