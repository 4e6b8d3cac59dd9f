//! Lets a model call Rust functions until it answers.
//!
//! `cargo run -p polywire-examples --bin tool_loop`
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use polywire::tools::{RunEvent, Toolbox};
use polywire::{Catalog, Client, Request};
use polywire_emulator::Emulator;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let emulator = Emulator::start(0).await?;
    let model = Catalog::built_in().resolve("google/gemini-2.5-pro")?;
    let url = emulator.base_url(model.provider());
    let client = Client::builder().base_url("google", &url).key("google", "any").build()?;

    let toolbox = Toolbox::new().tool("population", "How many people live in a city", |city: City| async move {
        if city.name.is_empty() {
            // An error goes back to the model, which may try again.
            return Err("a city has a name");
        }
        Ok(serde_json::json!({"city": city.name, "people": 146_000}))
    });
    let mut run = client.run(Request::user("How many people live in Bern?"), &toolbox, &model).max_turns(4);
    while let Some(event) = run.next().await {
        match event? {
            RunEvent::Call(call) => println!("calls {} with {}", call.name, call.arguments),
            RunEvent::Result(result) => println!("gets {:?}", result.content),
            RunEvent::Event(_) | _ => {}
        }
    }
    let outcome = run.finish().await?;
    println!("{:?} after {} turns: {}", outcome.stop, outcome.turns.len(), outcome.response.text());
    Ok(())
}
