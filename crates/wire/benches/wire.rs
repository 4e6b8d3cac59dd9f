//! Speed as ratios to `serde_json`: `cargo bench -p polywire-wire`.
//!
//! Every protocol encodes a request of 200 messages and 40 tools next to `to_vec` of the same body, decodes an answer of 1 MB
//! next to `from_slice` of the same body, and decodes a stream of 1 MB. `-- --ratios` prints the ratios alone.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark fails by panicking"
)]

use std::hint::black_box;
use std::time::Instant;

use divan::Bencher;
use divan::counter::BytesCount;
use polywire_wire::{
    Block, Function, Message, Protocol, Request, Response, Role, Surface, Text, Tool, ToolCall, ToolResult, events_of,
};
use serde_json::{Value, json};

fn main() {
    if std::env::args().any(|argument| argument == "--ratios") {
        ratios();
    } else {
        divan::main();
    }
}

const ALL: [Protocol; 5] = Protocol::ALL;

/// 200 messages, a third of them calls and results, and 40 tools.
fn request() -> Request {
    let prose = "The quick brown fox jumps over the lazy dog, and nobody is surprised. ".repeat(6);
    let mut messages = Vec::new();
    for turn in 0..50 {
        let id = format!("toolu_{turn:04}");
        let arguments = json!({"path": format!("src/file_{turn}.rs"), "line": turn, "text": prose}).to_string();
        messages.push(Message::user(prose.clone()));
        let call = Block::ToolCall(ToolCall::new(id.clone(), "read_file", arguments));
        messages.push(Message::new(Role::Assistant, vec![Block::text("Let me look."), call]));
        messages.push(Message::tool([ToolResult::text(id, prose.clone())]));
        messages.push(Message::assistant(prose.clone()));
    }
    let parameter = |name: &str| (name.to_owned(), json!({"type": "string", "description": "What it is about."}));
    let fields: serde_json::Map<String, Value> =
        ["path", "pattern", "text", "flags", "limit"].map(parameter).into_iter().collect();
    let schema = json!({"type": "object", "properties": fields, "required": ["path"], "additionalProperties": false});
    let tool = |number| {
        let (name, description) = (format!("tool_{number}"), Some("Does one thing and does it well.".to_owned()));
        Tool::Function(Function { name, description, parameters: Some(schema.clone()), ..Function::default() })
    };
    let system = vec![Text { text: prose, ..Text::default() }];
    Request { system, tools: (0..40).map(tool).collect(), max_tokens: Some(4096), ..Request::new("model", messages) }
}

/// An answer of about 1 MB: a long text and some calls.
fn response() -> Response {
    let text = "It was the best of times, it was the \"worst\" of times;\nit was the age of wisdom. ".repeat(9000);
    let call = |number: i32| {
        let arguments =
            json!({"path": format!("src/file_{number}.rs"), "lines": (0..500).collect::<Vec<_>>()}).to_string();
        Block::ToolCall(ToolCall::new(format!("toolu_{number}"), "write_file", arguments))
    };
    let content = std::iter::once(Block::text(text)).chain((0..100).map(call)).collect();
    Response {
        id: "id".to_owned(),
        model: "model".to_owned(),
        content,
        stop: polywire_wire::StopReason::ToolUse,
        ..Response::default()
    }
}

/// The same as a stream, in pieces of the size that models write.
fn stream(protocol: Protocol) -> Vec<u8> {
    let mut encoder = protocol.stream_encoder(&Surface::default());
    events_of(&response(), 12).iter().flat_map(|event| encoder.push(event)).collect()
}

fn decode_stream(protocol: Protocol, bytes: &[u8]) -> usize {
    let mut decoder = protocol.stream_decoder(protocol.framing(&Surface::default()));
    bytes.chunks(16 << 10).map(|chunk| decoder.push(chunk).unwrap().len()).sum()
}

#[divan::bench(args = ALL)]
fn encode(bencher: Bencher<'_, '_>, protocol: Protocol) {
    let (request, surface) = (request(), Surface::default());
    bencher.bench(|| protocol.encode_request(black_box(&request), &surface));
}

#[divan::bench(args = ALL)]
fn encode_serde_json(bencher: Bencher<'_, '_>, protocol: Protocol) {
    let body = protocol.encode_request(&request(), &Surface::default()).value();
    bencher.bench(|| serde_json::to_vec(black_box(&body)).unwrap());
}

#[divan::bench(args = ALL)]
fn decode(bencher: Bencher<'_, '_>, protocol: Protocol) {
    let body = protocol.encode_response(&response(), &Surface::default()).body;
    bencher
        .counter(BytesCount::of_slice(&body))
        .bench(|| protocol.decode_response(serde_json::from_slice(black_box(&body)).unwrap()));
}

#[divan::bench(args = ALL)]
fn decode_serde_json(bencher: Bencher<'_, '_>, protocol: Protocol) {
    let body = protocol.encode_response(&response(), &Surface::default()).body;
    bencher.counter(BytesCount::of_slice(&body)).bench(|| serde_json::from_slice::<Value>(black_box(&body)).unwrap());
}

#[divan::bench(args = ALL)]
fn decode_streamed(bencher: Bencher<'_, '_>, protocol: Protocol) {
    let bytes = stream(protocol);
    bencher.counter(BytesCount::of_slice(&bytes)).bench(|| decode_stream(protocol, black_box(&bytes)));
}

#[divan::bench(args = ALL)]
fn repair(bencher: Bencher<'_, '_>, protocol: Protocol) {
    let surface = Surface::default();
    bencher.with_inputs(request).bench_refs(|request| protocol.repair_history(request, &surface));
}

/// The shortest of many runs, in seconds.
fn fastest<T>(mut run: impl FnMut() -> T) -> f64 {
    let once = |run: &mut dyn FnMut() -> T| {
        let start = Instant::now();
        black_box(run());
        start.elapsed().as_secs_f64()
    };
    (0..60).map(|_| once(&mut run)).fold(f64::INFINITY, f64::min)
}

fn ratios() {
    let (request, response, surface) = (request(), response(), Surface::default());
    println!("{:20} {:>8} {:>8} {:>12}", "protocol", "encode", "decode", "stream MB/s");
    for protocol in ALL {
        let body = protocol.encode_request(&request, &surface).value();
        let encode =
            fastest(|| protocol.encode_request(&request, &surface)) / fastest(|| serde_json::to_vec(&body).unwrap());
        let answer = protocol.encode_response(&response, &surface).body;
        let decode = fastest(|| protocol.decode_response(serde_json::from_slice(&answer).unwrap()).unwrap())
            / fastest(|| serde_json::from_slice::<Value>(&answer).unwrap());
        let bytes = stream(protocol);
        let speed = bytes.len() as f64 / 1e6 / fastest(|| decode_stream(protocol, &bytes));
        println!("{:20} {encode:>7.2}x {decode:>7.2}x {speed:>12.0}", protocol.name());
    }
}
