//! The `polywire` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(polywire_cli::run(std::env::args_os()))
}
