//! R-G2: routes, fallback and health against an emulator that misbehaves.

use serde_json::json;

use crate::{chat, gateway, get, http, post};

#[tokio::test]
async fn r_g2_the_next_model_answers_before_the_first_byte() {
    for fault in ["500", "429", "cut", "page", "garbled"] {
        let gateway = gateway(&format!(
            "[[serve.route]]\nname = \"m\"\nto = [\"openai:chat/gpt-4o+{fault}\", \"anthropic/claude-sonnet-4-5\"]"
        ))
        .await;
        let answer = post(&gateway, "/v1/chat/completions", &chat("m")).await;
        assert_eq!(
            (answer.status, answer.header("x-polywire-model")),
            (200, "anthropic/claude-sonnet-4-5"),
            "{fault}: {}",
            answer.text
        );
        let report = get(&gateway, &format!("/requests/{}", answer.header("x-polywire-request-id"))).await.json();
        assert_eq!((report["attempts"].as_array().map(Vec::len), &report["route"]), (Some(2), &json!("m")), "{fault}");
        assert!(report["attempts"][0]["error"].is_string(), "{fault}");
    }
}

/// A request that is wrong is wrong everywhere.
#[tokio::test]
async fn r_g2_an_invalid_request_is_not_sent_elsewhere() {
    let route =
        "[[serve.route]]\nname = \"m\"\nto = [\"openai:chat/gpt-4o+no-such-fault\", \"anthropic/claude-sonnet-4-5\"]";
    let gateway = gateway(route).await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("m")).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    let report = get(&gateway, &format!("/requests/{}", answer.header("x-polywire-request-id"))).await.json();
    assert_eq!((report["attempts"].as_array().map(Vec::len), &report["outcome"]), (Some(1), &json!("failed")));
}

/// After the first byte a stream that breaks ends in the protocol's own error, and nothing is said twice.
#[tokio::test]
async fn r_g2_a_stream_that_breaks_ends_in_an_error_event() {
    let gateway =
        gateway("[[serve.route]]\nname = \"m\"\nto = [\"anthropic/claude-sonnet-4-5+cut\", \"openai/gpt-4o\"]").await;
    let body =
        json!({"model": "m", "stream": true, "max_tokens": 99, "messages": [{"role": "user", "content": "Hello?"}]});
    let answer = post(&gateway, "/v1/messages", &body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.text.matches("event: message_start").count(), 1, "{}", answer.text);
    assert!(answer.text.contains("event: error") && !answer.text.contains("message_stop"), "{}", answer.text);
    let report = get(&gateway, &format!("/requests/{}", answer.header("x-polywire-request-id"))).await.json();
    assert_eq!((&report["outcome"], &report["usage"]["estimated"]), (&json!("interrupted"), &json!(true)));
}

#[tokio::test]
async fn r_g2_a_rate_limit_steers_away() {
    let gateway =
        gateway("[[serve.route]]\nname = \"m\"\nto = [\"openai:chat/gpt-4o+429\", \"anthropic/claude-sonnet-4-5\"]")
            .await;
    post(&gateway, "/v1/chat/completions", &chat("m")).await;
    let second = post(&gateway, "/v1/chat/completions", &chat("m")).await;
    let report = get(&gateway, &format!("/requests/{}", second.header("x-polywire-request-id"))).await.json();
    assert_eq!(report["attempts"].as_array().map(Vec::len), Some(1), "the limited model is avoided");
    let listed = get(&gateway, "/requests").await.json();
    assert_eq!(listed["avoided_models"], json!(["openai:chat/gpt-4o+429"]));
}

/// The caller goes away: the request to the provider is cancelled, and what was sent is counted.
#[tokio::test]
async fn r_g1_a_caller_that_goes_away_cancels_the_request() {
    let gateway = gateway("").await;
    let body = json!({"model": "openai:chat/gpt-4o+endless", "stream": true, "messages": [{"role": "user", "content": "Hello?"}]});
    let url = format!("{}/v1/chat/completions", gateway.url());
    let mut response = http().post(url).body(body.to_string()).send().await.expect("a response");
    let id = response.headers()["x-polywire-request-id"].to_str().expect("an id").to_owned();
    assert!(response.chunk().await.expect("a chunk").is_some());
    drop(response);
    for _ in 0..500 {
        let report = get(&gateway, &format!("/requests/{id}")).await;
        if report.status == 200 {
            let report = report.json();
            assert_eq!((&report["outcome"], &report["status"]), (&json!("cancelled"), &json!(499)));
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("the request was not ended");
}
