//! Colour, only where somebody looks.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal};

use polywire::schema::Severity;

/// Whether output is coloured.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    coloured: bool,
}

/// What a colour stands for.
#[derive(Clone, Copy)]
pub(crate) enum Tone {
    Strong,
    Faint,
    Good,
    Bad,
    Doubtful,
    Plain,
}

impl Style {
    pub(crate) fn of_stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { coloured: wanted && io::stdout().is_terminal() }
    }

    /// No colour, for what is not looked at on the terminal.
    pub(crate) fn plain() -> Self {
        Self { coloured: false }
    }

    pub(crate) fn paint<T: Display>(self, tone: Tone, text: T) -> Painted<T> {
        Painted { code: if self.coloured { tone.code() } else { "" }, text }
    }

    pub(crate) fn severity(self, severity: Severity) -> Painted<Severity> {
        let tone = if severity == Severity::Rejected {
            Tone::Bad
        } else if severity == Severity::Ignored {
            Tone::Doubtful
        } else {
            Tone::Faint
        };
        self.paint(tone, severity)
    }
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Doubtful => "33",
            Self::Plain => "",
        }
    }
}

/// Text with a colour; padding counts the text alone.
pub(crate) struct Painted<T> {
    code: &'static str,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code.is_empty() {
            return self.text.fmt(f);
        }
        write!(f, "\u{1b}[{}m", self.code)?;
        self.text.fmt(f)?;
        f.write_str("\u{1b}[0m")
    }
}

/// Somebody else's text on one line, without what a terminal would obey.
pub(crate) fn tame(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .map(|letter| if is_obeyed(letter) { letter.escape_default().to_string() } else { letter.to_string() })
        .collect::<String>()
        .into()
}

/// Whether a terminal does something else than show a letter: controls, and marks that turn the direction of what follows.
fn is_obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether somebody looks at the output while it is made.
pub(crate) fn is_watched() -> bool {
    io::stdout().is_terminal()
}
