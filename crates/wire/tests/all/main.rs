//! Everything that is promised of the crate, seen from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and says why it skips"
)]

mod budgets;
mod corpus;
mod features;
mod generate;
mod history;
mod interop;
mod laws;
mod linear;
mod requirements;
mod streams;
mod unknown;
mod words;
