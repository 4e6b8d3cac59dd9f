//! The steps of `cargo xtask ci`, in order, cheapest first where it does not matter.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::bench::soak;
use crate::tools::{cargo_tool, install_debian_packages};
use crate::{
    deploy, docs, generated, interop, layering, mcp, node_package, packages, page, public_api, python, say, tidy,
};

/// One check.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    run: fn() -> Result<()>,
}

pub(crate) const STEPS: &[Step] = &[
    Step { name: "fmt", run: || cargo(&["fmt", "--all", "--check"]) },
    Step { name: "tidy", run: tidy::check },
    Step { name: "layering", run: layering::check },
    Step {
        name: "clippy",
        run: || {
            cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])?;
            cargo(&["clippy", "--package", "polywire-cli", "--no-default-features", "--", "-D", "warnings"])
        },
    },
    Step { name: "test", run: test },
    Step { name: "features", run: packages::features },
    Step { name: "msrv", run: packages::msrv },
    Step { name: "interop", run: interop::check },
    Step { name: "page", run: page::check },
    Step { name: "deploy", run: deploy::check },
    Step { name: "fuzz", run: fuzz },
    Step { name: "doc", run: document },
    Step { name: "public-api", run: public_api::check },
    Step { name: "generated", run: generated::check },
    Step { name: "deny", run: deny },
];

/// Steps that run by name only, for instance `cargo xtask ci python`: they install many programs of others.
pub(crate) const BY_NAME: &[Step] = &[
    Step { name: "docs", run: docs::check },
    Step { name: "mcp", run: mcp::check },
    Step { name: "soak", run: soak::short },
    Step { name: "python", run: python::check },
    Step { name: "node", run: node_package::check },
];

/// What `cargo xtask ci fast` runs before every push: no integration tests, no second build of the dependencies.
const FAST: &[Step] = &[
    Step { name: "fmt", run: || cargo(&["fmt", "--all", "--check"]) },
    Step { name: "tidy", run: tidy::check },
    Step { name: "layering", run: layering::check },
    Step { name: "clippy", run: || cargo(&["clippy", "--workspace", "--all-features", "--", "-D", "warnings"]) },
    Step { name: "unit tests", run: || cargo(&["test", "--workspace", "--all-features", "--lib", "--bins"]) },
];

/// All tests; those of the gateway's stores start real servers.
fn test() -> Result<()> {
    install_debian_packages(&[("/usr/bin/redis-server", "redis-server"), ("/usr/lib/postgresql", "postgresql")]);
    cargo(&["test", "--workspace", "--all-features"])
}

/// How long the fuzz targets run on their seeds and mutations of them.
const SMOKE_SECONDS: &str = "15";

fn fuzz() -> Result<()> {
    let manifest = ["--manifest-path", "fuzz/Cargo.toml"];
    cargo(
        &[&["run", "--quiet", "--release"], &manifest[..], &["--bin", "smoke", "--", "--seconds", SMOKE_SECONDS]]
            .concat(),
    )
}

/// Runs all steps, or those that are named, or the fast ones, and stops at the first that fails.
pub(crate) fn run(only: &[&str]) -> Result<()> {
    if only == ["fast"] {
        return run_steps(FAST.iter());
    }
    if only.is_empty() {
        return run_steps(STEPS.iter());
    }
    let all = || STEPS.iter().chain(BY_NAME);
    if let Some(unknown) = only.iter().find(|name| all().all(|step| step.name != **name)) {
        bail!("there is no step `{unknown}`");
    }
    run_steps(all().filter(|step| only.contains(&step.name)))
}

fn run_steps<'a>(steps: impl Iterator<Item = &'a Step>) -> Result<()> {
    let start = Instant::now();
    for step in steps {
        say(&format!("==> {}", step.name));
        let start = Instant::now();
        (step.run)().with_context(|| format!("step `{}` failed", step.name))?;
        say(&format!("    {} done in {:.1} s", step.name, start.elapsed().as_secs_f64()));
    }
    say(&format!("all fine, {:.1} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// The cargo that runs this program, in the workspace.
pub(crate) fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root());
    if std::env::var_os("CI").is_some() {
        // Nothing is built twice there, and the files for it are several gigabytes.
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    succeed(cargo_command().args(arguments))
}

pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !status.success() {
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        bail!("`{} {}` gave {status}", command.get_program().display(), arguments.join(" "));
    }
    Ok(())
}

fn document() -> Result<()> {
    succeed(
        cargo_command().args(["doc", "--workspace", "--no-deps", "--all-features"]).env("RUSTDOCFLAGS", "-D warnings"),
    )
}

/// Licences, duplicate and foreign dependencies, and advisories where a database of them is on this machine: it changes without the
/// repository, and cannot be fetched everywhere.
fn deny() -> Result<()> {
    let program = cargo_tool("cargo-deny")?;
    let check = |what: &[&str]| succeed(Command::new(&program).current_dir(root()).arg("check").args(what));
    check(&["licenses", "bans", "sources"])?;
    if has_advisory_database() {
        return check(&["--disable-fetch", "advisories"]);
    }
    say("    advisories were not checked: there is no advisory database here; `cargo deny fetch` gets one");
    Ok(())
}

/// Whether `cargo deny fetch` has been here.
fn has_advisory_database() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))) else { return false };
    let is_filled = |folder: PathBuf| folder.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    ["advisory-dbs", "advisory-db"].map(|name| home.join(name)).into_iter().any(is_filled)
}
