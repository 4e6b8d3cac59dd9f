//! The public API of the libraries as text under `docs/api`: written by `gen`, compared by `ci`, so that a change of the API is a
//! change in a file that reviewers see.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use public_api::Builder;

use crate::steps::{cargo_command, root, succeed};

/// The libraries that others depend on.
const LIBRARIES: &[&str] = &["polywire", "polywire-answer", "polywire-report", "polywire-schema", "polywire-wire"];

/// The environment variable by which this program knows that cargo calls it in the place of rustdoc.
const RUSTDOC: &str = "XTASK_RUSTDOC";

pub(crate) fn check() -> Result<()> {
    describe()?;
    let mut outdated = Vec::new();
    for library in LIBRARIES {
        let committed = fs::read_to_string(root().join(path(library))).unwrap_or_default();
        let current = list(library)?;
        if committed == current {
            continue;
        }
        let (before, after): (BTreeSet<_>, BTreeSet<_>) = (committed.lines().collect(), current.lines().collect());
        outdated.push(format!("{} is out of date; `cargo xtask gen` rewrites it", path(library)));
        outdated.extend(before.difference(&after).map(|line| format!("- {line}")));
        outdated.extend(after.difference(&before).map(|line| format!("+ {line}")));
    }
    if outdated.is_empty() { Ok(()) } else { bail!("{}", outdated.join("\n")) }
}

pub(crate) fn write() -> Result<()> {
    describe()?;
    for library in LIBRARIES {
        let path = root().join(path(library));
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        fs::write(&path, list(library)?).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn path(library: &str) -> String {
    format!("docs/api/{library}.txt")
}

/// Has rustdoc describe the workspace as JSON. The whole workspace, because then dependencies have the same features as in other steps
/// and are not compiled again; without programs, because the command and the façade have the same name.
fn describe() -> Result<()> {
    let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| OsString::from("rustdoc"));
    succeed(
        cargo_command()
            .args(["doc", "--quiet", "--workspace", "--lib", "--no-deps", "--all-features"])
            .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow")
            .env("RUSTDOC", std::env::current_exe()?)
            .env(RUSTDOC, rustdoc),
    )
}

/// The exit code of rustdoc if this program is called in its place: with `RUSTC_BOOTSTRAP`, which JSON needs, and which would have
/// cargo compile every dependency again if it was set for cargo.
pub(crate) fn in_place_of_rustdoc() -> Option<ExitCode> {
    let rustdoc = std::env::var_os(RUSTDOC)?;
    let status = Command::new(rustdoc).args(std::env::args_os().skip(1)).env("RUSTC_BOOTSTRAP", "1").status();
    Some(if status.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The public items of a library, one a line. Derived implementations are listed without their methods.
fn list(library: &str) -> Result<String> {
    let json = root().join("target/doc").join(format!("{}.json", library.replace('-', "_")));
    let items = |derived: Derived| {
        let builder = Builder::from_rustdoc_json(&json).omit_blanket_impls(true).omit_auto_trait_impls(true);
        let api = builder.omit_auto_derived_impls(derived == Derived::Omitted).build();
        api.with_context(|| {
            format!("cannot read {}: the crate `public-api` must match the Rust version", json.display())
        })
    };
    let written: BTreeSet<String> = items(Derived::Omitted)?.items().map(ToString::to_string).collect();
    let all = items(Derived::Listed)?;
    let lines = all.items().map(ToString::to_string);
    let kept = lines.filter(|line| line.starts_with("impl") || written.contains(line));
    Ok(kept.map(|line| line + "\n").collect())
}

#[derive(Clone, Copy, PartialEq)]
enum Derived {
    Listed,
    Omitted,
}
