//! `cargo xtask bless`: rewrites the goldens of fitted schemas, or shows what differs from those of a revision.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::say;
use crate::steps::{cargo_command, root, succeed};

/// The test that compares, writes and shows goldens.
const TEST: [&str; 5] = ["test", "--package", "polywire-schema", "--test", "all"];

/// Fits every golden schema anew and writes the result down.
pub(crate) fn rewrite() -> Result<()> {
    succeed(cargo_command().args(TEST).arg("goldens").env("POLYWIRE_BLESS", "1"))
}

/// Prints the difference between the fits of a revision and those of the work tree, for every fit that has another digest. The
/// revision is built in a work tree of its own.
pub(crate) fn show(revision: &str) -> Result<()> {
    let root = root();
    let scratch = root.join("target").join("bless");
    let (old, new) = (scratch.join("old"), scratch.join("new"));
    for folder in [&old, &new] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    // The comparison fails where something differs, and leaves the list of it.
    _ = cargo_command().args(TEST).arg("goldens").output().context("cannot start cargo")?;
    let ids = scratch.join("ids.txt");
    let count = collect_ids(&root.join("target").join("tmp"), &ids)?;
    if count == 0 {
        say("every fit is that of its golden");
        return Ok(());
    }
    say(&format!("{count} fits differ; building {revision} to show how they were"));
    write_fits(&root, None, &ids, &new)?;
    let tree = scratch.join("tree");
    let git = |arguments: &[&str]| succeed(Command::new("git").current_dir(&root).args(arguments));
    let path = tree.display().to_string();
    if tree.exists() {
        git(&["worktree", "remove", "--force", &path])?;
    }
    git(&["worktree", "add", "--quiet", "--detach", &path, revision])?;
    let written = write_fits(&tree, Some(&scratch.join("build")), &ids, &old);
    git(&["worktree", "remove", "--force", &path])?;
    written.with_context(|| format!("{revision} cannot show its goldens"))?;
    // `git diff` says by its status that the folders differ, which is why they are compared.
    let status = Command::new("git").current_dir(&scratch).args(["diff", "--no-index", "old", "new"]).status();
    status.context("cannot start git")?;
    Ok(())
}

/// Joins the lists that the comparison left, and returns how many fits they name.
fn collect_ids(folder: &Path, to: &Path) -> Result<usize> {
    let mut ids = String::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path: PathBuf = entry?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("goldens-")) {
            ids += &fs::read_to_string(&path)?;
        }
    }
    fs::write(to, &ids)?;
    Ok(ids.lines().count())
}

/// Writes the named fits of one work tree into a folder.
fn write_fits(tree: &Path, target: Option<&Path>, ids: &Path, out: &Path) -> Result<()> {
    let mut command = cargo_command();
    command.current_dir(tree).args(TEST).arg("goldens");
    command.env("POLYWIRE_GOLDEN_IDS", ids).env("POLYWIRE_GOLDEN_OUT", out);
    if let Some(target) = target {
        command.env("CARGO_TARGET_DIR", target);
    }
    // The shared corpus is beside the repository, not beside a work tree within it.
    command.env("POLYWIRE_SHARED", root().join("..").join("shared"));
    _ = command.output().context("cannot start cargo")?;
    let is_empty = fs::read_dir(out)?.next().is_none();
    ensure!(!is_empty, "no fit was written: does the revision build, and does it have goldens?");
    Ok(())
}
