//! Everything that is promised of the crate, seen from outside: the corpus, the requirements, the laws and bad input. One
//! binary, so that it is linked once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and says why it skips"
)]

mod bad_input;
mod budgets;
mod chance;
mod corpus;
mod families;
mod generate;
mod goldens;
mod hostile;
mod judge;
mod laws;
mod lens;
mod main_dialects;
mod meets;
mod mutants;
mod oracle;
mod own_dialects;
mod plain;
mod references;
mod requirements;
mod shared;
mod texts;
mod told;
mod values;
