//! Files that are made from the code and committed: written by `gen`, compared by `ci`.

use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::public_api;
use crate::steps::{cargo_command, root};

/// A file and the arguments of `polywire` that print it.
const FILES: &[(&str, &[&str])] = &[("docs/dialects.md", &["dialects", "--markdown"])];

pub(crate) fn write() -> Result<()> {
    for (path, arguments) in FILES {
        let path = root().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        fs::write(&path, print(arguments)?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    public_api::write()
}

pub(crate) fn check() -> Result<()> {
    for (path, arguments) in FILES {
        let committed = fs::read(root().join(path)).unwrap_or_default();
        if committed != print(arguments)? {
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
