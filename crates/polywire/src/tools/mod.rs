//! Tools and the tool loop: the calls of the model are executed and their results are sent back until it responds without calls.
//!
//! [`Toolbox`] holds the functions, [`Client::run`](crate::Client::run) starts a loop, [`Run`] is a running loop. There is no memory and there
//! are no roles or prompts.

mod run;
mod toolbox;

pub use run::{Run, RunError, RunEvent, RunOutcome, RunStop, Turn};
pub use toolbox::Toolbox;
