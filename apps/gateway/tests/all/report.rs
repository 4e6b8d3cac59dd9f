//! R-G3: the caller is told what changed.

use serde_json::{Value, json};

use crate::{chat, gateway, get, post, post_with};

fn with_tool(model: &str) -> Value {
    let mut body = chat(model);
    body["tools"] = json!([{"type": "function", "function": {"name": "get.weather", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer"}}, "required": ["city"],
    }}}]);
    body["seed"] = json!(7);
    body
}

#[tokio::test]
async fn r_g3_counts_are_in_a_header_and_everything_by_id() {
    let gateway = gateway("").await;
    let answer = post(&gateway, "/v1/chat/completions", &with_tool("anthropic/claude-sonnet-4-5")).await;
    let header = answer.header("x-polywire-changes").to_owned();
    assert!(header.contains("; narrower=") && !header.starts_with("0;"), "{header}");
    assert_eq!(answer.header("x-polywire-model"), "anthropic/claude-sonnet-4-5");
    let report = get(&gateway, &format!("/requests/{}", answer.header("x-polywire-request-id"))).await.json();
    assert_eq!((&report["status"], &report["plan"]["protocol"]), (&json!(200), &json!("anthropic-messages")));
    let places: Vec<&str> =
        report["changes"].as_array().expect("changes").iter().filter_map(|change| change["at"].as_str()).collect();
    assert!(places.contains(&"/seed") && places.contains(&"/tools/0/name"), "{places:?}");
    assert_eq!(report["attempts"].as_array().map(Vec::len), Some(1));
    assert!(report["timings"]["total_ms"].is_number() && report["usage"]["input"].is_number());
    assert!(report.get("content").is_none(), "content is not recorded");
    assert_eq!(get(&gateway, "/requests/none").await.status, 404);
    let listed = get(&gateway, "/requests").await.json();
    assert_eq!(listed["requests"][0]["id"], report["id"]);
}

#[tokio::test]
async fn r_g3_the_report_is_in_the_body_on_request() {
    let gateway = gateway("").await;
    let wish = [("x-polywire-report", "body")];
    let answer =
        post_with(&gateway, "/v1/chat/completions", &wish, &with_tool("anthropic/claude-sonnet-4-5")).await.json();
    assert_eq!(answer["polywire"]["outcome"], "answered");
    assert!(answer["choices"].is_array());
    let bad = post_with(&gateway, "/v1/chat/completions", &[("x-polywire-report", "loud")], &chat("gpt-4o")).await;
    assert_eq!(bad.status, 400);
}

#[tokio::test]
async fn r_g3_losses_are_refused_where_asked() {
    let recording = gateway("").await;
    let body = with_tool("anthropic/claude-sonnet-4-5");
    let refused = post_with(&recording, "/v1/chat/completions", &[("x-polywire-on-loss", "error")], &body).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert!(refused.json()["error"]["message"].as_str().is_some_and(|text| text.contains("losses are not allowed")));
    let strict = gateway("on-loss = \"error\"").await;
    assert_eq!(post(&strict, "/v1/chat/completions", &body).await.status, 400);
    let forgiven = post_with(&strict, "/v1/chat/completions", &[("x-polywire-on-loss", "record")], &body).await;
    assert_eq!(forgiven.status, 200, "{}", forgiven.text);
}

/// R-G4: a Chat stream has its usage only on request; without it tokens are estimated by events, not by the bytes around them.
#[tokio::test]
async fn r_g4_tokens_of_a_stream_without_usage_are_estimated_on_record() {
    let gateway = gateway("").await;
    let mut body = chat("gpt-4o");
    body["stream"] = json!(true);
    let usage = async |body: &Value| {
        let answer = post(&gateway, "/v1/chat/completions", body).await;
        get(&gateway, &format!("/requests/{}", answer.header("x-polywire-request-id"))).await.json()["usage"].clone()
    };
    let estimated = usage(&body).await;
    body["stream_options"] = json!({"include_usage": true});
    let reported = usage(&body).await;
    assert_eq!((&estimated["estimated"], &reported["estimated"]), (&json!(true), &json!(false)));
    let output = |usage: &Value| usage["output"].as_u64().expect("a count");
    assert!((1..=3 * output(&reported)).contains(&output(&estimated)), "{estimated} for {reported}");
}

/// R-G6: requests are counted, and content is recorded only where the configuration says so.
#[tokio::test]
async fn r_g6_metrics_and_content() {
    let gateway = gateway("record = \"content\"").await;
    let answer = post(&gateway, "/v1/chat/completions", &chat("gpt-4o")).await;
    let report = get(&gateway, &format!("/requests/{}", answer.header("x-polywire-request-id"))).await.json();
    assert!(report["content"]["request"].as_str().is_some_and(|text| text.contains("Hello?")));
    assert_eq!(report["content"]["response"].as_str(), Some(answer.text.as_str()));
    let metrics = get(&gateway, "/metrics").await.text;
    let line = "polywire_requests_total{protocol=\"openai-chat\",route=\"\",provider=\"openai\",model=\"gpt-4o\",outcome=\"answered\"} 1";
    assert!(metrics.contains(line), "{metrics}");
    assert!(
        metrics.contains("polywire_tokens_total{") && metrics.contains("polywire_overhead_seconds_count 1"),
        "{metrics}"
    );
}
