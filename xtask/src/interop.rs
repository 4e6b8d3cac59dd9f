//! The official SDKs read what we write: installs them under `target/interop`, pinned, and runs the scripts of `interop/` on the
//! corpus said in every protocol. What the SDKs must find is the scripts' business.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::say;
use crate::steps::{cargo_command, root, succeed};

/// What has to be installed for one language, and how it is run.
struct Half {
    name: &'static str,
    /// The program without which this half is skipped.
    needs: &'static str,
    /// The pinned versions; the SDKs are installed again when they change.
    pins: &'static [&'static str],
    script: &'static str,
    install: fn(&Path) -> Result<()>,
    /// The program that runs the script, in the folder of the installation.
    runs: fn(&Path) -> PathBuf,
}

const HALVES: [Half; 2] = [
    Half {
        name: "python",
        needs: "python3",
        pins: &["requirements.txt"],
        script: "sdks.py",
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
        script: "sdks.mjs",
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
    HALVES.iter().try_for_each(|half| half.check(&folder.join(half.name), &cases))
}

impl Half {
    fn check(&self, folder: &Path, cases: &Path) -> Result<()> {
        if let Err(error) = self.prepare(folder) {
            if std::env::var_os("CI").is_some() {
                return Err(error.context(format!("the {} SDKs cannot be installed", self.name)));
            }
            say(&format!("    skipped: the {} SDKs cannot be installed ({error:#})", self.name));
            return Ok(());
        }
        // Node finds packages from where the script stands.
        let script = folder.join(self.script);
        fs::copy(root().join("interop").join(self.script), &script)?;
        succeed(Command::new((self.runs)(folder)).arg(&script).arg(cases).current_dir(folder))
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
