//! The exact response cache: off by default, never across keys.

use serde_json::json;

use crate::{chat, gateway, post};

#[tokio::test]
async fn equal_requests_are_answered_from_the_cache_where_it_is_on() {
    let without = gateway("").await;
    post(&without, "/v1/chat/completions", &chat("gpt-4o")).await;
    assert_eq!(post(&without, "/v1/chat/completions", &chat("gpt-4o")).await.header("x-polywire-cache"), "");
    let caching = gateway("cache-seconds = 60").await;
    let first = post(&caching, "/v1/chat/completions", &chat("gpt-4o")).await;
    let second = post(&caching, "/v1/chat/completions", &chat("gpt-4o")).await;
    assert_eq!((first.header("x-polywire-cache"), second.header("x-polywire-cache")), ("", "hit"));
    assert_eq!(first.text, second.text);
    let mut other = chat("gpt-4o");
    other["temperature"] = json!(0.5);
    assert_eq!(post(&caching, "/v1/chat/completions", &other).await.header("x-polywire-cache"), "");
    let mut stream = chat("gpt-4o");
    stream["stream"] = json!(true);
    for _ in 0..2 {
        assert_eq!(post(&caching, "/v1/chat/completions", &stream).await.header("x-polywire-cache"), "");
    }
}

/// A key never gets the answer to another one.
#[tokio::test]
async fn a_key_does_not_get_the_answer_to_another() {
    let caching = gateway("cache-seconds = 60").await;
    let create = |name: &str| json!({"name": name, "role": "admin"});
    let one = post(&caching, "/keys", &create("one")).await.json()["key"].as_str().expect("a key").to_owned();
    let bearer = format!("Bearer {one}");
    let two = crate::post_with(&caching, "/keys", &[("authorization", &bearer)], &create("two")).await.json();
    let other = format!("Bearer {}", two["key"].as_str().expect("a key"));
    let ask = async |key: &str| {
        crate::post_with(&caching, "/v1/chat/completions", &[("authorization", key)], &chat("gpt-4o")).await
    };
    ask(&bearer).await;
    assert_eq!(ask(&other).await.header("x-polywire-cache"), "");
    assert_eq!(ask(&bearer).await.header("x-polywire-cache"), "hit");
}
