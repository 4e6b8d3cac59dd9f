//! Servers that end, hang, or send too much.

use std::time::Duration;

use polywire_mcp::{BrokenTools, Environment, ProxyOptions, ServerSpec, Transport};
use serde_json::json;

use crate::proxy::{Client, options, received, spy};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_is_named_and_started_again() {
    let (mut client, _) = Client::connected(vec![spy("spy", "sessions")], options("openai-strict")).await;
    let died = client.call(1, "die", &json!({})).await;
    let text = died["error"]["message"].as_str().expect("an error");
    assert!(text.contains("`spy` ended") && text.contains('3'), "{text}");
    let arguments = json!({"labels": [], "note": null, "point": null});
    for id in 2..60 {
        let response = client.call(id, "spy_call", &arguments).await;
        if response.get("result").is_some() {
            assert_eq!(received(&response)["arguments"], json!({"labels": {}}));
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the server was not started again");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_server_that_cannot_start_does_not_stop_the_others() {
    let missing = Transport::Command {
        program: "/nonexistent/server".to_owned(),
        arguments: Vec::new(),
        environment: Environment::Inherited,
    };
    let servers = vec![ServerSpec { name: "gone".to_owned(), transport: missing }, spy("spy", "sessions")];
    let (mut client, hello) = Client::connected(servers, options("openai-strict")).await;
    assert!(hello.get("result").is_some(), "{hello}");
    let response = client.call(1, "spy_spy_call", &json!({"labels": [], "note": null, "point": null})).await;
    assert_eq!(received(&response)["arguments"], json!({"labels": {}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_server_the_handshake_fails_by_name() {
    let missing = Transport::Command {
        program: "/nonexistent/server".to_owned(),
        arguments: Vec::new(),
        environment: Environment::Inherited,
    };
    let servers = vec![ServerSpec { name: "gone".to_owned(), transport: missing }];
    let (_, hello) = Client::connected(servers, options("openai-strict")).await;
    let text = hello["error"]["message"].as_str().expect("an error");
    assert!(text.contains("gone") && text.contains("cannot start"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_call_times_out_and_others_go_on() {
    let options = ProxyOptions { timeout: Some(Duration::from_secs(2)), ..options("openai-strict") };
    let (mut client, _) = Client::connected(vec![spy("spy", "sessions")], options).await;
    client
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}))
        .await;
    let response = client.call(2, "spy_call", &json!({"labels": [], "note": null, "point": null})).await;
    assert_eq!(received(&response)["arguments"], json!({"labels": {}}));
    let late = client.receive().await;
    assert_eq!(late["id"], json!(1));
    assert!(late["error"]["message"].as_str().is_some_and(|text| text.contains("within 2 s")), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_results_pass_and_too_large_ones_are_named() {
    let options = ProxyOptions { longest_message: 4 << 20, ..options("openai-strict") };
    let (mut client, _) = Client::connected(vec![spy("spy", "sessions")], options).await;
    let large = client.call(1, "large", &json!({"bytes": 3 << 20})).await;
    assert_eq!(large["result"]["content"][0]["text"].as_str().map(str::len), Some(3 << 20));
    let refused = client.call(2, "large", &json!({"bytes": 5 << 20})).await;
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("more than 4194304")), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_tool_is_permissive_or_left_out() {
    for (broken, is_listed) in [(BrokenTools::Permissive, true), (BrokenTools::LeftOut, false)] {
        let options = ProxyOptions { broken, ..options("openai-strict") };
        let (mut client, _) = Client::connected(vec![spy("spy", "sessions"), spy("other", "sessions")], options).await;
        let tools = client.ask(1, "tools/list", &json!({})).await;
        let tools = tools["result"]["tools"].as_array().expect("tools");
        assert_eq!(tools.iter().any(|tool| tool["name"] == "spy_broken"), is_listed);
        assert!(tools.iter().any(|tool| tool["name"] == "spy_spy_call"));
    }
}

/// Half a message, noise and a line that is no JSON do not end the session.
#[tokio::test(flavor = "multi_thread")]
async fn noise_of_the_client_is_skipped() {
    let (mut client, _) = Client::connected(vec![spy("spy", "sessions")], options("openai-strict")).await;
    for noise in ["", "hello", "{\"id\": 1", "[]", "{}"] {
        client.send_text(noise).await;
    }
    assert!(client.ask(1, "odd/method", &json!({})).await.get("result").is_some());
}

/// Many calls at once come back with their own answers.
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_calls_at_once() {
    let (mut client, _) = Client::connected(vec![spy("spy", "sessions")], options("openai-strict")).await;
    for id in 1..=200 {
        let arguments = json!({"labels": [{"key": "id", "value": id}], "note": null, "point": null});
        client
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "spy_call", "arguments": arguments}}))
            .await;
    }
    let mut seen = std::collections::BTreeSet::new();
    for _ in 1..=200 {
        let response = client.receive().await;
        assert_eq!(received(&response)["arguments"]["labels"]["id"], response["id"]);
        seen.insert(response["id"].as_u64());
    }
    assert_eq!(seen.len(), 200);
}
