//! Requests as bytes, for what no client sends.

use polywire_emulator::Emulator;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpAnswer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

pub(crate) async fn send(
    emulator: &Emulator,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> HttpAnswer {
    let host = emulator.url().replace("http://", "");
    let mut stream = TcpStream::connect(&host).await.expect("a connection");
    let headers: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let headers = headers.concat();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a status");
    HttpAnswer { status, head: head.to_lowercase(), body: body.to_owned() }
}

/// Sends a body as it is; gives status and body.
pub(crate) async fn post(emulator: &Emulator, path: &str, body: &Value) -> (u16, Value) {
    post_with(emulator, path, &[], body).await
}

pub(crate) async fn post_with(emulator: &Emulator, path: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
    let answer = send(emulator, "POST", path, headers, &body.to_string()).await;
    (answer.status, answer.json())
}

pub(crate) async fn get(emulator: &Emulator, path: &str) -> (u16, Value) {
    let answer = send(emulator, "GET", path, &[], "").await;
    (answer.status, answer.json())
}
