//! The emulator judges and answers by rules of its own.

use polywire::schema::Dialect;
use polywire::{Catalog, Config};
use polywire_emulator::{Emulator, EmulatorOptions};
use serde_json::{Value, json};

use super::http::{get, post, post_with, send};

const ZOD_INT: (i64, i64) = (-9_007_199_254_740_991, 9_007_199_254_740_991);

fn hi() -> Value {
    json!([{"role": "user", "content": "Hi"}])
}

#[tokio::test]
async fn required_members_are_there_whatever_their_bounds() {
    let emulator = Emulator::start(0).await.expect("a port");
    let email = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
    let age = json!({"type": "integer", "minimum": ZOD_INT.0, "maximum": ZOD_INT.1});
    let mail = json!({"type": "string", "format": "email", "pattern": email});
    let schema = json!({"type": "object", "properties": {"age": age, "mail": mail}, "required": ["age", "mail"], "additionalProperties": false});
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
    let body = json!({"model": "gpt-4o", "messages": hi(), "response_format": format});
    let (status, answer) = post(&emulator, "/v1/chat/completions", &body).await;
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap_or_default();
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    assert_eq!((status, jsonschema::is_valid(&schema, &value)), (200, true), "{answer}");
}

/// A value that the emulator cannot find is marked, and has the right shape.
#[tokio::test]
async fn a_value_that_does_not_conform_is_marked() {
    let emulator = Emulator::start(0).await.expect("a port");
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)(?=y)z$"}}, "required": ["a"]});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": format!("Answer by\n  {schema}")}]});
    let answer = send(&emulator, "POST", "/groq/openai/v1/chat/completions", &[], &body.to_string()).await;
    assert!(
        answer.status == 200 && answer.head.contains("x-polywire-nonconforming"),
        "{} {}",
        answer.head,
        answer.body
    );
}

#[tokio::test]
async fn unknown_fields_are_refused_where_the_provider_refuses_them() {
    let emulator = Emulator::start(0).await.expect("a port");
    let chat = json!({"model": "gpt-4o", "messages": hi(), "frobnicate": 1});
    let (status, error) = post(&emulator, "/v1/chat/completions", &chat).await;
    assert_eq!(
        (status, error["error"]["message"].as_str()),
        (400, Some("Unrecognized request argument supplied: frobnicate"))
    );
    assert_eq!(post(&emulator, "/groq/openai/v1/chat/completions", &chat).await.0, 200, "others are not known to");
    let responses = json!({"model": "gpt-5", "input": "Hi", "frobnicate": 1});
    let (status, error) = post(&emulator, "/v1/responses", &responses).await;
    assert_eq!((status, error["error"]["message"].as_str()), (400, Some("Unknown parameter: 'frobnicate'.")));
    let messages = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": hi(), "frobnicate": 1});
    let (status, error) = post(&emulator, "/v1/messages", &messages).await;
    assert_eq!((status, error["error"]["message"].as_str()), (400, Some("frobnicate: Extra inputs are not permitted")));
    let contents = json!({"contents": [{"parts": [{"text": "Hi"}]}], "frobnicate": 1});
    let (status, error) = post(&emulator, "/v1beta/models/gemini-2.5-pro:generateContent", &contents).await;
    let says = error["error"]["message"].as_str().unwrap_or_default();
    assert!(status == 400 && says.contains("Unknown name \"frobnicate\""), "{error}");
}

#[tokio::test]
async fn the_older_output_format_of_anthropic_counts_with_its_beta() {
    let emulator = Emulator::start(0).await.expect("a port");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": hi(), "output_format": {"type": "json_schema", "schema": schema}});
    let beta = [("anthropic-beta", "files-api-2025-04-14, structured-outputs-2025-11-13")];
    let (status, answer) = post_with(&emulator, "/v1/messages", &beta, &body).await;
    let value: Value =
        serde_json::from_str(answer["content"][0]["text"].as_str().unwrap_or_default()).unwrap_or_default();
    assert!(status == 200 && value["n"].is_i64(), "{answer}");
    assert_eq!(post(&emulator, "/v1/messages", &body).await.0, 400);
}

