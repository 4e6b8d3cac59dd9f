//! The façade from outside: rows, plans, the way back, translation. One binary, so that it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and says why it skips"
)]

mod corpus;
#[cfg(all(feature = "aws", feature = "gcp"))]
mod credentials;
mod laws;
mod lists;
mod plan;
mod replay;
mod restore;
mod rows;
mod same_protocol;
#[cfg(feature = "cache")]
mod store;
mod translate;
mod translation;

use polywire::wire::{Function, Message, Request, Tool};
use polywire::{Catalog, Model};
use serde_json::Value;

#[track_caller]
fn model(name: &str) -> Model {
    Catalog::built_in().resolve(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn function(name: &str, parameters: Value) -> Tool {
    Tool::Function(Function { name: name.to_owned(), parameters: Some(parameters), ..Function::default() })
}

fn question(tools: Vec<Tool>) -> Request {
    Request { tools, ..Request::new("", vec![Message::user("What now?")]) }
}
