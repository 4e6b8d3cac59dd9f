//! Goldens: what becomes of every own case, every tool and every tenth schema of the shared corpus, in every dialect and with open
//! objects closed and carried. Schema, strict flag, changes and lens are compared by digest; the own cases in their own dialect by
//! their whole text. `cargo xtask bless` rewrites the goldens, `cargo xtask bless --show REV` prints what differs from a revision.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use polywire_schema::{Dialect, FitOptions, Open, Slot, dialects, fit_text};
use serde_json::{Value, json};

use crate::corpus::every_case;
use crate::judge::assert_no_faults;
use crate::shared::{in_parallel, lines};

/// So many differences are shown in full.
const SHOWN: usize = 5;

/// A longer text is kept as its digest: the cases of size limits have thousands of properties.
const LONGEST: usize = 8_000;

/// Both modes of `--open`, in the order of the digests.
const MODES: [Open; 2] = [Open::Close, Open::Carry];

/// A schema with a name that stays the same while other schemas come and go.
struct Item {
    name: String,
    schema: String,
    slot: Slot,
}

/// One fit of an item that differs from its golden.
struct Difference<'i> {
    item: &'i Item,
    dialect: &'static Dialect,
    open: Open,
}

#[test]
fn own_cases_fit_as_they_did_in_every_dialect() {
    compare("own-cases", &own_cases());
}

#[test]
fn tools_fit_as_they_did_in_every_dialect() {
    let Some(lines) = lines("mcp-tools.jsonl") else { return };
    let items = lines.iter().map(|line| {
        let tool: Value = serde_json::from_str(line).expect("a line of JSON");
        Item::new(tool["inputSchema"].to_string(), Slot::Tool)
    });
    compare("mcp-tools", &items.collect::<Vec<_>>());
}

#[test]
fn a_tenth_of_the_corpus_fits_as_it_did_in_every_dialect() {
    let Some(lines) = lines("schemas.jsonl.gz") else { return };
    let items = lines.iter().step_by(10).map(|line| {
        let sample: Value = serde_json::from_str(line).expect("a line of JSON");
        Item::new(sample["schema"].to_string(), Slot::Tool)
    });
    compare("schemas", &items.collect::<Vec<_>>());
}

/// The whole text of each own case in its own dialect, so that a change of it is read in the diff of the repository.
#[test]
fn own_cases_fit_as_they_did_in_their_own_dialect() {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for case in every_case() {
        let item = Item::new(case.value["schema"].to_string(), case.slot());
        let dialect = polywire_schema::dialect(&case.id).expect("a dialect");
        let text = files.entry(case.id.clone()).or_default();
        _ = writeln!(text, "# {}", case.value["why"].as_str().unwrap_or_default());
        for open in MODES {
            let fitted = item.fit(dialect, open);
            if fitted.len() > LONGEST {
                _ = writeln!(text, "{} bytes with digest {:016x}", fitted.len(), digest(&fitted));
            } else {
                _ = writeln!(text, "{fitted}");
            }
        }
    }
    let mut faults = Vec::new();
    for (id, text) in files {
        let path = folder().join("own").join(format!("{id}.txt"));
        if is_blessing() {
            write(&path, &text);
            continue;
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        let different = text.lines().zip(golden.lines()).find(|(new, old)| new != old);
        if let Some((new, old)) = different {
            faults.push(format!("{id}\n  was {old}\n  now {new}"));
        } else if text.lines().count() != golden.lines().count() {
            faults.push(format!("{id}: the cases are not those of the golden file"));
        }
    }
    assert_no_faults(&faults);
}

impl Item {
    fn new(schema: String, slot: Slot) -> Self {
        Self { name: format!("{:016x}", digest(&format!("{slot:?} {schema}"))), schema, slot }
    }

    /// Everything about one fit, as one line of JSON.
    fn fit(&self, dialect: &Dialect, open: Open) -> String {
        let options = FitOptions::default().with_open(open).with_slot(self.slot);
        match fit_text(&self.schema, dialect, &options) {
            Ok(fitted) => format!(
                r#"{{"schema":{},"strict":{},"changes":{},"lens":{}}}"#,
                fitted.schema,
                fitted.strict(),
                json!(fitted.changes),
                serde_json::to_string(fitted.lens()).expect("a lens is written as JSON")
            ),
            Err(error) => json!({ "error": error.to_string() }).to_string(),
        }
    }

    /// The line of the golden file: the name, and a digest for each dialect and mode.
    fn line(&self) -> String {
        let mut line = self.name.clone();
        for dialect in dialects() {
            line.push(' ');
            for open in MODES {
                // Four digits keep the files small; a change that matters shows in many fits.
                _ = write!(line, "{:04x}", digest(&self.fit(dialect, open)) & 0xffff);
            }
        }
        line
    }

    fn differences<'i>(&'i self, old: &str, new: &str) -> Vec<Difference<'i>> {
        let digests = |line: &str| line.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>();
        let (old, new) = (digests(old), digests(new));
        let mut found = Vec::new();
        for (index, dialect) in dialects().enumerate() {
            for (mode, open) in MODES.into_iter().enumerate() {
                let part =
                    |line: &[String]| line.get(index).and_then(|own| own.get(mode * 4..)?.get(..4).map(str::to_owned));
                if part(&old) != part(&new) {
                    found.push(Difference { item: self, dialect, open });
                }
            }
        }
        found
    }
}

