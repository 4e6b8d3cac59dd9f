//! The MCP proxy before real servers, before the reference server of the conformance suites, and behind the official clients. This installs
//! them under `target/interop/mcp`, pinned, and runs the scripts of `interop/mcp`. What must come of it is in the scripts.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::built;
use crate::interop::{Packages, in_venv, npm_ci, pip_install};
use crate::steps::{root, succeed};

const PACKAGES: Packages = Packages {
    name: "mcp",
    needs: &["node", "python3"],
    pins: &["mcp/package.json", "mcp/package-lock.json", "mcp/requirements.txt"],
    install: |folder| {
        npm_ci(folder)?;
        pip_install(folder)
    },
};

/// The scripts, each with the program that runs it.
const SCRIPTS: [(&str, Interpreter); 5] = [
    ("servers.py", Interpreter::Python),
    ("clients.py", Interpreter::Python),
    ("clients.mjs", Interpreter::Node),
    ("inspector.mjs", Interpreter::Node),
    ("conformance.mjs", Interpreter::Node),
];

#[derive(Clone, Copy)]
enum Interpreter {
    Python,
    Node,
}

pub(crate) fn check() -> Result<()> {
    let folder = root().join("target/interop/mcp");
    if !PACKAGES.are_ready(&folder)? {
        return Ok(());
    }
    let program = built::command()?;
    // Node finds packages from where the script stands.
    for entry in fs::read_dir(root().join("interop/mcp"))? {
        let entry = entry?;
        fs::copy(entry.path(), folder.join(entry.file_name()))?;
    }
    SCRIPTS.iter().try_for_each(|(script, interpreter)| run(&folder, script, *interpreter, &program))
}

fn run(folder: &Path, script: &str, interpreter: Interpreter, program: &Path) -> Result<()> {
    let mut command = match interpreter {
        Interpreter::Python => Command::new(in_venv(folder)),
        Interpreter::Node => Command::new("node"),
    };
    succeed(command.arg(script).arg(program).current_dir(folder))
}
