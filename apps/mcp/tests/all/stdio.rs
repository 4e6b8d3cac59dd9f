//! Servers as processes: what is listed, what is called, and what passes.

use polywire_mcp::ProxyOptions;
use serde_json::{Value, json};

use crate::proxy::{Client, options, received, spy};

/// The names of all tools, page by page.
async fn all_tools(client: &mut Client) -> Vec<Value> {
    let mut tools = Vec::new();
    let mut params = json!({});
    for id in 100.. {
        let page = client.ask(id, "tools/list", &params).await;
        tools.extend(page["result"]["tools"].as_array().expect("tools").iter().cloned());
        match page["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    tools
}

/// R-H2: tools are legal, and calls reach the server in its own schema.
#[tokio::test(flavor = "multi_thread")]
async fn r_h2_tools_are_fitted_and_calls_come_back() {
    let (mut client, hello) = Client::connected(vec![spy("spy", "sessions")], options("openai-strict")).await;
    assert_eq!(hello["result"]["serverInfo"]["name"], "spy");
    assert_eq!(hello["result"]["capabilities"]["odd"], json!({}));
    let tools = all_tools(&mut client).await;
    assert_eq!(tools[0]["name"], "spy_call");
    assert_eq!(tools[0]["execution"], json!({"taskSupport": "optional"}));
    assert_eq!(tools[0]["inputSchema"]["properties"]["labels"]["type"], "array");
    let arguments =
        json!({"labels": [{"key": "a", "value": 1}], "note": null, "point": {"item_1": 1.5, "item_2": "x"}});
    let response = client.call(1, "spy_call", &arguments).await;
    assert_eq!(received(&response)["name"], "spy.call");
    assert_eq!(received(&response)["arguments"], json!({"labels": {"a": 1}, "point": [1.5, "x"]}));
    assert_eq!(response["result"]["odd"], json!({"kept": true}));
}

/// A client that calls without a list, as agents that resume do.
#[tokio::test(flavor = "multi_thread")]
async fn calls_work_before_any_list() {
    let (mut client, _) = Client::connected(vec![spy("spy", "sessions")], options("openai-strict")).await;
    let response = client.call(1, "spy_call", &json!({"labels": [], "note": "n", "point": null})).await;
    assert_eq!(received(&response)["arguments"], json!({"labels": {}, "note": "n"}));
}

/// R-H2: what stays invalid is told to the model, and the server is not called.
#[tokio::test(flavor = "multi_thread")]
async fn r_h2_invalid_arguments_are_answered_by_the_proxy() {
    let (mut client, _) = Client::connected(vec![spy("spy", "sessions")], options("openai-strict")).await;
    let response = client.call(1, "spy_call", &json!({"labels": 7, "note": null, "point": null})).await;
    assert_eq!(response["result"]["isError"], json!(true), "{response}");
    let text = response["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("/labels") && text.contains("call the tool again"), "{text}");
}

/// R-H3: unknown methods, progress, requests of the server and unknown fields pass.
#[tokio::test(flavor = "multi_thread")]
async fn r_h3_everything_else_passes() {
    let (mut client, _) = Client::connected(vec![spy("spy", "sessions")], options("openai-strict")).await;
    let odd = client.ask(1, "odd/method", &json!({"a": [1, {"b": null}]})).await;
    assert_eq!(odd["result"]["echo"], json!({"a": [1, {"b": null}]}));
    let params = json!({"name": "spy_call", "arguments": {"labels": [], "note": null, "point": null},
        "_meta": {"progressToken": "p1", "other": 1}});
    let response = client.ask(2, "tools/call", &params).await;
    assert_eq!(received(&response)["_meta"], json!({"progressToken": "p1", "other": 1}));
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": "p1", "progress": 1, "odd": true}});
    assert_eq!(client.others, [progress]);
    client
        .send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}))
        .await;
    let asked = client.receive().await;
    assert_eq!((&asked["method"], &asked["id"]), (&json!("roots/list"), &json!(77)));
    client.send(&json!({"jsonrpc": "2.0", "id": 77, "result": {"roots": []}})).await;
    assert_eq!(received(&client.receive().await)["result"], json!({"roots": []}));
}

/// R-H1: each era on either side.
#[tokio::test(flavor = "multi_thread")]
async fn r_h1_an_old_client_uses_a_stateless_server() {
    let (mut client, hello) = Client::connected(vec![spy("spy", "stateless")], options("openai-strict")).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
    assert_eq!(hello["result"]["serverInfo"]["name"], "spy");
    assert_eq!(client.ask(1, "ping", &json!({})).await["result"], json!({}));
    assert_eq!(all_tools(&mut client).await.len(), 7);
    let response = client.call(2, "spy_call", &json!({"labels": [], "note": null, "point": null})).await;
    assert_eq!(received(&response)["_meta"]["io.modelcontextprotocol/clientInfo"]["name"], "test");
}

