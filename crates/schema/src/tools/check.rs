//! Checks a tool list: each schema on its own, then what holds for names, descriptions and the request as a whole.

use std::collections::HashSet;

use serde_json::Value;

use super::fit::{UNREADABLE, exceeds, rows};
use super::names::NameRule;
use super::{OutputSchema, RawSchema, ToolEntry, ToolList, results_dialect, shapes};
use crate::arena::Arena;
use crate::check::{Subject, SubjectPart, check_json, count_schema, tool_violation};
use crate::dialect::{Demand, RuleRow};
use crate::json::Json;
use crate::keyword::Kw;
use crate::read::Limits;
use crate::{Confidence, Dialect, Severity, Slot, Violation};

/// Finds everything in a tool list to which a dialect objects. Pointers start at the document from which the list was read.
///
/// ```
/// let document = serde_json::json!([{"name": "get time", "input_schema": {"type": "object", "properties": {}}}]);
/// let list = polywire_schema::read_tools(&document).expect("a tool list");
/// let dialect = polywire_schema::dialect("openai").expect("a dialect");
/// assert_eq!(polywire_schema::check_tools(&list, dialect)[0].at, "/0/name");
/// ```
pub fn check_tools(list: &ToolList, dialect: &Dialect) -> Vec<Violation> {
    let strict = dialect.with_strict();
    let loose = dialect.next_rung().filter(|_| dialect.strict()).unwrap_or(dialect);
    let names = NameRule::of(dialect);
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (index, entry) in list.tools.iter().enumerate() {
        let tool = Tool { entry, index };
        // A tool that says whether it is strict is read by the rules for that, whatever the others are.
        let own = match entry.strict {
            Some(true) => strict,
            Some(false) => loose,
            None => dialect,
        };
        let judged = tool.check_schema(&entry.schema, &entry.at, own, Slot::Tool).into_iter();
        found.extend(judged.map(|one| Violation { at: entry.as_written(&one.at), ..one }));
        if let Some((schema, at)) = shapes::output_of(entry, dialect.shape()) {
            found.extend(tool.check_schema(schema, &at, results_dialect(dialect, own), Slot::Output));
        }
        for rival in &entry.extra.duplicates {
            found.extend(rows(dialect, Demand::OneSchema).map(|row| tool.violation(row, dialect, rival, 0)));
        }
        match entry.extra.raw_schema {
            RawSchema::AsSchema => {}
            RawSchema::AsText => found.extend(tool.as_text(dialect)),
            RawSchema::Outside => {
                found.push(tool.cannot_be_read("it stands beside the function, where it is not looked for"));
            }
            RawSchema::AsProperties => found.push(tool.cannot_be_read("it is no schema but the properties of one")),
            RawSchema::Not => found.extend(rows(dialect, Demand::HasSchema).map(|row| tool.about_schema(row, dialect))),
        }
        let refused = names.refusing(&entry.name);
        let is_new = seen.insert(entry.name.as_str());
        let again = rows(dialect, Demand::UniqueNames).filter(|_| !is_new);
        found.extend(refused.chain(again).map(|row| tool.violation(row, dialect, "name", 0)));
        found.extend(tool.check_description(dialect));
    }
    found.extend(check_request(list, dialect));
    found
}

fn check_request(list: &ToolList, dialect: &Dialect) -> Vec<Violation> {
    // Where nothing can say which tools are strict, they are not counted.
    let by_default = dialect.strict() && shapes::has_strict_flag(dialect.shape());
    let asks = |entry: &&ToolEntry| entry.strict.unwrap_or(by_default);
    let strict: Vec<_> = list.tools.iter().filter(asks).collect();
    let costs: Vec<_> = strict.iter().map(|entry| count_schema(&entry.schema)).collect();
    // What is asked of strict tools stands in the rows about these.
    let ruling = if strict.is_empty() { dialect } else { dialect.with_strict() };
    let sums = [
        (dialect, Demand::MaxTools, (list.tools.len() + list.hosted.len()) as u64),
        (ruling, Demand::MaxStrictTools, strict.len() as u64),
        (ruling, Demand::RequestOptionals, costs.iter().map(|cost| cost.optionals).sum()),
        (ruling, Demand::RequestUnions, costs.iter().map(|cost| cost.unions).sum()),
        (dialect, Demand::RequestChars, list.tools.iter().map(|entry| count_schema(&entry.schema).chars).sum()),
    ];
    // Beside a tool that is said to be strict, one of which nothing is said is not.
    let flagged = list.tools.iter().filter(|entry| entry.strict == Some(true)).count();
    let mixed = flagged > 0 && flagged < list.tools.len();
    let uniform = rows(ruling, Demand::UniformStrict).filter(|_| mixed).map(|row| (row, strict.len() as u64));
    let over = sums.into_iter().flat_map(|(ruling, demand, sum)| {
        rows(ruling, demand).filter(move |row| exceeds(row, sum)).map(move |row| (row, sum))
    });
    let all = Subject { name: "tools", ..Subject::default() };
    let none = list.tools.is_empty() && list.hosted.is_empty();
    let empty = rows(dialect, Demand::HasTools).filter(|_| none).map(|row| (row, 0));
    over.chain(uniform).chain(empty).map(|(row, sum)| tool_violation(row, dialect, all, ("", "tools"), sum)).collect()
}

