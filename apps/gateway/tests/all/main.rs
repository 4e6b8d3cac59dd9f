//! The gateway over real HTTP on loopback, with the emulator behind it.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests may fail loudly")]

mod cache;
mod echo;
mod fallback;
mod faults;
mod inbound;
mod keys;
mod mutations;
mod report;
mod router_input;
mod upstream;

use polywire::Config;
use polywire::catalog::Serve;
use polywire_gateway::{Gateway, GatewayOptions};
use serde_json::{Value, json};

/// A gateway in front of the emulator, with lines of `[serve]`.
async fn gateway(lines: &str) -> Gateway {
    Gateway::start(options(lines)).await.expect("a gateway")
}

fn options(lines: &str) -> GatewayOptions {
    GatewayOptions::default().with_serve(serve(lines))
}

fn serve(lines: &str) -> Serve {
    let text = format!("[serve]\nlisten = \"127.0.0.1:0\"\nlog = \"off\"\n{lines}");
    let config = Config::read(&text, &|_| Err("no files".to_owned()));
    config.unwrap_or_else(|mistakes| panic!("{mistakes:?}")).serve
}

fn http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

/// A response of the gateway.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: reqwest::header::HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

async fn read(response: reqwest::Response) -> Answer {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, text: response.text().await.expect("a body") }
}

async fn post(gateway: &Gateway, path: &str, body: &Value) -> Answer {
    post_with(gateway, path, &[], body).await
}

async fn post_with(gateway: &Gateway, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let mut request = http().post(format!("{}{path}", gateway.url())).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    read(request.body(body.to_string()).send().await.expect("a response")).await
}

async fn get_with(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = http().get(format!("{}{path}", gateway.url()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    read(request.send().await.expect("a response")).await
}

async fn get(gateway: &Gateway, path: &str) -> Answer {
    get_with(gateway, path, &[]).await
}

/// A Chat request.
fn chat(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "Hello?"}]})
}
