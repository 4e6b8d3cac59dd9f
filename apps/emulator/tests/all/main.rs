//! The emulator and the client over real HTTP on loopback.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests may fail loudly"
)]

mod ask;
mod client;
mod faithful;
mod faults;
mod hostile;
mod http;
mod lists;
mod misbehaviours;
mod oracle;
mod script;
mod servers;
mod spans;
mod stream;
mod tools;

use std::time::Duration;

use polywire::wire::{Message, OutputFormat, Request, Strategy};
use polywire::{AskError, Asked, Catalog, Client, ClientOptions, Model, Secret};
use polywire_emulator::{EMULATE_HEADER, Emulator};
use serde_json::{Value, json};

/// One model a protocol and surface of note.
const MODELS: [&str; 8] = [
    "openai:responses/gpt-5",
    "openai:chat/gpt-4o",
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-pro",
    "google:openapi/gemini-2.5-pro",
    "bedrock:converse/anthropic.claude-sonnet-4-5",
    "mistral/mistral-large-latest",
    "vertex:generate/gemini-2.5-pro",
];

/// A schema that no provider takes as it is: optional keys, a map, a union.
fn order() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "minLength": 1},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "express": {"type": "boolean"},
            "note": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "place": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}]}
        },
        "required": ["id", "count", "express", "place"]
    })
}

fn model(name: &str) -> Model {
    Catalog::built_in().resolve(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn client(emulator: &Emulator, model: &Model, misbehave: &str) -> Client {
    let options = ClientOptions::default()
        .with_retries(1)
        .with_backoff(Duration::from_millis(5))
        .with_timeout(Duration::from_secs(10))
        .with_deadline(Duration::from_secs(20))
        .with_max_response_bytes(1 << 20);
    let provider = model.provider();
    let client = Client::with_options(options).expect("a client");
    let client = client.with_base_url(&provider.id, &emulator.base_url(provider));
    client.with_key(&provider.id, Secret::new("emulated")).with_header(EMULATE_HEADER, misbehave)
}

/// Asks for an order.
async fn ask(
    emulator: &Emulator,
    name: &str,
    strategy: Strategy,
    stream: bool,
    misbehave: &str,
) -> Result<Asked<Value>, AskError> {
    let model = model(name);
    let request = Request::new("", vec![Message::user("An order, please.")]);
    let format = OutputFormat::strict("order", order()).expect("a format").with_strategy(strategy);
    let client = client(emulator, &model, misbehave);
    if !stream {
        return client.ask_format(request, format, &model).await;
    }
    let mut asking = client.ask_format_stream(request, format, &model);
    while asking.next().await.is_some() {}
    asking.finish().await
}
