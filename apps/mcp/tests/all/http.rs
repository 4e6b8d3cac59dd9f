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
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    // Two clients with the same id.
    let (one, other) = tokio::join!(post(address, &headers, &list), post(address, &headers, &list));
    for (status, tools) in [one, other] {
        assert_eq!(status, 200);
        assert_eq!((&tools["id"], &tools["result"]["tools"][0]["name"]), (&json!(1), &json!("spy_call")), "{tools}");
    }
}

/// The messages of a stream of events.
async fn events(address: SocketAddr, body: Value) -> Vec<Value> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().post(format!("http://{address}/mcp")).body(body.to_string());
    let request = request
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", body["params"]["name"].as_str().unwrap_or_default())
        .header("Accept", "application/json, text/event-stream");
    let text = request.send().await.expect("a response").text().await.expect("a body");
    let data = |line: &str| serde_json::from_str(line.strip_prefix("data:").unwrap_or(line).trim()).ok();
    text.lines().filter_map(data).collect()
}

/// Clients of the stateless era that say the same about themselves share a session, but see nothing of each other: no progress, no log
/// messages, and no cancellation, though their ids and tokens are the same.
#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_shared_session_see_nothing_of_each_other() {
    let address = listening(options("openai-strict"), None).await;
    let call = |name: &str, arguments: Value| {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": 7});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": meta}})
    };
    let waiting = tokio::spawn(events(address, call("wait", json!({}))));
    let arguments = json!({"labels": [], "note": null, "point": null});
    loop {
        // The token is the client's own again, and the server has seen another one.
        let other = events(address, call("spy_call", arguments.clone())).await;
        let [progress, response] = other.as_slice() else { panic!("progress and a response: {other:?}") };
        assert_eq!((&progress["params"]["progressToken"], &response["id"]), (&json!(7), &json!(1)));
        assert_ne!(received(response)["_meta"]["progressToken"], json!(7));
        let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "notifications/cancelled")];
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        assert_eq!(post(address, &headers, &cancel).await.0, 202);
        let released = events(address, call("release", json!({}))).await;
        assert_eq!(released.len(), 1, "the log message names no request: {released:?}");
        if waiting.is_finished() {
            break;
        }
    }
    let own = waiting.await.expect("a finished call");
    assert_eq!(own.len(), 1, "only its response: {own:?}");
    assert_eq!((&own[0]["id"], &own[0]["result"]["resultType"]), (&json!(1), &json!("complete")));
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_repeat_what_the_body_says() {
    let address = listening(options("openai-strict"), None).await;
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let rows = [
        (vec![version, ("Mcp-Method", "tools/list")], 200, Value::Null),
        (vec![version, ("Mcp-Method", "TOOLS/LIST")], 400, json!(-32020)),
        (vec![version], 400, json!(-32020)),
        (vec![("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/list")], 400, json!(-32020)),
    ];
    for (headers, status, code) in rows {
        let (own, body) = post(address, &headers, &list).await;
        assert_eq!((own, &body["error"]["code"]), (status, &code), "{headers:?}: {body}");
    }
    let gone = json!({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"_meta": meta}});
    let (status, body) = post(address, &[version, ("Mcp-Method", "logging/setLevel")], &gone).await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!(-32601)));
}
