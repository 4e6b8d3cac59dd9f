//! The commands as a user types them: what they print and how they end.

use std::fs;
use std::path::PathBuf;

use clap::Parser;
use serde_json::{Value, json};

use super::{Cli, Style, Verdict, execute};

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
    let verdict = execute(&cli.command, &mut out, Style::of_stdout()).map_err(|error| format!("{error:#}"))?;
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

#[test]
fn fit_sends_sample_values_there_and_back() {
    let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}, "tags": {"type": "object",
        "additionalProperties": {"type": "integer"}}}, "required": ["tags"]}"#;
    let file = Scratch::new("sampled.json", schema);
    let line = |values: &Scratch| -> Vec<String> {
        ["fit", file.path(), "--to", "openai-strict", "--values", values.path()].map(str::to_owned).to_vec()
    };
    let good = Scratch::new("good.jsonl", "{\"tags\": {\"a\": 1}}\n{\"city\": \"Bern\", \"tags\": {}}\n");
    let good: Vec<String> = line(&good).into_iter().chain(["--json".to_owned()]).collect();
    let told = parsed(&fine(&good.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(told["values"][0]["wire"], json!({"city": null, "tags": [{"key": "a", "value": 1}]}));
    assert_eq!(told["values"][1]["back"], json!({"city": "Bern", "tags": {}}));
    let bad = Scratch::new("bad.json", r#"[{"tags": {"a": 1}}, {"tags": 5}, {"tags": {"b": "x"}}]"#);
    let text = findings(&line(&bad).iter().map(String::as_str).collect::<Vec<_>>());
    assert!(text.contains("values (1 of 3 survive the round trip)"), "{text}");
    assert!(text.contains("a map is an object (at `/tags`)"), "{text}");
    assert!(text.contains("on the wire, at `/tags/0/value`"), "{text}");
}

#[test]
fn a_pattern_that_the_judge_cannot_read_does_not_silence_it() {
    let schema = r#"{"type":"object","properties":{"p":{"type":"string","pattern":"a{1000000}"},"q":{"type":"string","pattern":"^b"}}}"#;
    let file = Scratch::new("unread-pattern.json", schema);
    let values = Scratch::new("unread-pattern-values.jsonl", "{\"p\":\"a\"}\n{\"p\":1}\n{\"q\":\"a\"}\n");
    let text = findings(&["fit", file.path(), "--to", "openai", "--values", values.path()]);
    assert!(text.contains("values (1 of 3 survive the round trip)"), "{text}");
}

#[test]
fn fit_takes_sample_values_of_a_tool_list_as_calls() {
    let file = Scratch::new("called.json", TOOLS);
    let calls = r#"{"name": "get.weather", "arguments": {"tags": ["a"]}} {"name": "none", "arguments": {}}"#;
    let calls = Scratch::new("calls.json", calls);
    let line = ["fit", file.path(), "--to", "openai-strict", "--values", calls.path(), "--json"];
    let told = parsed(&findings(&line));
    assert_eq!(told["values"][0]["back"], json!({"tags": ["a"]}));
    assert_eq!(told["values"][1], json!({"error": "unknown tool name (at `/name`)"}));
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
fn what_others_wrote_cannot_command_the_terminal() {
    let tools = r#"{"tools": [{"name": "a\u001b]0;x\u0007", "inputSchema": {"type": "object", "properties": {"\n\u009b\u202e": {}}}}]}"#;
    let file = Scratch::new("my tools %.json", tools);
    for line in [["check", file.path(), "--for", "openai-strict"], ["fit", file.path(), "--to", "openai-strict"]] {
        let (_, text) = polywire(&line).expect("an outcome");
        assert!(text.contains(r"a\u{1b}]0;x\u{7}"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']), "{text:?}");
    }
    let sarif = parsed(&findings(&["check", file.path(), "--for", "openai-strict", "--format", "sarif"]));
    let uri = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert!(uri.as_str().is_some_and(|uri| uri.ends_with("my%20tools%20%25.json")), "{uri}");
}

#[test]
fn a_mark_of_the_encoding_is_no_part_of_the_text() {
    let file = Scratch::new("marked.json", "\u{feff}{\"type\": \"object\", \"properties\": {}}");
    fine(&["check", file.path(), "--for", "openai"]);
}

#[test]
fn the_corpus_is_never_written_over() {
    let corpus = Scratch::new("precious.jsonl", "{\"name\": \"a\", \"schema\": {}}\n");
    let said = polywire(&["audit", corpus.path(), "--to", "openai", "--emit", corpus.path()]);
    let error = said.err().unwrap_or_default();
    assert!(error.contains("would overwrite"), "{error}");
    assert!(fs::read_to_string(corpus.path()).is_ok_and(|text| text.contains("\"a\"")));
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
    assert!(fine(&["explain", "read-ref"]).contains("A reference leads nowhere"));
    assert_eq!(parsed(&fine(&["explain", "FIT", "--json"]))[0]["rule"]["code"], json!("FIT"));
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

const REQUEST: &str = r#"{"model": "gpt-4o", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    "tools": [{"type": "function", "name": "get.weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}],
    "temperature": 0.5}"#;

#[test]
fn encode_prints_the_promised_members_and_no_secret() {
    let file = Scratch::new("request.json", REQUEST);
    let sent = parsed(&fine(&["encode", file.path(), "--to", "openai:chat"]));
    let members: Vec<&String> = sent.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["method", "url", "headers", "body", "changes"]);
    assert_eq!(sent["headers"]["authorization"], json!("Bearer {env OPENAI_API_KEY}"));
    assert_eq!(sent["body"]["model"], json!("gpt-4o"));
    assert_eq!(sent["body"]["tools"][0]["function"]["name"], json!("get_weather"));
    let change = sent["changes"][0].as_object().expect("a change");
    assert_eq!(change.keys().collect::<Vec<_>>(), ["kind", "code", "at", "keyword", "action", "effect", "detail"]);
}

#[test]
fn plan_shows_what_was_decided_and_refuses_losses_on_request() {
    let file = Scratch::new("plan.json", REQUEST);
    let text = fine(&["plan", file.path(), "--model", "openai/gpt-5"]);
    assert!(text.contains("openai/gpt-5 speaks openai-responses"), "{text}");
    assert!(text.contains("tool get.weather, called get_weather: strict, in another shape"), "{text}");
    assert!(text.contains("/temperature"), "{text}");
    let plan = parsed(&fine(&["plan", file.path(), "--model", "openai/gpt-5", "--json"]));
    assert_eq!(plan["tools"][0]["wire_name"], json!("get_weather"));
    let losses = parsed(&findings(&["plan", file.path(), "--model", "openai/gpt-5", "--on-loss", "wishes=error"]));
    assert_eq!(losses["refused"][0]["at"], json!("/temperature"));
}

#[test]
fn translate_and_decode_speak_the_protocols() {
    let chat = r#"{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}"#;
    let file = Scratch::new("chat.json", chat);
    let body = fine(&["translate", file.path(), "--from", "openai-chat", "--to", "gemini"]);
    assert_eq!(parsed(&body)["contents"][0]["parts"][0]["text"], json!("Hi"));
    let both = parsed(&fine(&["translate", file.path(), "--from", "openai-chat", "--to", "gemini", "--json"]));
    assert_eq!(both.as_object().expect("an object").keys().collect::<Vec<_>>(), ["body", "changes"]);
    let answer = r#"{"id": "x", "model": "m", "choices": [{"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}]}"#;
    let file = Scratch::new("answer.json", answer);
    let neutral = parsed(&fine(&["decode", file.path(), "--from", "openai-chat"]));
    assert_eq!(neutral["content"][0]["text"], json!("Yes"));
    let cut = "data: {\"id\": \"x\", \"choices\": [{\"delta\": {\"content\": \"Ye\"}}]}\n\n";
    let file = Scratch::new("cut.txt", cut);
    let arrived = parsed(&findings(&["decode", file.path(), "--from", "openai-chat", "--stream"]));
    assert_eq!(arrived["content"][0]["text"], json!("Ye"));
}

/// R-F1, R-F4: a request goes to a model and its answer comes back; a loss can be refused.
#[test]
fn translate_takes_a_model_there_and_back() {
    let chat = r#"{"model": "m", "seed": 1, "messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function",
        "function": {"name": "set.labels", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}}]}"#;
    let chat = Scratch::new("there.json", chat);
    let model = ["--model", "anthropic/claude-sonnet-4-5"];
    let line = [&["translate", chat.path(), "--from", "openai-chat"][..], &model].concat();
    let body = parsed(&fine(&line));
    assert_eq!((&body["model"], &body["tools"][0]["name"]), (&json!("claude-sonnet-4-5"), &json!("set_labels")));
    let refused = parsed(&findings(&[&line[..], &["--on-loss", "parameters=error"]].concat()));
    assert_eq!(refused["refused"][0]["at"], json!("/seed"));

    let answer = r#"{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "tool_use",
        "id": "t", "name": "set_labels", "input": {"a": "1"}}], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}}"#;
    let answer = Scratch::new("back.json", answer);
    let back =
        ["translate", answer.path(), "--kind", "response", "--from", "anthropic-messages", "--to", "openai-chat"];
    let back = [&back[..], &["--request", chat.path()], &model].concat();
    let body = parsed(&fine(&back));
    assert_eq!(body["choices"][0]["message"]["tool_calls"][0]["function"]["name"], json!("set.labels"));

    let wrong = [&["translate", chat.path(), "--from", "openai-chat", "--to", "gemini"][..], &model].concat();
    let error = polywire(&wrong).err().unwrap_or_default();
    assert!(error.contains("this model speaks anthropic-messages, not gemini"), "{error}");
}

