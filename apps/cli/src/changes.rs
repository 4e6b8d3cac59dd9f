//! Prints changes grouped by effect, losses first.

use std::io::Write;

use anyhow::Result;
use polywire::{Change, Effect, schema};

use crate::style::{Style, Tone, tame};

/// A change of a request, an answer or a schema, as it is printed.
pub(crate) struct Shown<'c> {
    code: &'c str,
    at: &'c str,
    action: String,
    effect: Effect,
    detail: &'c str,
}

macro_rules! shown {
    ($($change:ty)*) => { $(
        impl<'c> From<&'c $change> for Shown<'c> {
            fn from(change: &'c $change) -> Self {
                let (action, effect) = (change.action.to_string(), change.effect.into());
                Self { code: &change.code, at: &change.at, action, effect, detail: &change.detail }
            }
        }
    )* };
}

shown! { Change schema::Change }

pub(crate) fn write_changes<'c, C>(
    out: &mut dyn Write,
    style: Style,
    changes: impl IntoIterator<Item = C>,
) -> Result<()>
where
    Shown<'c>: From<C>,
{
    let changes: Vec<Shown<'c>> = changes.into_iter().map(Shown::from).collect();
    for effect in [Effect::Narrower, Effect::Wider, Effect::Same, Effect::Note] {
        let group: Vec<&Shown<'_>> = changes.iter().filter(|change| change.effect == effect).collect();
        if group.is_empty() {
            continue;
        }
        let tone = if effect.is_loss() { Tone::Doubtful } else { Tone::Good };
        writeln!(out, "{} ({})", style.paint(tone, effect), group.len())?;
        for change in group {
            let at = if change.at.is_empty() { "/" } else { change.at };
            let code = style.paint(Tone::Strong, change.code);
            let (at, detail) = (tame(at), tame(change.detail));
            writeln!(out, "  {code} {at} {}: {detail}", style.paint(Tone::Faint, &change.action))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