#[tokio::test]
async fn gemini_takes_what_google_takes() {
    let emulator = Emulator::start(0).await.expect("a port");
    let call = json!({"functionCall": {"name": "f", "args": {}}});
    let result = json!({"functionResponse": {"id": "made-up", "name": "f", "response": {"output": "1"}}});
    let turns = json!([{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [call]}, {"role": "user", "parts": [result]}]);
    let tools = json!([{"functionDeclarations": [{"name": "f", "description": "F"}]}]);
    let body = json!({"contents": turns, "tools": tools, "systemInstruction": {"parts": [{"text": ""}]}});
    let (status, answer) = post(&emulator, "/v1beta/models/gemini-2.5-pro:generateContent", &body).await;
    assert_eq!((status, answer["candidates"][0]["finishReason"].as_str()), (200, Some("STOP")), "{answer}");
    let body = json!({"contents": [{"parts": [{"text": "Hi"}]}], "systemInstruction": {"parts": []}});
    assert_eq!(post(&emulator, "/v1beta/models/gemini-2.5-pro:generateContent", &body).await.0, 200);
}

#[tokio::test]
async fn a_nested_object_may_be_open_and_a_root_may_not() {
    let emulator = Emulator::start(0).await.expect("a port");
    let body = |parameters: Value| {
        let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
        json!({"model": "gpt-4o", "messages": hi(), "tools": [tool]})
    };
    let nested = body(json!({"type": "object", "properties": {"meta": {"type": "object"}}}));
    assert_eq!(post(&emulator, "/v1/chat/completions", &nested).await.0, 200);
    let (status, error) = post(&emulator, "/v1/chat/completions", &body(json!({"type": "object"}))).await;
    assert!(status == 400 && error.to_string().contains("object schema missing properties"), "{error}");
}

