//! A text with marks under everything that was repaired, and what each repair did in words.

use std::fmt::Write as _;
use std::ops::Range;

use polywire::answer::Repair;

use crate::style::tame;

/// Characters of a line that are shown before and after the place of a repair.
const BEFORE: usize = 40;
const AFTER: usize = 60;

/// The repairs in the order of the text, each with its line and its place marked.
pub(super) fn explanation(text: &str, repairs: &[Repair]) -> String {
    if repairs.is_empty() {
        return "The text is JSON: nothing was repaired.\n".to_owned();
    }
    let mut ordered: Vec<&Repair> = repairs.iter().collect();
    ordered.sort_by_key(|repair| repair.span.as_ref().map_or(usize::MAX, |span| span.start));
    let mut out = String::new();
    for repair in ordered {
        let place = if repair.at.is_empty() { String::new() } else { format!(" (at `{}`)", tame(&repair.at)) };
        // Writing to a string cannot fail.
        let _ = match &repair.span {
            Some(span) => {
                let (line, column) = position(text, span.start);
                let (shown, marks) = marked(text, span);
                let meaning = repair.kind.meaning();
                writeln!(out, "line {line}, column {column}: {meaning}{place}\n    {shown}\n    {marks}")
            }
            None => writeln!(out, "in the value: {}{place}", repair.kind.meaning()),
        };
    }
    out
}

/// The line and column of a byte, both counted from one.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The part of a line around a place, and the marks below it.
fn marked(text: &str, span: &Range<usize>) -> (String, String) {
    let start = span.start.min(text.len());
    let before = text.get(..start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    let rest = text.get(start..).unwrap_or_default();
    let line = rest.split('\n').next().unwrap_or_default();
    let skipped = before.chars().count().saturating_sub(BEFORE);
    let head: String = before.chars().skip(skipped).collect();
    let tail: String = line.chars().take(AFTER).collect();
    let inside = rest.get(..span.end.saturating_sub(start)).unwrap_or(rest).split('\n').next().unwrap_or_default();
    let marked: String = inside.chars().take(AFTER).collect();
    let width = |text: &str| tame(text).chars().count();
    let marks = format!("{}{}", " ".repeat(width(&head)), "^".repeat(width(&marked).max(1)));
    (tame(&format!("{head}{tail}")).into_owned(), marks)
}

#[cfg(test)]
mod tests {
    use polywire::answer::{Options, salvage};

    use super::*;

    #[test]
    fn every_repair_is_marked_where_it_is() {
        let text = "So:\n{\"a\": 1,\n 'b': 2}";
        let repairs = salvage(text, &Options::default()).map(|salvaged| salvaged.repairs).unwrap_or_default();
        let expected = "\
line 1, column 1: Text around the value was ignored.
    So:
    ^^^
line 3, column 2: A quote was missing, doubled, or of another kind.
     'b': 2}
     ^^^
";
        assert_eq!(explanation(text, &repairs), expected);
        assert_eq!(explanation("1", &[]), "The text is JSON: nothing was repaired.\n");
    }

    #[test]
    fn marks_stand_below_escaped_characters() {
        let (line, marks) = marked("\u{7}é'a'", &(3..6));
        assert_eq!((line.as_str(), marks.as_str()), ("\\u{7}é'a'", "      ^^^"));
    }
}
