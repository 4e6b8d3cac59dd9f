//! Our own cases: what must come out of a text, and why.

use std::fs;
use std::path::Path;

use polywire_answer::{Options, ReadOptions, RepairKind, Schema, read_with};
use serde_json::{Value, json};

#[test]
fn our_cases_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/answer");
    let mut count = 0;
    let mut faults: Vec<String> = Vec::new();
    for file in fs::read_dir(folder).expect("the folder of cases") {
        let path = file.expect("a file").path();
        for line in fs::read_to_string(&path).expect("a file of cases").lines() {
            let case: Value = serde_json::from_str(line).expect("a case");
            faults.extend(check(&case));
            count += 1;
        }
    }
    assert!(count >= 100, "{count} cases");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn values_beyond_those_that_are_looked_at_are_on_record() {
    let text = "{\"a\": 1}\n".repeat(70);
    let unread = |schema: Option<Value>| {
        let schema = schema.map(|schema| Schema::new(&schema).expect("a schema"));
        let answer = read_with(&text, schema.as_ref(), &ReadOptions::default());
        let lost = answer.repairs.iter().filter(|repair| repair.kind == RepairKind::OtherValue);
        (answer.value.expect("a value"), lost.filter_map(|repair| repair.span.clone()).collect::<Vec<_>>())
    };
    let rest = 64 * 9..text.len();
    for list in [None, Some(json!({"type": "array", "items": {"type": "object"}}))] {
        assert_eq!(unread(list), (json!(vec![json!({"a": 1}); 64]), vec![rest.clone()]));
    }
    let (value, lost) = unread(Some(json!({"type": "object"})));
    assert_eq!((value, lost.len(), lost.last()), (json!({"a": 1}), 64, Some(&rest)));
}

/// What is wrong with the answer to a case.
fn check(case: &Value) -> Option<String> {
    let schema = case.get("schema").map(|schema| Schema::new(schema).expect("a schema"));
    let salvage = if case.get("arriving") == Some(&json!(true)) { Options::partial() } else { Options::default() };
    let text = case["text"].as_str().expect("a text");
    let answer = read_with(text, schema.as_ref(), &ReadOptions::default().with_salvage(salvage));
    let kinds: Vec<&str> = answer.repairs.iter().map(|repair| repair.kind.name()).collect();
    let mut wanted = case.get("repairs").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let all = case.get("all_repairs").is_none_or(|all| *all == json!(kinds));
    let exact = case.get("exact") != Some(&json!(true)) || kinds.is_empty();
    let fine = answer.valid() == case.get("value") && wanted.all(|kind| kinds.contains(&kind)) && all && exact;
    (!fine).then(|| format!("{case}\n   got {:?} {kinds:?}", answer.valid().map(Value::to_string)))
}
