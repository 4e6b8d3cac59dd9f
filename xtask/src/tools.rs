//! Programs of others that steps need: the one on the path, or one that is installed into `target/tools`, once.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::say;
use crate::steps::{cargo_command, root, succeed};

/// A cargo subcommand, installed if need be. A step that cannot run has not passed, so a failed install is an error.
pub(crate) fn cargo_tool(name: &str) -> Result<PathBuf> {
    let on_path = Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    if on_path {
        return Ok(PathBuf::from(name));
    }
    let tools = root().join("target/tools");
    let installed = tools.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !installed.exists() {
        say(&format!("    {name} is missing; installing it into target/tools, once"));
        let mut install = cargo_command();
        install.args(["install", name, "--locked", "--quiet", "--root"]).arg(&tools);
        succeed(&mut install).with_context(|| format!("cannot install {name}"))?;
    }
    Ok(installed)
}
