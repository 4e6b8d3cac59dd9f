//! Strings that a schema accepts: by format, by pattern, of a length.

use polywire_schema::internals::{Kw, compile_pattern};
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

use super::SampleRules;
use super::dice::Dice;

/// One text for each format that a value can be told from.
const FORMATS: &[(&str, &str)] = &[
    ("date-time", "2024-05-17T09:30:00Z"),
    ("date", "2024-05-17"),
    ("time", "09:30:00Z"),
    ("duration", "P1DT2H"),
    ("email", "ada@example.com"),
    ("idn-email", "ada@example.com"),
    ("hostname", "example.com"),
    ("idn-hostname", "example.com"),
    ("ipv4", "192.0.2.7"),
    ("ipv6", "2001:db8::7"),
    ("uri", "https://example.com/a"),
    ("uri-reference", "/a/b"),
    ("iri", "https://example.com/a"),
    ("iri-reference", "/a/b"),
    ("uri-template", "/a/{id}"),
    ("uuid", "123e4567-e89b-42d3-a456-426614174000"),
    ("json-pointer", "/a/0"),
    ("relative-json-pointer", "1/a"),
    ("regex", "^a+$"),
    ("byte", "YWJj"),
];

/// A repetition without a limit is repeated at most so often more than it must be.
const MAX_EXTRA_REPEATS: usize = 3;

/// A text may not become longer than this by repetition.
const MAX_CHARS: usize = 10_000;

pub(super) fn text(rules: &SampleRules<'_>, dice: &mut Dice) -> Option<String> {
    let min = rules.count(Kw::MinLength).unwrap_or(0);
    let max = rules.least_count(Kw::MaxLength).unwrap_or(usize::MAX);
    if min > max || min > MAX_CHARS {
        return None;
    }
    let fits = |text: &String| (min..=max).contains(&text.chars().count());
    if let Some(pattern) = rules.one(Kw::Pattern).and_then(Value::as_str) {
        return (0..16).find_map(|_| repeated(pattern, MAX_EXTRA_REPEATS.max(min), dice).filter(fits));
    }
    let format = rules.one(Kw::Format).and_then(Value::as_str);
    if let Some((_, text)) = FORMATS.iter().find(|(own, _)| Some(*own) == format) {
        return Some((*text).to_owned());
    }
    let mut text = dice.word();
    while text.chars().count() < min {
        text.push(' ');
        text.push_str(&dice.word());
    }
    let end = text.char_indices().nth(max.min(text.len().max(min))).map_or(text.len(), |(at, _)| at);
    text.truncate(end);
    Some(text)
}

/// A text that a pattern matches.
pub(super) fn of_pattern(pattern: &str, dice: &mut Dice) -> Option<String> {
    repeated(pattern, MAX_EXTRA_REPEATS, dice)
}

/// A text that a pattern matches, with no repetition more often than it must be by so much.
fn repeated(pattern: &str, more: usize, dice: &mut Dice) -> Option<String> {
    // Our own reader says the pattern in the syntax that the parser knows.
    let said = compile_pattern(pattern)?;
    let parsed = regex_syntax::Parser::new().parse(said.as_str()).ok()?;
    let mut out = String::new();
    write(&parsed, more, dice, &mut out)?;
    said.is_match(&out).then_some(out)
}

fn write(hir: &Hir, more: usize, dice: &mut Dice, out: &mut String) -> Option<()> {
    if out.len() > MAX_CHARS {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            let range = dice.pick(class.ranges())?;
            let span = u32::from(range.end()).saturating_sub(u32::from(range.start())).min(25);
            let step = u32::try_from(dice.below(usize::try_from(span).ok()? + 1)).ok()?;
            // A range that starts with control characters is entered where text begins.
            let start = u32::from(range.start()).max(32).min(u32::from(range.end()));
            out.push(char::from_u32((start + step).min(u32::from(range.end()))).unwrap_or(range.start()));
        }
        HirKind::Class(Class::Bytes(class)) => out.push(char::from(dice.pick(class.ranges())?.start())),
        HirKind::Repetition(repetition) => {
            let min = usize::try_from(repetition.min).ok()?;
            let max = repetition.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(min + more);
            let times = min + dice.below(max.saturating_sub(min).min(more) + 1);
            for _ in 0..times {
                write(&repetition.sub, more, dice, out)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, more, dice, out)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, more, dice, out))?,
        HirKind::Alternation(branches) => write(dice.pick(branches)?, more, dice, out)?,
    }
    Some(())
}
