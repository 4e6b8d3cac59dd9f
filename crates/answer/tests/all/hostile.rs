//! Inputs that make readers crash or crawl: everything ends, and twice the input takes about twice the time.

use std::time::{Duration, Instant};

use polywire_answer::{OpenText, Options, ReadOptions, Schema, Stream, read_with, salvage};
use serde_json::{Value, json};

/// Texts of about a length, each of a kind that costs some reader dearly.
fn hostile(length: usize) -> Vec<(&'static str, String)> {
    let units = [
        ("open brackets", "["),
        ("open objects", "{\"a\":"),
        ("quotes", "\""),
        ("single quotes", "'"),
        ("inner quotes", "a \"b\" c, "),
        ("missing end quotes", "\"a, \"b, "),
        ("quotes behind commas", "x,\"y z,"),
        ("braces in prose", "use {x} and [y] or {z: "),
        ("closed objects", "{\"a\": 1} "),
        ("comments", "/* "),
        ("hash comments", "# a\n"),
        ("fences", "```json\n{\n```\n"),
        ("backslashes", "\\"),
        ("escaped quotes", "\\\""),
        ("commas", ","),
        ("colons", "a:"),
        ("line breaks", "\n"),
        ("words", "word "),
        ("think tags", "<think>"),
        ("parentheses", "("),
        ("typographic quotes", "“a”"),
        ("plus signs", "\"a\" + "),
        ("ellipses", "..., "),
        ("slashes", "/a"),
        ("parameters", "<parameter=a>"),
        ("digits", "1,000"),
    ];
    let mut texts = Vec::new();
    for (name, unit) in units {
        let many = unit.repeat(length / unit.len());
        texts.push((name, many.clone()));
        texts.push((name, format!("{{\"a\": \"{many}")));
        texts.push((name, format!("[\"{many}]")));
        texts.push((name, format!("{{a: {many}}}")));
        texts.push((name, format!("[{many}]")));
    }
    texts
}

/// The best of three runs: others use the machine, too.
fn time(work: impl Fn()) -> Duration {
    let run = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..3).map(run).min().unwrap_or_default()
}

#[test]
fn hostile_texts_are_read_in_linear_time() {
    let schema = json!({"$ref": "#/$defs/Any", "$defs": {"Any": {"anyOf": [
        {"type": "string"}, {"type": "number"}, {"type": "array", "items": {"$ref": "#/$defs/Any"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Any"}}
    ]}}});
    let schema = Schema::new(&schema).expect("a schema");
    for (small, large) in hostile(4_000).into_iter().zip(hostile(32_000)) {
        let read = |text: &str| {
            salvage(text, &Options::default());
            salvage(text, &Options::partial());
            read_with(text, Some(&schema), &ReadOptions::default());
        };
        let slow = time(|| read(&large.1));
        // Eight times the text takes about eight times the time, more when caches overflow; quadratic would be 64 times.
        if slow > Duration::from_millis(100) {
            let quick = time(|| read(&small.1)).max(Duration::from_millis(1));
            let ratio = slow.as_secs_f64() / quick.as_secs_f64();
            let start: String = large.1.chars().take(30).collect();
            assert!(ratio < 30.0, "{} {start:?}: {quick:?} then {slow:?}", large.0);
        }
    }
}

#[test]
fn depth_and_length_overflow_nothing() {
    assert_eq!(salvage(&"[".repeat(100_000), &Options::default()), None);
    assert_eq!(salvage(&"{\"a\":".repeat(100_000), &Options::default()), None);
    let valid = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(salvage(&valid, &Options::default()), None);
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let salvaged = salvage(&deep, &Options::default()).expect("a value within the limit");
    assert_eq!(salvaged.value.to_string(), deep);
    salvage(&"\"".repeat(10_000_000), &Options::default());
}

#[test]
fn hostile_streams_are_read_in_linear_time() {
    for (name, text) in hostile(40_000) {
        let start = Instant::now();
        let mut stream = Stream::new();
        for chunk in text.as_bytes().chunks(64) {
            stream.push(&String::from_utf8_lossy(chunk));
            stream.events();
        }
        let value: Option<Value> = stream.value(OpenText::Show);
        drop(value);
        assert!(start.elapsed() < Duration::from_secs(5), "{name}: {:?}", start.elapsed());
    }
}
