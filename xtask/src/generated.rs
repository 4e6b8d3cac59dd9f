//! Files that are made from the code and committed: written by `gen`, compared by `ci`.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::steps::root;
use crate::{built, docs, fitting, public_api};

/// Each generated file with its text.
fn files() -> Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = docs::pictures()?;
    files.push(("docs/dialects.md", print(&["dialects", "--markdown"])?));
    files.push(("docs/fitting.md", fitting::page()?.into_bytes()));
    Ok(files)
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
    let mut command = Command::new(built::command()?);
    let output = command.args(arguments).current_dir(root()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("`polywire {}` gave {}", arguments.join(" "), output.status);
    }
    Ok(output.stdout)
}