#[tokio::test(flavor = "multi_thread")]
async fn r_h1_a_stateless_client_uses_an_old_server() {
    let mut client = Client::start(vec![spy("spy", "sessions")], options("openai-strict"));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let tools = client.ask(1, "tools/list", &json!({"_meta": meta})).await;
    assert_eq!(tools["result"]["resultType"], "complete", "{tools}");
    assert_eq!(tools["result"]["tools"][0]["name"], "spy_call");
    let discovered = client.ask(2, "server/discover", &json!({"_meta": meta})).await;
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    let params = json!({"name": "spy_call", "arguments": {"labels": [], "note": null, "point": null}, "_meta": meta});
    let response = client.ask(3, "tools/call", &params).await;
    assert_eq!(response["result"]["resultType"], "complete");
    assert_eq!(received(&response)["arguments"], json!({"labels": {}}));
}

/// R-H1: what a stateless server wants to know is asked in the way of sessions, and the reverse.
#[tokio::test(flavor = "multi_thread")]
async fn r_h1_servers_ask_clients_of_the_other_era() {
    let (mut old, _) = Client::connected(vec![spy("spy", "stateless")], options("openai-strict")).await;
    old.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}))
        .await;
    let asked = old.receive().await;
    assert_eq!(asked["method"], "roots/list", "{asked}");
    old.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [1]}})).await;
    let response = old.receive().await;
    assert_eq!(response["id"], 1);
    let sent = received(&response);
    assert_eq!((&sent["inputResponses"], &sent["requestState"]), (&json!({"roots": {"roots": [1]}}), &json!("asked")));

    let mut new = Client::start(vec![spy("spy", "sessions")], options("openai-strict"));
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let call = json!({"name": "ask", "arguments": {}, "_meta": meta});
    let asked = new.ask(1, "tools/call", &call).await["result"].clone();
    assert_eq!(
        (&asked["resultType"], &asked["inputRequests"]["input"]["method"]),
        (&json!("input_required"), &json!("roots/list"))
    );
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"input": {"roots": [2]}});
    let response = new.ask(2, "tools/call", &again).await;
    assert_eq!(received(&response)["result"], json!({"roots": [2]}), "{response}");
}

/// Requests of the stateless era say who asks, in a revision that is spoken here, and use no method that is gone.
#[tokio::test(flavor = "multi_thread")]
async fn requests_without_their_envelope_are_refused() {
    let mut client = Client::start(vec![spy("spy", "stateless")], options("openai-strict"));
    let meta = |version: &str| json!({"_meta": {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}});
    let rows = [
        ("tools/list", json!({}), -32602),
        ("tools/list", json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}), -32602),
        ("tools/list", meta("2030-01-01"), -32022),
        ("ping", meta("2026-07-28"), -32601),
    ];
    for (id, (method, params, code)) in (1..).zip(rows) {
        assert_eq!(client.ask(id, method, &params).await["error"]["code"], code, "{method} {params}");
    }
}

/// R-H1: several servers, one list.
#[tokio::test(flavor = "multi_thread")]
async fn r_h1_the_tools_of_several_servers_have_their_names_before_them() {
    let servers = vec![spy("one", "sessions"), spy("two", "stateless")];
    let (mut client, hello) = Client::connected(servers, options("openai-strict")).await;
    assert!(hello["result"]["capabilities"]["tools"].is_object(), "{hello}");
    let tools = client.ask(1, "tools/list", &json!({})).await;
    let names: Vec<&str> =
        tools["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names.len(), 14, "{names:?}");
    assert!(names.contains(&"one_spy_call") && names.contains(&"two_spy_call"), "{names:?}");
    for name in ["one_spy_call", "two_spy_call"] {
        let response =
            client.call(2, name, &json!({"labels": [{"key": "k", "value": 2}], "note": null, "point": null})).await;
        assert_eq!(received(&response)["name"], "spy.call");
        assert_eq!(received(&response)["arguments"], json!({"labels": {"k": 2}}));
    }
    client
        .send(
            &json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "one_ask", "arguments": {}}}),
        )
        .await;
    let asked = client.receive().await;
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [1]}})).await;
    assert_eq!(received(&client.receive().await)["id"], json!(77));
}

/// The dialect of `auto` follows the name of the client.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_decides_the_dialect() {
    for (name, kind) in [("claude-code", "object"), ("somebody", "array")] {
        let mut client = Client::start(vec![spy("spy", "sessions")], ProxyOptions::default());
        client
            .ask(
                0,
                "initialize",
                &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name}}),
            )
            .await;
        let tools = client.ask(1, "tools/list", &json!({})).await;
        assert_eq!(tools["result"]["tools"][0]["inputSchema"]["properties"]["labels"]["type"], kind, "{name}");
    }
}
