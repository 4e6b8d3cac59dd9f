//! Converts a Chat Completions request to Anthropic Messages, and an Anthropic answer to Chat Completions.
//!
//! `cargo run -p polywire-examples --bin translate`
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use polywire::translate::{BodyKind, translate};
use polywire::wire::Protocol;

const REQUEST: &str = r#"{"model": "claude-sonnet-4-5", "seed": 7, "messages": [
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Two days in Bern?"}]}"#;

const ANSWER: &str = r#"{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "Go up the Gurten."}], "stop_reason": "end_turn", "stop_sequence": null,
    "usage": {"input_tokens": 20, "output_tokens": 6}}"#;

fn main() -> anyhow::Result<()> {
    let (chat, anthropic) = (Protocol::OpenAiChat, Protocol::AnthropicMessages);
    let there = translate(REQUEST.as_bytes(), chat, anthropic, BodyKind::Request)?;
    println!("{}", String::from_utf8_lossy(&there.body));
    for change in &there.changes {
        println!("  {} at `{}`: {}", change.code, change.at, change.detail);
    }
    let back = translate(ANSWER.as_bytes(), anthropic, chat, BodyKind::Response)?;
    println!("{}", String::from_utf8_lossy(&back.body));
    Ok(())
}
