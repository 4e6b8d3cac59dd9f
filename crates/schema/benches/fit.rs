//! What a fit costs, from text to text, beside parsing the same text into a `serde_json` value and printing it again: over a
//! corpus, by size, and for many references to one definition. `cargo bench -p polywire-schema` first prints the ratios that
//! matter, then every figure.
//!
//! The corpus is made up here, and every tenth real schema is added where `../shared` is beside the repository.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark fails loudly and prints what it finds"
)]

use std::fmt;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::BytesCount;
use flate2::read::MultiGzDecoder;
use polywire_schema::{Dialect, FitOptions, dialect, fit_text};
use serde_json::{Map, Value, json};

const MAIN: [&str; 12] = [
    "anthropic",
    "anthropic-strict",
    "azure-strict",
    "bedrock",
    "cca",
    "gemini",
    "gemini-openapi",
    "mcp",
    "openai",
    "openai-responses",
    "openai-strict",
    "vertex-openapi",
];

/// From 1 KB to 10 MB.
const SIZES: [usize; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

static CORPUS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut corpus: Vec<String> = (0..200).map(|number| made_up(200 + number * 47).to_string()).collect();
    corpus.extend(shared_schemas());
    corpus
});

fn main() {
    print_ratios();
    divan::main();
}

/// How many times the cost of `serde_json` each main dialect takes over the whole corpus: the best of several rounds.
fn print_ratios() {
    let bytes: usize = CORPUS.iter().map(String::len).sum();
    println!("{} schemas, {:.1} KB each on average", CORPUS.len(), bytes as f64 / CORPUS.len() as f64 / 1e3);
    let plain = best(parse_and_print_all);
    println!("{:18} {:8.1} MB/s", "serde_json", bytes as f64 / plain.as_secs_f64() / 1e6);
    for id in MAIN {
        let target = named(id);
        let time = best(|| fit_all(target));
        let ratio = time.as_secs_f64() / plain.as_secs_f64();
        println!("{id:18} {:8.1} MB/s {ratio:6.2} times", bytes as f64 / time.as_secs_f64() / 1e6);
    }
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

fn named(id: &str) -> &'static Dialect {
    dialect(id).expect("a built-in dialect")
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

/// Every tenth schema of the corpus beside the repository.
fn shared_schemas() -> Vec<String> {
    let path = [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "corpus", "schemas.jsonl.gz"];
    let Ok(file) = File::open(path.iter().collect::<PathBuf>()) else { return Vec::new() };
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines().map_while(Result::ok).step_by(10);
    let samples = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
    samples.filter_map(|sample| Some(sample.get("schema")?.to_string())).collect()
}

/// An object schema of about so many bytes, with what real tools have: nested objects, lists, enums, unions, references,
/// descriptions and bounds.
fn made_up(bytes: usize) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut written = 150;
    let mut index = 0;
    while written < bytes {
        let property = kind_of_property(index);
        written += property.to_string().len() + 16;
        let name = format!("field_{index}");
        if index % 3 == 0 {
            required.push(name.clone());
        }
        properties.insert(name, property);
        index += 1;
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "required": required,
        "definitions": {"Money": {
            "type": "object",
            "properties": {"amount": {"type": "number", "minimum": 0}, "currency": {"type": "string", "pattern": "^[A-Z]{3}$"}},
            "required": ["amount", "currency"]
        }}
    })
}

fn kind_of_property(index: usize) -> Value {
    match index % 9 {
        0 => {
            json!({"type": "string", "description": "The name of the thing, as people know it.", "minLength": 1, "maxLength": 200})
        }
        1 => {
            json!({"type": "integer", "description": "How many of them.", "minimum": 0, "maximum": 1_000, "default": 10})
        }
        2 => json!({"$ref": "#/definitions/Money"}),
        3 => {
            json!({"type": "array", "items": {"type": "string", "enum": ["red", "green", "blue", "black"]}, "uniqueItems": true, "minItems": 1})
        }
        4 => json!({"type": "object", "properties": {
            "street": {"type": "string"}, "city": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
            "country": {"type": "string", "const": "CH"}
        }, "required": ["street", "city"], "additionalProperties": false}),
        5 => {
            json!({"oneOf": [{"type": "string", "format": "date-time"}, {"type": "integer"}, {"type": "null"}], "description": "When."})
        }
        6 => json!({"type": ["string", "null"], "format": "uri", "title": "Link"}),
        7 => json!({"type": "array", "items": {"type": "object", "properties": {
            "key": {"type": "string"}, "score": {"type": "number", "exclusiveMinimum": 0}, "flag": {"type": "boolean", "default": false}
        }, "required": ["key"]}}),
        _ => json!({"allOf": [{"$ref": "#/definitions/Money"}, {"description": "What it costs."}]}),
    }
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
