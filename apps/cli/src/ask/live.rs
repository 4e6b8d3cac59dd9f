//! Answers while they arrive: redrawn on a terminal, JSON lines elsewhere.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use polywire::Partial;
use polywire::wire::{Delta, Event};
use serde_json::json;

use crate::style::Screen;

/// The time between two frames of the spinner.
const TICK: Duration = Duration::from_millis(120);

/// Where a streamed answer is shown.
pub(super) enum Live {
    /// On a terminal: the value is redrawn in place.
    Terminal(ProgressBar),
    /// As JSON lines, for programs.
    Lines,
}

impl Live {
    pub(super) fn new(json: bool) -> Self {
        if json || Screen::of_stdout() == Screen::Other {
            return Self::Lines;
        }
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{msg}\n{spinner}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self::Terminal(bar)
    }

    pub(super) fn is_json(&self) -> bool {
        matches!(self, Self::Lines)
    }

    /// Shows an incomplete value.
    pub(super) fn partial(&mut self, out: &mut dyn Write, partial: &Partial) -> Result<()> {
        match self {
            Self::Terminal(bar) => {
                bar.enable_steady_tick(TICK);
                bar.set_message(Screen::Terminal.text(&format!("{:#}", partial.value)).into_owned());
            }
            Self::Lines => {
                writeln!(out, "{}", json!({"partial": partial.value, "attempt": partial.attempt}))?;
                out.flush()?;
            }
        }
        Ok(())
    }

    /// Shows an event of a text answer; `true` if text was printed.
    pub(super) fn event(&mut self, out: &mut dyn Write, event: &Event) -> Result<bool> {
        let shown = match (self, event) {
            (Self::Terminal(_), Event::Delta { delta: Delta::Text(text), .. }) => {
                write!(out, "{}", Screen::Terminal.text(text))?;
                true
            }
            (Self::Terminal(_), _) => false,
            (Self::Lines, event) => {
                writeln!(out, "{}", serde_json::to_string(event)?)?;
                false
            }
        };
        out.flush()?;
        Ok(shown)
    }

    /// Removes the spinner.
    pub(super) fn end(&mut self) {
        match self {
            Self::Terminal(bar) => bar.finish_and_clear(),
            Self::Lines => {}
        }
    }
}
