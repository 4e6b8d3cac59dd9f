//! An emulator of LLM providers: it speaks the protocol of each on loopback and needs no key.
//!
//! ```no_run
//! # async fn run() -> std::io::Result<()> {
//! let emulator = polywire_emulator::Emulator::start(0).await?;
//! // Any client of a provider works against its own paths: `{url}/v1` for one that speaks OpenAI's protocols.
//! println!("listening on {}", emulator.url());
//! # Ok(())
//! # }
//! ```
//!
//! A request goes through these files, in this order: `route` finds the provider and the surface, `receive` reads the body,
//! `accept` decodes it, `judge` (with `fields` and `history`) refuses what the provider refuses, in the provider's words, `decide`
//! chooses between a tool call, a value and words (`script` lets the prompt choose), `reply` makes them up (`values`), and `body`
//! sends the bytes. The same request gets the same answer. [`misbehaviours`] lists what goes wrong on demand.

mod accept;
mod body;
mod decide;
mod endpoints;
mod fields;
mod history;
mod judge;
mod list;
mod misbehave;
#[cfg(feature = "client")]
mod named;
mod receive;
mod reply;
mod respond;
mod route;
mod script;
mod seed;
mod server;
mod tokens;
mod values;

pub use misbehave::{Misbehaviour, misbehaviours};
#[cfg(feature = "client")]
pub use named::{EMULATED, NameError, NamedModels, real_name};
pub use receive::EmulatorOptions;
pub use respond::EMULATE_HEADER;
pub use server::Emulator;
