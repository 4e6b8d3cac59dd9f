//! R-G1: every protocol in, every protocol behind.

use serde_json::{Value, json};

use crate::{Answer, chat, gateway, get, get_with, http, post, post_with, read};

/// A model of each protocol behind the gateway.
const MODELS: [&str; 5] = [
    "openai:chat/gpt-4o",
    "openai:responses/gpt-4o",
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-flash",
    "bedrock/anthropic.claude-sonnet-4-5",
];

/// What the caller of a protocol sends, and where the text of the answer is.
struct Client {
    path: fn(&str, bool) -> String,
    body: fn(&str, bool) -> Value,
    text: &'static str,
    end: &'static str,
}

const CLIENTS: [Client; 4] = [
    Client {
        path: |_, _| "/v1/chat/completions".to_owned(),
        body: |model, stream| json!({"model": model, "stream": stream, "messages": [{"role": "user", "content": "Hello?"}]}),
        text: "/choices/0/message/content",
        end: "data: [DONE]",
    },
    Client {
        path: |_, _| "/v1/responses".to_owned(),
        body: |model, stream| json!({"model": model, "stream": stream, "input": "Hello?"}),
        text: "/output/0/content/0/text",
        end: "event: response.completed",
    },
    Client {
        path: |_, _| "/v1/messages?beta=true".to_owned(),
        body: |model, stream| json!({"model": model, "stream": stream, "max_tokens": 500, "messages": [{"role": "user", "content": "Hello?"}]}),
        text: "/content/0/text",
        end: "event: message_stop",
    },
    Client {
        path: |model, stream| {
            let verb = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            format!("/v1beta/models/{model}:{verb}")
        },
        body: |_, _| json!({"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]}),
        text: "/candidates/0/content/parts/0/text",
        end: "finishReason",
    },
];

#[tokio::test]
async fn r_g1_every_client_reaches_every_provider() {
    let gateway = gateway("").await;
    for client in &CLIENTS {
        for model in MODELS {
            let whole = post(&gateway, &(client.path)(model, false), &(client.body)(model, false)).await;
            assert_eq!(whole.status, 200, "{model}: {}", whole.text);
            let json = whole.json();
            let text = json.pointer(client.text).and_then(Value::as_str).unwrap_or_default();
            assert!(!text.is_empty(), "{model}: {json}");
            let stream = post(&gateway, &(client.path)(model, true), &(client.body)(model, true)).await;
            assert_eq!((stream.status, stream.header("content-type")), (200, "text/event-stream"), "{}", stream.text);
            assert!(stream.text.contains(client.end), "{model}: {}", stream.text);
            assert!(!stream.header("x-polywire-request-id").is_empty());
        }
    }
}

/// R-F2: what a provider takes as it is stays as it is, so that nothing is reported.
#[tokio::test]
async fn r_g1_the_caller_s_own_protocol_passes_untouched() {
    let gateway = gateway("").await;
    for (path, body) in [
        ("/v1/chat/completions", chat("gpt-4o")),
        ("/v1/responses", json!({"model": "gpt-4o", "input": "Hello?"})),
        (
            "/v1/messages",
            json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}),
        ),
    ] {
        let answer = post(&gateway, path, &body).await;
        assert_eq!((answer.status, answer.header("x-polywire-changes")), (200, "0; narrower=0; wider=0"), "{path}");
    }
}

#[tokio::test]
async fn r_g1_errors_are_in_the_caller_s_protocol() {
    let gateway = gateway("").await;
    let chat_error = post(&gateway, "/v1/chat/completions", &chat("nobody-knows-this")).await;
    assert_eq!(chat_error.status, 404);
    assert!(chat_error.json()["error"]["message"].as_str().is_some_and(|text| text.contains("nobody-knows-this")));
    let messages = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": "none"});
    let messages = post(&gateway, "/v1/messages", &messages).await;
    assert_eq!((messages.status, &messages.json()["error"]["type"]), (400, &json!("invalid_request_error")));
    let gemini = post(&gateway, "/v1beta/models/none:generateContent", &json!({"contents": []})).await;
    assert_eq!((gemini.status, &gemini.json()["error"]["status"]), (404, &json!("NOT_FOUND")));
    // An error of a provider of another protocol keeps its status and its time to wait.
    let busy = post(
        &gateway,
        "/v1/messages",
        &json!({"model": "openai/gpt-4o+429", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]}),
    )
    .await;
    assert_eq!((busy.status, &busy.json()["error"]["type"]), (429, &json!("rate_limit_error")), "{}", busy.text);
    assert!(!busy.header("retry-after").is_empty());
    let broken = http().post(format!("{}/v1/chat/completions", gateway.url())).body("{\"model\": ").send().await;
    assert_eq!(read(broken.expect("a response")).await.status, 400);
}