#[tokio::test]
async fn a_websocket_is_declined_so_that_codex_falls_back() {
    let emulator = Emulator::start(0).await.expect("a port");
    let upgrade =
        [("upgrade", "websocket"), ("sec-websocket-version", "13"), ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")];
    let answer = send(&emulator, "GET", "/v1/responses", &upgrade, "").await;
    assert_eq!(
        (answer.status, answer.json()["error"]["type"].as_str()),
        (426, Some("invalid_request_error")),
        "{}",
        answer.body
    );
    assert_eq!(send(&emulator, "HEAD", "/", &[], "").await.status, 200);
}

#[tokio::test]
async fn usage_is_told_where_clients_look_for_it() {
    let emulator = Emulator::start(0).await.expect("a port");
    let stream = |options: Value| {
        json!({"model": "gpt-4o", "messages": hi(), "stream": true, "stream_options": options}).to_string()
    };
    let without = send(&emulator, "POST", "/v1/chat/completions", &[], &stream(Value::Null)).await;
    assert!(without.body.contains("[DONE]") && !without.body.contains("prompt_tokens"), "{}", without.body);
    let with = send(&emulator, "POST", "/v1/chat/completions", &[], &stream(json!({"include_usage": true}))).await;
    assert!(with.body.contains("prompt_tokens"), "{}", with.body);
    let messages = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": hi(), "stream": true});
    let answer = send(&emulator, "POST", "/v1/messages", &[], &messages.to_string()).await;
    let start = answer.body.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_default();
    let start: Value = serde_json::from_str(start).unwrap_or_default();
    let (_, counted) = post(&emulator, "/v1/messages/count_tokens", &messages).await;
    let tokens = &start["message"]["usage"]["input_tokens"];
    assert!(start["type"] == "message_start" && tokens.as_u64() > Some(5), "{start}");
    assert_eq!(*tokens, counted["input_tokens"]);
}

#[tokio::test]
async fn endpoints_beside_the_answers_are_served() {
    let emulator = Emulator::start(0).await.expect("a port");
    let contents = json!({"contents": [{"parts": [{"text": "Hello there"}]}]});
    let (status, counted) = post(&emulator, "/v1beta/models/gemini-2.5-pro:countTokens", &contents).await;
    assert!(status == 200 && counted["totalTokens"].as_u64() > Some(5), "{counted}");
    let content = json!({"content": {"parts": [{"text": "Hello"}]}, "outputDimensionality": 8});
    let (status, embedded) = post(&emulator, "/v1beta/models/gemini-embedding-001:embedContent", &content).await;
    assert_eq!((status, embedded["embedding"]["values"].as_array().map(Vec::len)), (200, Some(8)), "{embedded}");
    let both = json!({"requests": [content, content]});
    let (status, embedded) = post(&emulator, "/v1beta/models/gemini-embedding-001:batchEmbedContents", &both).await;
    assert_eq!((status, embedded["embeddings"].as_array().map(Vec::len)), (200, Some(2)), "{embedded}");
    let texts = json!({"model": "text-embedding-3-small", "input": ["a", "b"], "dimensions": 4});
    let (status, embedded) = post(&emulator, "/v1/embeddings", &texts).await;
    assert_eq!((status, embedded["data"][1]["embedding"].as_array().map(Vec::len)), (200, Some(4)), "{embedded}");
    assert_ne!(embedded["data"][0]["embedding"], embedded["data"][1]["embedding"]);
    let (status, compacted) = post(&emulator, "/v1/responses/compact", &json!({"model": "gpt-5", "input": "Hi"})).await;
    assert_eq!((status, compacted["output"][0]["type"].as_str()), (200, Some("compaction")), "{compacted}");
    let (status, counted) =
        post(&emulator, "/v1/responses/input_tokens", &json!({"model": "gpt-5", "input": "Hello there"})).await;
    assert!(status == 200 && counted["input_tokens"].as_u64() > Some(1), "{counted}");
    let (status, error) = post(&emulator, "/v1/messages/count_tokens", &json!({})).await;
    assert_eq!((status, error["type"].as_str()), (400, Some("error")), "{error}");
    assert_eq!(send(&emulator, "GET", "/v1/messages/count_tokens", &[], "").await.status, 405);
}

/// Codex reads `models` where it says which version it is.
#[tokio::test]
async fn the_list_of_models_has_the_form_of_codex_too() {
    let emulator = Emulator::start(0).await.expect("a port");
    let (status, list) = get(&emulator, "/v1/models?client_version=0.169.0").await;
    assert!(status == 200 && list["models"].is_array() && list["data"].is_array(), "{list}");
    assert!(get(&emulator, "/v1/models").await.1.get("models").is_none());
}

/// A dialect of the configuration refuses as a built-in one does.
#[tokio::test]
async fn dialects_of_a_configuration_judge() {
    let dialect = "id = \"acme\"\ntitle = \"Acme\"\nserves = \"tests\"\nsource = \"made up\"\nchecked-on = \"2026-11-18\"\n\n[[keyword]]\nnames = [\"pattern\"]\ncode = \"ACME-01\"\nsays = \"'pattern' is not supported\"\nconfidence = \"observed\"\nsource = \"made up\"\n";
    let own = Dialect::from_toml(dialect).expect("a dialect");
    let text = "dialects = [\"acme.toml\"]\n[[provider]]\nid = \"acme\"\ntitle = \"Acme\"\nsource = \"made up\"\nchecked-on = \"2026-11-18\"\nbase-url = \"https://acme.example/v1\"\nauth = { style = \"bearer\", env = [\"ACME_KEY\"] }\nunknown = \"openai-unknown\"\n[[provider.surface]]\nid = \"chat\"\nprotocol = \"openai-chat\"\npath = \"/chat/completions\"\ndialects = { tool = \"acme\" }\n";
    let config = Config::read(text, &|_| Ok(dialect.to_owned())).expect("a configuration");
    let mut catalog = config.base(Catalog::built_in());
    config.over(&mut catalog);
    let options = EmulatorOptions::default().with_catalog(catalog);
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string", "pattern": "a"}}}}});
    let body = json!({"model": "m", "messages": hi(), "tools": [tool]});
    let emulator = Emulator::start_with(0, options.with_dialects(&[own])).await.expect("a port");
    let (status, error) = post(&emulator, "/acme/v1/chat/completions", &body).await;
    assert_eq!((status, error["error"]["message"].as_str()), (400, Some("'pattern' is not supported")), "{error}");
}

/// A prompt leads an agent whose requests nobody can edit.
#[tokio::test]
async fn a_prompt_says_which_tool_is_called() {
    let emulator = Emulator::start(0).await.expect("a port");
    let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object", "properties": {}}});
    let prompt = "Do it.\nemulate: call Bash {\"command\": \"cat note.txt\"}\nemulate: repeat";
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    let body = |messages: &[Value]| json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages, "tools": [tool("Agent"), tool("Bash")]});
    let (_, answer) = post(&emulator, "/v1/messages", &body(&messages)).await;
    assert_eq!(
        (&answer["content"][0]["name"], &answer["content"][0]["input"]),
        (&json!("Bash"), &json!({"command": "cat note.txt"}))
    );
    let id = answer["content"][0]["id"].clone();
    messages.push(json!({"role": "assistant", "content": answer["content"]}));
    messages
        .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "zebra-42"}]}));
    let (_, answer) = post(&emulator, "/v1/messages", &body(&messages)).await;
    assert_eq!((&answer["content"][0]["text"], &answer["stop_reason"]), (&json!("zebra-42"), &json!("end_turn")));
}

