//! The proxy between a client and real processes.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod http;
mod proxy;
mod robust;
mod stdio;
