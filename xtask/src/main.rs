//! The build system of the workspace: `cargo xtask ci` is the one command that passes all tests, `cargo xtask gen` rewrites
//! what is generated.

mod bless;
mod dist;
mod fitting;
mod generated;
mod interop;
mod layering;
mod metadata;
mod node_package;
mod packages;
mod page;
mod public_api;
mod python;
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
        ["dist"] => dist::build(),
        _ => {
            let names: Vec<&str> = steps::STEPS.iter().map(|step| step.name).collect();
            bail!("no such task\n{USAGE}\nsteps: {}", names.join(", "))
        }
    }
}

/// Prints a line about the progress of the run.
fn say(line: &str) {
    // A closed standard error must not stop the run.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
