//! What a test of one's own code looks like: the emulator judges the requests as the provider would, and misbehaves on demand.
//!
//! `cargo run -p polywire-examples --bin emulated_test`
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use anyhow::ensure;
use polywire::{AskError, Catalog, Client, Model, Request};
use polywire_emulator::{EMULATE_HEADER, Emulator};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Town {
    name: String,
}

/// The code under test.
async fn town(client: &Client, model: &Model) -> Result<String, AskError> {
    let asked = client.ask::<Town>(Request::user("A town on the Aare."), model).await?;
    Ok(format!("{} ({} attempts)", asked.value.name, asked.attempts.len()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let emulator = Emulator::start(0).await?;
    let model = Catalog::built_in().resolve("mistral/mistral-large-latest")?;
    let url = emulator.base_url(model.provider());
    let client = Client::builder().base_url("mistral", &url).key("mistral", "any").build()?;

    println!("well behaved: {}", town(&client, &model).await?);
    // JSON in a code fence, and the first value does not fit the schema.
    let fenced = client.clone().with_header(EMULATE_HEADER, "fenced,wrong-1");
    let found = town(&fenced, &model).await?;
    println!("fenced and wrong at first: {found}");
    ensure!(found.ends_with("(2 attempts)"), "the wrong value was not asked for again");
    Ok(())
}
