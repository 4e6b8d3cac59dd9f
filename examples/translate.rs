//! Converts a Chat Completions request for an Anthropic model, and the model's answer back to Chat Completions. The tool has a map,
//! which Anthropic's strict mode does not accept: it travels as a list of entries and comes back as the map.
//!
//! `cargo run -p polywire-examples --bin translate`
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use polywire::wire::Protocol;
use polywire::{Catalog, TranslateOptions, Translation};

const REQUEST: &str = r#"{"model": "any", "seed": 7, "messages": [{"role": "user", "content": "Label it a=1."}],
    "tools": [{"type": "function", "function": {"name": "set.labels", "strict": true, "parameters": {"type": "object",
        "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}, "required": ["labels"]}}}]}"#;

const ANSWER: &str = r#"{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
    "content": [{"type": "tool_use", "id": "toolu_1", "name": "set_labels", "input": {"labels": [{"key": "a", "value": "1"}]}}],
    "stop_reason": "tool_use", "stop_sequence": null, "usage": {"input_tokens": 20, "output_tokens": 6}}"#;

fn main() -> anyhow::Result<()> {
    let model = Catalog::built_in().resolve("anthropic/claude-sonnet-4-5")?;
    let translation = Translation::new(REQUEST.as_bytes(), Protocol::OpenAiChat, &model, &TranslateOptions::default())?;

    // Send this with any HTTP client.
    let request = translation.request();
    println!("{} {}\n{}", request.endpoint.method, request.endpoint.url, request.body.get());
    for change in request.changes {
        println!("  {} at `{}`: {}", change.code, change.at, change.detail);
    }

    // Give it what came back: a whole answer, a stream (`stream()`) or an error (`error()`).
    let answer = translation.response(ANSWER.as_bytes())?;
    println!("{}", String::from_utf8_lossy(&answer.body));
    anyhow::ensure!(
        String::from_utf8_lossy(&answer.body).contains(r#"{\"labels\":{\"a\":\"1\"}}"#),
        "the map came back"
    );
    Ok(())
}
