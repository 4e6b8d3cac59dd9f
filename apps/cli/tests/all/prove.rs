//! `--prove` from outside: what is counted, and that a proof that takes too long is ended.

use serde_json::Value;

use crate::process::{Scratch, output, text, told};

/// One schema that stays equal, one that is closed, one in a draft that nobody proves.
const CORPUS: &str = r#"{"name": "equal", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}}
{"name": "narrower", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
{"name": "undecided", "schema": {"$schema": "http://json-schema.org/draft-03/schema#", "type": "object", "properties": {"a": {"type": "integer", "required": true}}}}
"#;

#[test]
fn undecided_proofs_are_counted_by_reason() {
    let scratch = Scratch::new("prove");
    let (corpus, emitted) = (scratch.file("corpus.jsonl", CORPUS), scratch.path("emitted.jsonl"));
    let audit = ["audit", text(&corpus), "--to", "openai-strict", "--prove", "--proof-timeout", "60"];
    let table = told(&output(&audit), 0);
    assert!(table.contains("1 equal, 0 wider, 1 narrower, 0 neither, 1 undecided; 0 against the record"), "{table}");
    assert!(table.contains("openai-strict, undecided by reason: 1 draft"), "{table}");

    let more = [&audit[..], &["--json", "--emit", text(&emitted)]].concat();
    let json: Value = serde_json::from_str(&told(&output(&more), 0)).expect("JSON");
    assert_eq!(json["targets"][0]["proofs"]["reasons"]["draft"], 1, "{json}");
    let lines = std::fs::read_to_string(emitted).expect("a file");
    let last: Value = serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["proof"]["undecided"]["reason"], "draft", "{last}");
}

#[test]
fn a_proof_that_takes_too_long_is_ended() {
    let scratch = Scratch::new("patience");
    let corpus = scratch.file("corpus.jsonl", CORPUS);
    let audit = ["audit", text(&corpus), "--to", "openai-strict", "--prove", "--patience", "0"];
    let table = told(&output(&audit), 0);
    assert!(table.contains("undecided by reason: 3 time"), "{table}");
}

#[test]
fn one_schema_is_proved_with_its_reason() {
    let scratch = Scratch::new("prove-one");
    let schema =
        scratch.file("schema.json", r#"{"$schema": "http://json-schema.org/draft-03/schema#", "type": "object"}"#);
    let told = told(&output(&["fit", text(&schema), "--to", "openai-strict", "--prove", "--proof-timeout", "60"]), 0);
    assert!(told.contains("not decided (draft: draft 3)"), "{told}");
}