#[tokio::test]
async fn r_g1_a_websocket_is_answered_with_426() {
    let gateway = gateway("").await;
    let headers =
        [("upgrade", "websocket"), ("connection", "Upgrade"), ("openai-beta", "responses_websockets=2026-02-06")];
    assert_eq!(get_with(&gateway, "/v1/responses", &headers).await.status, 426);
    assert_eq!(get(&gateway, "/v1/responses").await.status, 426);
}

#[tokio::test]
async fn r_g1_models_are_listed_in_each_vendor_s_shape() {
    let gateway = gateway("[[serve.route]]\nname = \"fast\"\nto = [\"openai/gpt-4o\"]").await;
    let openai = get(&gateway, "/v1/models").await.json();
    assert_eq!((&openai["object"], &openai["data"][0]["id"]), (&json!("list"), &json!("fast")));
    let anthropic = get_with(&gateway, "/v1/models", &[("anthropic-version", "2023-06-01")]).await.json();
    assert_eq!((&anthropic["has_more"], &anthropic["data"][0]["type"]), (&json!(false), &json!("model")));
    let gemini = get(&gateway, "/v1beta/models").await.json();
    assert_eq!(gemini["models"][0]["name"], "models/fast");
    assert_eq!(get(&gateway, "/v1/models/gpt-4o").await.json()["id"], "openai/gpt-4o");
    assert_eq!(get(&gateway, "/v1/models/none").await.status, 404);
}

#[tokio::test]
async fn r_g1_tokens_are_counted_by_the_provider_or_estimated_on_record() {
    let gateway = gateway("").await;
    let body = |model: &str| json!({"model": model, "messages": [{"role": "user", "content": "Hello?"}]});
    let counted = post(&gateway, "/v1/messages/count_tokens", &body("claude-sonnet-4-5")).await;
    assert!(counted.json()["input_tokens"].as_u64().is_some_and(|count| count > 0), "{}", counted.text);
    assert_eq!(counted.header("x-polywire-estimated"), "");
    let estimated = post(&gateway, "/v1/messages/count_tokens", &body("gpt-4o")).await;
    assert!(estimated.json()["input_tokens"].as_u64().is_some_and(|count| count > 0));
    assert_eq!(estimated.header("x-polywire-estimated"), "true");
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "Hello?"}]}]});
    let gemini = post(&gateway, "/v1beta/models/gemini-2.5-flash:countTokens", &contents).await;
    assert!(gemini.json()["totalTokens"].as_u64().is_some_and(|count| count > 0), "{}", gemini.text);
}

#[tokio::test]
async fn r_g1_embeddings_compaction_and_other_paths_are_passed_on() {
    let gateway = gateway("").await;
    let embeddings = json!({"model": "openai/text-embedding-3-small", "input": "Hello?"});
    let answer = post(&gateway, "/v1/embeddings", &embeddings).await;
    assert_eq!((answer.status, &answer.json()["object"]), (200, &json!("list")), "{}", answer.text);
    assert_eq!(answer.json()["model"], "text-embedding-3-small");
    let compact = post(&gateway, "/v1/responses/compact", &json!({"model": "gpt-4o", "input": "Hello?"})).await;
    assert_eq!(compact.json()["object"], "response.compaction", "{}", compact.text);
    let refused =
        post(&gateway, "/v1/responses/compact", &json!({"model": "claude-sonnet-4-5", "input": "Hello?"})).await;
    assert_eq!(refused.status, 404);
    let passed = get(&gateway, "/openai/v1/models/gpt-4o").await;
    assert_eq!(passed.status, 200, "{}", passed.text);
    assert_eq!(get(&gateway, "/v1/no-such-path").await.status, 404);
}

