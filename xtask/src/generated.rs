//! Files that are made from the code and committed: written by `gen`, compared by `ci`.

use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::steps::{cargo_command, root};
use crate::{fitting, public_api};

/// Each generated file with its text.
fn files() -> Result<[(&'static str, Vec<u8>); 2]> {
    Ok([("docs/dialects.md", print(&["dialects", "--markdown"])?), ("docs/fitting.md", fitting::page()?.into_bytes())])
}

pub(crate) fn write() -> Result<()> {
    for (path, text) in files()? {
        fs::write(root().join(path), text).with_context(|| format!("cannot write {path}"))?;
    }
    public_api::write()
}

pub(crate) fn check() -> Result<()> {
    for (path, text) in files()? {
        let committed = fs::read(root().join(path)).unwrap_or_default();
        if committed != text {
            bail!("{path} is out of date; `cargo xtask gen` rewrites it");
        }
    }
    Ok(())
}

fn print(arguments: &[&str]) -> Result<Vec<u8>> {
    let mut command = cargo_command();
    command.args(["run", "--quiet", "--package", "polywire-cli", "--"]).args(arguments).stderr(Stdio::inherit());
    let output = command.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("`polywire {}` gave {}", arguments.join(" "), output.status);
    }
    Ok(output.stdout)
}
