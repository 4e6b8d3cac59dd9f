//! `ask` as others use it: on a pipe, with tools, with several models, with keys and without.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::process::{Scratch, output, polywire, text, told};

const ORDER: &str = r#"{"type": "object", "properties": {"id": {"type": "string"}, "labels": {"type": "object",
    "additionalProperties": {"type": "string"}}}, "required": ["id", "labels"]}"#;

const TOOLS: &str = r#"{"tools": [{"name": "shop.order", "description": "Orders", "inputSchema": {"type": "object",
    "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}, "count": {"type": "integer"}},
    "required": ["labels"]}}]}"#;

#[test]
fn on_a_pipe_partial_values_are_json_lines() {
    let scratch = Scratch::new("stream");
    let schema = scratch.file("schema.json", ORDER);
    let line = ["ask", "An order", "--model", "emulator/openai+slow", "--schema", text(&schema), "--stream"];
    let out = told(&output(&line), 0);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (last, partials) = lines.split_last().expect("lines");
    assert!(partials.len() > 1, "{out}");
    assert!(partials.iter().all(|line| line["attempt"] == json!(1) && line["partial"].is_object()), "{out}");
    assert!(last["value"]["labels"].is_object(), "in the caller's shape: {out}");
    let words = told(&output(&["ask", "Hello", "--model", "emulator/anthropic", "--stream"]), 0);
    let lines: Vec<Value> = words.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[0]["event"], json!("start"));
    assert!(lines.last().is_some_and(|line| line["response"]["content"].is_array()), "{words}");
}

