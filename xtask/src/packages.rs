//! Checks over the packages of the workspace: features one by one, the minimum Rust version.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::metadata::{self, Member};
use crate::say;
use crate::steps::{cargo, root, succeed};

/// Compiles every library without features, and with each of its features alone.
pub(crate) fn features() -> Result<()> {
    let metadata = metadata::read()?;
    for member in members(&metadata)?.iter().filter(|member| member.folder == "crates" && !member.features.is_empty()) {
        let check = ["check", "--quiet", "--package", member.name, "--no-default-features"];
        cargo(&check).with_context(|| format!("{} without features", member.name))?;
        for feature in &member.features {
            cargo(&[&check[..], &["--features", feature]].concat())
                .with_context(|| format!("{} with `{feature}` alone", member.name))?;
        }
    }
    Ok(())
}

/// Every member names the same minimum Rust version, and the workspace compiles with it.
pub(crate) fn msrv() -> Result<()> {
    let metadata = metadata::read()?;
    let members = members(&metadata)?;
    let Some(minimum) = members.first().and_then(|member| member.rust_version) else {
        bail!("the first member of the workspace has no `rust-version`");
    };
    if let Some(other) = members.iter().find(|member| member.rust_version != Some(minimum)) {
        bail!(
            "{} has `rust-version` {:?}, the others have {minimum}",
            other.name,
            other.rust_version.unwrap_or("none")
        );
    }
    let output = Command::new("rustc").arg("--version").current_dir(root()).output().context("cannot start rustc")?;
    let installed = String::from_utf8_lossy(&output.stdout);
    if is_release_of(&installed, minimum) {
        say(&format!("    Rust {minimum} is installed, so every other step compiles with it"));
        return Ok(());
    }
    let has_minimum = Command::new("rustup").args(["run", minimum, "rustc", "--version"]).output();
    if has_minimum.is_ok_and(|output| output.status.success()) {
        let check = ["run", minimum, "cargo", "check", "--workspace", "--all-features"];
        return succeed(Command::new("rustup").args(check).env_remove("RUSTUP_TOOLCHAIN").current_dir(root()));
    }
    bail!("Rust {minimum} is not installed; `rustup toolchain install {minimum}` installs it")
}

/// Whether the output of `rustc --version` names a release of a version such as `1.95`.
fn is_release_of(output: &str, version: &str) -> bool {
    let release = output.split_whitespace().nth(1).unwrap_or_default();
    release.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn members(metadata: &serde_json::Value) -> Result<Vec<Member<'_>>> {
    metadata::members(metadata).context("`cargo metadata` has an unknown form")
}

#[cfg(test)]
mod tests {
    use super::is_release_of;

    #[test]
    fn patch_releases_belong_to_their_version() {
        assert!(is_release_of("rustc 1.95.0 (59807616e 2026-04-14)", "1.95"));
        assert!(is_release_of("rustc 1.95.0 (59807616e 2026-04-14)", "1.95.0"));
        assert!(!is_release_of("rustc 1.950.0 (59807616e 2026-04-14)", "1.95"));
        assert!(!is_release_of("rustc 1.97.0-nightly (e50aa6fba 2026-05-19)", "1.95"));
        assert!(!is_release_of("", "1.95"));
    }
}
