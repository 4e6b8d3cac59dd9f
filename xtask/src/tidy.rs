//! House rules that no lint knows: module docs, size, keyword literals, provider names, the code map.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::steps::root;

/// Lines at which a file is too long to be read.
const LONGEST: usize = 800;

/// Keywords of JSON Schema that only the keyword table spells out.
const KEYWORDS: &[&str] = &[
    "additionalProperties",
    "allOf",
    "anyOf",
    "dependentRequired",
    "dependentSchemas",
    "oneOf",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

/// The judge of proofs spells keywords itself: it must not share a mistake of the table that it judges.
const JUDGE: &str = "crates/testkit/src/prove/";

/// Signs that a line decides something.
const DECIDES: &[&str] =
    &["==", "!=", "=>", "matches!", "starts_with(", "ends_with(", "contains(", "eq_ignore_ascii_case("];

/// What the crates without IO, time and environment do not name.
const OUTSIDE: &[&str] = &["std::fs", "std::env", "std::net", "std::process", "std::time", "std::io::stdin"];
const INWARD: &[&str] = &["crates/schema/src/", "crates/wire/src/", "crates/answer/src/", "crates/testkit/src/"];

pub(crate) fn check() -> Result<()> {
    let root = root();
    let mut files = Vec::new();
    collect(&root, &root, &mut files)?;
    let dialects: Vec<String> = dialect_ids(&root)?.into_iter().map(|id| format!("\"{id}\"")).collect();
    let mut faults = Vec::new();
    for path in &files {
        let text = fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
        faults.extend(File { path, text: &text }.faults(&dialects));
    }
    faults.extend(code_map(&root)?);
    faults.extend(untested_requirements(&root, &files)?);
    if faults.is_empty() { Ok(()) } else { bail!("{}", faults.join("\n")) }
}

/// The requirements of the parts that are complete and that no test names, as `r_a1_…` or `R-A1`. The list of them lies beside the
/// repository.
fn untested_requirements(root: &Path, files: &[String]) -> Result<Vec<String>> {
    let path = root.join("..").join("shared").join("REQUIREMENTS.md");
    let Ok(text) = fs::read_to_string(&path) else {
        let is_ci = std::env::var("CI").as_deref() == Ok("true");
        return Ok(is_ci.then(|| "../shared/REQUIREMENTS.md is missing".to_owned()).into_iter().collect());
    };
    let ids = text.split("**R-").skip(1).filter_map(|rest| rest.split_once("**")).map(|(id, _)| format!("R-{id}"));
    let ids: Vec<String> = ids.filter(|id| COMPLETE_PARTS.iter().any(|part| id.starts_with(part))).collect();
    let mut named = String::new();
    for path in files {
        named += &fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
    }
    let is_named = |id: &String| {
        let spelled = [format!("fn {}_", id.to_lowercase().replace('-', "_")), id.clone()];
        spelled.iter().any(|word| {
            let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
            named.match_indices(word.as_str()).any(|(at, _)| named.get(at + word.len()..).is_some_and(ends))
        })
    };
    Ok(ids.into_iter().filter(|id| !is_named(id)).map(|id| format!("{id}: no test names this requirement")).collect())
}

/// The parts of the requirements of which each item has a test.
const COMPLETE_PARTS: &[&str] = &["R-A", "R-B", "R-C", "R-D", "R-E"];

/// A source file, its path written from the root with slashes.
struct File<'a> {
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn faults(&self, dialects: &[String]) -> Vec<String> {
        let mut faults = Vec::new();
        let path = self.path;
        if !self.text.starts_with("//!") {
            faults.push(format!("{path}:1: a module starts with `//!`: what it owns and what it refuses to know"));
        }
        let length = self.text.lines().count();
        if length > LONGEST {
            faults.push(format!("{path}: {length} lines are too many to read; split it (at most {LONGEST})"));
        }
        for (number, line) in self.code() {
            // Spelled in two parts, so that this file passes itself.
            for banned in [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[", "ignore")] {
                if line.contains(banned) {
                    faults.push(format!("{path}:{number}: `{banned}` is a promise nobody keeps"));
                }
            }
        }
        for (number, line) in self.production() {
            if path.starts_with("crates/") && !path.ends_with("/keyword.rs") && !path.starts_with(JUDGE) {
                let spelled = KEYWORDS.iter().filter(|keyword| line.contains(&format!("\"{keyword}\"")));
                faults.extend(spelled.map(|keyword| format!("{path}:{number}: only keyword.rs spells `{keyword}`")));
            }
            if !path.starts_with("xtask/") && DECIDES.iter().any(|sign| line.contains(sign)) {
                let named = dialects.iter().filter(|id| line.contains(id.as_str()));
                faults
                    .extend(named.map(|id| format!("{path}:{number}: {id} decides something; make it a row of data")));
            }
            if INWARD.iter().any(|folder| path.starts_with(folder)) {
                let outside = OUTSIDE.iter().filter(|name| line.contains(**name));
                faults.extend(
                    outside.map(|name| format!("{path}:{number}: `{name}`: this crate does no IO, time or env")),
                );
            }
        }
        faults
    }

    /// Lines that are not comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Code that is shipped: no tests, benchmarks or examples.
    fn production(&self) -> impl Iterator<Item = (usize, &str)> {
        let shipped = self.path.contains("/src/") && !self.path.ends_with("tests.rs");
        self.code().take_while(move |(_, line)| shipped && line.trim() != "#[cfg(test)]")
    }
}

/// Every source file of the workspace, in order.
fn collect(root: &Path, folder: &Path, files: &mut Vec<String>) -> Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                collect(root, &path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let parts: Vec<_> = path.strip_prefix(root)?.iter().map(|part| part.to_string_lossy()).collect();
            files.push(parts.join("/"));
        }
    }
    Ok(())
}

