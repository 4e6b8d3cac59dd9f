//! HTTP servers of polywire. Today: the emulator, which speaks the protocol of every provider on loopback and needs no key.
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
//! A request is read by the wire crate and judged by the rows of the provider: the dialects of its schemas, the rules for its
//! history, what its model can do. A violation is answered with the provider's status and error body, anything else with made-up
//! values that conform to the schemas that were sent. The same request gets the same answer. [`misbehaviours`] lists what goes wrong
//! on demand.

mod body;
mod judge;
mod list;
mod misbehave;
mod obey;
mod receive;
mod reply;
mod route;
mod server;

pub use misbehave::{Misbehaviour, misbehaviours};
pub use receive::EmulatorOptions;
pub use server::{EMULATE_HEADER, Emulator};
