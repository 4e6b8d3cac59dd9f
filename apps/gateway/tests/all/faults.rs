//! R-G1, R-G2, R-G8: providers that fail in every way, and callers that do not read.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::upstream::{Behaviour, Provider, settled};
use crate::{Answer, chat, gateway, get, http, post};

async fn report(gateway: &polywire_gateway::Gateway, answer: &Answer) -> serde_json::Value {
    get(gateway, &format!("/requests/{}", answer.header("x-polywire-request-id"))).await.json()
}

/// Without another model the caller learns of the failure in its own protocol, and the request is on record.
#[tokio::test]
async fn r_g1_what_a_provider_breaks_is_an_error_of_the_caller_s_protocol() {
    let gateway = gateway("retries = 0").await;
    for (fault, status) in
        [("500", 500), ("503", 503), ("529", 503), ("429", 429), ("cut", 502), ("page", 502), ("garbled", 502)]
    {
        let answer = post(&gateway, "/v1/chat/completions", &chat(&format!("openai:chat/gpt-4o+{fault}"))).await;
        assert!(
            answer.status == status || (status >= 500 && answer.status >= 500),
            "{fault}: {} {}",
            answer.status,
            answer.text
        );
        assert!(answer.json()["error"]["message"].is_string(), "{fault}: {}", answer.text);
        let messages = json!({"model": format!("openai:chat/gpt-4o+{fault}"), "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]});
        let other = post(&gateway, "/v1/messages", &messages).await;
        assert_eq!(other.json()["type"], "error", "{fault}: {}", other.text);
        assert_eq!(report(&gateway, &other).await["outcome"], "failed", "{fault}");
    }
    let slow = post(&gateway, "/v1/chat/completions", &chat("openai:chat/gpt-4o+slow")).await;
    assert_eq!(slow.status, 200);
}

/// A provider that is killed, or hangs, costs its callers a bounded time.
#[tokio::test]
async fn r_g8_a_provider_that_is_dead_or_silent_harms_only_itself() {
    let lines = "retries = 0\n[serve.timeouts]\nfirst-byte = 1\nidle = 1";
    for (behaviour, status) in [(Behaviour::Closes, 502), (Behaviour::Silent, 504)] {
        let provider = Provider::start(behaviour, lines).await;
        let answer = post(&provider.gateway, "/v1/chat/completions", &chat("openai:chat/gpt-4o")).await;
        assert_eq!(answer.status, status, "{behaviour:?}: {}", answer.text);
    }
    // One that falls silent after the first byte ends in an error event.
    let provider = Provider::start(Behaviour::Pauses, lines).await;
    let mut body = chat("openai:chat/gpt-4o");
    body["stream"] = json!(true);
    let answer = post(&provider.gateway, "/v1/chat/completions", &body).await;
    assert!(answer.text.contains("\"One\"") && answer.text.contains("\"error\""), "{}", answer.text);
    assert!(!answer.text.contains("[DONE]"), "{}", answer.text);
    assert_eq!(report(&provider.gateway, &answer).await["outcome"], "interrupted");
}

/// A storm of 429s: everybody is told when to come back, or is served elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn r_g2_a_storm_of_rate_limits_is_passed_on_or_avoided() {
    let gateway = gateway(
        "retries = 0\n[[serve.route]]\nname = \"m\"\nto = [\"openai:chat/gpt-4o+429\", \"anthropic/claude-sonnet-4-5\"]",
    )
    .await;
    let (alone, routed) = (chat("openai:chat/gpt-4o+429"), chat("m"));
    let storm = join_all((0..60).map(|_| post(&gateway, "/v1/chat/completions", &alone))).await;
    assert!(storm.iter().all(|answer| answer.status == 429 && !answer.header("retry-after").is_empty()));
    let served = join_all((0..60).map(|_| post(&gateway, "/v1/chat/completions", &routed))).await;
    assert!(
        served.iter().all(|answer| answer.status == 200 && answer.header("x-polywire-model").starts_with("anthropic/"))
    );
    let ids: std::collections::BTreeSet<&str> =
        storm.iter().chain(&served).map(|answer| answer.header("x-polywire-request-id")).collect();
    assert_eq!(ids.len(), 120);
}

/// R-G1: an idle stream is kept open, in the protocol's own way.
#[tokio::test]
async fn r_g1_idle_streams_have_heartbeats() {
    let message = json!([{"role": "user", "content": "Hello?"}]);
    for (path, heartbeat) in [("/v1/chat/completions", ": keep-alive"), ("/v1/messages", "event: ping")] {
        let provider = Provider::start(Behaviour::Pauses, "heartbeat-seconds = 1").await;
        let body = json!({"model": "openai:chat/gpt-4o", "stream": true, "max_tokens": 9, "messages": message});
        let url = format!("{}{path}", provider.gateway.url());
        let mut response = http().post(url).body(body.to_string()).send().await.expect("a response");
        let mut text = String::new();
        // Anthropic's protocol may ping at the start too.
        while text.matches(heartbeat).count() < 2 {
            let chunk = response.chunk().await.expect("a chunk").expect("an open stream");
            text.push_str(&String::from_utf8_lossy(&chunk));
        }
        provider.go_on.notify_one();
        text.push_str(&response.text().await.expect("the rest"));
        assert!(text.contains("One") && text.contains(" two"), "{path}: {text}");
        assert!(text.contains("[DONE]") || text.contains("message_stop"), "{path}: {text}");
    }
}

/// R-G8: a caller that does not read holds up its provider, not the gateway's memory, and others are served meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn r_g8_a_caller_that_does_not_read_gets_backpressure() {
    let provider = Provider::start(Behaviour::Floods, "").await;
    for (path, model) in [("/v1/chat/completions", "openai:chat/gpt-4o"), ("/v1/messages", "openai:chat/gpt-4o")] {
        let before = provider.written.load(std::sync::atomic::Ordering::Relaxed);
        let body = json!({"model": model, "stream": true, "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}).to_string();
        let host = provider.gateway.url().trim_start_matches("http://").to_owned();
        let mut stream = TcpStream::connect(&host).await.expect("a connection");
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut first = [0; 16];
        stream.read_exact(&mut first).await.expect("the head of a response");
        let taken = settled(&provider.written).await - before;
        // Buffers of four sockets and of both sides of the gateway, not more.
        assert!(taken < 32 << 20, "{path}: {taken} bytes are buffered");
        drop(stream);
        // The provider's stream is cancelled with its caller.
        settled(&provider.written).await;
    }
    let listed = tokio::time::timeout(Duration::from_secs(10), get(&provider.gateway, "/v1/models")).await;
    assert_eq!(listed.expect("others are served").status, 200);
}
