//! `polywire check`: what a provider would object to, all at once.

use std::io::Write;

use anyhow::Result;
use clap::{Args, ValueEnum};
use polywire::schema::{Dialect, Severity, Slot, ToolList, Violation, check_output, check_text, check_tools};
use serde::Serialize;

use crate::Verdict;
use crate::args::{SlotArg, read_target};
use crate::input::Input;
use crate::locate::Lines;
use crate::sarif;
use crate::style::{Style, Tone, tame};

const AFTER_HELP: &str = "\
Examples:
  polywire check tools.json --for openai-strict
  polywire check tools.json --for gemini,anthropic --fail-on ignored
  polywire check tools.json --for portable --format sarif > polywire.sarif
  polywire check tools.json --for portable --format github     (annotations in a workflow)
  polywire check --mcp 'npx -y @modelcontextprotocol/server-everything' --for openai-strict,gemini

Exit codes: 0 no findings, 1 the provider rejects something (or a finding that --fail-on names), 2 bad input.";

/// Check a schema or a tool list against providers
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Check {
    /// A JSON file, or `-` for standard input
    #[arg(required_unless_present = "mcp")]
    file: Option<String>,
    /// The tools of an MCP server, by its command line or URL, instead of a file
    #[arg(long, value_name = "COMMAND|URL", conflicts_with = "file")]
    mcp: Option<String>,
    /// Dialect ids or paths of dialect files, each checked on its own
    #[arg(long = "for", value_name = "ID[,ID…]", value_delimiter = ',', required = true)]
    dialects: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Findings, besides rejections, that make the exit code 1
    #[arg(long, value_enum, value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// What a bare schema is for [default: `tool`, or `output` if the input is a structured-output body]
    #[arg(long, value_enum)]
    slot: Option<SlotArg>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
    Github,
}

#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    Ignored,
    Risk,
}

/// A violation with its dialect, tool and line.
#[derive(Serialize)]
pub(crate) struct Finding {
    pub(crate) dialect: String,
    /// The tool, in a tool list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    pub(crate) line: usize,
    #[serde(flatten)]
    pub(crate) violation: Violation,
}

impl Check {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let input = Input::of(self.file.as_deref(), self.mcp.as_deref())?;
        let mut findings = Vec::new();
        for id in &self.dialects {
            findings.extend(self.find(&input, &*read_target(id)?)?);
        }
        match if self.json { Format::Json } else { self.format } {
            Format::Text => write_text(out, style, &input.name, &self.dialects, &findings)?,
            Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?,
            Format::Sarif => writeln!(out, "{:#}", sarif::document(&input.name, &findings))?,
            Format::Github => write_github(out, &input.name, &findings)?,
        }
        let counts = findings.iter().any(|finding| self.fails(finding.violation.severity));
        Ok(if counts { Verdict::Findings } else { Verdict::Fine })
    }

    fn find(&self, input: &Input, dialect: &Dialect) -> Result<Vec<Finding>> {
        let tools = input.tools.as_ref();
        let slot = self.slot.map_or(input.slot, SlotArg::slot);
        let body = input.body.as_ref().filter(|_| slot == Slot::Output || tools.is_some());
        let mut violations = match (tools, body) {
            (Some(list), _) => check_tools(list, dialect),
            (None, Some(_)) => Vec::new(),
            (None, None) => check_text(&input.text, dialect, slot).map_err(|error| input.refused(error))?,
        };
        violations.extend(body.into_iter().flat_map(|body| check_output(&body.output, dialect)));
        let text = body.map_or(&input.text, |body| &body.text);
        let lines = Lines::find(text, violations.iter().map(|violation| violation.at.as_str()));
        let lines: Vec<usize> = violations.iter().map(|violation| lines.of(&violation.at)).collect();
        let places = tools.map(ToolList::by_place);
        let findings = violations.into_iter().zip(lines).map(|(violation, line)| Finding {
            dialect: dialect.id().to_owned(),
            tool: places.as_ref().and_then(|places| places.at(&violation.at)).map(|entry| entry.name.clone()),
            line,
            violation,
        });
        Ok(findings.collect())
    }

    fn fails(&self, severity: Severity) -> bool {
        let named = |fail_on: &FailOn| match fail_on {
            FailOn::Ignored => severity == Severity::Ignored,
            FailOn::Risk => severity == Severity::Risk,
        };
        severity == Severity::Rejected || self.fail_on.iter().any(named)
    }
}

fn write_text(out: &mut dyn Write, style: Style, file: &str, dialects: &[String], findings: &[Finding]) -> Result<()> {
    for Finding { dialect, tool, line, violation } in findings {
        let at = if violation.at.is_empty() { "/" } else { &violation.at };
        let tool = tool.as_ref().map(|name| format!(" tool `{}`", tame(name))).unwrap_or_default();
        let severity = style.severity(violation.severity);
        let (at, says) = (tame(at), tame(&violation.says));
        writeln!(out, "{file}:{line}:{tool} {}", style.paint(Tone::Strong, at))?;
        writeln!(out, "  {severity} by {dialect}, {}: {says}", style.paint(Tone::Strong, &violation.code))?;
    }
    let count = |severity| findings.iter().filter(|finding| finding.violation.severity == severity).count();
    let [rejected, ignored, risk] = [Severity::Rejected, Severity::Ignored, Severity::Risk].map(count);
    let plural = if dialects.len() == 1 { "" } else { "s" };
    writeln!(out, "{} dialect{plural}: {rejected} rejected, {ignored} ignored, {risk} at risk", dialects.len())?;
    Ok(())
}

/// Workflow commands, which GitHub shows beside the line.
fn write_github(out: &mut dyn Write, file: &str, findings: &[Finding]) -> Result<()> {
    for Finding { dialect, tool, line, violation } in findings {
        let level = if violation.severity == Severity::Rejected {
            "error"
        } else if violation.severity == Severity::Ignored {
            "warning"
        } else {
            "notice"
        };
        let title = format!("{} ({dialect})", violation.code);
        let tool = tool.as_ref().map(|name| format!("tool `{name}`, ")).unwrap_or_default();
        let message = format!("{tool}{}: {}", violation.at, violation.says);
        let (file, title) = (escaped_property(file), escaped_property(&title));
        writeln!(out, "::{level} file={file},line={line},title={title}::{}", escaped(&message))?;
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn escaped_property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
