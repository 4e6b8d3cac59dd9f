//! A client of the proxy: messages in, messages out.

use std::time::Duration;

use polywire::schema::target;
use polywire_mcp::{Audience, Environment, ProxyOptions, ServerSpec, Transport, serve_streams};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};

/// How long a test waits for a message.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Client {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    /// Messages that were not asked for.
    pub(crate) others: Vec<Value>,
}

/// The spy, as one of the eras.
pub(crate) fn spy(name: &str, era: &str) -> ServerSpec {
    let script = [env!("CARGO_MANIFEST_DIR"), "tests", "all", "spy.py"].join("/");
    let arguments = vec![script, era.to_owned()];
    let transport =
        Transport::Command { program: "python3".to_owned(), arguments, environment: Environment::Inherited };
    ServerSpec { name: name.to_owned(), transport }
}

pub(crate) fn options(ids: &str) -> ProxyOptions {
    let dialect = target(ids).expect("a dialect");
    ProxyOptions { audience: Audience::Dialect(Box::new(dialect)), ..ProxyOptions::default() }
}

impl Client {
    /// A client of a proxy before these servers.
    pub(crate) fn start(servers: Vec<ServerSpec>, options: ProxyOptions) -> Self {
        let (own, of_proxy) = duplex(1 << 20);
        let (input, output) = split(of_proxy);
        tokio::spawn(async move { serve_streams(&servers, options, |_| (), input, output).await });
        let (output, input) = split(own);
        Self { input, output: BufReader::new(output).lines(), others: Vec::new() }
    }

    /// A client of the era of sessions that has said hello.
    pub(crate) async fn connected(servers: Vec<ServerSpec>, options: ProxyOptions) -> (Self, Value) {
        let mut client = Self::start(servers, options);
        let hello = client
            .ask(
                0,
                "initialize",
                &json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}),
            )
            .await;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        (client, hello)
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.expect("a proxy that reads");
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await.expect("a message in time");
        let line = line.expect("a proxy that writes").expect("a proxy that has not ended");
        serde_json::from_str(&line).expect("a message")
    }

    /// Sends a request and waits for its response.
    pub(crate) async fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let message = self.receive().await;
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message;
            }
            self.others.push(message);
        }
    }

    /// Calls a tool, and gives what the server received.
    pub(crate) async fn call(&mut self, id: u64, name: &str, arguments: &Value) -> Value {
        self.ask(id, "tools/call", &json!({"name": name, "arguments": arguments})).await
    }
}

/// What the spy received.
pub(crate) fn received(response: &Value) -> Value {
    let text = response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no result: {response}"));
    serde_json::from_str(text).expect("the parameters that the spy received")
}
