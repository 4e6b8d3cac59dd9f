//! The build system of the workspace: `cargo xtask ci` is the one command that passes all tests, `cargo xtask gen` rewrites
//! what is generated.

mod bench;
mod bless;
mod built;
mod deploy;
mod dist;
mod docs;
mod fitting;
mod generated;
mod interop;
mod layering;
mod mcp;
mod metadata;
mod node_package;
mod packages;
mod page;
mod public_api;
mod python;
mod server;
mod steps;
mod tidy;
mod tools;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage:
  cargo xtask ci           run every step below, stop at the first that fails
  cargo xtask ci STEP...   run only these
  cargo xtask ci fast      run what finds most mistakes in a few minutes
  cargo xtask gen          rewrite generated files
  cargo xtask bless        rewrite the goldens of fitted schemas; read the diff before you commit it
  cargo xtask bless --show REV   compare the fits that differ from their goldens with those of a revision
  cargo xtask bench gateway      measure the gateway beside nginx and LiteLLM
  cargo xtask bench recover      count the broken values that come back exactly, beside json_repair and jsonrepair
  cargo xtask bench mcp [PROGRAM]   measure the MCP proxy beside the same server without it
  cargo xtask soak         2,000 streams and a million requests through the gateway, for ten minutes at most
  cargo xtask dist         build what a release ships: the command, its symbols, its list of parts (SBOM)";

fn main() -> ExitCode {
    if let Some(code) = public_api::in_place_of_rustdoc() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["ci", only @ ..] => steps::run(only),
        ["gen"] => generated::write(),
        ["bless"] => bless::rewrite(),
        ["bless", "--show", revision] => bless::show(revision),
        ["bench", what @ ..] => bench::run(what),
        ["soak"] => bench::soak::long(),
        ["dist"] => dist::build(),
        _ => {
            let names: Vec<&str> = steps::STEPS.iter().chain(steps::BY_NAME).map(|step| step.name).collect();
            bail!("no such task\n{USAGE}\nsteps: {}", names.join(", "))
        }
    }
}

/// Prints a line about the progress of the run.
fn say(line: &str) {
    // A closed standard error must not stop the run.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
