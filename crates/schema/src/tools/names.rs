//! Names of tools that a provider accepts, each once.

use std::cell::LazyCell;

use regex::Regex;

use super::ToolList;
use crate::dialect::{Demand, RuleRow};
use crate::names::UniqueNames;
use crate::spelling::Spelling;
use crate::{Action, Change, Dialect, Effect};

/// The name of each tool for the target, with the change where it is another one.
///
/// A name that is fine as it stands is taken first, so that no repaired name ever displaces it.
pub(super) fn choose(list: &ToolList, dialect: &Dialect) -> Vec<(String, Option<Change>)> {
    let rule = NameRule::of(dialect);
    let hosted = list.hosted.iter().filter_map(|hosted| hosted.value.get("name").and_then(serde_json::Value::as_str));
    let mut taken = UniqueNames::of(hosted.map(str::to_owned));
    let kept: Vec<bool> = list
        .tools
        .iter()
        .map(|entry| rule.accepts(&entry.name) && (taken.take(&entry.name) || rule.unique.is_none()))
        .collect();
    let mut names = Vec::with_capacity(kept.len());
    let limit = LazyCell::new(|| Spelling(&|name| rule.accepts(name)).limit());
    for (entry, kept) in list.tools.iter().zip(kept) {
        let repaired = if kept { entry.name.clone() } else { rule.free_name(&entry.name, *limit, &mut taken) };
        let change = (repaired != entry.name).then(|| {
            let row = rule.rows.first().filter(|_| !rule.accepts(&entry.name)).map(|(row, _)| *row).or(rule.unique);
            Change {
                kind: None,
                code: row.map(|row| row.code.clone()).unwrap_or_default().into(),
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

/// The rules for tool names; a meet has a row of each of its members.
pub(super) struct NameRule<'a> {
    rows: Vec<(&'a RuleRow, &'a Regex)>,
    unique: Option<&'a RuleRow>,
}

impl<'a> NameRule<'a> {
    pub(super) fn of(dialect: &'a Dialect) -> Self {
        Self { rows: dialect.patterns(Demand::ToolName).collect(), unique: dialect.rule(Demand::UniqueNames) }
    }

    /// The rows that refuse a name.
    pub(super) fn refusing(&self, name: &str) -> impl Iterator<Item = &'a RuleRow> {
        self.rows.iter().filter(|(_, pattern)| !pattern.is_match(name)).map(|(row, _)| *row)
    }

    fn accepts(&self, name: &str) -> bool {
        self.refusing(name).next().is_none()
    }

    /// A name that is accepted and not taken, close to the given one.
    fn free_name(&self, name: &str, limit: usize, taken: &mut UniqueNames) -> String {
        let stem = Spelling(&|name| self.accepts(name)).respelled(name, "tool", limit);
        taken.unique_within(stem, limit)
    }
}
