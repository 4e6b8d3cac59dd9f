//! Says our own corpus of bodies in every protocol, one JSON value a line, for the official SDKs to read. The scripts in `interop/`
//! are its readers. Usage: `interop CORPUS`, where CORPUS is the folder with one folder a protocol.

mod pairs;

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;

use polywire::wire::{Assembler, Framing, Headers, Protocol, Response, Surface, events_of};
use polywire::{BodyKind, Catalog, plan, translate};
use serde_json::{Value, json};

/// Characters a piece of a stream has at most: few, so that words and escapes are cut.
const PIECE: usize = 2;

/// Models of the protocols' owners for which every request is planned, beside being translated.
const MODELS: [(Protocol, &str); 8] = [
    (Protocol::OpenAiChat, "openai:chat/gpt-4o"),
    (Protocol::OpenAiChat, "openai:chat/gpt-5"),
    (Protocol::OpenAiResponses, "openai/gpt-5"),
    (Protocol::AnthropicMessages, "anthropic/claude-sonnet-4-5"),
    (Protocol::AnthropicMessages, "anthropic/claude-opus-4-6"),
    (Protocol::Gemini, "google/gemini-2.5-pro"),
    (Protocol::BedrockConverse, "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
    (Protocol::BedrockConverse, "bedrock/amazon.nova-pro-v1:0"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: interop CORPUS")?;
    let mut out = io::stdout().lock();
    for from in Protocol::ALL {
        let entries = std::fs::read_dir(Path::new(&folder).join(from.name()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        for path in paths {
            let case: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{from}/{stem}");
            for to in Protocol::ALL {
                let said = say(&case, from, to).map_err(|error| format!("{name} to {to}: {error}"))?;
                for line in said {
                    writeln!(out, "{}", json!({"name": name, "to": to.name(), "said": line}))?;
                }
            }
        }
    }
    for line in pairs::lines()? {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The case in another protocol: as it is, and an answer in pieces too.
fn say(case: &Value, from: Protocol, to: Protocol) -> Result<Vec<Value>, Box<dyn Error>> {
    let body = case.get("body").unwrap_or(&Value::Null);
    match case.get("kind").and_then(Value::as_str) {
        Some("request") => {
            let request = from.decode_request(body.clone())?.value;
            // In its own protocol a request would leave as it came.
            let said = if from == to {
                to.encode_request(&request, &Surface::default()).body
            } else {
                translate(body.to_string().as_bytes(), from, to, BodyKind::Request)?.body
            };
            let mut lines = vec![json!({"kind": "request", "body": serde_json::from_slice::<Value>(&said)?})];
            for (_, name) in MODELS.iter().filter(|(protocol, _)| *protocol == to) {
                let planned = plan(&request, &Catalog::built_in().resolve(name)?);
                lines.push(json!({"kind": "request", "model": name, "body": planned.body}));
            }
            Ok(lines)
        }
        Some("response") => Ok(answers(&from.decode_response(body.clone())?.value, to)),
        Some("stream") => Ok(answers(&assemble(body, from)?, to)),
        Some("error") => {
            let status = case.get("status").and_then(Value::as_u64).unwrap_or_default();
            let error = from.decode_error(u16::try_from(status)?, Headers(&[]), body.to_string().as_bytes());
            let said = to.encode_error(&error, &Surface::default());
            let headers: Value = said.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let hex = hex(&said.body);
            Ok(vec![json!({"kind": "error", "status": said.status, "headers": headers, "hex": hex, "error": error})])
        }
        // A cut stream is no answer.
        _ => Ok(Vec::new()),
    }
}

fn answers(response: &Response, to: Protocol) -> Vec<Value> {
    let surface = Surface::default();
    let whole = to.encode_response(response, &surface).body;
    let mut encoder = to.stream_encoder(&surface);
    let stream: Vec<u8> = events_of(response, PIECE).iter().flat_map(|event| encoder.push(event)).collect();
    let line = |(kind, bytes): (&str, &[u8])| json!({"kind": kind, "hex": hex(bytes), "answer": response});
    [("response", &whole[..]), ("stream", &stream)].into_iter().map(line).collect()
}

/// Reads a stream that is written down as its events. Every protocol's events can stand in server-sent ones.
fn assemble(events: &Value, from: Protocol) -> Result<Response, Box<dyn Error>> {
    let mut text = String::new();
    for event in events.as_array().into_iter().flatten() {
        let name = event.get("event").and_then(Value::as_str).unwrap_or_default();
        let data = event.get("data").unwrap_or(&Value::Null);
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        write!(text, "event: {name}\ndata: {data}\n\n")?;
    }
    let mut decoder = from.stream_decoder(Framing::Sse);
    let mut read = decoder.push(text.as_bytes())?;
    read.extend(decoder.finish()?);
    let mut assembler = Assembler::default();
    for event in read {
        assembler.push(event);
    }
    Ok(assembler.finish().map_err(|cut| cut.to_string())?)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
