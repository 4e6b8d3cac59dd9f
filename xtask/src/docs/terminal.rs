//! Pictures of the command at work: its real output, with its colours, as SVG.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::built;
use crate::steps::root;

/// Each picture with its command.
const PICTURES: &[(&str, &[&str])] =
    &[("docs/images/terminal.svg", &["fit", "examples/tools.json", "--to", "openai-strict"])];

const COLUMNS: usize = 110;
/// A picture shows so many lines at most.
const LINES: usize = 34;
const CHARACTER_WIDTH: f64 = 8.43;
const LINE_HEIGHT: usize = 19;
const MARGIN: usize = 18;
const BAR_HEIGHT: usize = 34;

/// Every picture with its path.
pub(crate) fn pictures() -> Result<Vec<(&'static str, Vec<u8>)>> {
    PICTURES.iter().map(|(path, arguments)| Ok((*path, picture(arguments)?.into_bytes()))).collect()
}

fn picture(arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(built::command()?);
    command.args(arguments).current_dir(root()).env("COLUMNS", COLUMNS.to_string()).env("CLICOLOR_FORCE", "1");
    let output = command.output().context("cannot start `polywire`")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok(drawn(&format!("polywire {}", arguments.join(" ")), &text))
}

/// A window with a prompt and the lines of an output.
fn drawn(command: &str, text: &str) -> String {
    let prompt = format!("\u{1b}[32m$\u{1b}[0m \u{1b}[1m{command}\u{1b}[0m");
    let all: Vec<&str> = std::iter::once(prompt.as_str()).chain(text.lines()).collect();
    let shown = all.get(..LINES).unwrap_or(&all);
    let is_cut = shown.len() < all.len();
    #[expect(clippy::cast_precision_loss, reason = "columns are few")]
    let width = (COLUMNS as f64).mul_add(CHARACTER_WIDTH, 2.0 * MARGIN as f64);
    let height = BAR_HEIGHT + MARGIN + LINE_HEIGHT * (shown.len() + usize::from(is_cut)) + MARGIN / 2;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height}\" role=\"img\" aria-label=\"{}\">\n{STYLE}\
         <rect class=\"window\" width=\"{width:.0}\" height=\"{height}\" rx=\"10\"/>\n",
        escaped(command)
    );
    for (x, color) in [(20, "#ff5f57"), (40, "#febc2e"), (60, "#28c840")] {
        _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"18\" r=\"6\" fill=\"{color}\"/>");
    }
    let end = is_cut.then_some("…");
    for (number, line) in shown.iter().copied().chain(end).enumerate() {
        let y = BAR_HEIGHT + MARGIN + LINE_HEIGHT * number;
        _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\">{}</text>", spans(line));
    }
    svg + "</svg>\n"
}

const STYLE: &str = "<style>.window{fill:#16181d}text{font:14px ui-monospace,\"SF Mono\",Menlo,Consolas,monospace;fill:#d7dae0;white-space:pre}\
.c1{font-weight:bold}.c2{opacity:.65}.c31{fill:#ff7b72}.c32{fill:#7ee787}.c33{fill:#e3b341}.c34{fill:#79c0ff}.c35{fill:#d2a8ff}.c36{fill:#76e3ea}</style>\n";

/// A line with the classes of its colours.
fn spans(line: &str) -> String {
    let mut out = String::new();
    let mut classes: Vec<&str> = Vec::new();
    for (index, part) in line.split('\u{1b}').enumerate() {
        let text = match part.strip_prefix('[').filter(|_| index > 0).and_then(|rest| rest.split_once('m')) {
            Some((codes, text)) => {
                for code in codes.split(';') {
                    match code {
                        "" | "0" => classes.clear(),
                        code => classes.push(code),
                    }
                }
                text
            }
            None => part,
        };
        if text.is_empty() {
            continue;
        }
        if classes.is_empty() {
            out += &escaped(text);
        } else {
            let names: Vec<String> = classes.iter().map(|code| format!("c{code}")).collect();
            _ = write!(out, "<tspan class=\"{}\">{}</tspan>", names.join(" "), escaped(text));
        }
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{drawn, spans};

    #[test]
    fn colours_become_classes() {
        assert_eq!(spans("a \u{1b}[31;1m<b>\u{1b}[0m c"), "a <tspan class=\"c31 c1\">&lt;b&gt;</tspan> c");
    }

    #[test]
    fn long_outputs_are_cut() {
        let svg = drawn("x", &"line\n".repeat(100));
        assert_eq!(svg.matches("<text ").count(), super::LINES + 1);
        assert!(svg.contains(">…</text>"));
    }
}
