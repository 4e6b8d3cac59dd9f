//! Every protocol by every strategy, whole and as a stream: what comes back is valid by the caller's schema.

use polywire::answer::validate;
use polywire::wire::{Block, Function, Message, Request, Role, Strategy, Tool, ToolResult};
use polywire::{Catalog, Client, SendError};
use polywire_emulator::Emulator;

use super::{MODELS, ask, client, model, order};

#[tokio::test]
async fn every_protocol_by_every_strategy() {
    let emulator = Emulator::start(0).await.expect("a port");
    for name in MODELS {
        for strategy in [Strategy::Auto, Strategy::Native, Strategy::Tool, Strategy::Prompted] {
            for stream in [false, true] {
                let asked = ask(&emulator, name, strategy, stream, "").await;
                let asked = asked.unwrap_or_else(|error| panic!("{name} {strategy:?} stream {stream}: {error}"));
                assert_eq!(validate(&asked.value, &order()).expect("a schema"), [], "{name} {strategy:?}");
                assert_eq!(asked.attempts.len(), 1, "{name} {strategy:?} stream {stream}");
                assert_ne!(asked.strategy, Strategy::Auto);
            }
        }
    }
}

/// Every row of the catalog, by the strategy of its model.
#[tokio::test]
async fn every_provider() {
    let emulator = Emulator::start(0).await.expect("a port");
    let mut failed = Vec::new();
    for provider in Catalog::built_in().providers() {
        for surface in &provider.surfaces {
            let first = Catalog::built_in().models().find(|row| {
                row.provider == provider.id && (row.surfaces.is_empty() || row.surfaces.contains(&surface.id))
            });
            let name = format!("{}:{}/{}", provider.id, surface.id, first.map_or("emulated", |row| row.id.as_str()));
            for stream in [false, true] {
                if let Err(error) = ask(&emulator, &name, Strategy::Auto, stream, "").await {
                    failed.push(format!("{name} stream {stream}: {error}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A tool is called with arguments in the caller's names and shapes; with its result the conversation goes on to words.
#[tokio::test]
async fn tools_are_called_and_then_there_are_words() {
    let emulator = Emulator::start(0).await.expect("a port");
    for name in MODELS {
        let model = model(name);
        let client = client(&emulator, &model, "");
        let mut request = Request::new("", vec![Message::user("Place the order.")]);
        request.tools = vec![Tool::Function(Function {
            name: "shop.order".to_owned(),
            parameters: Some(order()),
            ..Function::default()
        })];
        let first = client.complete(&request, &model).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let call = first.response.calls().next().unwrap_or_else(|| panic!("{name}: no call")).clone();
        assert_eq!(call.name, "shop.order", "{name}");
        assert_eq!(validate(&call.value().expect("JSON"), &order()).expect("a schema"), [], "{name}");
        request.messages.push(Message::new(Role::Assistant, first.response.content));
        request.messages.push(Message::tool([ToolResult::text(call.id, "done")]));
        let second = client.complete(&request, &model).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(matches!(second.response.content.as_slice(), [Block::Text(_)]), "{name}: {:?}", second.response);
    }
}

/// A conversation with a call, started with each model, goes on with each other one.
#[tokio::test]
async fn conversations_carry_over() {
    let emulator = Emulator::start(0).await.expect("a port");
    let mut failed = Vec::new();
    for from in MODELS {
        let mut request = Request::new("", vec![Message::user("Place the order.")]);
        let parameters = Some(order());
        let tool = Function { name: "shop.order".to_owned(), parameters, ..Function::default() };
        request.tools = vec![Tool::Function(tool)];
        let started = model(from);
        let first = client(&emulator, &started, "").complete(&request, &started).await;
        let first = first.unwrap_or_else(|error| panic!("{from}: {error}"));
        let results: Vec<_> = first.response.calls().map(|call| ToolResult::text(call.id.clone(), "done")).collect();
        assert_eq!(results.len(), 1, "{from}");
        request.messages.push(Message::new(Role::Assistant, first.response.content));
        request.messages.push(Message::tool(results));
        for to in MODELS {
            let next = model(to);
            match client(&emulator, &next, "").complete(&request, &next).await {
                Ok(done) if !done.response.text().is_empty() => {}
                Ok(done) => failed.push(format!("{from} to {to}: {:?}", done.response)),
                Err(error) => failed.push(format!("{from} to {to}: {error}")),
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[tokio::test]
async fn the_same_request_has_the_same_answer() {
    let emulator = Emulator::start(0).await.expect("a port");
    let first = ask(&emulator, MODELS[0], Strategy::Auto, false, "").await.expect("a value");
    let second = ask(&emulator, MODELS[0], Strategy::Auto, true, "").await.expect("a value");
    let again = ask(&emulator, MODELS[0], Strategy::Auto, false, "").await.expect("a value");
    assert_eq!(first.value, again.value);
    assert_eq!(validate(&second.value, &order()).expect("a schema"), []);
}

#[tokio::test]
async fn types_come_back() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Town {
        name: String,
        inhabitants: Option<u32>,
    }
    let emulator = Emulator::start(0).await.expect("a port");
    let model = model(MODELS[1]);
    let request = Request::new("", vec![Message::user("A town.")]);
    let asked = client(&emulator, &model, "").ask::<Town>(request, &model).await.expect("a town");
    assert_eq!(
        (asked.value.name.is_empty(), asked.value.inhabitants.is_some_and(|count| count == u32::MAX)),
        (false, false)
    );
    assert!(asked.usage().output_tokens > 0);
}

/// Secrets have no printable form, a missing one is named by its variables, and plain HTTP stays on this machine.
#[tokio::test]
async fn keys_are_not_shown_and_do_not_leave_in_the_clear() {
    let model = model(MODELS[1]);
    let request = Request::new("", vec![Message::user("Hello")]);
    let client = Client::new().expect("a client").with_key("openai", polywire::Secret::new("sk-very-secret"));
    assert!(!format!("{client:?}").contains("very-secret"));
    let far = client.with_base_url("openai", "http://example.com/v1");
    let error = far.complete(&request, &model).await.expect_err("no plain HTTP");
    assert!(matches!(error, SendError::Address(_)), "{error}");
    let deepseek = super::model("deepseek/deepseek-chat");
    let near = Client::new().expect("a client").with_base_url("deepseek", "http://127.0.0.1:9");
    let error = near.complete(&request, &deepseek).await.expect_err("no key");
    assert_eq!(error.to_string(), "no API key for deepseek; set DEEPSEEK_API_KEY");
}
