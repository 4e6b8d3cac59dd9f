//! A batch that is killed goes on where it was, and every line is answered exactly once.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::process::{Scratch, output, polywire, text, told};

const TOWN: &str = r#"{"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer", "minimum": 1}},
    "required": ["name", "size"]}"#;

fn prompts(count: usize) -> String {
    let prompt = |number| json!({"id": format!("town-{number}"), "prompt": format!("Town {number}")}).to_string();
    (1..=count).map(prompt).collect::<Vec<_>>().join("\n")
}

/// How many whole lines there are.
fn lines(path: &Path) -> usize {
    let text = String::from_utf8(fs::read(path).unwrap_or_default()).unwrap_or_default();
    text.matches('\n').count()
}

fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// A number below a bound, another one each time.
fn dice(bound: u64) -> u64 {
    RandomState::new().hash_one(bound) % bound
}

/// Issue 6: killed at random points 20 times, output exactly once per input line.
#[test]
fn killed_twenty_times_every_line_is_answered_once() {
    const LINES: usize = 1200;
    let scratch = Scratch::new("killed");
    let (input, schema) = (scratch.file("in.jsonl", &prompts(LINES)), scratch.file("schema.json", TOWN));
    let out = scratch.path("out.jsonl");
    let line =
        ["batch", text(&input), text(&out), "--model", "emulator/openai", "--schema", text(&schema), "--jobs", "8"];
    let mut killed_at = Vec::new();
    for _ in 0..20 {
        let mut child = polywire(&line).spawn().expect("a process");
        let (before, began) = (lines(&out), Instant::now());
        let goal = before + usize::try_from(dice(15)).unwrap_or(1);
        while lines(&out) < goal {
            assert!(began.elapsed() < Duration::from_mins(1), "no progress after {before} lines");
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(dice(5000)));
        child.kill().expect("a process to kill");
        let status = child.wait().expect("an end");
        assert_eq!(status.code(), None, "it was killed, it did not end");
        killed_at.push(lines(&out));
    }
    assert!(killed_at.last().is_some_and(|done| *done > 0 && *done < LINES), "{killed_at:?}");
    told(&output(&line), 0);
    let records = records(&out);
    let numbers: BTreeSet<u64> = records.iter().filter_map(|record| record["line"].as_u64()).collect();
    assert_eq!(records.len(), LINES, "killed at {killed_at:?}");
    assert_eq!(numbers, (1..=LINES as u64).collect());
    for record in &records {
        assert_eq!(record["id"], json!(format!("town-{}", record["line"])));
        assert!(record["value"]["size"].as_i64().is_some_and(|size| size >= 1), "{record}");
    }
    assert!(!scratch.path("out.jsonl.failed").exists());
    let again = told(&output(&line), 0);
    assert!(again.contains(&format!("0 values written, {LINES} already there")), "{again}");
}

#[test]
fn failures_go_to_the_side_file_and_are_tried_again() {
    let scratch = Scratch::new("failures");
    let input = scratch.file("in.jsonl", "\"One\"\nnot json\n\n{\"prompt\": \"Two\", \"id\": 7}\n[]\n");
    let schema = scratch.file("schema.json", TOWN);
    let out = scratch.path("out.jsonl");
    let line = |model: &'static str| {
        output(&["batch", text(&input), text(&out), "--model", model, "--schema", text(&schema), "--jobs", "1"])
    };
    let all = told(&line("emulator/openai+refusal"), 1);
    assert!(all.contains("0 values written, 4 lines failed"), "{all}");
    let some = told(&line("emulator/openai"), 1);
    assert!(some.contains("2 values written, 2 lines failed"), "{some}");
    let failed = records(&scratch.path("out.jsonl.failed"));
    let numbers: Vec<_> = failed.iter().map(|record| record["line"].clone()).collect();
    assert_eq!(numbers, [2, 5]);
    let written = records(&out);
    let lines: Vec<_> = written.iter().map(|record| (record["line"].clone(), record["id"].clone())).collect();
    assert_eq!(lines, [(json!(1), Value::Null), (json!(4), json!(7))]);
}

/// A provider that asks to wait is waited for by all, and no line is lost by it.
#[test]
fn a_rate_limit_slows_all_jobs() {
    let scratch = Scratch::new("limited");
    let (input, schema) = (scratch.file("in.jsonl", &prompts(6)), scratch.file("schema.json", TOWN));
    let out = scratch.path("out.jsonl");
    let model = "emulator/anthropic+429-1";
    let began = Instant::now();
    let line =
        ["batch", text(&input), text(&out), "--model", model, "--schema", text(&schema), "--jobs", "6", "--json"];
    let summary: Value = serde_json::from_str(&told(&output(&line), 0)).expect("JSON");
    assert_eq!(summary, json!({"values": 6, "failed": 0, "before": 0}));
    assert!(began.elapsed() >= Duration::from_secs(1), "the wait is a second");
}

#[test]
fn an_output_of_another_input_is_refused() {
    let scratch = Scratch::new("foreign");
    let (one, schema) = (scratch.file("one.jsonl", "\"One\"\n"), scratch.file("schema.json", TOWN));
    let other = scratch.file("other.jsonl", "\"Other\"\n");
    let out = scratch.path("out.jsonl");
    let batch =
        |input| output(&["batch", text(input), text(&out), "--model", "emulator/google", "--schema", text(&schema)]);
    told(&batch(&one), 0);
    let error = told(&batch(&other), 2);
    assert!(error.contains("the output has a value for a different line 1"), "{error}");
    let strange = scratch.file("strange.jsonl", "{\"what\": 1}\n");
    let error = told(&output(&["batch", text(&one), text(&strange), "--model", "emulator/google"]), 2);
    assert!(error.contains("line 1 is not a line of batch output"), "{error}");
}

#[test]
fn without_a_key_nothing_is_tried_line_by_line() {
    let scratch = Scratch::new("keyless");
    let input = scratch.file("in.jsonl", &prompts(3));
    let error = told(&output(&["batch", text(&input), text(&scratch.path("out.jsonl")), "--model", "openai/gpt-5"]), 2);
    assert!(error.contains("set OPENAI_API_KEY") && error.contains("emulator/openai"), "{error}");
    assert!(!scratch.path("out.jsonl.failed").exists());
}
