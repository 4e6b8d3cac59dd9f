//! Two documents side by side, unchanged stretches left out.

use std::io::{self, Write};

use similar::{DiffTag, TextDiff};

use crate::style::{Style, Tone, tame};

/// Lines shown around a difference.
const CONTEXT: usize = 3;
/// Columns, where neither the environment nor a terminal says.
const WIDTH: usize = 120;

pub(crate) fn write_side_by_side(out: &mut dyn Write, style: Style, before: &str, after: &str) -> io::Result<()> {
    let half = (width().saturating_sub(5) / 2).max(20);
    let diff = TextDiff::from_lines(before, after);
    let groups = diff.grouped_ops(CONTEXT);
    for (index, group) in groups.iter().enumerate() {
        if index > 0 {
            writeln!(out, "{}", style.paint(Tone::Faint, "⋮"))?;
        }
        for op in group {
            let (tag, old, new) = op.as_tag_tuple();
            for row in 0..old.len().max(new.len()) {
                let left = (row < old.len()).then(|| diff.old_slice(old.start + row)).flatten();
                let right = (row < new.len()).then(|| diff.new_slice(new.start + row)).flatten();
                write_row(out, style, half, tag, left, right)?;
            }
        }
    }
    Ok(())
}

fn write_row(
    out: &mut dyn Write,
    style: Style,
    half: usize,
    tag: DiffTag,
    left: Option<&str>,
    right: Option<&str>,
) -> io::Result<()> {
    let changed = tag != DiffTag::Equal;
    let tone = |tone: Tone| if changed { tone } else { Tone::Plain };
    let mark = |mark: char, side: Option<&str>| if changed && side.is_some() { mark } else { ' ' };
    let old = cut(left.unwrap_or_default(), half);
    let new = cut(right.unwrap_or_default(), half);
    let row = format!(
        "{} {} {} {}",
        style.paint(tone(Tone::Bad), mark('-', left)),
        style.paint(tone(Tone::Bad), format!("{old:half$}")),
        style.paint(tone(Tone::Good), mark('+', right)),
        style.paint(tone(Tone::Good), new),
    );
    writeln!(out, "{}", row.trim_end())
}

/// The line without its end, cut where the column ends.
fn cut(line: &str, width: usize) -> String {
    let line = &*tame(line.trim_end());
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || console::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    said.or_else(seen).unwrap_or(WIDTH)
}
