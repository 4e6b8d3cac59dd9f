//! `cargo xtask dist`: what a release ships. The command without symbols, its symbols in a file of their own, and a list of
//! everything that is in it (a software bill of materials in the format of `CycloneDX`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::say;
use crate::steps::{cargo_command, root, succeed};
use crate::tools::cargo_tool;

/// The name of the list of parts, without its ending.
const PARTS: &str = "polywire.cdx";

pub(crate) fn build() -> Result<()> {
    let folder = root().join("target/dist-files");
    fs::create_dir_all(&folder)?;
    say("==> build");
    succeed(cargo_command().args(["build", "--profile", "dist", "--package", "polywire-cli"]))?;
    let built = root().join("target/dist").join(format!("polywire{}", std::env::consts::EXE_SUFFIX));
    split_symbols(&built, &folder)?;
    list_parts(&folder)?;
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        say(&format!("    {:>6.1} MB  {}", megabytes(entry.metadata()?.len()), entry.path().display()));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// The program without symbols, and beside it a file with them that debuggers find.
fn split_symbols(built: &Path, folder: &Path) -> Result<()> {
    say("==> symbols");
    let name = built.file_name().context("a program has a name")?;
    let (program, symbols) = (folder.join(name), folder.join(name).with_extension("debug"));
    let objcopy = |arguments: &[&str], from: &Path, to: &Path| {
        succeed(Command::new("objcopy").args(arguments).arg(from).arg(to)).context("objcopy is part of GNU binutils")
    };
    objcopy(&["--only-keep-debug"], built, &symbols)?;
    objcopy(&["--strip-all"], built, &program)?;
    let link = format!("--add-gnu-debuglink={}", symbols.display());
    succeed(Command::new("objcopy").arg(link).arg(&program))
}

/// Every crate that the command is made of, with version, licence and checksum.
fn list_parts(folder: &Path) -> Result<()> {
    say("==> list of parts");
    let cyclonedx = cargo_tool("cargo-cyclonedx")?;
    let manifest = root().join("apps/cli/Cargo.toml");
    let mut command = Command::new(cyclonedx);
    command.args(["cyclonedx", "--format", "json", "--target", "all", "--override-filename", PARTS, "--manifest-path"]);
    succeed(command.arg(&manifest).current_dir(root()))?;
    // It writes one beside the manifest of every package of the workspace.
    let mut found = false;
    for package in ["apps", "crates", "xtask"].into_iter().flat_map(|part| manifests_below(&root().join(part))) {
        let written = package.join(format!("{PARTS}.json"));
        if written.exists() {
            if package.ends_with("apps/cli") {
                fs::copy(&written, folder.join(format!("{PARTS}.json")))?;
                found = true;
            }
            fs::remove_file(written)?;
        }
    }
    if !found {
        bail!("cargo-cyclonedx wrote no list for the command");
    }
    Ok(())
}

/// The folders of packages in a folder: itself or those right inside it.
fn manifests_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let inside = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    std::iter::once(folder.to_owned()).chain(inside).filter(|path| path.join("Cargo.toml").exists()).collect()
}
