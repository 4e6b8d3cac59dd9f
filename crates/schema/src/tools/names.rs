//! Names that a provider accepts. The rule is a regular expression in the dialect's row; what it allows is found by asking it.

use std::collections::HashSet;

use regex::Regex;

use super::ToolList;
use crate::dialect::{Demand, RuleRow};
use crate::{Action, Change, Dialect, Effect};

/// No provider allows longer names than this.
const LONGEST: usize = 256;
/// Hexadecimal digits of the hash that stands for what was cut off.
const HASH_DIGITS: usize = 8;

/// The name of each tool for the target, with the change where it is another one.
///
/// A name that is fine as it stands is taken first, so that no repaired name ever displaces it.
pub(super) fn choose(list: &ToolList, dialect: &Dialect) -> Vec<(String, Option<Change>)> {
    let rule = NameRule::of(dialect);
    let mut taken: HashSet<String> = list
        .hosted
        .iter()
        .filter_map(|hosted| hosted.value.get("name").and_then(serde_json::Value::as_str))
        .map(str::to_owned)
        .collect();
    let kept: Vec<bool> = list
        .tools
        .iter()
        .map(|entry| rule.accepts(&entry.name) && (taken.insert(entry.name.clone()) || rule.unique.is_none()))
        .collect();
    let mut names = Vec::with_capacity(kept.len());
    for (entry, kept) in list.tools.iter().zip(kept) {
        let repaired = if kept { entry.name.clone() } else { rule.free_name(&entry.name, &mut taken) };
        let change = (repaired != entry.name).then(|| {
            let row = rule.rows.first().filter(|_| !rule.accepts(&entry.name)).map(|(row, _)| *row).or(rule.unique);
            Change {
                code: row.map(|row| row.code.clone()).unwrap_or_default(),
                at: format!("{}/name", entry.holder),
                keyword: "name".into(),
                action: Action::Renamed,
                effect: Effect::Same,
                detail: format!("`{}` is called `{repaired}`", entry.name).into(),
            }
        });
        names.push((repaired, change));
    }
    names
}

/// What a dialect demands of the name of a tool; a meet has a row of each of its members.
pub(super) struct NameRule<'a> {
    rows: Vec<(&'a RuleRow, &'a Regex)>,
    unique: Option<&'a RuleRow>,
}

impl<'a> NameRule<'a> {
    pub(super) fn of(dialect: &'a Dialect) -> Self {
        Self { rows: dialect.name_rows().collect(), unique: dialect.rule(Demand::UniqueNames) }
    }

    /// The rows that refuse a name.
    pub(super) fn refusing(&self, name: &str) -> impl Iterator<Item = &'a RuleRow> {
        self.rows.iter().filter(|(_, pattern)| !pattern.is_match(name)).map(|(row, _)| *row)
    }

    fn accepts(&self, name: &str) -> bool {
        self.refusing(name).next().is_none()
    }

    /// A name that is accepted and not taken, close to the given one.
    fn free_name(&self, name: &str, taken: &mut HashSet<String>) -> String {
        let limit = (1..=LONGEST).rev().find(|length| self.accepts(&"a".repeat(*length))).unwrap_or(LONGEST);
        let stem = self.repaired(name, limit);
        if taken.insert(stem.clone()) {
            return stem;
        }
        let mut number = 2_usize;
        loop {
            let suffix = format!("_{number}");
            let numbered: String =
                stem.chars().take(limit.saturating_sub(suffix.len())).chain(suffix.chars()).collect();
            if taken.insert(numbered.clone()) {
                return numbered;
            }
            number += 1;
        }
    }

    fn repaired(&self, name: &str, limit: usize) -> String {
        if self.accepts(name) {
            return name.to_owned();
        }
        let filler = if self.accepts("a_a") { '_' } else { 'x' };
        let mut repaired: String =
            name.chars().map(|letter| if self.accepts(&format!("a{letter}a")) { letter } else { filler }).collect();
        if !repaired.contains(|letter: char| letter.is_alphanumeric()) {
            repaired = format!("tool{filler}{}", hash(name));
        } else if !repaired.chars().next().is_some_and(|first| self.accepts(&first.to_string())) {
            repaired.insert(0, if self.accepts("_") { '_' } else { 't' });
        }
        if repaired.chars().count() > limit {
            let kept = limit.saturating_sub(HASH_DIGITS + 1);
            repaired = repaired.chars().take(kept).chain([filler]).chain(hash(name).chars()).take(limit).collect();
        }
        repaired
    }
}

/// FNV-1a: short, and the same on every machine and in every version.
fn hash(text: &str) -> String {
    let folded = text.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{folded:0HASH_DIGITS$x}")
}
