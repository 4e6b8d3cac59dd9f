//! Runs the commands of the documentation and compares what they print.
//!
//! A block ```` ```console ```` has commands behind `$ ` and their output, in which a line `…` stands for any lines. A block
//! ```` ```sh ```` has commands alone. Blocks with `title="FILE"` are files that later commands of the page find. `no-run` exempts a
//! block: servers, keys, installations.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::Page;
use super::markdown::{Block, blocks};
use crate::steps::root;
use crate::{built, say};

/// With this variable set, outputs that differ are written into the pages.
const BLESS: &str = "POLYWIRE_BLESS";
/// How pages call the program before it is installed.
const BY_CARGO: &str = "cargo run -q -p polywire-cli -- ";
/// How many seconds a command may take.
const LONGEST: &str = "60";
const ANY_LINES: &str = "…";

/// Commands that fail or print something else.
pub(super) fn run(pages: &[Page]) -> Result<Vec<String>> {
    let folder = root().join("target/docs/run");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages {
        let shell = Shell::new(&folder.join(page.path.replace('/', "-")))?;
        let mut corrected = String::new();
        let mut copied = 0;
        for block in blocks(&page.text) {
            if let Some(title) = block.title() {
                shell.write(title, block.text)?;
            }
            for call in calls(&block) {
                count += 1;
                let printed = shell.run(call.command)?;
                if printed.status > 1 && !call.may_fail() {
                    faults.push(format!(
                        "{}:{}: `{}` gave {}:\n{}",
                        page.path, block.line, call.command, printed.status, printed.text
                    ));
                }
                let Some((expected, start)) = call.expected else { continue };
                if matches(expected, &printed.text) {
                    continue;
                }
                corrected += page.text.get(copied..start).unwrap_or_default();
                corrected += &printed.text;
                copied = start + expected.len();
                faults.push(format!("{}:{}: `{}` prints:\n{}", page.path, block.line, call.command, printed.text));
            }
        }
        if copied > 0 && std::env::var_os(BLESS).is_some() {
            corrected += page.text.get(copied..).unwrap_or_default();
            fs::write(root().join(&page.path), corrected)?;
        }
    }
    say(&format!("    {count} commands of {} pages ran", pages.len()));
    Ok(faults)
}

/// A command of a page, and the output that the page shows with its place.
struct Call<'p> {
    command: &'p str,
    expected: Option<(&'p str, usize)>,
}

impl Call<'_> {
    /// Status 1 is "findings" and fits anywhere; a comment announces other failures.
    fn may_fail(&self) -> bool {
        self.command.contains("# fails")
    }
}

fn calls<'p>(block: &Block<'p>) -> Vec<Call<'p>> {
    if block.has("no-run") {
        return Vec::new();
    }
    match block.language {
        "sh" => sh_calls(block.text),
        "console" => console_calls(block),
        _ => Vec::new(),
    }
}

fn sh_calls(text: &str) -> Vec<Call<'_>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|command| Call { command, expected: None }).collect()
}

fn console_calls<'p>(block: &Block<'p>) -> Vec<Call<'p>> {
    let mut found: Vec<Call<'p>> = Vec::new();
    let mut at = block.start;
    for line in block.text.split_inclusive('\n') {
        let end = at + line.len();
        if let Some(command) = line.strip_prefix("$ ") {
            found.push(Call { command: command.trim_end(), expected: Some(("", end)) });
        } else if let Some(Call { expected: Some((expected, start)), .. }) = found.last_mut() {
            *expected = block.text.get(*start - block.start..end - block.start).unwrap_or_default();
        }
        at = end;
    }
    found
}

/// Compares line by line; `…` matches any number of lines.
fn matches(expected: &str, printed: &str) -> bool {
    let (expected, printed): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), printed.lines().collect());
    lines_match(&expected, &printed)
}

fn lines_match(expected: &[&str], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], []) => true,
        ([first, rest @ ..], _) if *first == ANY_LINES => {
            (0..=printed.len()).any(|skipped| lines_match(rest, printed.get(skipped..).unwrap_or_default()))
        }
        ([first, rest @ ..], [line, others @ ..]) => first.trim_end() == line.trim_end() && lines_match(rest, others),
        ([], _) | (_, []) => false,
    }
}

/// What a command printed, on both streams.
struct Printed {
    status: i32,
    text: String,
}

/// A shell in a folder of a page, without keys and with the program on its path.
struct Shell {
    folder: PathBuf,
    path: String,
}

impl Shell {
    fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder.join("home"))?;
        let examples = folder.join("examples");
        fs::create_dir_all(&examples)?;
        for entry in root().join("examples").read_dir()? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                fs::copy(&path, examples.join(path.file_name().unwrap_or_default()))?;
            }
        }
        let program = built::command()?;
        let programs = program.parent().context("the program lies in no folder")?;
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        Ok(Self { folder: folder.to_owned(), path })
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    fn run(&self, command: &str) -> Result<Printed> {
        let command = command.replace(BY_CARGO, "polywire ");
        let mut shell = Command::new("timeout");
        // Both streams in the order in which they are written.
        shell
            .args([LONGEST, "sh", "-c", &format!("{{ {command}\n}} 2>&1")])
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        shell.env_clear().env("PATH", &self.path).env("HOME", self.folder.join("home")).env("COLUMNS", "100");
        let output = shell.output().context("cannot start `timeout sh`")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Printed { status: output.status.code().unwrap_or(i32::MAX), text })
    }
}

#[cfg(test)]
mod tests {
    use super::super::markdown::blocks;
    use super::{calls, matches};

    #[test]
    fn commands_have_their_output() {
        let text = "```console\n$ a\none\ntwo\n$ b # fails\n```\n```sh\n# note\nc\n```\n```sh no-run\nd\n```\n";
        let blocks = blocks(text);
        let calls: Vec<_> = blocks.iter().flat_map(calls).collect();
        let seen: Vec<_> = calls.iter().map(|call| (call.command, call.expected.map(|(text, _)| text))).collect();
        assert_eq!(seen, [("a", Some("one\ntwo\n")), ("b # fails", Some("")), ("c", None)]);
        assert!(calls.get(1).is_some_and(super::Call::may_fail));
    }

    #[test]
    fn an_ellipsis_stands_for_lines() {
        assert!(matches("a\n…\nd\n", "a\nb\nc\nd\n"));
        assert!(matches("…\n", ""));
        assert!(!matches("a\n", "a\nb\n"));
        assert!(!matches("a\n…\nd\n", "a\nb\n"));
    }
}
