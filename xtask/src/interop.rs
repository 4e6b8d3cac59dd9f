//! The official SDKs read what we write, and SDKs and coding agents talk to the emulator. This installs them under `target/interop`,
//! pinned, and runs the scripts of `interop/` on the corpus encoded in every protocol and on a running emulator. What must come of it
//! is in the scripts.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::say;
use crate::steps::{cargo_command, root, succeed};

/// Packages that are installed together, and the scripts that use them.
struct Suite {
    name: &'static str,
    /// The program without which this suite is skipped.
    needs: &'static str,
    /// Files with the pinned versions; the packages are installed again when they change.
    pins: &'static [&'static str],
    /// The script that reads the encoded corpus.
    corpus_script: Option<&'static str>,
    /// The script that talks to the emulator.
    emulator_script: &'static str,
    install: fn(&Path) -> Result<()>,
    /// The program that runs the scripts, in the folder of the installation.
    interpreter: fn(&Path) -> PathBuf,
}

const SUITES: [Suite; 3] = [
    Suite {
        name: "python",
        needs: "python3",
        pins: &["requirements.txt"],
        corpus_script: Some("sdks.py"),
        emulator_script: "emulated.py",
        install: |folder| {
            succeed(Command::new("python3").args(["-m", "venv", "--clear", "venv"]).current_dir(folder))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
            succeed(Command::new(in_venv(folder)).args(pip).current_dir(folder))
        },
        interpreter: in_venv,
    },
    Suite {
        name: "node",
        needs: "node",
        pins: &["package.json", "package-lock.json"],
        corpus_script: Some("sdks.mjs"),
        emulator_script: "emulated.mjs",
        install: npm_ci,
        interpreter: |_| PathBuf::from("node"),
    },
    // Claude Code, Codex and Gemini CLI. They are large, so they are installed apart from the SDKs.
    Suite {
        name: "agents",
        needs: "node",
        pins: &["agents/package.json", "agents/package-lock.json"],
        corpus_script: None,
        emulator_script: "agents.mjs",
        install: npm_ci,
        interpreter: |_| PathBuf::from("node"),
    },
];

/// Installs without running the packages' scripts: those download from elsewhere, and the programs are packages of their own.
fn npm_ci(folder: &Path) -> Result<()> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    succeed(Command::new(npm).args(quiet).current_dir(folder))
}

fn in_venv(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" })
}

pub(crate) fn check() -> Result<()> {
    let folder = root().join("target/interop");
    fs::create_dir_all(&folder)?;
    let cases = folder.join("cases.jsonl");
    let example = ["run", "--quiet", "-p", "polywire", "--example", "interop", "--", "corpus/wire"];
    let output = cargo_command().args(example).output()?;
    if !output.status.success() {
        bail!("the corpus cannot be encoded: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(&cases, output.stdout)?;
    let emulator = Emulator::start()?;
    SUITES.iter().try_for_each(|suite| suite.check(&folder.join(suite.name), &cases, &emulator.url))
}

/// A running `polywire emulate`, which ends with this.
struct Emulator {
    process: Child,
    url: String,
}

impl Emulator {
    fn start() -> Result<Self> {
        let mut process =
            Command::new(program()?).args(["emulate", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let mut started = Self { process, url: String::new() };
        let said: Value = serde_json::from_str(&line).context("the emulator printed no address")?;
        said.get("url").and_then(Value::as_str).unwrap_or_default().clone_into(&mut started.url);
        Ok(started)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Builds the command line program and says where it is.
fn program() -> Result<PathBuf> {
    let build = ["build", "--quiet", "-p", "polywire-cli", "--message-format=json-render-diagnostics"];
    let output = cargo_command().args(build).stderr(Stdio::inherit()).output()?;
    let messages = output.stdout.split(|byte| *byte == b'\n');
    let made = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let program = made.filter_map(|message| Some(PathBuf::from(message.get("executable")?.as_str()?))).next_back();
    program.filter(|_| output.status.success()).context("the command line program cannot be built")
}

impl Suite {
    fn check(&self, folder: &Path, cases: &Path, url: &str) -> Result<()> {
        if let Err(error) = self.prepare(folder) {
            if std::env::var_os("CI").is_some() {
                return Err(error.context(format!("the {} packages cannot be installed", self.name)));
            }
            say(&format!("    skipped: the {} packages cannot be installed ({error:#})", self.name));
            return Ok(());
        }
        if let Some(script) = self.corpus_script {
            self.run(folder, script, &cases.to_string_lossy())?;
        }
        self.run(folder, self.emulator_script, url)
    }

    fn run(&self, folder: &Path, script: &str, argument: &str) -> Result<()> {
        // Node finds packages from where the script stands.
        fs::copy(root().join("interop").join(script), folder.join(script))?;
        succeed(Command::new((self.interpreter)(folder)).arg(folder.join(script)).arg(argument).current_dir(folder))
    }

    /// Installs the packages unless these very ones are installed.
    fn prepare(&self, folder: &Path) -> Result<()> {
        let version = Command::new(self.needs).arg("--version").output();
        if !version.is_ok_and(|output| output.status.success()) {
            bail!("{} is missing", self.needs);
        }
        let mut pins = Vec::new();
        for pin in self.pins {
            pins.extend(fs::read(root().join("interop").join(pin))?);
        }
        let done = folder.join("installed");
        if fs::read(&done).is_ok_and(|installed| installed == pins) {
            return Ok(());
        }
        say(&format!("    installing the {} packages into target/interop, once", self.name));
        fs::create_dir_all(folder)?;
        for pin in self.pins {
            let name = Path::new(pin).file_name().context("a pinned file has a name")?;
            fs::copy(root().join("interop").join(pin), folder.join(name))?;
        }
        (self.install)(folder)?;
        Ok(fs::write(done, pins)?)
    }
}