/// Histories that providers were seen to refuse, as they were recorded. Runs where `../shared` is beside the repository.
#[tokio::test]
async fn recorded_histories_are_refused() {
    /// Providers of the records, and the path and model that stand for them.
    const PATHS: &[(&str, &str, &str)] = &[
        ("anthropic", "/v1/messages", "claude-sonnet-4-5"),
        ("bedrock", "/model/anthropic.claude-sonnet-4-5-v1%3A0/converse", ""),
        ("openai-chat", "/v1/chat/completions", "gpt-4o"),
        ("openai-responses", "/v1/responses", "gpt-5"),
        ("deepseek", "/deepseek/chat/completions", "deepseek-chat"),
        ("mistral", "/mistral/v1/chat/completions", "mistral-large-latest"),
        ("gemini", "/v1beta/models/gemini-2.5-pro:generateContent", ""),
    ];
    /// Records that the emulator does not refuse, and why.
    const TAKEN: &[(&str, &str)] = &[
        ("C184", "what `$ref` means inside a result is not modelled"),
        ("C208", "GEM-FN-25: Google's own CLI sends text beside results"),
        ("C209", "signatures are asked of Gemini 3, which the unit tests have"),
        ("C214", "only models that think ask for it, and the row does not tell them apart"),
    ];
    let path = [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "corpus", "cases.jsonl"];
    let Ok(text) = std::fs::read_to_string(path.iter().collect::<std::path::PathBuf>()) else {
        println!("skipped: ../shared is not there");
        return;
    };
    let emulator = Emulator::start(0).await.expect("a port");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).expect("a case a line");
        let row = PATHS.iter().find(|(provider, ..)| case["provider"] == *provider);
        let Some((_, path, model)) = row.filter(|_| case["kind"] == "history") else { continue };
        let mut body = case["input"].clone();
        if !model.is_empty() {
            body["model"] = json!(model);
        }
        if *path == "/v1/messages" {
            body["max_tokens"] = json!(99);
        }
        let (status, answer) = post(&emulator, path, &body).await;
        let id = case["id"].as_str().unwrap_or_default();
        let is_taken = TAKEN.iter().any(|(taken, _)| *taken == id);
        count += 1;
        if (status == 200) != is_taken {
            wrong.push(format!("{id} {}: {status} {answer}", case["error"]));
        }
    }
    println!("{count} recorded histories");
    assert!(wrong.is_empty() && count > 15, "{}", wrong.join("\n"));
}
