//! The gateway: clients of any protocol in, any provider out, with a report of every change.
//!
//! ```no_run
//! # async fn run() -> anyhow::Result<()> {
//! use polywire_gateway::{Gateway, GatewayOptions};
//!
//! // Without keys in the environment the emulator answers.
//! let gateway = Gateway::start(GatewayOptions::default()).await?;
//! println!("listening on {}", gateway.url());
//! # Ok(())
//! # }
//! ```
//!
//! A request goes through these files, in this order: `server` accepts the connection, `api` finds the `endpoint` of the path and the
//! `caller`, `receive` reads the body, `inbound` reads what decides where it goes, `entry` begins its record and applies `limits`,
//! `routes` and `health` choose models, `relay` translates, sends and falls back, `stream` passes a stream on, and `entry` ends the
//! record: ledger (`store`), `metrics`, `report`, `log`. What a request becomes is decided by `polywire::Translation`, not here.

mod admin;
mod api;
mod cache;
mod caller;
mod clock;
mod cors;
mod endpoint;
mod entry;
mod gateway;
mod health;
mod inbound;
mod key;
mod key_store;
mod limits;
mod log;
mod metrics;
mod models;
mod page;
mod pass;
mod playground;
mod receive;
mod relay;
mod reply;
mod report;
mod responses;
mod routes;
mod server;
mod settings;
mod state;
mod store;
mod stream;
mod telemetry;

pub use gateway::{Gateway, GatewayOptions};
pub use key::{Key, KeyLimits, KeyRole};
pub use key_store::KeyStore;
pub use state::Access;
