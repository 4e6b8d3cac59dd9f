//! The Node package: built, packed, installed into projects and tested there, with its types, its documentation and the AI SDK.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::steps::{root, succeed};
use crate::{built, say};

/// The oldest Node that runs the AI SDK 7.
const NEW_NODE: u32 = 22;

pub(crate) fn check() -> Result<()> {
    let Some(version) = node_version("node") else { return missing("Node is missing") };
    let package = root().join("bindings/node");
    let out = root().join("target/node-package");
    fs::create_dir_all(&out)?;
    let project = out.join("tests");
    if let Err(error) = install(&package).and_then(|()| prepare_tests(&package.join("test"), &project)) {
        return missing(&format!("the packages cannot be installed ({error:#})"));
    }
    let tarball = pack(&package, &out)?;
    install_empty(&tarball, &out.join("empty"))?;
    unpack(&tarball, &project)?;

    let cases = out.join("cases.jsonl");
    let mut write_cases = Command::new(built::example("cases")?);
    succeed(write_cases.arg("corpus").current_dir(root()).stdout(File::create(&cases)?))?;
    let readmes = format!("{},{}", package.join("README.md").display(), root().join("README.md").display());
    let mut tests = Command::new("node");
    tests.arg("--test").args(test_files(&project)?).env("POLYWIRE_CASES", cases).env("POLYWIRE_READMES", readmes);
    succeed(tests.env("AI_SDK", "6").current_dir(&project))?;
    succeed(Command::new("node").args(["node_modules/typescript/bin/tsc", "-p", "."]).current_dir(&project))?;
    check_new_sdk(version, &out, &project)?;
    succeed(npm(&package).args(["run", "--silent", "docs", "--", "--check"]))
}

fn missing(why: &str) -> Result<()> {
    if std::env::var_os("CI").is_some() {
        bail!("{why}");
    }
    say(&format!("    skipped: {why}"));
    Ok(())
}

fn npm(folder: &Path) -> Command {
    let mut command = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    command.current_dir(folder);
    command
}

/// Options of every installation. The packages' scripts are not run.
const QUIET: [&str; 4] = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/// Installs what a lock file pins, unless that is installed.
fn install(folder: &Path) -> Result<()> {
    let pins = fs::read(folder.join("package-lock.json"))?;
    let done = folder.join("node_modules/.installed");
    if fs::read(&done).is_ok_and(|installed| installed == pins) {
        return Ok(());
    }
    succeed(npm(folder).arg("ci").args(QUIET))?;
    Ok(fs::write(done, pins)?)
}

/// Copies the tests into a project of their own, with the libraries that they use.
fn prepare_tests(tests: &Path, project: &Path) -> Result<()> {
    copy_folder(tests, project)?;
    install(project)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name() == "node_modules" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_folder(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// Builds the package and packs it.
fn pack(package: &Path, out: &Path) -> Result<PathBuf> {
    succeed(npm(package).args(["run", "--silent", "build"]).env("POLYWIRE_PROFILE", "dev"))?;
    let packed =
        npm(package).args(["pack", "--silent", "--pack-destination"]).arg(out).stderr(Stdio::inherit()).output()?;
    let name = String::from_utf8_lossy(&packed.stdout).trim().to_owned();
    if !packed.status.success() || name.is_empty() {
        bail!("the package cannot be packed");
    }
    Ok(out.join(name))
}

/// Installs the package into an empty project, as a user does, and runs its command and both of its entry points.
fn install_empty(tarball: &Path, project: &Path) -> Result<()> {
    if project.exists() {
        fs::remove_dir_all(project)?;
    }
    fs::create_dir_all(project)?;
    fs::write(project.join("package.json"), "{\"private\": true}")?;
    succeed(npm(project).arg("install").args(QUIET).arg(tarball))?;
    let command = Command::new(project.join(if cfg!(windows) {
        "node_modules/.bin/polywire.cmd"
    } else {
        "node_modules/.bin/polywire"
    }))
    .arg("--version")
    .output()?;
    if !command.status.success() {
        bail!("the command of the package does not run: {}", String::from_utf8_lossy(&command.stderr));
    }
    let load = "require('polywire').fit({}, 'openai'); import('polywire').then((polywire) => polywire.dialects())";
    succeed(Command::new("node").args(["--eval", load]).current_dir(project))
}

/// Installs the package beside the libraries of the tests.
fn unpack(tarball: &Path, project: &Path) -> Result<()> {
    succeed(npm(project).args(["install", "--no-save", "--prefer-offline"]).args(QUIET).arg(tarball))
}

fn test_files(project: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(project)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.mjs") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Runs the tests of the AI SDK 7, with a newer Node where this one is too old for it.
fn check_new_sdk(version: u32, out: &Path, project: &Path) -> Result<()> {
    let node = if version >= NEW_NODE { PathBuf::from("node") } else { newer_node(&out.join("node"))? };
    succeed(Command::new(node).args(["--test", "ai-sdk.test.mjs"]).env("AI_SDK", "7").current_dir(project))
}

/// A newer Node, from its npm package for this platform.
fn newer_node(folder: &Path) -> Result<PathBuf> {
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win",
        other => other,
    };
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let package = format!("node-{platform}-{arch}");
    let program =
        folder.join("node_modules").join(&package).join("bin").join(if cfg!(windows) { "node.exe" } else { "node" });
    if node_version(&program).is_none_or(|version| version < NEW_NODE) {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("package.json"), "{\"private\": true}")?;
        succeed(npm(folder).args(["install", "--no-save"]).args(QUIET).arg(format!("{package}@{NEW_NODE}")))?;
    }
    Ok(program)
}

/// The major version of a Node.
fn node_version(program: impl AsRef<std::ffi::OsStr>) -> Option<u32> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}
