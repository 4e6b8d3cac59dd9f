//! Programs of others that steps need: the one on the path, or one that is installed into `target/tools`, once.

use std::fs;
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

/// A virtual environment under `target/venv` with pinned packages, installed again when the file of the pins changes. Returns the folder
/// of its programs, or nothing where there is no Python.
pub(crate) fn python_packages(name: &str, pins: &str) -> Result<Option<PathBuf>> {
    if !Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok(None);
    }
    let folder = root().join("target/venv").join(name);
    let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let (pins, installed) = (root().join(pins), folder.join("installed.txt"));
    let wanted = fs::read(&pins).with_context(|| format!("cannot read {}", pins.display()))?;
    if !fs::read(&installed).is_ok_and(|own| own == wanted) {
        say(&format!("    installing the packages of {}", pins.display()));
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
        succeed(Command::new(programs.join("python")).args(pip).arg(&pins))?;
        fs::write(installed, wanted)?;
    }
    Ok(Some(programs))
}

/// Installs Debian packages whose files are missing, in CI only: elsewhere that is the developer's decision. What is still missing
/// afterwards fails the step that needs it.
pub(crate) fn install_debian_packages(packages: &[(&str, &str)]) {
    let is_missing = |path: &str| !std::fs::exists(path).unwrap_or_default();
    let missing: Vec<&str> = packages.iter().filter(|(path, _)| is_missing(path)).map(|(_, name)| *name).collect();
    if missing.is_empty() || std::env::var_os("CI").is_none() {
        return;
    }
    say(&format!("    installing {}", missing.join(", ")));
    _ = Command::new("apt-get").args(["update", "--quiet"]).status();
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    _ = Command::new("apt-get").args(install).args(missing).env("DEBIAN_FRONTEND", "noninteractive").status();
}
