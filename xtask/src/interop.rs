//! The official SDKs read what we write and talk to the emulator: installs them under `target/interop`, pinned, and runs the scripts
//! of `interop/` on the corpus said in every protocol and on a running emulator. What the SDKs must find is the scripts' business.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::say;
use crate::steps::{cargo_command, root, succeed};

/// What has to be installed for one language, and how it is run.
struct Half {
    name: &'static str,
    /// The program without which this half is skipped.
    needs: &'static str,
    /// The pinned versions; the SDKs are installed again when they change.
    pins: &'static [&'static str],
    /// The scripts on what is written and on the emulator.
    reads: &'static str,
    talks: &'static str,
    install: fn(&Path) -> Result<()>,
    /// The program that runs the script, in the folder of the installation.
    runs: fn(&Path) -> PathBuf,
}

const HALVES: [Half; 2] = [
    Half {
        name: "python",
        needs: "python3",
        pins: &["requirements.txt"],
        reads: "sdks.py",
        talks: "emulated.py",
        install: |folder| {
            succeed(Command::new("python3").args(["-m", "venv", "--clear", "venv"]).current_dir(folder))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
            succeed(Command::new(in_venv(folder)).args(pip).current_dir(folder))
        },
        runs: in_venv,
    },
    Half {
        name: "node",
        needs: "node",
        pins: &["package.json", "package-lock.json"],
        reads: "sdks.mjs",
        talks: "emulated.mjs",
        install: |folder| {
            let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
            let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
            succeed(Command::new(npm).args(quiet).current_dir(folder))
        },
        runs: |_| PathBuf::from("node"),
    },
];

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
        bail!("the corpus cannot be said: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(&cases, output.stdout)?;
    let emulator = Emulator::start()?;
    HALVES.iter().try_for_each(|half| half.check(&folder.join(half.name), &cases, &emulator.url))
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
        let said: Value = serde_json::from_str(&line).context("the emulator does not say where it is")?;
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

impl Half {
    fn check(&self, folder: &Path, cases: &Path, url: &str) -> Result<()> {
        if let Err(error) = self.prepare(folder) {
            if std::env::var_os("CI").is_some() {
                return Err(error.context(format!("the {} SDKs cannot be installed", self.name)));
            }
            say(&format!("    skipped: the {} SDKs cannot be installed ({error:#})", self.name));
            return Ok(());
        }
        self.run(folder, self.reads, &cases.to_string_lossy())?;
        self.run(folder, self.talks, url)
    }

    fn run(&self, folder: &Path, script: &str, argument: &str) -> Result<()> {
        // Node finds packages from where the script stands.
        fs::copy(root().join("interop").join(script), folder.join(script))?;
        succeed(Command::new((self.runs)(folder)).arg(folder.join(script)).arg(argument).current_dir(folder))
    }

    /// Installs the SDKs unless these very ones are installed.
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
        say(&format!("    installing the {} SDKs into target/interop, once", self.name));
        fs::create_dir_all(folder)?;
        for pin in self.pins {
            fs::copy(root().join("interop").join(pin), folder.join(pin))?;
        }
        (self.install)(folder)?;
        Ok(fs::write(done, pins)?)
    }
}
