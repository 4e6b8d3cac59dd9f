//! Tool calls whose arguments are tags of their own: which tag belongs to which call, and what of them is missing.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value};

use crate::repair::{Repair, RepairKind};
use crate::tree::push_step;

/// A call in tags, or tags of arguments that no tag of a call is around.
pub(crate) struct Tagged {
    pub(crate) name: Option<String>,
    pub(crate) arguments: Value,
    pub(crate) span: Range<usize>,
    /// What reading the arguments took: places in the arguments, bytes of the text.
    pub(crate) repairs: Vec<Repair>,
}

const CALL: &str =
    r#"(?s)<(?:function=([\w.-]+)|(?:\w+:)?invoke name="([^"]+)")>(.*?)(</function>|</(?:\w+:)?invoke>|$)"#;
const OPEN: &str = r#"<(?:\w+:)?parameter(?:=([\w.-]+)| name="([^"]+)")[^>]*>"#;
const CLOSE: &str = r"</(?:\w+:)?parameter>";

struct Patterns {
    call: Regex,
    open: Regex,
    close: Regex,
}

fn patterns() -> Option<&'static Patterns> {
    static PATTERNS: OnceLock<Option<Patterns>> = OnceLock::new();
    let all = || Some(Patterns { call: regex(CALL)?, open: regex(OPEN)?, close: regex(CLOSE)? });
    PATTERNS.get_or_init(all).as_ref()
}

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

/// The calls of a text, in order.
pub(crate) fn tagged(text: &str) -> Vec<Tagged> {
    let Some(patterns) = patterns().filter(|_| text.contains("<parameter") || text.contains(":parameter")) else {
        return Vec::new();
    };
    let mut calls = Vec::new();
    for found in patterns.call.captures_iter(text) {
        let name = found.get(1).or_else(|| found.get(2)).map(|name| name.as_str().to_owned());
        let (Some(whole), Some(body), Some(end)) = (found.get(0), found.get(3), found.get(4)) else { continue };
        let mut reader = Reader { text, patterns, arguments: Map::new(), repairs: Vec::new() };
        reader.read(body.range(), if end.is_empty() { Ending::Cut } else { Ending::Closed });
        if end.is_empty() {
            // Another argument may have followed.
            reader.note(RepairKind::Truncated, None, end.range());
        }
        if !reader.arguments.is_empty() || body.as_str().trim().is_empty() {
            calls.push(reader.tagged(name, whole.range()));
        }
    }
    if calls.iter().all(|call| call.arguments.as_object().is_none_or(Map::is_empty)) {
        let mut reader = Reader { text, patterns, arguments: Map::new(), repairs: Vec::new() };
        reader.read(0..text.len(), Ending::Cut);
        calls.clear();
        if !reader.arguments.is_empty() {
            calls.push(reader.tagged(None, 0..text.len()));
        }
    }
    calls
}

/// Whether something closes what the last argument stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Closed,
    Cut,
}

/// Reads the arguments of one call.
struct Reader<'t> {
    text: &'t str,
    patterns: &'t Patterns,
    arguments: Map<String, Value>,
    repairs: Vec<Repair>,
}

impl Reader<'_> {
    fn tagged(self, name: Option<String>, span: Range<usize>) -> Tagged {
        Tagged { name, arguments: Value::Object(self.arguments), span, repairs: self.repairs }
    }

    fn note(&mut self, kind: RepairKind, key: Option<&str>, span: Range<usize>) {
        let mut at = String::new();
        if let Some(key) = key {
            at.push('/');
            push_step(&mut at, key);
        }
        self.repairs.push(Repair::new(kind, at, Some(span)));
    }

    fn read(&mut self, body: Range<usize>, ending: Ending) {
        let inside = self.text.get(..body.end).unwrap_or_default();
        let names = self.patterns.open.captures_iter(inside.get(body.start..).unwrap_or_default());
        let opened: Vec<(&str, Range<usize>)> = names
            .filter_map(|found| {
                let name = found.get(1).or_else(|| found.get(2))?.as_str();
                let tag = found.get(0)?.range();
                Some((name, body.start + tag.start..body.start + tag.end))
            })
            .collect();
        let ends = opened.iter().skip(1).map(|(_, tag)| tag.start).chain([body.end]);
        for ((name, tag), end) in opened.iter().zip(ends) {
            let last = if end == body.end { ending } else { Ending::Closed };
            self.argument(name, tag.end..end, last);
        }
    }

    /// Reads an argument out of all that stands before the next one.
    fn argument(&mut self, name: &str, place: Range<usize>, ending: Ending) {
        let rest = self.text.get(place.clone()).unwrap_or_default();
        // The value may hold what closes it: the last one counts.
        let close = self.patterns.close.find_iter(rest).last().map(|close| close.start());
        let raw = close.and_then(|close| rest.get(..close)).unwrap_or(rest);
        let span = place.start..place.start + raw.len();
        match (close, ending) {
            (Some(_), _) if ends_in_open_quote(raw) => self.note(RepairKind::Truncated, Some(name), span.clone()),
            (Some(_), _) => {}
            (None, Ending::Closed) => self.note(RepairKind::Bracket, Some(name), span.clone()),
            (None, Ending::Cut) => self.note(RepairKind::Truncated, Some(name), span.clone()),
        }
        let text = raw.strip_prefix('\n').unwrap_or(raw);
        let text = text.strip_suffix('\n').unwrap_or(text);
        let value = serde_json::from_str::<Value>(text).ok().filter(|value| !value.is_string());
        let value = value.unwrap_or_else(|| Value::String(text.to_owned()));
        if self.arguments.insert(name.to_owned(), value).is_some() {
            self.note(RepairKind::DuplicateKey, Some(name), span);
        }
    }
}

/// Whether a value that began on a line of its own ends right behind a quote that nothing closes: what closed it was
/// meant as a part of it.
fn ends_in_open_quote(raw: &str) -> bool {
    let line = raw.rsplit('\n').next().unwrap_or_default();
    let quote = line.chars().next_back().filter(|quote| matches!(quote, '"' | '\'' | '`'));
    raw.starts_with('\n') && quote.is_some_and(|quote| line.matches(quote).count() % 2 == 1)
}
