//! Any bytes as the body of any endpoint, over HTTP to a running gateway: whatever they are, the answer is one of the endpoint's protocol.
//! Used by a test with mutated seeds and by the fuzz target `gateway`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// An endpoint with an inbound decoder, and where its errors have their message.
struct Target {
    path: &'static str,
    message: &'static str,
}

/// `{model}` is a model, `{verb}` one of Gemini's two.
const TARGETS: [Target; 10] = [
    Target { path: "/v1/chat/completions", message: "/error/message" },
    Target { path: "/v1/responses", message: "/error/message" },
    Target { path: "/v1/messages?beta=true", message: "/error/message" },
    Target { path: "/v1beta/models/{model}:generateContent", message: "/error/message" },
    Target { path: "/v1beta/models/{model}:streamGenerateContent?alt=sse", message: "/error/message" },
    Target { path: "/v1internal:generateContent", message: "/error/message" },
    Target { path: "/v1/messages/count_tokens", message: "/error/message" },
    Target { path: "/v1beta/models/{model}:countTokens", message: "/error/message" },
    Target { path: "/v1/embeddings", message: "/error/message" },
    Target { path: "/v1/responses/compact", message: "/error/message" },
];

const MODELS: [&str; 5] = [
    "openai:chat/gpt-4o",
    "openai:responses/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-flash",
    "bedrock/anthropic.claude-sonnet-4-5",
];

/// Longer inputs are no better and only slower.
const MAX_BODY: usize = 64 << 10;
const SILENCE: Duration = Duration::from_secs(30);

/// Sends an input to the gateway at an address. The first two bytes choose the endpoint and the model, the rest is the body; an object that
/// names no model gets one.
pub(crate) fn router_input(address: &str, data: &[u8]) -> Result<(), String> {
    let Some((&[endpoint, model], body)) = data.split_first_chunk::<2>() else { return Ok(()) };
    let body = body.get(..MAX_BODY).unwrap_or(body);
    let target = &TARGETS[usize::from(endpoint) % TARGETS.len()];
    let model = MODELS[usize::from(model) % MODELS.len()];
    let body = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Object(mut members)) => {
            members.insert("model".to_owned(), model.into());
            Value::Object(members).to_string().into_bytes()
        }
        _ => body.to_vec(),
    };
    let path = target.path.replace("{model}", model);
    let fault = |what: String| format!("{path}: {what}");
    let (status, head, answer) = exchange(address, &path, &body).map_err(|error| fault(error.to_string()))?;
    if !(200..600).contains(&status) || status == 500 {
        return Err(fault(format!("status {status}: {answer}")));
    }
    if status >= 400 {
        let error: Value = serde_json::from_str(&answer).map_err(|error| fault(format!("{error}: {answer}")))?;
        let message = error.pointer(target.message).and_then(Value::as_str);
        return if message.is_some_and(|text| !text.is_empty()) {
            Ok(())
        } else {
            Err(fault(format!("no message: {answer}")))
        };
    }
    if head.contains("content-type: application/json") {
        serde_json::from_str::<Value>(&answer).map_err(|error| fault(format!("{error}: {answer}")))?;
    }
    Ok(())
}

/// The status, head and body of a response on a connection of its own.
fn exchange(address: &str, path: &str, body: &[u8]) -> std::io::Result<(u16, String, String)> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(SILENCE))?;
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(&[head.as_bytes(), body].concat())?;
    let mut bytes = Vec::new();
    socket.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let broken = || std::io::Error::other("no response");
    let (head, rest) = text.split_once("\r\n\r\n").ok_or_else(broken)?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(broken)?;
    let head = head.to_lowercase();
    // A chunked body that is complete has its last chunk.
    let is_whole = !head.contains("transfer-encoding: chunked") || rest.ends_with("0\r\n\r\n");
    if is_whole { Ok((status, head, rest.to_owned())) } else { Err(std::io::Error::other("the response is cut")) }
}
