//! A server that does as it is told with every connection, for what no emulator does.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polywire::{Client, ClientOptions, Model, Secret};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The body of an answer in words, as the chat protocol has it.
pub(crate) const WORDS: &str = r#"{"id":"x","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}"#;

/// The head of a stream of events without a known length.
pub(crate) const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// The first event of an answer in words.
pub(crate) const FIRST_EVENT: &str = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hel\"},\"finish_reason\":null}]}\n\n";

/// The address of a server, and how many requests it had.
pub(crate) struct Script {
    pub(crate) url: String,
    pub(crate) requests: Arc<AtomicUsize>,
    /// The requests as they came.
    pub(crate) heard: Arc<Mutex<Vec<String>>>,
}

impl Script {
    /// Starts a server that reads each request and then does something with the connection, given the number of the request.
    pub(crate) async fn start<F, W>(act: F) -> Self
    where
        F: Fn(TcpStream, usize) -> W + Send + Sync + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let requests = Arc::new(AtomicUsize::new(0));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (act, count, log) = (Arc::new(act), Arc::clone(&requests), Arc::clone(&heard));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let (act, count, log) = (Arc::clone(&act), Arc::clone(&count), Arc::clone(&log));
                tokio::spawn(async move {
                    if let Some(request) = read_request(&mut stream).await {
                        log.lock().expect("a lock").push(request);
                        let number = count.fetch_add(1, Ordering::SeqCst);
                        act(stream, number).await;
                    }
                });
            }
        });
        Self { url, requests, heard }
    }

    /// A client of it that does not wait long.
    pub(crate) fn client(&self, options: ClientOptions) -> Client {
        let client = Client::with_options(options).expect("a client");
        client.with_base_url("openai", &self.url).with_key("openai", Secret::new("sk-very-secret"))
    }

    /// The request of a number.
    pub(crate) fn request(&self, number: usize) -> String {
        self.heard.lock().expect("a lock").get(number).cloned().unwrap_or_default()
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

/// The model that scripts answer for.
pub(crate) fn chat() -> Model {
    super::model("openai:chat/gpt-4o")
}

/// Options for tests: one retry, soon.
pub(crate) fn soon() -> ClientOptions {
    ClientOptions::default()
        .with_retries(1)
        .with_backoff(Duration::from_millis(5))
        .with_timeout(Duration::from_secs(5))
        .with_deadline(Duration::from_secs(10))
}

/// A whole answer.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

pub(crate) async fn say(stream: &mut TcpStream, text: &str) {
    // A client that went away has heard enough.
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.flush().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut seen = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&seen);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => seen.extend_from_slice(chunk.get(..count)?),
        }
    }
}