impl Difference<'_> {
    fn id(&self) -> String {
        format!("{}.{}.{:?}", self.item.name, self.dialect.id(), self.open).to_lowercase()
    }
}

fn own_cases() -> Vec<Item> {
    let mut items: Vec<Item> =
        every_case().map(|case| Item::new(case.value["schema"].to_string(), case.slot())).collect();
    items.sort_by(|a, b| a.name.cmp(&b.name));
    items.dedup_by(|a, b| a.name == b.name);
    items
}

#[track_caller]
fn compare(file: &str, items: &[Item]) {
    show(items);
    let path = folder().join(format!("{file}.txt"));
    let new = in_parallel(items, |item| vec![item.line()]);
    let header = dialects().map(Dialect::id).collect::<Vec<_>>().join(" ");
    if is_blessing() {
        return write(&path, &format!("{header}\n{}\n", new.join("\n")));
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(golden.lines().next(), Some(&*header), "{file}: other dialects; run `cargo xtask bless`");
    let old: BTreeMap<&str, &str> =
        golden.lines().skip(1).filter_map(|line| Some((line.split_once(' ')?.0, line))).collect();
    let pairs = items.iter().zip(&new);
    let differences: Vec<Difference<'_>> = pairs
        .flat_map(|(item, new)| item.differences(old.get(&*item.name).copied().unwrap_or_default(), new))
        .collect();
    let ids: String = differences.iter().map(|difference| difference.id() + "\n").collect();
    write(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("goldens-{file}.txt")), &ids);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &differences {
        *counts.entry(one.dialect.id()).or_default() += 1;
    }
    let mut faults: Vec<String> = differences
        .iter()
        .take(SHOWN)
        .map(|one| {
            format!("{}\n  schema {}\n  fitted {}", one.id(), one.item.schema, one.item.fit(one.dialect, one.open))
        })
        .collect();
    if !differences.is_empty() {
        faults.push(format!(
            "{file}: {} fits differ, by dialect {counts:?}; `cargo xtask bless --show HEAD` compares them",
            differences.len()
        ));
    }
    assert_no_faults(&faults);
    assert_eq!(
        old.len(),
        items.iter().map(|item| &item.name).collect::<BTreeSet<_>>().len(),
        "{file}: the items are not those of the golden file"
    );
}

/// Writes the fits that are listed in the file of `POLYWIRE_GOLDEN_IDS` into the folder beside it, for `cargo xtask bless --show`.
fn show(items: &[Item]) {
    let (Some(list), Some(folder)) = (std::env::var_os("POLYWIRE_GOLDEN_IDS"), std::env::var_os("POLYWIRE_GOLDEN_OUT"))
    else {
        return;
    };
    let list = fs::read_to_string(list).expect("the list of fits");
    let wanted: BTreeSet<&str> = list.lines().collect();
    for item in items {
        for (dialect, open) in dialects().flat_map(|dialect| MODES.map(|open| (dialect, open))) {
            let id = Difference { item, dialect, open }.id();
            if wanted.contains(&*id) {
                let fitted: Value = serde_json::from_str(&item.fit(dialect, open)).expect("JSON");
                let text = serde_json::to_string_pretty(
                    &json!({"caller": serde_json::from_str::<Value>(&item.schema).ok(), "fitted": fitted}),
                );
                write(&Path::new(&folder).join(format!("{id}.json")), &text.expect("JSON"));
            }
        }
    }
}

fn is_blessing() -> bool {
    std::env::var_os("POLYWIRE_BLESS").is_some_and(|value| value == "1")
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "corpus", "goldens"].iter().collect()
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder to write to");
    fs::write(path, text).expect("a file to write to");
}

/// FNV-1a: small, and the same in every version of every library.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
