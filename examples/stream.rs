//! Prints an answer while it arrives.
//!
//! `cargo run -p polywire-examples --bin stream`
#![expect(clippy::print_stdout, reason = "it is a program to look at")]

use polywire::wire::{Delta, Event};
use polywire::{Catalog, Client, Request};
use polywire_emulator::Emulator;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let emulator = Emulator::start(0).await?;
    let model = Catalog::built_in().resolve("openai/gpt-5")?;
    let url = emulator.base_url(model.provider());
    let client = Client::builder().base_url("openai", &url).key("openai", "any").build()?;

    // The answer is also a `futures_core::Stream` of results.
    let mut answer = client.stream(&Request::user("Why is the sky blue?"), &model);
    while let Some(event) = answer.next().await {
        if let Event::Delta { delta: Delta::Text(text), .. } = event? {
            print!("{text}");
        }
    }
    let done = answer.finish().await?;
    println!("\n{:?} after {} retries, {:?}", done.response.stop, done.retries, done.cost);
    Ok(())
}
