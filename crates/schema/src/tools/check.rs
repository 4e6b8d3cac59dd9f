//! Checks a tool list: each schema on its own, then what holds for names, descriptions and the request as a whole.

use std::collections::HashSet;

use serde_json::Value;

use super::fit::{UNREADABLE, exceeds, rows};
use super::names::NameRule;
use super::{ToolEntry, ToolList, shapes};
use crate::arena::Arena;
use crate::check::{Subject, check_json, counts};
use crate::dialect::{Demand, RuleRow};
use crate::json::Json;
use crate::keyword::Kw;
use crate::read::Limits;
use crate::{Confidence, Dialect, Severity, Slot, Violation, target};

/// Finds everything in a tool list to which a dialect objects. Pointers start at the document from which the list was read.
///
/// ```
/// let document = serde_json::json!([{"name": "get time", "input_schema": {"type": "object", "properties": {}}}]);
/// let list = polywire_schema::read_tools(&document).expect("a tool list");
/// let dialect = polywire_schema::dialect("openai").expect("a dialect");
/// assert_eq!(polywire_schema::check_tools(&list, dialect)[0].at, "/0/name");
/// ```
pub fn check_tools(list: &ToolList, dialect: &Dialect) -> Vec<Violation> {
    let loose = dialect.fallback().and_then(|ids| target(ids).ok());
    let names = NameRule::of(dialect);
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (index, entry) in list.tools.iter().enumerate() {
        let tool = Tool { entry, index };
        // A tool that says it is not strict is read by the looser rules.
        let own = if is_strict(entry, dialect) { dialect } else { loose.as_deref().unwrap_or(dialect) };
        found.extend(tool.check_schema(&entry.schema, &entry.at, own, Slot::Tool));
        if let Some((schema, at)) = shapes::output_of(entry, dialect.shape()) {
            found.extend(tool.check_schema(schema, &at, own, Slot::Output));
        }
        found.extend(names.refusing(&entry.name).map(|row| tool.violation(row, "name", 0)));
        if !seen.insert(entry.name.as_str()) {
            found.extend(rows(dialect, Demand::UniqueNames).map(|row| tool.violation(row, "name", 0)));
        }
        found.extend(tool.check_description(dialect));
    }
    found.extend(check_request(list, dialect));
    found
}

/// Whether a tool goes out as strict: as it says, else as the dialect has it.
fn is_strict(entry: &ToolEntry, dialect: &Dialect) -> bool {
    dialect.strict() && entry.strict.unwrap_or(true)
}

fn check_request(list: &ToolList, dialect: &Dialect) -> Vec<Violation> {
    let asks = |entry: &&ToolEntry| entry.strict.unwrap_or(dialect.strict());
    let strict: Vec<_> = list.tools.iter().filter(asks).collect();
    let costs: Vec<_> = strict.iter().map(|entry| counts(&entry.schema)).collect();
    let sums = [
        (Demand::MaxTools, (list.tools.len() + list.hosted.len()) as u64),
        (Demand::MaxStrictTools, strict.len() as u64),
        (Demand::RequestOptionals, costs.iter().map(|cost| cost.optionals).sum()),
        (Demand::RequestUnions, costs.iter().map(|cost| cost.unions).sum()),
        (Demand::RequestChars, list.tools.iter().map(|entry| counts(&entry.schema).chars).sum()),
    ];
    let mixed = !strict.is_empty() && strict.len() < list.tools.len();
    let uniform = rows(dialect, Demand::UniformStrict).filter(|_| mixed).map(|row| (row, strict.len() as u64));
    let over = sums.into_iter().flat_map(|(demand, sum)| {
        rows(dialect, demand).filter(move |row| exceeds(row, sum)).map(move |row| (row, sum))
    });
    over.chain(uniform)
        .map(|(row, sum)| violation(row, String::new(), "tools", &[("{count}", &sum.to_string())]))
        .collect()
}

/// A tool and its place in the list, by which providers name it in their answers.
struct Tool<'a> {
    entry: &'a ToolEntry,
    index: usize,
}

impl Tool<'_> {
    fn check_schema(&self, schema: &Value, at: &str, dialect: &Dialect, slot: Slot) -> Vec<Violation> {
        let subject = Subject { name: &self.entry.name, index: self.index };
        let arena = Arena::default();
        let found = match Json::from_value(schema, Limits::default().bounds(), &arena) {
            Ok(json) if schema.is_object() || schema.is_boolean() => check_json(&json, dialect, slot, &subject),
            Ok(_) => vec![self.unreadable("it is neither an object nor a boolean")],
            Err(error) => vec![self.unreadable(&error.to_string())],
        };
        found.into_iter().map(|one| Violation { at: format!("{at}{}", one.at), ..one }).collect()
    }

    fn unreadable(&self, why: &str) -> Violation {
        Violation {
            code: UNREADABLE.to_owned(),
            at: String::new(),
            keyword: String::new(),
            severity: Severity::Rejected,
            confidence: Confidence::Inferred,
            says: format!("the schema of `{}` cannot be read: {why}", self.entry.name),
            source: String::new(),
        }
    }

    fn check_description(&self, dialect: &Dialect) -> Vec<Violation> {
        let Some(text) = &self.entry.description else { return Vec::new() };
        let length = text.chars().count() as u64;
        let empty = rows(dialect, Demand::DescriptionNotEmpty).filter(|_| text.trim().is_empty());
        let long = rows(dialect, Demand::MaxDescription).filter(|row| exceeds(row, length));
        empty.chain(long).map(|row| self.violation(row, Kw::Description.name(), length)).collect()
    }

    fn violation(&self, row: &RuleRow, member: &str, count: u64) -> Violation {
        let (index, count) = (self.index.to_string(), count.to_string());
        let blanks = [("{name}", self.entry.name.as_str()), ("{index}", &index), ("{count}", &count)];
        violation(row, format!("{}/{member}", self.entry.holder), member, &blanks)
    }
}

fn violation(row: &RuleRow, at: String, keyword: &str, blanks: &[(&str, &str)]) -> Violation {
    let limit = row.limit.map(|limit| limit.to_string()).unwrap_or_default();
    let says = row.says.replace("{limit}", &limit);
    Violation {
        code: row.code.to_string(),
        at,
        keyword: keyword.to_owned(),
        severity: row.severity,
        confidence: row.confidence,
        says: blanks.iter().fold(says, |text, (blank, with)| text.replace(blank, with)),
        source: row.source.clone(),
    }
}
