//! Programs as `cargo test` compiles them: with the features and the optimization of the tests, so that CI compiles nothing twice.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::steps::cargo_command;

/// What `cargo test` compiles without running.
const BUILD: [&str; 5] =
    ["test", "--workspace", "--all-features", "--no-run", "--message-format=json-render-diagnostics"];

/// The command line program.
pub(crate) fn command() -> Result<PathBuf> {
    built("bin", "polywire")
}

/// An example program of one of the libraries.
pub(crate) fn example(name: &str) -> Result<PathBuf> {
    built("example", name)
}

fn built(kind: &str, name: &str) -> Result<PathBuf> {
    let found = messages()?.iter().rev().find_map(|message| executable(message, kind, name));
    found.with_context(|| format!("`cargo test` compiles no {kind} `{name}`"))
}

/// What cargo says of each target; it is asked once.
fn messages() -> Result<&'static [Value]> {
    static MESSAGES: OnceLock<Vec<Value>> = OnceLock::new();
    if let Some(messages) = MESSAGES.get() {
        return Ok(messages);
    }
    let output = cargo_command().args(BUILD).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the workspace does not compile: {}", output.status);
    }
    let lines = output.stdout.split(|byte| *byte == b'\n');
    Ok(MESSAGES.get_or_init(|| lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()))
}

/// The program that a message of cargo says it compiled, unless it holds unit tests.
fn executable(message: &Value, kind: &str, name: &str) -> Option<PathBuf> {
    let target = message.get("target")?;
    let is_wanted = target.get("name")? == name && target.get("kind")?.as_array()?.iter().any(|own| own == kind);
    let has_tests = message.pointer("/profile/test")?.as_bool()?;
    let path = message.get("executable")?.as_str()?;
    (is_wanted && !has_tests).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::executable;

    #[test]
    fn a_program_is_told_from_its_unit_tests() {
        let message = |test: bool| {
            json!({
                "reason": "compiler-artifact", "target": {"kind": ["bin"], "name": "polywire"},
                "profile": {"test": test}, "executable": "target/debug/polywire"
            })
        };
        let found = Some(PathBuf::from("target/debug/polywire"));
        assert_eq!(executable(&message(false), "bin", "polywire"), found);
        assert_eq!(executable(&message(true), "bin", "polywire"), None);
        assert_eq!(executable(&message(false), "bin", "other"), None);
        assert_eq!(executable(&message(false), "example", "polywire"), None);
        assert_eq!(executable(&json!({"reason": "build-finished"}), "bin", "polywire"), None);
    }
}
