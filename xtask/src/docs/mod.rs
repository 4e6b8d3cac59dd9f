//! The documentation: its commands run, its links lead somewhere, and its site builds.

mod links;
mod markdown;
mod site;
mod snippets;
mod terminal;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::steps::root;
pub(crate) use terminal::pictures;

/// Pages outside of `docs/`.
const ROOT_PAGES: &[&str] = &["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

/// Links, commands and the site.
pub(crate) fn check() -> Result<()> {
    let pages = pages()?;
    let mut faults = links::faults(&pages);
    faults.extend(snippets::run(&pages)?);
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    site::build()
}

/// A page of the documentation.
struct Page {
    /// From the root of the repository, with `/`.
    path: String,
    text: String,
}

fn pages() -> Result<Vec<Page>> {
    let root = root();
    let mut paths: Vec<String> =
        ROOT_PAGES.iter().filter(|path| root.join(path).exists()).map(|path| (*path).to_owned()).collect();
    collect(&root.join("docs"), "docs", &mut paths)?;
    paths.sort();
    let read = |path: String| {
        let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
        Ok(Page { path, text })
    };
    paths.into_iter().map(read).collect()
}

fn collect(folder: &Path, name: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let own = format!("{name}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            collect(&path, &own, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(own);
        }
    }
    Ok(())
}