/// Calls are printed in the tools' own names and schemas, whatever the provider was sent.
#[test]
fn tools_are_called_in_their_own_schema() {
    let scratch = Scratch::new("tools");
    let (tools, schema) = (scratch.file("tools.json", TOOLS), scratch.file("schema.json", ORDER));
    for model in ["emulator/openai", "emulator/anthropic", "emulator/google", "emulator/bedrock:converse"] {
        for more in [&["--json"][..], &["--json", "--schema", text(&schema)]] {
            let line = [&["ask", "Order", "--model", model, "--tools", text(&tools)][..], more].concat();
            let answer: Value = serde_json::from_str(&told(&output(&line), 0)).expect("JSON");
            let block = &answer["response"]["content"][0];
            assert_eq!(block["name"], json!("shop.order"), "{model}: {answer}");
            let arguments = block["arguments"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            assert!(arguments.is_some_and(|value| value["labels"].is_object()), "{model}: {answer}");
        }
    }
    let shown = told(&output(&["ask", "Order", "--model", "emulator/openai", "--tools", text(&tools)]), 0);
    assert!(shown.starts_with("shop.order {"), "{shown}");
}

#[test]
fn models_in_a_list_stand_in_for_each_other() {
    let scratch = Scratch::new("list");
    let schema = scratch.file("schema.json", ORDER);
    let line = ["ask", "An order", "--schema", text(&schema), "--json", "--model", "deepseek/deepseek-chat"];
    let line = [&line[..], &["--model", "emulator/openai+wrong", "--model", "emulator/anthropic"]].concat();
    let answer: Value = serde_json::from_str(&told(&output(&line), 0)).expect("JSON");
    assert!(answer["model"].as_str().is_some_and(|model| model.starts_with("anthropic/")), "{answer}");
    let fell: Vec<&Value> =
        answer["changes"].as_array().into_iter().flatten().filter(|change| change["code"] == "fell-over").collect();
    assert_eq!(fell.len(), 2, "{answer}");
    let both = ["ask", "Hi", "--model", "openai/gpt-5", "--model", "emulator/openai"];
    assert!(told(&output(&both), 2).contains("both emulated and real"));
}

#[test]
fn without_a_key_the_variable_is_named_and_the_emulator_offered() {
    let error = told(&output(&["ask", "Hi", "--model", "anthropic/claude-sonnet-4-5"]), 2);
    assert!(error.contains("ANTHROPIC_API_KEY") && error.contains("--model emulator/anthropic"), "{error}");
    let error = told(&output(&["ask", "Hi", "--model", "openai/gpt-5", "--model", "groq/openai/gpt-oss-120b"]), 2);
    assert!(error.contains("OPENAI_API_KEY") && error.contains("GROQ_API_KEY"), "{error}");
    let error =
        polywire(&["ask", "Hi", "--model", "bedrock/amazon.nova-pro-v1:0"]).env("AWS_REGION", "eu-west-1").output();
    let error = told(&error.expect("a process"), 2);
    assert!(error.contains("AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{error}");
}

/// A key from the environment is used, and shown nowhere: not in errors, not in what explains them.
#[test]
fn keys_of_the_environment_are_shown_nowhere() {
    let run = |arguments: &[&str]| {
        let mut command = polywire(arguments);
        command.env("OPENAI_API_KEY", "sk-very-secret").env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
        command.output().expect("a process")
    };
    let shown = told(&run(&["ask", "Hi", "--model", "openai/gpt-5", "--explain", "--deadline", "1"]), 2);
    assert!(shown.contains("the connection failed") || shown.contains("the deadline of"), "{shown}");
    assert!(!shown.contains("very-secret"), "{shown}");
    let scratch = Scratch::new("keys");
    let request = scratch
        .file("request.json", r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}"#);
    for command in [
        ["plan", text(&request), "--model", "openai/gpt-5", "--json"],
        ["encode", text(&request), "--to", "openai/gpt-5", "--strict=auto"],
    ] {
        let shown = told(&run(&command), 0);
        assert!(!shown.contains("very-secret"), "{shown}");
    }
}

#[test]
fn the_prompt_may_come_from_a_pipe_and_losses_may_be_errors() {
    let scratch = Scratch::new("pipe");
    let schema = scratch.file("schema.json", ORDER);
    let line =
        ["ask", "-", "--model", "emulator/deepseek", "--schema", text(&schema), "--explain", "--system", "Be brief."];
    let mut child = polywire(&line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    child.stdin.take().expect("a pipe").write_all(b"An order from a pipe").expect("a prompt");
    let out = told(&child.wait_with_output().expect("an end"), 0);
    for part in [
        "An order from a pipe",
        "Be brief.",
        "speaks openai-chat",
        "request: POST",
        "response",
        "valid, structured output by",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let line =
        ["ask", "An order", "--model", "emulator/deepseek", "--schema", text(&schema), "--on-loss", "output=error"];
    let refused: Value = serde_json::from_str(&told(&output(&line), 1)).expect("JSON");
    assert!(refused["refused"][0]["kind"] == json!("output"), "{refused}");
    told(&output(&[&line[..6], &["--on-loss", "error,output=record,tools=record"]].concat()), 0);
    let broken = scratch.file("broken.json", r#"{"type": "nothing"}"#);
    let error = told(&output(&["ask", "Hi", "--model", "emulator/openai", "--schema", text(&broken)]), 2);
    assert!(error.contains("the schema cannot be used") && error.contains("broken.json"), "{error}");
    let error = told(&output(&["ask", "Hi", "--model", "emulator/openai", "--on-loss", "words=error"]), 2);
    assert!(error.contains("not a kind of loss"), "{error}");
}

#[test]
fn images_are_sent_and_other_files_are_not() {
    let scratch = Scratch::new("image");
    let picture = scratch.path("dot.png");
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\nrest").expect("a file");
    let line = ["ask", "What is it?", "--model", "emulator/openai:chat/gpt-4o", "--image", text(&picture), "--explain"];
    let out = told(&output(&line), 0);
    assert!(out.contains("data:image/png;base64,iVBORw0KGgpyZXN0"), "{out}");
    let other = scratch.file("notes.txt", "words");
    let error = told(&output(&["ask", "Hi", "--model", "emulator/openai", "--image", text(&other)]), 2);
    assert!(error.contains("unsupported file type"), "{error}");
}

/// What the environment says of a project is sent, and asked for by name where it is missing.
#[test]
fn what_the_body_needs_of_the_environment_is_filled_in() {
    let error =
        polywire(&["ask", "Hi", "--model", "gemini-cli/gemini-2.5-pro"]).env("GOOGLE_CLOUD_ACCESS_TOKEN", "t").output();
    let error = told(&error.expect("a process"), 2);
    assert!(error.contains("the environment variable GOOGLE_CLOUD_PROJECT is not set"), "{error}");
    // The address as the Gemini CLI has it, and with the version.
    for suffix in ["", "/v1internal"] {
        let (address, heard) = listener();
        let address = format!("http://{address}{suffix}");
        let mut command =
            polywire(&["ask", "my \"project\":\"{env GOOGLE_CLOUD_PROJECT}\"", "--model", "gemini-cli/gemini-2.5-pro"]);
        command.env("GOOGLE_CLOUD_ACCESS_TOKEN", "t").env("GOOGLE_CLOUD_PROJECT", "my-project");
        told(&command.env("CODE_ASSIST_ENDPOINT", address).output().expect("a process"), 2);
        let heard = heard.join().expect("a request");
        assert!(heard.starts_with("POST /v1internal:generateContent "), "{heard}");
        assert!(heard.contains(r#""project":"my-project""#) && heard.contains("authorization: Bearer t"), "{heard}");
    }
}

/// Reading and fitting this schema takes longer than the deadline, and nothing is sent.
#[test]
fn the_deadline_covers_what_comes_before_sending() {
    let home = crate::Home::new("deadline");
    let branch = json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "pattern": "^a+$"}}});
    let branches = vec![branch; 24];
    let properties: serde_json::Map<String, Value> =
        (0..1500).map(|number| (format!("p{number}"), json!({"anyOf": branches}))).collect();
    home.write("schema.json", &json!({"type": "object", "properties": properties}).to_string());
    let server = crate::attacker::Server::refusing();
    let base = format!("http://{}/v1", server.address);
    let began = std::time::Instant::now();
    let line = ["ask", "Hi", "--model", "openai/gpt-5.1", "--schema", "schema.json", "--deadline", "0"];
    let output = home.run(&line, &[("OPENAI_API_KEY", "sk-0123456789"), ("OPENAI_BASE_URL", &base)]);
    let error = told(&output, 2);
    assert!(error.contains("the deadline of 0"), "{error}");
    assert_eq!(server.heard(), "");
    assert!(began.elapsed().as_secs() < 60, "planning is not waited for");
}

/// Somebody who hears one request and refuses it: where, and what was heard.
fn listener() -> (std::net::SocketAddr, std::thread::JoinHandle<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut heard = Vec::new();
        while !is_whole(&String::from_utf8_lossy(&heard)) {
            let mut piece = [0; 4096];
            let length = std::io::Read::read(&mut stream, &mut piece).expect("bytes");
            heard.extend_from_slice(piece.get(..length).expect("a length"));
        }
        // Whatever is answered, what was heard is what counts.
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        std::thread::sleep(std::time::Duration::from_millis(50));
        String::from_utf8_lossy(&heard).into_owned()
    });
    (address, heard)
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).and_then(|text| text.parse().ok());
    length.is_none_or(|length: usize| body.len() >= length)
}

