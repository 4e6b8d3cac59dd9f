//! Inputs that make readers crash or crawl: everything ends, within its steps and its memory. How long it takes is printed by
//! `benches/growth.rs`.

use std::process::Command;

use polywire_answer::{OpenText, Options, ReadOptions, Schema, Stream, Verdict, read_with, salvage};
use serde_json::{Map, Value, json};

use crate::families::{FAMILIES, Family};

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

#[test]
fn hostile_texts_are_read_within_their_steps() {
    let schema = json!({"$ref": "#/$defs/Any", "$defs": {"Any": {"anyOf": [
        {"type": "string"}, {"type": "number"}, {"type": "array", "items": {"$ref": "#/$defs/Any"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Any"}}
    ]}}});
    let schema = Schema::new(&schema).expect("a schema");
    for (name, text) in hostile(32_000) {
        salvage(&text, &Options::default());
        salvage(&text, &Options::partial());
        let answer = read_with(&text, Some(&schema), &ReadOptions::default());
        let start: String = text.chars().take(30).collect();
        assert!(answer.steps <= 60 * 32_000, "{name} {start:?}: {} steps", answer.steps);
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
fn hostile_streams_are_read_to_their_end() {
    for (_, text) in hostile(20_000) {
        let mut stream = Stream::new();
        for chunk in text.as_bytes().chunks(1) {
            stream.push(&String::from_utf8_lossy(chunk));
            stream.events();
        }
        drop(stream.value(OpenText::Show));
    }
}

/// The steps that a family takes at a size, and whether they were enough.
fn steps(family: &Family, size: usize) -> (u64, bool) {
    let (schema, text) = family.1(size);
    let schema = Schema::new(&schema).expect("a schema");
    let answer = read_with(&text, Some(&schema), &ReadOptions::default());
    (answer.steps, answer.verdict != Verdict::TooCostly)
}

#[test]
fn the_steps_of_every_family_are_bounded() {
    for family in FAMILIES {
        let (small, _) = steps(family, 10_000);
        let (large, is_judged) = steps(family, 40_000);
        // Where schema and text both grow, the product is bounded by the budget; alone, each grows the steps by as much.
        let limit = 8_000_000 + 100 * 40_000;
        assert!(large <= limit, "{}: {small} then {large}", family.0);
        assert!(!is_judged || large <= 17 * small.max(2_000), "{}: {small} then {large}", family.0);
    }
}

#[test]
fn doubling_schemas_are_judged_and_not_cut_off() {
    let doubling = FAMILIES.iter().filter(|family| family.0.contains("twice") || family.0.contains("recurs"));
    for family in doubling {
        let (small, first) = steps(family, 25_000);
        let (large, second) = steps(family, 50_000);
        assert!(first && second && large < 3 * small.max(2_000), "{}: {small} then {large}", family.0);
    }
}

#[test]
fn deep_schemas_are_judged_or_refused_by_name() {
    // `json!` would copy the inner schema by recursion, which needs more stack than judging it.
    let all_of = |inner: Value| Value::Object(Map::from_iter([("allOf".to_owned(), Value::Array(vec![inner]))]));
    let nested = |depth: usize| (0..depth).fold(json!({"type": "integer"}), |inner, _| all_of(inner));
    let schema = Schema::new(&nested(200)).expect("a schema");
    assert_eq!(read_with("1", Some(&schema), &ReadOptions::default()).verdict, Verdict::Valid);
    let refused = Schema::new(&nested(1_000)).expect_err("a refusal");
    assert_eq!(refused.to_string(), "the schema is nested more than 512 levels deep");
}

#[test]
fn a_spent_budget_is_never_a_valid_value() {
    let schema = Schema::new(&json!({"type": "array", "items": {"type": "integer"}})).expect("a schema");
    for text in ["[1, 2, 3]", "['1', '2', 3]", "Sure: [1, 2, 3]"] {
        let whole = read_with(text, Some(&schema), &ReadOptions::default());
        assert_eq!(whole.verdict, Verdict::Valid);
        for steps in 0..whole.steps {
            let options = ReadOptions::default().with_max_steps(steps);
            assert_eq!(read_with(text, Some(&schema), &options).verdict, Verdict::TooCostly, "{text} in {steps} steps");
        }
    }
}

/// The name of the family whose memory is measured in a process of its own.
const MEASURED: &str = "POLYWIRE_MEASURED_FAMILY";

/// Does nothing unless [`no_family_takes_much_memory`] starts it.
#[test]
fn one_family_for_its_memory() {
    let Some(name) = std::env::var_os(MEASURED) else { return };
    let family = FAMILIES.iter().find(|family| family.0 == name).expect("a family");
    steps(family, 100_000);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default());
}

#[test]
fn no_family_takes_much_memory() {
    let program = std::env::current_exe().expect("this program");
    for (name, _) in FAMILIES {
        let mut run = Command::new(&program);
        run.args(["--exact", "hostile::one_family_for_its_memory", "--nocapture"]).env(MEASURED, name);
        let output = run.output().expect("a run");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.trim().strip_prefix("VmHWM:"));
        let kilobytes: Option<u64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        // Only Linux says how much it was.
        assert!(kilobytes.is_none_or(|kilobytes| kilobytes < 300 * 1024), "{name}: {kilobytes:?} kB");
    }
}
