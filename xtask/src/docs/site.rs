//! The site under `target/site`, built by Zensical from `docs/`.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::say;
use crate::steps::{root, succeed};
use crate::tools::python_packages;

/// The pinned generator.
const PINS: &str = "xtask/src/docs/requirements.txt";

/// Builds the site. It may load nothing from other hosts.
pub(super) fn build() -> Result<()> {
    let Some(programs) = python_packages("docs", PINS)? else {
        say("    the site was not built: there is no python3");
        return Ok(());
    };
    let mut build = Command::new(programs.join("zensical"));
    succeed(build.args(["build", "--clean"]).current_dir(root()))?;
    let index = std::fs::read_to_string(root().join("target/site/index.html")).context("the site has no first page")?;
    let loaded = ["src=\"http", "rel=\"stylesheet\" href=\"http", "rel=\"preconnect\" href=\"http"];
    if let Some(found) = loaded.iter().find(|start| index.contains(**start)) {
        bail!("the site loads something from another host: `{found}…`");
    }
    Ok(())
}
