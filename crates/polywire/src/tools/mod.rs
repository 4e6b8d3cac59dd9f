//! Tools and the loop that calls them: a model answers with calls, their results go back, until it answers without.
//!
//! [`Toolbox`] holds the functions, [`Client::run`](crate::Client::run) makes the loop, [`Run`] is the loop as it goes on. There is no more to
//! it: no memory, no roles, no prompts.

mod run;
mod toolbox;

pub use run::{Run, RunError, RunEvent, RunOutcome, RunStop, Turn};
pub use toolbox::Toolbox;
