//! The `polywire` command.

use std::ffi::OsString;

use napi_derive::napi;

/// Runs the command until it ends, and returns its exit code. The first argument is the name of the program.
#[napi]
pub fn run_command(arguments: Vec<String>) -> u8 {
    polywire_cli::run(arguments.into_iter().map(OsString::from))
}