/// A tool and its place in the list, by which providers name it in their answers.
struct Tool<'a> {
    entry: &'a ToolEntry,
    index: usize,
}

impl Tool<'_> {
    fn check_schema(&self, schema: &Value, at: &str, dialect: &Dialect, slot: Slot) -> Vec<Violation> {
        let part = if slot == Slot::Output { SubjectPart::Result } else { SubjectPart::Whole };
        check_part(schema, at, dialect, slot, &Subject { part, ..self.subject() })
    }

    fn subject(&self) -> Subject<'_> {
        Subject { name: &self.entry.name, index: self.index, ..Subject::default() }
    }

    fn cannot_be_read(&self, why: &str) -> Violation {
        unreadable(&self.subject(), &self.entry.at, why)
    }

    fn as_text(&self, dialect: &Dialect) -> Vec<Violation> {
        let found: Vec<Violation> =
            rows(dialect, Demand::SchemaNotText).map(|row| self.about_schema(row, dialect)).collect();
        let own = || self.cannot_be_read("it is JSON text in a string, where an object belongs");
        if found.is_empty() { vec![own()] } else { found }
    }

    fn about_schema(&self, row: &RuleRow, dialect: &Dialect) -> Violation {
        tool_violation(row, dialect, self.subject(), (&self.entry.at, ""), 0)
    }

    fn check_description(&self, dialect: &Dialect) -> Vec<Violation> {
        let Some(text) = &self.entry.description else { return Vec::new() };
        let length = text.chars().count() as u64;
        let empty = rows(dialect, Demand::DescriptionNotEmpty).filter(|_| text.trim().is_empty());
        let long = rows(dialect, Demand::MaxDescription).filter(|row| exceeds(row, length));
        empty.chain(long).map(|row| self.violation(row, dialect, Kw::Description.name(), length)).collect()
    }

    fn violation(&self, row: &RuleRow, dialect: &Dialect, member: &str, count: u64) -> Violation {
        let at = format!("{}/{member}", self.entry.holder);
        tool_violation(row, dialect, self.subject(), (&at, member), count)
    }
}

/// Finds everything in a structured output to which a dialect objects. Pointers start at the document from which it was read.
///
/// ```
/// let format = serde_json::json!({"name": "town", "schema": {"type": "object", "properties": {}}});
/// let output = polywire_schema::read_output(&format).expect("an output");
/// let dialect = polywire_schema::dialect("openai-strict").expect("a dialect");
/// let found = polywire_schema::check_output(&output, dialect);
/// assert_eq!(found[0].at, "/schema");
/// assert!(found[0].says.starts_with("Invalid schema for response_format 'town'"));
/// ```
pub fn check_output(output: &OutputSchema, dialect: &Dialect) -> Vec<Violation> {
    let name = output.name.as_deref().unwrap_or(Subject::default().name);
    let subject = Subject { name, ..Subject::default() };
    let mut found = check_part(&output.schema, &output.at, dialect, Slot::Output, &subject);
    let at = output.at.rsplit_once('/').map_or_else(String::new, |(around, _)| format!("{around}/name"));
    let refusing = dialect.patterns(Demand::OutputName).filter(|(_, pattern)| !pattern.is_match(name));
    found.extend(refusing.map(|(row, _)| tool_violation(row, dialect, subject, (&at, "name"), 0)));
    found
}

fn check_part(schema: &Value, at: &str, dialect: &Dialect, slot: Slot, subject: &Subject<'_>) -> Vec<Violation> {
    let arena = Arena::default();
    let found = match Json::from_value(schema, Limits::default().bounds(), &arena) {
        Ok(json) if schema.is_object() || schema.is_boolean() => check_json(&json, dialect, slot, subject),
        Ok(_) => vec![unreadable(subject, "", "it is neither an object nor a boolean")],
        Err(error) => vec![unreadable(subject, "", &error.to_string())],
    };
    found.into_iter().map(|one| Violation { at: format!("{at}{}", one.at), ..one }).collect()
}

fn unreadable(subject: &Subject<'_>, at: &str, why: &str) -> Violation {
    Violation {
        code: UNREADABLE.to_owned(),
        at: at.to_owned(),
        keyword: String::new(),
        severity: Severity::Rejected,
        confidence: Confidence::Inferred,
        says: format!("the schema of `{}` cannot be read: {why}", subject.name),
        source: String::new(),
    }
}
