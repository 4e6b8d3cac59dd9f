//! The Python package: its wheel is built, installed into an environment of its own, and tested there, with the frameworks that it
//! adapts. `POLYWIRE_BLESS=1` writes its reference anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::built;
use crate::say;
use crate::steps::{root, succeed};

/// The folder of the package.
const PACKAGE: &str = "bindings/python";
/// Where its reference is.
const REFERENCE: &str = "docs/python";
/// With this variable set, a reference that differs is written into the documentation.
const BLESS: &str = "POLYWIRE_BLESS";

pub(crate) fn check() -> Result<()> {
    let folder = root().join("target/python");
    fs::create_dir_all(&folder)?;
    let environment = Environment { folder: folder.join("venv") };
    if let Err(error) = environment.prepare(&folder) {
        if std::env::var_os("CI").is_some() {
            return Err(error.context("the Python packages cannot be installed"));
        }
        say(&format!("    skipped: the Python packages cannot be installed ({error:#})"));
        return Ok(());
    }
    let wheel = environment.build_wheel(&folder)?;
    environment.install(&wheel)?;
    let cases = write_cases(&folder)?;
    // Outside of the package's folder, so that the installed package is what is tested.
    let tests = root().join(PACKAGE).join("tests");
    let config = root().join(PACKAGE).join("pyproject.toml");
    let mut pytest = environment.module("pytest", &folder);
    pytest.arg("-c").arg(&config).arg("--rootdir").arg(root().join(PACKAGE)).args(["-p", "no:cacheprovider"]);
    succeed(pytest.arg(&tests).env("POLYWIRE_CASES", &cases).env("PYTHONDONTWRITEBYTECODE", "1"))?;
    let mut pyright = environment.module("pyright", &folder);
    pyright.arg("--pythonpath").arg(environment.python()).args(["--verifytypes", "polywire", "--ignoreexternal"]);
    succeed(&mut pyright)?;
    succeed(environment.module("mypy.stubtest", &folder).arg("polywire._polywire"))?;
    environment.check_reference(&folder)
}

/// The cases of the corpus with Rust's results.
fn write_cases(folder: &Path) -> Result<PathBuf> {
    let mut cases = Command::new(built::example("cases")?);
    let output = cases.arg("corpus").current_dir(root()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the cases of the corpus cannot be run in Rust");
    }
    let path = folder.join("cases.jsonl");
    fs::write(&path, output.stdout)?;
    Ok(path)
}

/// A virtual environment with the pinned packages.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Installs the pinned packages, unless they are there.
    fn prepare(&self, folder: &Path) -> Result<()> {
        let pins = root().join(PACKAGE).join("requirements.txt");
        let wanted = fs::read_to_string(&pins).with_context(|| format!("cannot read {}", pins.display()))?;
        let installed = folder.join("installed.txt");
        if fs::read_to_string(&installed).is_ok_and(|before| before == wanted) {
            return Ok(());
        }
        succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&self.folder))?;
        let quiet = ["install", "--quiet", "--disable-pip-version-check", "-r"];
        succeed(self.module("pip", folder).args(quiet).arg(&pins))?;
        fs::write(&installed, wanted)?;
        Ok(())
    }

    /// Builds the wheel with the profile for development: its dependencies are optimized.
    fn build_wheel(&self, folder: &Path) -> Result<PathBuf> {
        let wheels = folder.join("wheels");
        if wheels.exists() {
            fs::remove_dir_all(&wheels)?;
        }
        let mut build = self.module("maturin", &root().join(PACKAGE));
        build.args(["build", "--quiet", "--profile", "dev", "--target-dir"]).arg(root().join("target"));
        build.arg("--out").arg(&wheels);
        if std::env::var_os("CI").is_some() {
            build.env("CARGO_INCREMENTAL", "0");
        }
        succeed(&mut build)?;
        let made = fs::read_dir(&wheels)?.next().context("maturin made no wheel")?;
        Ok(made?.path())
    }

    /// Installs the wheel, in the place of one that was built before.
    fn install(&self, wheel: &Path) -> Result<()> {
        let quiet = ["install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"];
        succeed(self.module("pip", &self.folder).args(quiet).arg(wheel))
    }

    /// The reference in the documentation is that of the package.
    fn check_reference(&self, folder: &Path) -> Result<()> {
        let made = folder.join("reference");
        if made.exists() {
            fs::remove_dir_all(&made)?;
        }
        let mut pdoc = self.module("pdoc", folder);
        pdoc.args(["--no-search", "--no-show-source", "--docformat", "restructuredtext", "-o"]).arg(&made);
        succeed(pdoc.arg("polywire"))?;
        let (made, kept) = (made.join("polywire.html"), root().join(REFERENCE).join("polywire.html"));
        let text = fs::read_to_string(&made)?;
        if fs::read_to_string(&kept).is_ok_and(|before| before == text) {
            return Ok(());
        }
        if std::env::var_os(BLESS).is_none() {
            bail!("{REFERENCE} is not the reference of the package; `{BLESS}=1 cargo xtask ci python` writes it");
        }
        fs::create_dir_all(root().join(REFERENCE))?;
        fs::write(&kept, text)?;
        Ok(())
    }

    fn python(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
    }

    /// A module of the environment, run in a folder.
    fn module(&self, name: &str, folder: &Path) -> Command {
        let mut command = Command::new(self.python());
        command.args(["-m", name]).current_dir(folder).env("VIRTUAL_ENV", &self.folder);
        command
    }
}
