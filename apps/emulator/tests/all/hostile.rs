//! Clients that send too much, too slowly, or what is no JSON: an error in the provider's words, and memory that stays bounded.

use std::time::{Duration, Instant};

use polywire_emulator::{Emulator, EmulatorOptions};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const CHAT: &str = "/v1/chat/completions";
const HELLO: &[u8] = br#"{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}"#;

async fn emulator() -> Emulator {
    let options =
        EmulatorOptions::default().with_read_timeout(Duration::from_millis(400)).with_max_request_bytes(1 << 20);
    Emulator::start_with(0, options).await.expect("a port")
}

async fn connected(emulator: &Emulator) -> TcpStream {
    TcpStream::connect(emulator.url().replace("http://", "")).await.expect("a connection")
}

fn head(path: &str, length: u64, kind: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: here\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// Status and body of what came.
async fn answer(stream: &mut TcpStream) -> (u16, Value) {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.expect("an answer");
    let text = String::from_utf8_lossy(&bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return (0, Value::Null) };
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or_default();
    (status, serde_json::from_str(body).unwrap_or_default())
}

async fn post(emulator: &Emulator, path: &str, kind: &str, body: &[u8]) -> (u16, Value) {
    let mut stream = connected(emulator).await;
    stream.write_all(head(path, body.len() as u64, kind).as_bytes()).await.expect("a head");
    stream.write_all(body).await.expect("a body");
    answer(&mut stream).await
}

/// The most memory that this process ever had, where the system tells.
fn most_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[tokio::test]
async fn a_gigabyte_is_refused_in_bounded_memory() {
    let options = EmulatorOptions::default().with_max_request_bytes(1 << 20);
    let emulator = Emulator::start_with(0, options).await.expect("a port");
    let mut stream = connected(&emulator).await;
    let before = most_memory();
    stream.write_all(head(CHAT, 1 << 30, "application/json").as_bytes()).await.expect("a head");
    let piece = vec![b' '; 1 << 20];
    for _ in 0..1024 {
        stream.write_all(&piece).await.expect("a client is let finish");
    }
    let (status, error) = answer(&mut stream).await;
    assert_eq!((status, error["error"]["type"].as_str()), (413, Some("request_too_large")), "{error}");
    if let Some((before, after)) = before.zip(most_memory()) {
        // Other tests of this process take memory meanwhile, so the bound is half of what was sent.
        assert!(after - before < 512 << 20, "{} bytes more", after - before);
    }
}

/// All requests together have a bound as well.
#[tokio::test]
async fn many_large_bodies_at_once_are_turned_away() {
    let options = EmulatorOptions::default().with_max_request_bytes(1 << 20).with_max_buffered_bytes(1 << 20);
    let emulator = Emulator::start_with(0, options).await.expect("a port");
    let body = vec![b' '; 700 << 10];
    let mut first = connected(&emulator).await;
    first.write_all(head(CHAT, 1 << 20, "application/json").as_bytes()).await.expect("a head");
    first.write_all(&body).await.expect("a part");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (status, error) = post(&emulator, CHAT, "application/json", &body).await;
    assert_eq!((status, error["error"]["message"].is_string()), (503, true), "{error}");
    drop(first);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(post(&emulator, CHAT, "application/json", HELLO).await.0, 200);
}

/// One byte now and then: the time for a request is over, and others are served meanwhile.
#[tokio::test]
async fn a_slow_client_is_told_and_holds_nobody_up() {
    let emulator = emulator().await;
    let mut slow = connected(&emulator).await;
    slow.write_all(head(CHAT, HELLO.len() as u64, "application/json").as_bytes()).await.expect("a head");
    slow.write_all(&HELLO[..5]).await.expect("a part");
    let mut silent = connected(&emulator).await;
    silent.write_all(b"POST /v1/chat/comp").await.expect("half a head");
    let start = Instant::now();
    assert_eq!(post(&emulator, CHAT, "application/json", HELLO).await.0, 200);
    let (status, error) = answer(&mut slow).await;
    assert_eq!(status, 408, "{error}");
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("400 ms")), "{error}");
    // Who said not even where to has no protocol to be told in.
    answer(&mut silent).await;
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn what_is_no_json_is_refused_in_the_providers_words() {
    let emulator = emulator().await;
    let garbled = b"{\"model\": \"\xff\xfe\", \"messages\": []}";
    let deep = "[".repeat(100_000);
    for body in [&garbled[..], deep.as_bytes(), b"", b"{} {}"] {
        let (status, error) = post(&emulator, CHAT, "application/json", body).await;
        assert_eq!((status, error["error"]["type"].as_str()), (400, Some("invalid_request_error")), "{error}");
        let (status, error) = post(&emulator, "/v1/messages", "application/json", body).await;
        assert_eq!((status, error["error"]["type"].as_str()), (400, Some("invalid_request_error")), "{error}");
        let path = "/v1beta/models/gemini-2.5-pro:generateContent";
        let (status, error) = post(&emulator, path, "application/json", body).await;
        assert_eq!((status, error["error"]["status"].as_str()), (400, Some("INVALID_ARGUMENT")), "{error}");
    }
}

#[tokio::test]
async fn another_content_type_is_refused() {
    let emulator = emulator().await;
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let (status, error) = post(&emulator, CHAT, kind, HELLO).await;
        assert_eq!((status, error["error"]["code"].as_str()), (415, Some("unsupported_content_type")), "{error}");
    }
    for kind in ["application/json; charset=utf-8", "application/vnd.api+json"] {
        assert_eq!(post(&emulator, CHAT, kind, HELLO).await.0, 200, "{kind}");
    }
}

/// A body that ends before it said it would.
#[tokio::test]
async fn a_body_that_ends_early_is_no_request() {
    let emulator = emulator().await;
    let mut stream = connected(&emulator).await;
    stream.write_all(head(CHAT, 1000, "application/json").as_bytes()).await.expect("a head");
    stream.write_all(HELLO).await.expect("a part");
    stream.shutdown().await.expect("an end");
    let (status, _) = answer(&mut stream).await;
    assert!(status == 400 || status == 0, "{status}");
    assert_eq!(post(&emulator, CHAT, "application/json", HELLO).await.0, 200);
}
