//! The commands as a user types them: what they print and how they end.

use std::fs;
use std::path::PathBuf;

use clap::Parser;
use serde_json::{Value, json};

use super::{Cli, Style, Verdict, run};

const TOOLS: &str = r#"{"tools": [
    {"name": "get.weather", "description": "d", "inputSchema": {
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"},
            "uniqueItems": true}},
        "required": ["tags"]}},
    {"name": "broken", "inputSchema": "{"}
]}"#;

/// A file that goes when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("polywire-{}-{name}", std::process::id()));
        fs::write(&path, text).expect("a writable folder for temporary files");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that is left behind harms nobody.
        let _ = fs::remove_file(&self.0);
    }
}

/// Runs a command line; an error is what the user would read.
fn polywire(line: &[&str]) -> Result<(Verdict, String), String> {
    let cli = Cli::try_parse_from([&["polywire"], line].concat()).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let verdict = run(&cli.command, &mut out, Style::of_stdout()).map_err(|error| format!("{error:#}"))?;
    Ok((verdict, String::from_utf8(out).expect("output in UTF-8")))
}

#[track_caller]
fn fine(line: &[&str]) -> String {
    let (verdict, out) = polywire(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
    assert!(verdict == Verdict::Fine, "{line:?}: {out}");
    out
}

#[track_caller]
fn findings(line: &[&str]) -> String {
    let (verdict, out) = polywire(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
    assert!(verdict == Verdict::Findings, "{line:?}: {out}");
    out
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn fit_prints_the_promised_members_and_no_others() {
    let file = Scratch::new("members.json", r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#);
    let schema = parsed(&fine(&["fit", file.path(), "--to", "openai", "--json"]));
    let members: Vec<&String> = schema.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["target", "schema", "strict", "changes"]);
    let file = Scratch::new("tools.json", TOOLS);
    let tools = parsed(&fine(&["fit", file.path(), "--to", "anthropic", "--json"]));
    let members: Vec<&String> = tools.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["target", "tools", "strict", "changes"]);
    assert_eq!(tools["tools"][0]["name"], json!("get_weather"));
    assert_eq!(tools["tools"][1]["input_schema"]["type"], json!("object"));
    let change = tools["changes"][0].as_object().expect("a change");
    assert_eq!(change.keys().collect::<Vec<_>>(), ["code", "at", "keyword", "action", "effect", "detail"]);
}

#[test]
fn fit_shows_both_sides_and_writes_the_list_alone_when_asked() {
    let file = Scratch::new("both.json", TOOLS);
    let text = fine(&["fit", file.path(), "--to", "openai-strict"]);
    assert!(text.contains("uniqueItems") && text.contains("openai-strict: "), "{text}");
    let list = parsed(&fine(&["fit", file.path(), "--to", "gemini", "--output", "-"]));
    assert_eq!(list[0]["functionDeclarations"][1]["name"], json!("broken"));
}

/// R-E2: the provider's own words, every violation at once, in the forms that a workflow reads.
#[test]
fn check_names_tool_place_code_and_line() {
    let file = Scratch::new("check.json", TOOLS);
    let text = findings(&["check", file.path(), "--for", "openai-strict"]);
    assert!(text.contains("tool `get.weather` /tools/0/inputSchema/properties/tags/uniqueItems"), "{text}");
    assert!(text.contains("rejected by openai-strict, OAI-STRICT-24: "), "{text}");
    let github = findings(&["check", file.path(), "--for", "openai-strict", "--format", "github"]);
    assert!(github.contains(",line=5,title=OAI-STRICT-24 (openai-strict)::tool `get.weather`"), "{github}");
    let sarif = parsed(&findings(&["check", file.path(), "--for", "openai-strict", "--format", "sarif"]));
    assert_eq!(sarif["version"], json!("2.1.0"));
    let listed = parsed(&findings(&["check", file.path(), "--for", "openai-strict,gemini", "--json"]));
    let dialects: Vec<_> =
        listed.as_array().expect("a list").iter().filter_map(|one| one["dialect"].as_str()).collect();
    assert!(dialects.contains(&"openai-strict") && dialects.contains(&"gemini"), "{dialects:?}");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(github.lines().count()));
}

#[test]
fn what_a_provider_ignores_fails_only_on_request() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}}"#;
    let file = Scratch::new("ignored.json", schema);
    fine(&["check", file.path(), "--for", "gemini"]);
    findings(&["check", file.path(), "--for", "gemini", "--fail-on", "ignored"]);
}

#[test]
fn bad_input_says_what_where_and_what_next() {
    let error = polywire(&["fit", "/no/such/file", "--to", "openai"]).err().unwrap_or_default();
    assert!(error.contains("(/no/such/file)\n"), "{error}");
    let file = Scratch::new("broken.json", "{\"type\":");
    let error = polywire(&["fit", file.path(), "--to", "openai"]).err().unwrap_or_default();
    assert!(error.contains(file.path()) && error.contains("expected: one JSON Schema"), "{error}");
    let error = polywire(&["fit", file.path(), "--to", "opnai"]).err().unwrap_or_default();
    assert!(error.contains("did you mean openai"), "{error}");
    let error = polywire(&["explain", "OAI-STRIC-24"]).err().unwrap_or_default();
    assert!(error.contains("near to it: ") && error.contains("OAI-STRICT-24"), "{error}");
}

