//! The official SDKs read what we write, and SDKs and coding agents talk to the emulator and the gateway. This installs them under `target/interop`,
//! pinned, and runs the scripts of `interop/` on the corpus encoded in every protocol and on a running emulator. What must come of it
//! is in the scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::server::Server;
use crate::steps::{root, succeed};
use crate::{built, say};

/// Packages that are installed together, and the scripts that use them.
struct Suite {
    packages: Packages,
    /// The script that reads the encoded corpus.
    corpus_script: Option<&'static str>,
    /// The script that talks to the emulator.
    emulator_script: &'static str,
    /// The script that talks to the gateway and prints a table of `docs/gateway-clients.md`.
    gateway_script: Option<&'static str>,
    /// The program that runs the scripts, in the folder of the installation.
    interpreter: fn(&Path) -> PathBuf,
}

/// The documentation with the tables of the gateway scripts, each between `<!-- SCRIPT -->` and `<!-- end -->`.
const TABLES: &str = "docs/gateway-clients.md";
/// With this variable set, tables that differ are written into the documentation.
const BLESS: &str = "POLYWIRE_BLESS";

/// The columns of those tables: a provider of every protocol, and the model that is asked for.
const PROVIDERS: [(&str, &str); 4] = [
    ("OpenAI", "openai/gpt-4o"),
    ("Anthropic", "anthropic/claude-sonnet-4-5"),
    ("Gemini", "google/gemini-2.5-flash"),
    ("Bedrock", "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
];

const SUITES: [Suite; 3] = [
    Suite {
        packages: Packages { name: "python", needs: &["python3"], pins: &["requirements.txt"], install: pip_install },
        corpus_script: Some("sdks.py"),
        emulator_script: "emulated.py",
        gateway_script: Some("gateway.py"),
        interpreter: in_venv,
    },
    Suite {
        packages: Packages {
            name: "node",
            needs: &["node"],
            pins: &["package.json", "package-lock.json"],
            install: npm_ci,
        },
        corpus_script: Some("sdks.mjs"),
        emulator_script: "emulated.mjs",
        gateway_script: Some("gateway.mjs"),
        interpreter: |_| PathBuf::from("node"),
    },
    // Claude Code, Codex and Gemini CLI. They are large, so they are installed apart from the SDKs.
    Suite {
        packages: Packages {
            name: "agents",
            needs: &["node"],
            pins: &["agents/package.json", "agents/package-lock.json"],
            install: npm_ci,
        },
        corpus_script: None,
        emulator_script: "agents.mjs",
        gateway_script: Some("agents.mjs"),
        interpreter: |_| PathBuf::from("node"),
    },
];

/// Installs without running the packages' scripts: those download from elsewhere, and the programs are packages of their own.
pub(crate) fn npm_ci(folder: &Path) -> Result<()> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let quiet = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    succeed(Command::new(npm).args(quiet).current_dir(folder))
}

pub(crate) fn pip_install(folder: &Path) -> Result<()> {
    succeed(Command::new("python3").args(["-m", "venv", "--clear", "venv"]).current_dir(folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"];
    succeed(Command::new(in_venv(folder)).args(pip).current_dir(folder))
}

pub(crate) fn in_venv(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "venv/Scripts/python.exe" } else { "venv/bin/python" })
}

