//! Prints changes grouped by effect, losses first.

use std::io::Write;

use anyhow::Result;
use polywire::{Change, Effect};

use crate::style::{Style, Tone, tame};

pub(crate) fn write_changes<'c>(
    out: &mut dyn Write,
    style: Style,
    changes: impl IntoIterator<Item = &'c Change>,
) -> Result<()> {
    let changes: Vec<&Change> = changes.into_iter().collect();
    for effect in [Effect::Narrower, Effect::Wider, Effect::Same, Effect::Note] {
        let group: Vec<&&Change> = changes.iter().filter(|change| change.effect == effect).collect();
        if group.is_empty() {
            continue;
        }
        let tone = if effect.is_loss() { Tone::Doubtful } else { Tone::Good };
        writeln!(out, "{} ({})", style.paint(tone, effect), group.len())?;
        for change in group {
            let at = if change.at.is_empty() { "/" } else { change.at.as_str() };
            let code = style.paint(Tone::Strong, &change.code);
            let (at, detail) = (tame(at), tame(&change.detail));
            writeln!(out, "  {code} {at} {}: {detail}", style.paint(Tone::Faint, change.action))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