fn dialect_ids(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("crates/schema/data");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let stems = entries.flatten().filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()));
    let mut ids: Vec<String> = stems.collect();
    ids.sort();
    Ok(ids)
}

/// Prose needs a test too: every path that the code map names exists.
fn code_map(root: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).context("cannot read ARCHITECTURE.md")?;
    let paths = mapped_paths(&text);
    if paths.is_empty() {
        bail!("ARCHITECTURE.md has no code map that names a path");
    }
    let missing = paths.iter().filter(|path| !root.join(path).exists());
    Ok(missing.map(|path| format!("ARCHITECTURE.md: the code map names `{path}`, which does not exist")).collect())
}

/// The paths in backticks under the heading "Code map".
fn mapped_paths(text: &str) -> Vec<&str> {
    let is_heading = |line: &&str| line.starts_with('#');
    let section =
        text.lines().skip_while(|line| !(is_heading(line) && line.to_lowercase().contains("code map"))).skip(1);
    let quoted = section.take_while(|line| !is_heading(line)).flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |word: &&str| word.contains(['/', '.']) && !word.contains(['*', ' ', '(', ':', '<', '{']);
    quoted.filter(is_path).collect()
}

#[cfg(test)]
mod tests {
    use super::{File, mapped_paths};

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let faults = File { path, text }.faults(&["\"acme\"".to_owned()]);
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_house_rule_names_file_and_line() {
        check("crates/schema/src/a.rs", "//! Fine.\nfn a() {}\n", &[]);
        check(
            "apps/cli/src/a.rs",
            "fn a() {}\n",
            &["apps/cli/src/a.rs:1: a module starts with `//!`: what it owns and what it refuses to know"],
        );
        check(
            "crates/schema/src/a.rs",
            "//! A.\nlet a = \"anyOf\";\n",
            &["crates/schema/src/a.rs:2: only keyword.rs spells `anyOf`"],
        );
        check(
            "crates/schema/src/a.rs",
            "//! A.\nif id == \"acme\" {}\n",
            &["crates/schema/src/a.rs:2: \"acme\" decides something; make it a row of data"],
        );
        check(
            "crates/schema/src/a.rs",
            "//! A.\nuse std::fs;\n",
            &["crates/schema/src/a.rs:2: `std::fs`: this crate does no IO, time or env"],
        );
        check(
            "crates/schema/src/a.rs",
            concat!("//! A.\nto", "do!()\n"),
            &[concat!("crates/schema/src/a.rs:2: `to", "do!(` is a promise nobody keeps")],
        );
    }

    #[test]
    fn tests_and_comments_may_name_anything() {
        check("crates/schema/src/a.rs", "//! A.\n/// \"anyOf\"\n#[cfg(test)]\nmod t { \"anyOf\" == \"acme\" }\n", &[]);
        check("crates/schema/src/a_tests.rs", "//! A.\n\"anyOf\"\n", &[]);
        check("crates/schema/src/keyword.rs", "//! A.\n\"anyOf\"\n", &[]);
    }

    #[test]
    fn the_code_map_names_paths() {
        let text =
            "# A\n`not/this`\n## Code map\n- `crates/schema`: x, `Kw`\n- `Cargo.toml`\n## Invariants\n`nor/this`\n";
        assert_eq!(mapped_paths(text), ["crates/schema", "Cargo.toml"]);
    }
}