#[test]
fn explain_and_dialects_read_the_rows() {
    assert!(fine(&["explain", "oai-strict-24"]).contains("`uniqueItems`"));
    assert_eq!(parsed(&fine(&["explain", "OAI-STRICT-24", "--json"]))[0]["rule"]["code"], json!("OAI-STRICT-24"));
    assert!(fine(&["dialects"]).lines().any(|line| line.starts_with("openai-strict")));
    assert_eq!(parsed(&fine(&["dialects", "openai-strict", "--json"]))["strict"], json!(true));
    assert!(fine(&["dialects", "openai-strict"]).contains("OAI-STRICT-24"));
    assert!(fine(&["dialects", "--markdown"]).contains("| `uniqueItems` |"));
}

#[test]
fn a_dialect_may_come_from_a_file() {
    let text = "id = 'acme'\ntitle = 't'\nserves = 's'\nsource = 's'\nchecked-on = '2026-11-15'\nshape = 'anthropic'\n";
    let dialect = Scratch::new("acme.toml", text);
    let file = Scratch::new("own.json", TOOLS);
    let fitted = parsed(&fine(&["fit", file.path(), "--to", dialect.path(), "--json"]));
    assert_eq!(fitted["target"], json!("acme"));
    assert_eq!(fitted["tools"][0]["name"], json!("get.weather"));
}

#[test]
fn audit_tells_of_every_line_in_order() {
    let lines = "{\"name\": \"a\", \"schema\": {\"type\": \"object\", \"properties\": {}}}\n\n{\"name\": \"b\", \"inputSchema\": {\"type\": \"object\"}}\nnonsense\n";
    let corpus = Scratch::new("corpus.jsonl", lines);
    let emit = Scratch::new("emit.jsonl", "");
    let line =
        ["audit", corpus.path(), "--to", "openai", "--to", "mcp", "--emit", emit.path(), "--json", "--jobs", "2"];
    let summary = parsed(&findings(&line));
    assert_eq!(summary["targets"][0]["schemas"], json!(3));
    assert_eq!(summary["targets"][0]["fitted"], json!(2));
    let emitted = fs::read_to_string(emit.path()).expect("what was emitted");
    let told: Vec<(Value, Value, Value)> = emitted
        .lines()
        .map(parsed)
        .map(|line| (line["name"].clone(), line["target"].clone(), line["ok"].clone()))
        .collect();
    let expected = [("a", true), ("b", true), ("line 3", false)];
    let expected =
        expected.iter().flat_map(|(name, ok)| ["openai", "mcp"].map(|id| (json!(name), json!(id), json!(ok))));
    assert_eq!(told, expected.collect::<Vec<_>>());
}

#[test]
fn parse_reads_the_value_and_says_what_it_took() {
    let schema = Scratch::new(
        "parse-schema.json",
        r#"{"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}"#,
    );
    let text = Scratch::new("parse.txt", "Sure: {days: \"3\"}");
    let answer = parsed(&fine(&["parse", text.path(), "--schema", schema.path()]));
    let members: Vec<&String> = answer.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["value", "repairs", "valid", "errors"]);
    assert_eq!(answer["value"], json!({"days": 3}));
    let kinds: Vec<&str> =
        answer["repairs"].as_array().expect("a list").iter().filter_map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, ["prose", "bare", "to_number"]);

    let text = Scratch::new("parse-bad.txt", "{\"days\": \"some\"}");
    let answer = parsed(&findings(&["parse", text.path(), "--schema", schema.path()]));
    assert_eq!((&answer["value"], &answer["valid"]), (&json!(null), &json!(false)));
    assert_eq!(answer["draft"], json!({"days": "some"}));
    assert_eq!(answer["errors"][0]["at"], json!("/days"));
}

#[test]
fn parse_reads_many_texts_and_texts_that_arrive() {
    let lines = Scratch::new(
        "parse.jsonl",
        concat!(
            r#"{"id": "a", "input": "{'x': 1}"}"#,
            "\n",
            r#"{"id": 2, "input": "{\"x\": 1, \"y", "kind": "partial"}"#,
            "\n",
            r#"{"id": "c", "input": "]"}"#,
            "\n",
            r#"{"id": "d", "input": "1", "schema": {"type": 5}}"#,
            "\n",
        ),
    );
    let answers: Vec<Value> = fine(&["parse", lines.path(), "--jsonl"]).lines().map(parsed).collect();
    let values: Vec<_> = answers.iter().map(|one| (&one["id"], &one["value"], &one["valid"])).collect();
    let (yes, no) = (json!(true), json!(false));
    assert_eq!(
        values,
        [
            (&json!("a"), &json!({"x": 1}), &yes),
            (&json!(2), &json!({"x": 1}), &yes),
            (&json!("c"), &json!(null), &no),
            (&json!("d"), &json!(null), &no),
        ]
    );
    let cut = Scratch::new("parse-cut.txt", "{\"x\": tr");
    assert_eq!(parsed(&fine(&["parse", cut.path(), "--stream"]))["value"], json!({"x": true}));
}
