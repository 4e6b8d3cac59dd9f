//! Sends over an HTTP stack of one's own: here a transport that counts and delays, in front of answers from memory. A `tower` service or a
//! client with middleware fits in the same way; for a `reqwest::Client` there is `Client::builder().http(…)`.
//!
//! `cargo run -p polywire-examples --bin own_http`
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use polywire::client::{Transport, TransportFuture, one_chunk};
use polywire::{Catalog, Client, Request};

const ANSWER: &str = r#"{"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "Hello from memory."}, "finish_reason": "stop"}]}"#;

/// Answers from memory.
struct Memory;

impl Transport for Memory {
    fn send(&self, request: http::Request<Bytes>) -> TransportFuture {
        println!("{} {} ({} bytes)", request.method(), request.uri(), request.body().len());
        Box::pin(async { Ok(http::Response::new(one_chunk(ANSWER))) })
    }
}

/// A layer around another transport.
struct Slow<T> {
    inner: Arc<T>,
    requests: Arc<AtomicUsize>,
}

impl<T: Transport + 'static> Transport for Slow<T> {
    fn send(&self, request: http::Request<Bytes>) -> TransportFuture {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            inner.send(request).await
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let requests = Arc::new(AtomicUsize::new(0));
    let transport = Slow { inner: Arc::new(Memory), requests: Arc::clone(&requests) };
    let client = Client::builder().transport(transport).key("openai", "any").build()?;
    let model = Catalog::built_in().resolve("openai:chat/gpt-4o")?;
    let done = client.complete(&Request::user("Hello"), &model).await?;
    println!("{} ({} request)", done.response.text(), requests.load(Ordering::Relaxed));
    Ok(())
}
