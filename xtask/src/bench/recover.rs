//! How many broken values come back exactly, beside `json_repair` (`PyPI`) and `jsonrepair` (npm), on the same cases in one run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::say;
use crate::steps::{cargo_command, root, succeed};

const JSON_REPAIR: [&str; 2] = ["json_repair==0.64.4", "jsonschema==4.26.0"];
const JSONREPAIR: &str = "jsonrepair@3.15.0";

/// Reads cases as lines of JSON, writes what `json_repair` makes of each, without and with the schema.
const PYTHON: &str = r#"import json, signal, sys
import json_repair

class TooSlow(BaseException):
    pass

def stop(*_):
    raise TooSlow

signal.signal(signal.SIGALRM, stop)

def read(text, **options):
    signal.alarm(20)
    try:
        return {"value": json_repair.repair_json(text, return_objects=True, **options)}
    except (Exception, TooSlow):
        return {}
    finally:
        signal.alarm(0)

cases, plain, guided = sys.argv[1:]
with open(cases) as cases, open(plain, "w") as plain, open(guided, "w") as guided:
    for line in cases:
        case = json.loads(line)
        print(json.dumps(read(case["text"])), file=plain)
        print(json.dumps(read(case["text"], schema=case["schema"])), file=guided)
"#;

/// The same for `jsonrepair`.
const NODE: &str = r#"import { readFileSync, writeFileSync } from "node:fs";
import { jsonrepair } from "jsonrepair";

const [cases, results] = process.argv.slice(2);
const read = (text) => {
  try {
    return { value: JSON.parse(jsonrepair(text)) };
  } catch {
    return {};
  }
};
const lines = readFileSync(cases, "utf8").trimEnd().split("\n");
writeFileSync(results, lines.map((line) => JSON.stringify(read(JSON.parse(line).text)) + "\n").join(""));
"#;

/// Runs the benchmark of the answer crate; readers that cannot be installed are left out.
pub(crate) fn bench(arguments: &[&str]) -> Result<()> {
    let folder = root().join("target/bench/recover");
    fs::create_dir_all(&folder)?;
    let cases = folder.join("cases.jsonl");
    let with_file = |option: &str, path: &Path| [option.to_owned(), path.display().to_string()];
    own(arguments, &with_file("--write", &cases))?;
    let mut peers = Vec::new();
    match json_repair(&folder, &cases) {
        Ok([plain, guided]) => {
            peers.extend(["--peer".to_owned(), format!("json_repair={}", plain.display())]);
            peers.extend(["--peer".to_owned(), format!("json_repair, schema={}", guided.display())]);
        }
        Err(error) => say(&format!("    json_repair is left out: {error:#}")),
    }
    match jsonrepair(&folder, &cases) {
        Ok(results) => peers.extend(["--peer".to_owned(), format!("jsonrepair={}", results.display())]),
        Err(error) => say(&format!("    jsonrepair is left out: {error:#}")),
    }
    own(arguments, &peers)
}

fn own(arguments: &[&str], more: &[String]) -> Result<()> {
    let mut command = cargo_command();
    command.args(["bench", "--quiet", "-p", "polywire-answer", "--bench", "recover", "--"]);
    succeed(command.args(arguments).args(more))
}

fn json_repair(folder: &Path, cases: &Path) -> Result<[PathBuf; 2]> {
    let venv = folder.join("venv");
    let python = venv.join("bin/python");
    install(&folder.join("venv.installed"), &JSON_REPAIR.join(" "), || {
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        succeed(Command::new(&python).args(pip).args(JSON_REPAIR))
    })?;
    let script = folder.join("read.py");
    fs::write(&script, PYTHON)?;
    let results = [folder.join("json_repair.jsonl"), folder.join("json_repair-schema.jsonl")];
    succeed(Command::new(&python).arg(script).arg(cases).args(&results))?;
    Ok(results)
}

fn jsonrepair(folder: &Path, cases: &Path) -> Result<PathBuf> {
    let package = folder.join("npm");
    fs::create_dir_all(&package)?;
    install(&folder.join("npm.installed"), JSONREPAIR, || {
        let npm = ["install", "--silent", "--no-audit", "--no-fund", "--prefix"];
        succeed(Command::new("npm").args(npm).arg(&package).arg(JSONREPAIR))
    })?;
    let script = package.join("read.mjs");
    fs::write(&script, NODE)?;
    let results = folder.join("jsonrepair.jsonl");
    succeed(Command::new("node").arg(script).arg(cases).arg(&results))?;
    Ok(results)
}

/// Installs what a mark does not say is installed.
fn install(mark: &Path, version: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    if !fs::read(mark).is_ok_and(|installed| installed == version.as_bytes()) {
        say(&format!("    installing {version} into target/bench, once"));
        install().with_context(|| format!("{version} cannot be installed"))?;
        fs::write(mark, version)?;
    }
    Ok(())
}
