//! The command line program, built, and the servers that it runs.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::steps::cargo_command;

/// A running `polywire emulate` or `polywire serve`, which ends with this.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) url: String,
}

impl Server {
    pub(crate) fn emulator(program: &Path) -> Result<Self> {
        let (mut started, line) = Self::start(Command::new(program).args(["emulate", "--json"]))?;
        let said: Value = serde_json::from_str(&line).context("the emulator printed no address")?;
        said.get("url").and_then(Value::as_str).unwrap_or_default().clone_into(&mut started.url);
        Ok(started)
    }

    /// A gateway that sees no keys, so that the emulator answers. `model` serves every name, if given.
    pub(crate) fn gateway(program: &Path, folder: &Path, model: Option<&str>) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0", "--store", "memory"]).env_clear().current_dir(folder);
        command.args(model.map(|model| format!("--route=*={model}")));
        let (mut started, line) = Self::start(command.stderr(Stdio::null()))?;
        let url = line.trim().strip_prefix("listening on ").context("the gateway printed no address")?;
        url.clone_into(&mut started.url);
        Ok(started)
    }

    /// A gateway with its ledger in a file, before an emulator in the place of two providers.
    pub(crate) fn gateway_before(program: &Path, home: &Path, store: &Path, emulator: &str) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0", "--store"]).arg(store).env_clear().env("HOME", home).current_dir(home);
        command.env("OPENAI_API_KEY", "any").env("OPENAI_BASE_URL", format!("{emulator}/v1"));
        command.env("ANTHROPIC_API_KEY", "any").env("ANTHROPIC_BASE_URL", emulator);
        let (mut started, line) = Self::start(command.stderr(Stdio::null()))?;
        let url = line.trim().strip_prefix("listening on ").context("the gateway printed no address")?;
        url.clone_into(&mut started.url);
        Ok(started)
    }

    /// Creates a gateway key in a store.
    pub(crate) fn create_key(program: &Path, home: &Path, store: &Path, name: &str, limits: &[&str]) -> Result<String> {
        let mut create = Command::new(program);
        create.args(["keys", "create", name, "--json", "--store"]).arg(store).args(limits);
        let created = create.env_clear().env("HOME", home).current_dir(home).output()?;
        let created: Value = serde_json::from_slice(&created.stdout).context("no key was created")?;
        Ok(created.get("key").and_then(Value::as_str).context("no key was created")?.to_owned())
    }

    /// Starts a server and reads its first line.
    pub(crate) fn start(command: &mut Command) -> Result<(Self, String)> {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        Ok((Self { process, url: String::new() }, line))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Builds the command line program and says where it is.
pub(crate) fn program(profile: &str) -> Result<PathBuf> {
    let package = ["--package", "polywire-cli", "--profile", profile];
    let build = [&["build", "--quiet", "--message-format=json-render-diagnostics"], &package[..]].concat();
    let output = cargo_command().args(build).stderr(Stdio::inherit()).output()?;
    let messages = output.stdout.split(|byte| *byte == b'\n');
    let made = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let program = made.filter_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?))).next_back();
    program.filter(|_| output.status.success()).context("the command line program cannot be built")
}