pub(crate) fn check() -> Result<()> {
    let folder = root().join("target/interop");
    fs::create_dir_all(&folder)?;
    let cases = folder.join("cases.jsonl");
    let output = Command::new(built::example("interop")?).arg("corpus/wire").current_dir(root()).output()?;
    if !output.status.success() {
        bail!("the corpus cannot be encoded: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(&cases, output.stdout)?;
    let program = built::command()?;
    let emulator = Server::emulator(&program)?;
    let gateways = Gateways::start(&program, &folder)?;
    SUITES.iter().try_for_each(|suite| suite.check(&folder.join(suite.packages.name), &cases, &emulator.url, &gateways))
}

/// The program, and its gateways that clients talk to.
struct Gateways {
    program: PathBuf,
    /// One where the client names the provider.
    named: Server,
    /// One for each provider that sends every name there: agents choose model names on their own.
    routed: Vec<Server>,
}

impl Gateways {
    fn start(program: &Path, folder: &Path) -> Result<Self> {
        let routed = PROVIDERS.iter().map(|(_, model)| Server::gateway(program, folder, Some(model)));
        let routed = routed.collect::<Result<_>>()?;
        Ok(Self { program: program.to_owned(), named: Server::gateway(program, folder, None)?, routed })
    }

    /// What a script needs to know of them, as JSON.
    fn describe(&self) -> String {
        let each = PROVIDERS.iter().zip(&self.routed);
        let providers = each.map(|((provider, model), routed)| {
            json!({"provider": provider, "model": model, "url": self.named.url, "routed": routed.url})
        });
        providers.collect::<Value>().to_string()
    }
}

impl Suite {
    fn check(&self, folder: &Path, cases: &Path, emulator: &str, gateways: &Gateways) -> Result<()> {
        if !self.packages.are_ready(folder)? {
            return Ok(());
        }
        if let Some(script) = self.corpus_script {
            self.run(folder, script, &cases.to_string_lossy(), &gateways.program)?;
        }
        self.run(folder, self.emulator_script, emulator, &gateways.program)?;
        self.gateway_script.map_or(Ok(()), |script| self.check_table(folder, script, gateways))
    }

    /// Compares the table that a script prints with the documentation.
    fn check_table(&self, folder: &Path, script: &str, gateways: &Gateways) -> Result<()> {
        fs::copy(root().join("interop").join(script), folder.join(script))?;
        let mut command = Command::new((self.interpreter)(folder));
        command.arg(folder.join(script)).arg(gateways.describe());
        let output = command.current_dir(folder).stderr(Stdio::inherit()).output()?;
        let table = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            bail!("`{script}` found clients that the gateway does not serve:\n{table}");
        }
        let known = fs::read_to_string(root().join(TABLES))?;
        let updated = with_table(&known, script, &table)
            .with_context(|| format!("{TABLES} has no place `<!-- {script} -->` … `<!-- end -->` for a table"))?;
        if updated == known {
            Ok(())
        } else if std::env::var_os(BLESS).is_some() {
            Ok(fs::write(root().join(TABLES), updated)?)
        } else {
            bail!("{TABLES} does not have the table of `{script}`; {BLESS}=1 rewrites it:\n{table}")
        }
    }

    fn run(&self, folder: &Path, script: &str, argument: &str, program: &Path) -> Result<()> {
        // Node finds packages from where the script stands.
        fs::copy(root().join("interop").join(script), folder.join(script))?;
        let mut command = Command::new((self.interpreter)(folder));
        succeed(command.arg(folder.join(script)).arg(argument).env("POLYWIRE", program).current_dir(folder))
    }
}

/// Packages that are pinned by files, and how they are installed.
pub(crate) struct Packages {
    pub(crate) name: &'static str,
    /// The programs without which nothing can be installed.
    pub(crate) needs: &'static [&'static str],
    /// Files with the pinned versions; the packages are installed again when they change.
    pub(crate) pins: &'static [&'static str],
    pub(crate) install: fn(&Path) -> Result<()>,
}

impl Packages {
    /// Installs the packages unless these very ones are installed. Gives `false` where that cannot be done; in CI, that is an error.
    pub(crate) fn are_ready(&self, folder: &Path) -> Result<bool> {
        match self.prepare(folder) {
            Ok(()) => Ok(true),
            Err(error) if std::env::var_os("CI").is_some() => {
                Err(error.context(format!("the {} packages cannot be installed", self.name)))
            }
            Err(error) => {
                say(&format!("    skipped: the {} packages cannot be installed ({error:#})", self.name));
                Ok(false)
            }
        }
    }

    fn prepare(&self, folder: &Path) -> Result<()> {
        for program in self.needs {
            let version = Command::new(program).arg("--version").output();
            if !version.is_ok_and(|output| output.status.success()) {
                bail!("{program} is missing");
            }
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

/// The documentation with this table in the place of the script's.
fn with_table(text: &str, script: &str, table: &str) -> Option<String> {
    let begin = format!("<!-- {script} -->\n");
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once("<!-- end -->")?;
    Some(format!("{before}{begin}{}\n<!-- end -->{after}", table.trim()))
}
