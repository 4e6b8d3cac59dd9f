//! How fast texts are read, beside `serde_json` on the same document: `cargo bench -p polywire-answer`.
//!
//! After the single figures comes one table of ratios, each the best of several rounds in this run.

#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a benchmark prints its figures and stops at the first fault"
)]

use std::time::{Duration, Instant};

use polywire_answer::{OpenText, Options, ReadOptions, Schema, Stream, read_with, salvage};
use serde_json::{Value, json};

fn main() {
    divan::main();
    let filtered = std::env::args().skip(1).any(|argument| !argument.starts_with("--"));
    if !filtered {
        ratios();
    }
}

/// A document of about a length: records with texts, numbers and lists.
fn document(length: usize) -> String {
    let record = |index: usize| {
        json!({
            "id": index, "name": format!("Record number {index}"), "score": 0.5 + index as f64, "active": index.is_multiple_of(2),
            "tags": ["alpha", "beta", "gamma, delta"], "note": "A sentence with \"quotes\", commas: and\nline breaks.",
            "nested": {"a": [1, 2, 3], "b": null}
        })
    };
    let size = record(1000).to_string().len() + 1;
    Value::Array((0..length / size).map(record).collect()).to_string()
}

fn strict(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn fenced(text: &str) -> String {
    format!("Here is what you asked for, as agreed:\n\n```json\n{text}\n```\nAnything else?")
}

fn truncated(text: &str) -> &str {
    text.get(..text.len() - 7).unwrap_or_default()
}

fn stream(text: &str, chunk: usize) -> usize {
    let mut stream = Stream::new();
    let mut told = 0;
    for chunk in text.as_bytes().chunks(chunk) {
        stream.push(std::str::from_utf8(chunk).expect("ASCII"));
        told += stream.events().len();
    }
    told
}

#[divan::bench]
fn serde_json_1mb(bencher: divan::Bencher<'_, '_>) {
    let text = document(1 << 20);
    bencher.bench_local(|| strict(&text));
}

#[divan::bench]
fn valid_1mb(bencher: divan::Bencher<'_, '_>) {
    let text = document(1 << 20);
    bencher.bench_local(|| salvage(&text, &Options::default()));
}

#[divan::bench]
fn fenced_1mb(bencher: divan::Bencher<'_, '_>) {
    let text = fenced(&document(1 << 20));
    bencher.bench_local(|| salvage(&text, &Options::default()));
}

#[divan::bench]
fn truncated_1mb(bencher: divan::Bencher<'_, '_>) {
    let text = document(1 << 20);
    bencher.bench_local(|| salvage(truncated(&text), &Options::default()));
}

#[divan::bench(args = [100_000, 1_000_000])]
fn stream_by_16_bytes(bencher: divan::Bencher<'_, '_>, length: usize) {
    let text = document(length);
    bencher.bench_local(|| stream(&text, 16));
}

/// The best time of several rounds.
fn best<T>(work: impl Fn() -> T) -> Duration {
    let round = |_| {
        let start = Instant::now();
        drop(std::hint::black_box(work()));
        start.elapsed()
    };
    (0..15).map(round).min().unwrap_or_default()
}

fn ratios() {
    let text = document(1 << 20);
    let small = document(100 * 1024);
    let (fenced, single) = (fenced(&text), text.replace('"', "'"));
    let schema = json!({"type": "array", "items": {"type": "object", "properties": {
        "id": {"type": "string"}, "name": {"type": "string"}, "score": {"type": "number"}}}});
    let schema = Schema::new(&schema).expect("a schema");
    let base = best(|| strict(&text));
    println!("\nspeed against serde_json on the same megabyte ({base:?}); 1.0 is as fast");
    let row = |name: &str, asked: &str, time: Duration| {
        println!("{name:38} {:5.2}  asked {asked}", base.as_secs_f64() / time.as_secs_f64());
    };
    row("valid JSON", ">= 0.8", best(|| salvage(&text, &Options::default())));
    row("prose and fence around", ">= 0.3", best(|| salvage(&fenced, &Options::default())));
    row("truncated", ">= 0.3", best(|| salvage(truncated(&text), &Options::default())));
    row("single quotes throughout", "-", best(|| salvage(&single, &Options::default())));
    row("coerced by schema", "-", best(|| read_with(&text, Some(&schema), &ReadOptions::default())));
    let streamed = best(|| stream(&text, 16));
    let once = best(|| {
        let mut stream = Stream::new();
        stream.push(&text);
        stream.value(OpenText::Hide)
    });
    let tenth = best(|| stream(&small, 16));
    println!("\nstream of 16-byte chunks, changes asked after each: {streamed:?}");
    println!("{:38} {:5.2}  asked <= 5", "times one parse by serde_json", streamed.as_secs_f64() / base.as_secs_f64());
    println!("{:38} {:5.2}  asked <= 5", "times one parse by the stream", streamed.as_secs_f64() / once.as_secs_f64());
    let growth = (streamed.as_secs_f64() / tenth.as_secs_f64()).ln() / (text.len() as f64 / small.len() as f64).ln();
    println!("{:38} {growth:5.2}  asked about 1", "exponent from 100 KB to 1 MB");
}
