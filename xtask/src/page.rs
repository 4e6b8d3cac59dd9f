//! The gateway's page: its committed bundle is what its sources build, and it works in Chromium.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::steps::{root, succeed};
use crate::tools::install_debian_packages;
use crate::{built, say};

/// The files of the bundle.
const BUNDLE: [&str; 3] = ["index.html", "assets/page.js", "assets/page.css"];
const BROWSERS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

pub(crate) fn check() -> Result<()> {
    let folder = root().join("apps/gateway/page");
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let committed: Vec<_> =
        BUNDLE.iter().map(|name| fs::read(folder.join("dist").join(name))).collect::<Result<_, _>>()?;
    // `npm ci` refuses a lock file without the addresses of packages, because of optional packages for other platforms.
    let installed = Command::new(npm)
        .args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(&folder)
        .status();
    if !installed.is_ok_and(|status| status.success()) {
        if std::env::var_os("CI").is_some() {
            bail!("the packages of the page cannot be installed");
        }
        say("    skipped: the packages of the page cannot be installed");
        return Ok(());
    }
    succeed(Command::new(npm).args(["run", "--silent", "build"]).current_dir(&folder))?;
    for (name, before) in BUNDLE.iter().zip(committed) {
        if fs::read(folder.join("dist").join(name))? != before {
            bail!("apps/gateway/page/dist/{name} is not what the sources build; commit the new one");
        }
    }
    let find = || BROWSERS.iter().find(|path| fs::exists(path).unwrap_or_default());
    if find().is_none() {
        install_debian_packages(&[("/usr/bin/chromium", "chromium")]);
    }
    let Some(browser) = find() else {
        if std::env::var_os("CI").is_some() {
            bail!("there is no Chromium");
        }
        say("    the page was not tried: there is no Chromium");
        return Ok(());
    };
    let shots = root().join("target/page");
    let mut test = Command::new("node");
    test.arg("test/page.mjs").arg(built::command()?).arg(shots).env("CHROMIUM", browser);
    succeed(test.current_dir(&folder))
}
