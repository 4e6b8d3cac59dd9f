//! What a translation costs beside `serde_json`, in one run: a request of 200 messages and 40 tools against parsing and printing both
//! bodies, and streams against parsing their events into `Value`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark fails loudly and prints what it finds"
)]

use std::time::Duration;

use polywire::wire::{
    Block, Message, Protocol, Request, Response, Role, StopReason, Surface, ToolCall, ToolResult, Usage, events_of,
};
use polywire::{Catalog, TranslateOptions, Translation};
use serde_json::Value;

mod median;
mod tools;

use median::time_both;

const MODELS: [(Protocol, &str); 5] = [
    (Protocol::OpenAiChat, "openai:chat/gpt-4o"),
    (Protocol::OpenAiResponses, "openai:responses/gpt-4o"),
    (Protocol::AnthropicMessages, "anthropic/claude-sonnet-4-5"),
    (Protocol::Gemini, "google/gemini-2.5-flash"),
    (Protocol::BedrockConverse, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
];

fn main() {
    requests();
    streams();
}

/// A conversation of 200 messages, with a call and its result in every fourth pair.
fn conversation() -> Request {
    let mut messages = Vec::new();
    for number in 0..50 {
        let id = format!("call_{number}");
        messages
            .push(Message::user(format!("Question {number}: what does the file say? {}", "More words. ".repeat(20))));
        let call = ToolCall::new(id.as_str(), "read_file", format!(r#"{{"path":"/srv/file-{number}.txt"}}"#));
        messages.push(Message::new(Role::Assistant, vec![Block::text("Let me look."), Block::ToolCall(call)]));
        messages.push(Message::tool([ToolResult::text(id, "A line of a file.\n".repeat(30))]));
        messages.push(Message::assistant(format!("It says {number}. {}", "And so on. ".repeat(20))));
    }
    messages.push(Message::user("And now?"));
    Request { tools: tools::tools(), max_tokens: Some(1000), ..Request::new("m", messages) }
}

fn ratio(own: Duration, other: Duration) -> f64 {
    own.as_secs_f64() / other.as_secs_f64()
}

/// Parses a body and prints it.
fn parse_and_print(body: &[u8]) {
    drop(serde_json::to_vec(&serde_json::from_slice::<Value>(body).expect("JSON")));
}

fn requests() {
    let request = conversation();
    for (from, _) in MODELS {
        let body = from.encode_request(&request, &Surface::default()).body;
        for (_, name) in MODELS {
            let model = Catalog::built_in().resolve(name).expect("a model");
            let translate =
                || Translation::new(&body, from, &model, &TranslateOptions::default()).expect("a translation");
            let sent = translate();
            let (own, serde) = time_both(
                || drop(translate()),
                || {
                    parse_and_print(&body);
                    parse_and_print(sent.request().body.get().as_bytes());
                },
            );
            println!("request {from} to {name}: {own:?}, {:.2} x parse and print of both bodies", ratio(own, serde));
        }
    }
}

fn streams() {
    let content = vec![Block::text("Some words of an answer, one after the other. ".repeat(400))];
    let usage = Some(Usage { input_tokens: 11, output_tokens: 7, ..Usage::default() });
    let answer = Response {
        id: "r".into(),
        model: "m".into(),
        content,
        stop: StopReason::EndTurn,
        usage,
        ..Response::default()
    };
    let request = Request { stream: true, ..Request::new("m", vec![Message::user("Hi")]) };
    for (from, _) in MODELS {
        let body = from.encode_request(&request, &Surface::default()).body;
        for (to, name) in MODELS {
            let model = Catalog::built_in().resolve(name).expect("a model");
            let options = TranslateOptions::default().with_stream(true);
            let translation = Translation::new(&body, from, &model, &options).expect("a translation");
            let mut encoder = to.stream_encoder(&translation.plan().surface);
            let frames: Vec<Vec<u8>> = events_of(&answer, 8).iter().map(|event| encoder.push(event)).collect();
            let payloads: Vec<Vec<u8>> = payloads(to, &frames);
            let translate = || {
                let mut stream = translation.stream();
                for frame in &frames {
                    drop(stream.push(frame));
                }
                drop(stream.finish());
            };
            let parse = || payloads.iter().for_each(|data| drop(serde_json::from_slice::<Value>(data)));
            let (own, serde) = time_both(translate, parse);
            println!("stream {from} from {name}: {own:?}, {:.2} x the speed of serde_json", 1.0 / ratio(own, serde));
        }
    }
}

/// The JSON in the frames of a stream.
fn payloads(protocol: Protocol, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut splitter = polywire::wire::Framer::new(protocol.framing(&Surface::default()));
    for frame in frames {
        let pushed = splitter.push(frame, |frame| {
            found.push(frame.data.to_vec());
            Ok(())
        });
        pushed.expect("a frame");
    }
    found.retain(|data| data.starts_with(b"{"));
    found
}