#[tokio::test]
async fn r_g1_a_stored_response_continues_with_any_provider() {
    let gateway = gateway("").await;
    for stream in [false, true] {
        let first = post(
            &gateway,
            "/v1/responses",
            &json!({"model": "claude-sonnet-4-5", "input": "Hello?", "stream": stream}),
        )
        .await;
        let id = response_id(&first);
        let next = json!({"model": "gemini-2.5-flash", "input": "And then?", "previous_response_id": id});
        let next = post(&gateway, "/v1/responses", &next).await;
        assert_eq!(next.status, 200, "{}", next.text);
        let report = get(&gateway, &format!("/requests/{}", next.header("x-polywire-request-id"))).await.json();
        assert_eq!(report["outcome"], "answered");
        assert_eq!(get(&gateway, &format!("/v1/responses/{id}")).await.json()["id"], json!(id));
        let gone = http().delete(format!("{}/v1/responses/{id}", gateway.url())).send().await.expect("a response");
        assert_eq!(read(gone).await.json()["deleted"], true);
    }
    let unknown = json!({"model": "claude-sonnet-4-5", "input": "And?", "previous_response_id": "resp_unknown"});
    let unknown = post(&gateway, "/v1/responses", &unknown).await;
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["code"]),
        (400, &json!("previous_response_not_found")),
        "{}",
        unknown.text
    );
    let private = json!({"model": "claude-sonnet-4-5", "input": "Hello?", "store": false});
    let private = post(&gateway, "/v1/responses", &private).await;
    assert_eq!(get(&gateway, &format!("/v1/responses/{}", response_id(&private))).await.status, 404);
}

/// `toolRunner` of Anthropic's SDK for Node starts a thread and then sends only new messages, unless it is told that there are none.
#[tokio::test]
async fn r_g1_threads_are_refused_where_no_provider_keeps_them() {
    let gateway = gateway("").await;
    for model in ["gpt-4o", "gemini-2.5-flash"] {
        let body = json!({"model": model, "max_tokens": 9, "thread": {"type": "create"},
            "messages": [{"role": "user", "content": "Hello?"}]});
        let refused = post(&gateway, "/v1/messages", &body).await;
        let details = &refused.json()["error"]["details"];
        assert_eq!((refused.status, &details["error_code"]), (400, &json!("thread_unsupported_request")), "{details}");
        assert_eq!(details["unsupported"], json!(["thread"]));
    }
}

/// The id of a response, whole or streamed.
fn response_id(answer: &Answer) -> String {
    let json = match answer.text.lines().find_map(|line| line.strip_prefix("data: ")) {
        Some(data) => serde_json::from_str::<Value>(data).expect("an event")["response"].clone(),
        None => answer.json(),
    };
    json["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn r_g1_beta_headers_are_passed_or_dropped_on_record() {
    let gateway = gateway("").await;
    let body =
        |model: &str| json!({"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "Hello?"}]});
    let beta = [("anthropic-beta", "interleaved-thinking-2025-05-14")];
    let passed = post_with(&gateway, "/v1/messages", &beta, &body("claude-sonnet-4-5")).await;
    assert_eq!(passed.header("x-polywire-changes"), "0; narrower=0; wider=0");
    let dropped = post_with(&gateway, "/v1/messages", &beta, &body("gpt-4o")).await;
    let report = get(&gateway, &format!("/requests/{}", dropped.header("x-polywire-request-id"))).await.json();
    let details: Vec<&str> =
        report["changes"].as_array().expect("changes").iter().filter_map(|change| change["detail"].as_str()).collect();
    assert!(details.iter().any(|detail| detail.starts_with("header `anthropic-beta` dropped")), "{details:?}");
}

#[tokio::test]
async fn r_g1_a_head_request_and_the_page_are_answered() {
    let gateway = gateway("").await;
    let head = http().head(gateway.url()).send().await.expect("a response");
    assert_eq!(head.status().as_u16(), 200);
    assert!(get(&gateway, "/").await.text.contains("polywire"));
    assert_eq!(get(&gateway, "/health").await.json()["status"], "ok");
    assert_eq!(get(&gateway, "/ready").await.json()["ready"], true);
}