/// A key goes in the header that its variable is for, also to a server that may do without one, and an address may leave out
/// what servers are not told either.
#[test]
fn keys_and_addresses_of_the_environment_mean_what_the_providers_clients_take_them_for() {
    let rows = [
        ("vllm/some", "VLLM_API_KEY", "VLLM_BASE_URL", "", "authorization: Bearer t-0", "/v1/chat/completions"),
        ("ollama/llama3.1", "OLLAMA_API_KEY", "OLLAMA_HOST", "", "authorization: Bearer t-0", "/v1/chat/completions"),
        ("ollama/llama3.1", "NOTHING", "OLLAMA_HOST", "http://", "host: ", "/v1/chat/completions"),
        (
            "anthropic/claude-sonnet-4-5",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "http://",
            "authorization: Bearer t-0",
            "/v1/messages",
        ),
        (
            "anthropic/claude-sonnet-4-5",
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_BASE_URL",
            "http://",
            "x-api-key: t-0",
            "/v1/messages",
        ),
    ];
    for (model, key, variable, scheme, header, path) in rows {
        let (address, heard) = listener();
        let address = if variable == "VLLM_BASE_URL" { format!("{address}/v1") } else { address.to_string() };
        let mut command = polywire(&["ask", "Hi", "--model", model]);
        let out = command.env(key, "t-0").env(variable, format!("{scheme}{address}")).output().expect("a process");
        let error = told(&out, 2);
        assert!(error.contains("gave no message (invalid_request, status 400)"), "{model}: {error}");
        let heard = heard.join().expect("a request");
        assert!(heard.starts_with(&format!("POST {path} ")) && heard.contains(header), "{model} {key}: {heard}");
        let ways = ["authorization: ", "x-api-key: "].iter().filter(|name| heard.contains(*name)).count();
        assert_eq!(ways, usize::from(key != "NOTHING"), "{model} {key}: {heard}");
    }
}

#[test]
fn plain_http_goes_to_other_machines_only_where_it_is_allowed() {
    let run = |more: &[&str]| {
        let line = [&["ask", "Hi", "--model", "ollama/llama3.1", "--deadline", "1"][..], more].concat();
        told(&polywire(&line).env("OLLAMA_HOST", "machine.invalid").output().expect("a process"), 2)
    };
    let refused = run(&[]);
    assert!(refused.contains("`http://machine.invalid:11434/v1/chat/completions`: only https"), "{refused}");
    let tried = run(&["--plain-http"]);
    assert!(!tried.contains("only https"), "{tried}");
}

#[test]
fn a_name_that_leads_nowhere_gets_a_hint_that_leads_somewhere() {
    for (model, hint) in [
        ("gpt-5", "did you mean openai/gpt-5, azure/gpt-5?"),
        ("opnai/gpt-5", "did you mean openai?"),
        ("openai", "give openai/MODEL"),
        ("openai/", "give openai/MODEL"),
        ("openai:nowhere/gpt-5", "`polywire models --provider openai`"),
        ("emulator", "such as `emulator/openai`"),
        ("emulator/opnai", "did you mean openai?"),
        ("emulator/openai+upset", "`polywire emulate --list`"),
        ("emulator/openai+429-x", "`polywire emulate --list`"),
    ] {
        let error = told(&output(&["ask", "Hi", "--model", model]), 2);
        assert!(error.contains(hint), "{model}: {error}");
    }
}

/// Where nobody answers, what was sent is shown all the same, and that it did not leave this machine.
#[test]
fn explain_shows_what_was_sent_in_vain() {
    let scratch = Scratch::new("vain");
    let schema = scratch.file("schema.json", ORDER);
    let line = ["ask", "An order", "--model", "emulator/openai+401", "--schema", text(&schema), "--explain"];
    let out = output(&line);
    let shown = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.status.code(), Some(2));
    for part in ["emulated in this process: openai", "speaks openai-responses", "An order", "json_schema"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