#[test]
fn the_neutral_form_has_a_schema_and_the_example_follows_it() {
    let schema = parsed(&fine(&["schema", "request"]));
    let example = parsed(include_str!("../../../examples/request.json"));
    if let Err(error) = jsonschema::validate(&schema, &example) {
        panic!("{error} at {}", error.instance_path());
    }
    for form in ["response", "event"] {
        assert!(parsed(&fine(&["schema", form]))["$schema"].is_string(), "{form}");
    }
}

#[test]
fn bad_targets_say_what_there_is() {
    let file = Scratch::new("targets.json", REQUEST);
    let error = polywire(&["encode", file.path(), "--to", "opnai/gpt-5"]).err().unwrap_or_default();
    assert!(error.contains("did you mean openai"), "{error}");
    let error = polywire(&["translate", file.path(), "--from", "openai", "--to", "gemini"]).err().unwrap_or_default();
    assert!(error.contains("known protocols: openai-chat"), "{error}");
    let broken = Scratch::new("broken-request.json", r#"{"messages": 3}"#);
    let error = polywire(&["encode", broken.path(), "--to", "openai/gpt-5"]).err().unwrap_or_default();
    assert!(error.contains("polywire schema request"), "{error}");
}

const TOWN: &str = r#"{"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer", "minimum": 1}},
    "required": ["name", "size"]}"#;

