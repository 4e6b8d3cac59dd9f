//! Streamable HTTP on both sides: a proxy before a proxy before the spy.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use polywire_mcp::{Listen, ProxyOptions, ServerSpec, Transport, serve_http};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::proxy::{Client, options, received, spy};

/// A listening proxy before the spy.
async fn listening(options: ProxyOptions, token: Option<&str>) -> SocketAddr {
    let (sender, address) = oneshot::channel();
    let listen = Listen { address: "127.0.0.1:0".parse().expect("an address"), token: token.map(str::to_owned) };
    tokio::spawn(async move {
        let ready = |address| sender.send(address).expect("a test that waits");
        serve_http(vec![spy("spy", "sessions")], options, listen, |_| (), ready).await
    });
    address.await.expect("an address")
}

fn server(address: SocketAddr, headers: &[(&str, &str)]) -> ServerSpec {
    let headers: BTreeMap<String, String> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ServerSpec {
        name: "remote".to_owned(),
        transport: Transport::Http { url: format!("http://{address}/mcp"), headers },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_h1_http_on_both_sides() {
    let address = listening(options("mcp"), Some("secret")).await;
    let remote = server(address, &[("Authorization", "Bearer secret")]);
    let (mut client, hello) = Client::connected(vec![remote], options("openai-strict")).await;
    assert_eq!(hello["result"]["serverInfo"]["name"], "spy", "{hello}");
    let tools = client.ask(1, "tools/list", &json!({})).await;
    assert_eq!(tools["result"]["tools"][0]["name"], "spy_call");
    let params = json!({"name": "spy_call", "arguments": {"labels": [{"key": "a", "value": 1}], "note": null, "point": null},
        "_meta": {"progressToken": 9}});
    let response = client.ask(2, "tools/call", &params).await;
    assert_eq!(received(&response)["arguments"], json!({"labels": {"a": 1}}));
    assert_eq!(client.others.len(), 1, "progress: {:?}", client.others);
    client
        .send(&json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}))
        .await;
    let asked = client.receive().await;
    assert_eq!(asked["method"], "roots/list");
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}})).await;
    assert_eq!(received(&client.receive().await)["result"], json!({"roots": []}));
}

async fn post(address: SocketAddr, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
    // Another test may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut request = reqwest::Client::new().post(format!("http://{address}/mcp")).body(body.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.expect("a response");
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.expect("a body")).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn other_origins_and_clients_without_the_token_are_refused() {
    let open = listening(options("mcp"), None).await;
    let closed = listening(options("mcp"), Some("secret")).await;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    assert_eq!(post(open, &[("Origin", "https://evil.example")], &hello).await.0, 403);
    assert_eq!(post(open, &[("Host", "evil.example")], &hello).await.0, 403);
    assert_eq!(post(closed, &[], &hello).await.0, 401);
    assert_eq!(post(closed, &[("Authorization", "Bearer wrong")], &hello).await.0, 401);
    assert_eq!(post(closed, &[("Authorization", "Bearer secret")], &hello).await.0, 200);
    assert_eq!(post(open, &[], &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await.0, 400);
    assert_eq!(
        post(open, &[("Mcp-Session-Id", "x")], &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await.0,
        404
    );
    assert_eq!(post(open, &[], &json!([])).await.0, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn r_h1_requests_without_a_session() {
    let address = listening(options("openai-strict"), None).await;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Accept", "application/json, text/event-stream")];
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    // Two clients with the same id.
    let (one, other) = tokio::join!(post(address, &headers, &list), post(address, &headers, &list));
    for (status, tools) in [one, other] {
        assert_eq!(status, 200);
        assert_eq!((&tools["id"], &tools["result"]["tools"][0]["name"]), (&json!(1), &json!("spy_call")), "{tools}");
    }
}
