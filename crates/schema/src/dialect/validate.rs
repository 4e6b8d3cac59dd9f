//! Validates dialect files: every error names the row and what to write instead.

use regex::Regex;

use super::rows::{Demand, DialectFile, RuleRow};
use super::{DialectError, is_built_in};
use crate::check::MalformedValue;
use crate::keyword::Kw;
use crate::pattern::Feature;

/// Checks the references to other dialects.
pub(super) fn check_references(file: &DialectFile) -> Result<(), DialectError> {
    let unknown = |word: &str, id: &str| {
        let mend = "name one that `polywire dialects` lists";
        error(file, &format!("`{word}` names `{id}`, which is not a dialect; {mend}"))
    };
    let named = file
        .meets
        .iter()
        .map(|id| ("meets", id.as_str()))
        .chain(file.extends.iter().map(|id| ("extends", id.as_str())));
    let next = file.fallback.iter().flat_map(|ids| ids.split(',')).map(|id| ("fallback", id.trim()));
    let strict = file.with_strict.iter().map(|id| ("with-strict", id.as_str()));
    if let Some((word, id)) = named.chain(next).chain(strict).find(|(_, id)| !is_built_in(id)) {
        return Err(unknown(word, id));
    }
    if !file.drops.is_empty() && file.extends.is_none() {
        return Err(error(
            file,
            "`drops` takes demands out of the dialect that `extends` names; name one, or leave it out",
        ));
    }
    if file.meets.is_empty() {
        return Ok(());
    }
    let own = [
        ("extends", file.extends.is_some()),
        ("accepts", file.accepts.is_some()),
        ("error", file.error.is_some()),
        ("keyword", !file.keyword.is_empty()),
        ("rule", !file.rule.is_empty()),
    ];
    let Some((word, _)) = own.into_iter().find(|(_, stands)| *stands) else { return Ok(()) };
    let first = file.keyword.first().map(|row| &row.code).or(file.rule.first().map(|row| &row.code));
    let row =
        first.filter(|_| matches!(word, "keyword" | "rule")).map_or_else(String::new, |code| format!(" (row {code})"));
    let mend =
        "the rows of a meet are those of its members; put own rows into a dialect of their own and give both to `--to`";
    Err(error(file, &format!("`{word}`{row} stands beside `meets`, where it would mean nothing: {mend}")))
}

pub(super) fn rows(file: &DialectFile) -> Result<(), DialectError> {
    let fail = |what: String| Err(error(file, &what));
    let not_a_keyword = |name: &str| format!("`{name}` is not a keyword; write one as JSON Schema spells it");
    if let Some(name) = file.accepts.iter().flatten().find(|name| Kw::of(name).is_none()) {
        return fail(format!("`accepts`: {}", not_a_keyword(name)));
    }
    for row in &file.keyword {
        if let Some(name) = row.names.iter().find(|name| Kw::of(name).is_none() && *name != "*" && *name != "?") {
            return fail(format!("keyword row {}: {}, `*` or `?`", row.code, not_a_keyword(name)));
        }
    }
    for row in &file.rule {
        if let Some(missing) = missing_parameter(row) {
            return fail(format!("rule {} needs `{missing}`", row.code));
        }
        if let Some(Err(error)) = row.pattern.as_deref().map(Regex::new) {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let pattern = row.pattern.as_deref().unwrap_or_default();
            return fail(format!("rule {}: the pattern `{pattern}` cannot be read ({why}); mend it", row.code));
        }
        let refused = row.refuse.iter().map(|name| ("refuse", name)).filter(|_| refuses_keywords(row.demand));
        let allowed = row.allow.iter().map(|name| ("allow", name)).filter(|_| allows_keywords(row.demand));
        if let Some((word, name)) = refused.chain(allowed).find(|(_, name)| Kw::of(name).is_none()) {
            return fail(format!("rule {}: `{word}`: {}", row.code, not_a_keyword(name)));
        }
        for name in row.refuse.iter().filter(|_| row.demand == Demand::Patterns) {
            if Feature::named(name).is_none() {
                return fail(format!("rule {}: `{name}` is not a feature of a pattern", row.code));
            }
        }
        for name in row.refuse.iter().filter(|_| row.demand == Demand::WellFormed) {
            if !MalformedValue::NAMED.iter().any(|malformed| malformed.name() == name) {
                return fail(format!("rule {}: `{name}` is nothing that may be wrong with a value", row.code));
            }
        }
    }
    Ok(())
}

fn error(file: &DialectFile, what: &str) -> DialectError {
    DialectError(format!("dialect `{}`: {what}", file.id))
}

fn refuses_keywords(demand: Demand) -> bool {
    matches!(demand, Demand::RootPlain | Demand::OwnKeywords)
}

fn allows_keywords(demand: Demand) -> bool {
    matches!(
        demand,
        Demand::Typed
            | Demand::OthersTyped
            | Demand::SchemaObject
            | Demand::UnionAlone
            | Demand::UnionTyped
            | Demand::RefAlone
            | Demand::CycleOptional
    )
}

fn missing_parameter(row: &RuleRow) -> Option<&'static str> {
    let needs_limit = matches!(
        row.demand,
        Demand::MaxProperties
            | Demand::MaxDepth
            | Demand::MaxEnumValues
            | Demand::MaxEnumChars
            | Demand::MaxNameChars
            | Demand::MaxOptionals
            | Demand::MaxUnions
            | Demand::MaxChars
            | Demand::MaxItemsSum
            | Demand::MaxDescription
            | Demand::MaxTools
            | Demand::MaxStrictTools
            | Demand::RequestOptionals
            | Demand::RequestUnions
            | Demand::RequestChars
    );
    let needs_pattern = matches!(row.demand, Demand::Keys | Demand::RootKeys | Demand::ToolName | Demand::OutputName);
    let needs_refuse = matches!(row.demand, Demand::RootPlain | Demand::OwnKeywords | Demand::Patterns);
    if needs_limit && row.limit.is_none() {
        Some("limit")
    } else if needs_pattern && row.pattern.is_none() {
        Some("pattern")
    } else if needs_refuse && row.refuse.is_empty() {
        Some("refuse")
    } else {
        None
    }
}
