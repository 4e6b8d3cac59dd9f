//! Asks a model for a value of a Rust type. The answer is valid, or an error says why there is none.
//!
//! `cargo run -p polywire-examples --bin ask`
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use polywire::{Catalog, Client, Request};
use polywire_emulator::Emulator;

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "the fields are printed")]
struct Order {
    id: String,
    /// How many.
    count: u32,
    note: Option<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    // Without these three lines the request goes to the provider, with the key of the environment.
    let emulator = Emulator::start(0).await?;
    let model = Catalog::built_in().resolve("anthropic/claude-sonnet-4-5")?;
    let url = emulator.base_url(model.provider());
    let client = Client::builder().base_url("anthropic", &url).key("anthropic", "any").build()?;

    let request = Request::user("An order of three books.").system("Answer like a clerk.").max_tokens(500);
    let asked = client.ask::<Order>(request, &model).await?;
    println!("{:?}", asked.value);
    println!("{} attempt(s), {:?}, {:?}", asked.attempts.len(), asked.usage(), asked.cost());
    for change in &asked.changes {
        println!("changed: {} at `{}`: {}", change.code, change.at, change.detail);
    }
    Ok(())
}