#[test]
fn ask_prints_a_valid_value_and_how_it_came() {
    let schema = Scratch::new("ask.json", TOWN);
    for model in
        ["emulator/openai", "emulator/openai:chat", "emulator/anthropic+types", "emulator/google", "emulator/bedrock"]
    {
        let out = fine(&["ask", "A town", "--model", model, "--schema", schema.path(), "--json"]);
        let told: Value = serde_json::from_str(&out).expect("JSON");
        assert!(told["value"]["size"].as_i64().is_some_and(|size| size >= 1), "{model}: {out}");
        assert!(
            told["strategy"].is_string() && told["attempts"].as_array().is_some_and(|list| list.len() == 1),
            "{out}"
        );
    }
    let out = fine(&["ask", "A town", "--model", "emulator/openai+wrong-1", "--schema", schema.path(), "--explain"]);
    assert!(out.contains("attempt 2\n") && out.contains("2 attempts"), "{out}");
}

#[test]
fn ask_says_what_stands_between_it_and_a_value() {
    let schema = Scratch::new("ask-not.json", TOWN);
    let out = findings(&["ask", "A town", "--model", "emulator/openai+refusal", "--schema", schema.path()]);
    assert!(out.contains("the model refused"), "{out}");
    let out = findings(&["ask", "A town", "--model", "emulator/google+wrong", "--schema", schema.path(), "--json"]);
    let told: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(told["attempts"].as_array().map(Vec::len), Some(3), "{out}");
    let error = polywire(&["ask", "A town", "--model", "emulator/openai+401"]).map(|_| ()).expect_err("no answer");
    assert!(error.contains("authentication, status 401"), "{error}");
}

#[test]
fn emulate_lists_what_can_go_wrong() {
    let out = fine(&["emulate", "--list"]);
    assert_eq!(out.lines().count(), polywire_emulator::misbehaviours().len());
}
