//! Colour on terminals only, and untrusted text without terminal control characters.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};

use polywire::schema::Severity;

/// Whether output is coloured.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    coloured: bool,
    screen: Screen,
}

/// Where text goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Screen {
    /// To a terminal, which interprets control characters.
    Terminal,
    /// To a file or another program, which gets every byte unchanged.
    Other,
}

impl Screen {
    pub(crate) fn of_stdout() -> Self {
        if io::stdout().is_terminal() { Self::Terminal } else { Self::Other }
    }

    pub(crate) fn of_stderr() -> Self {
        if io::stderr().is_terminal() { Self::Terminal } else { Self::Other }
    }

    /// Untrusted text of several lines; control characters are escaped on a terminal.
    pub(crate) fn text(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Terminal => escaped(text, |letter| is_obeyed(letter) && !matches!(letter, '\n' | '\t')),
            Self::Other => Cow::Borrowed(text),
        }
    }
}

/// Standard output. JSON escapes the control characters of ASCII and no others, so on a terminal those are escaped here, in the way of
/// JSON. Nothing that the command itself writes has them.
pub(crate) struct Output<W> {
    inner: W,
    screen: Screen,
}

impl<W: Write> Output<W> {
    pub(crate) fn new(inner: W, screen: Screen) -> Self {
        Self { inner, screen }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if self.screen == Screen::Terminal && text.contains(is_obeyed_beyond_ascii) => {
                for letter in text.chars() {
                    if is_obeyed_beyond_ascii(letter) {
                        write!(self.inner, "\\u{:04x}", u32::from(letter))?;
                    } else {
                        write!(self.inner, "{letter}")?;
                    }
                }
                Ok(bytes.len())
            }
            Ok(_) | Err(_) => self.inner.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn is_obeyed_beyond_ascii(letter: char) -> bool {
    !letter.is_ascii() && is_obeyed(letter)
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
    /// Colours on a terminal, unless `NO_COLOR` is set; elsewhere only if `CLICOLOR_FORCE` is.
    pub(crate) fn of_stdout() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let screen = Screen::of_stdout();
        let is_wanted = screen == Screen::Terminal || is_set("CLICOLOR_FORCE");
        Self { coloured: is_wanted && !is_set("NO_COLOR"), screen }
    }

    /// No colour, for output that is not a terminal.
    pub(crate) fn plain() -> Self {
        Self { coloured: false, screen: Screen::Other }
    }

    /// Untrusted text of several lines, as it may be shown.
    pub(crate) fn text(self, text: &str) -> Cow<'_, str> {
        self.screen.text(text)
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

/// Untrusted text on one line, with control characters escaped.
pub(crate) fn tame(text: &str) -> Cow<'_, str> {
    escaped(text, is_obeyed)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .map(|letter| if is_escaped(letter) { letter.escape_default().to_string() } else { letter.to_string() })
        .collect::<String>()
        .into()
}

/// Whether a character controls the terminal: control characters, and marks that change the text direction.
fn is_obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{Output, Screen, tame};

    #[test]
    fn a_terminal_is_not_given_what_it_would_obey() {
        let text = "a\u{1b}[2Jb\u{9b}31m\r\u{202e}c\u{7}\n\td";
        assert_eq!(Screen::Terminal.text(text), "a\\u{1b}[2Jb\\u{9b}31m\\r\\u{202e}c\\u{7}\n\td");
        assert_eq!(Screen::Other.text(text), text, "a program gets every byte");
        assert_eq!(tame("a\nb\u{1b}"), "a\\nb\\u{1b}");
        assert_eq!(Screen::Terminal.text("ä → 語"), "ä → 語");
    }

    #[test]
    fn json_on_a_terminal_has_no_control_characters_beyond_ascii() {
        let written = |screen| {
            let mut bytes = Vec::new();
            write!(Output::new(&mut bytes, screen), "{}", serde_json::json!("ä\u{9b}31m\u{202e}")).expect("a write");
            String::from_utf8(bytes).expect("text")
        };
        assert_eq!(written(Screen::Terminal), r#""ä\u009b31m\u202e""#);
        assert_eq!(written(Screen::Other), "\"ä\u{9b}31m\u{202e}\"");
    }
}
