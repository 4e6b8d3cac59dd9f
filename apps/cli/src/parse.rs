//! `polywire parse`: extracts a JSON value from model output, with repairs and validation.

mod marks;

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use polywire::answer::{Answer, Options, ReadOptions, Repair, Schema, TOO_COSTLY, Verdict as Judged, read_with};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Verdict;
use crate::input::{Failure, parse, read_text};
use crate::style::tame;

const AFTER_HELP: &str = "\
Examples:
  echo 'Sure: {city: \"Bern\", days: \"3\"}' | polywire parse - --schema schema.json
  polywire parse answer.txt --stream
  polywire parse answer.txt --explain
  polywire parse answers.jsonl --jsonl

A line of --jsonl is {\"id\", \"input\", \"schema\"?, \"kind\"?}; the kind `partial` reads that line as --stream does.
Prints {\"value\", \"repairs\", \"valid\", \"errors\"}, or with --explain the text with marks under what was repaired. For an invalid value `value` is null and `draft` has the value.
`truncated` is true if the text ends before the value does: the value may be valid and still be incomplete.
`verdict` is `too_costly` if validation would take too long: the value is neither known to be valid nor known to be invalid.

Exit codes: 0 a valid value, 1 no valid value, 2 bad input; with --jsonl 0, and every line has its own `valid`.";

/// Extract a JSON value from model output, and list every repair
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Parse {
    /// A file with the model's output, or `-` for standard input
    #[arg(default_value = "-", value_name = "FILE|-")]
    file: String,
    /// The JSON Schema to validate the value against
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    #[command(flatten)]
    form: Form,
}

/// The kind of input.
#[derive(Args)]
struct Form {
    /// Treat the text as an incomplete stream, and print the value so far
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    lines: Lines,
}

#[derive(Args)]
struct Lines {
    /// Read JSON lines, one text each
    #[arg(long)]
    jsonl: bool,
    #[command(flatten)]
    report: Report,
}

#[derive(Args)]
struct Report {
    /// Print the value, and the text with marks under what was repaired, in words
    #[arg(long, conflicts_with = "jsonl")]
    explain: bool,
}

/// A line of `--jsonl`.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    input: String,
    #[serde(default)]
    schema: Value,
    #[serde(default)]
    kind: String,
}

impl Parse {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let schema = self.schema.as_deref().map(read_schema).transpose()?;
        let text = read_text(&self.file)?;
        if self.form.lines.jsonl {
            for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                let place = format!("line {}", number + 1);
                let line: Line = serde_json::from_str(line).map_err(|error| {
                    Failure::new(error, &place, "expected: {\"id\", \"input\", \"schema\"?} on every line")
                })?;
                writeln!(out, "{}", self.answer_line(&line, schema.as_deref()))?;
            }
            return Ok(Verdict::Fine);
        }
        let answer = read_with(&text, schema.as_deref(), &options(self.form.stream));
        let valid = answer.valid().is_some();
        if self.form.lines.report.explain {
            explain(&text, &answer, out)?;
            return Ok(if valid { Verdict::Fine } else { Verdict::Findings });
        }
        let errors = match &answer.verdict {
            Judged::Valid => json!([]),
            Judged::Invalid(faults) => json!(faults),
            Judged::TooCostly => json!([{"at": "", "detail": TOO_COSTLY}]),
            Judged::NoValue => json!([{"at": "", "detail": "no JSON value found in the text"}]),
        };
        let mut report = json!({
            "value": answer.valid(), "repairs": repairs(&answer.repairs), "valid": valid, "errors": errors,
        });
        add_warnings(&answer, &mut report);
        if let (false, Some(draft), Some(members)) = (valid, answer.value, report.as_object_mut()) {
            members.insert("draft".to_owned(), draft);
        }
        writeln!(out, "{report:#}")?;
        Ok(if valid { Verdict::Fine } else { Verdict::Findings })
    }

    fn answer_line(&self, line: &Line, schema: Option<&Schema>) -> Value {
        let options = options(self.form.stream || line.kind == "partial");
        let own = if line.schema.is_null() { Ok(None) } else { Schema::cached(&line.schema).map(Some) };
        let answer: Answer = match &own {
            Ok(own) => read_with(&line.input, own.as_deref().or(schema), &options),
            Err(error) => {
                return json!({"id": line.id, "value": null, "repairs": [], "valid": false, "error": error.to_string()});
            }
        };
        let value = answer.valid();
        let mut report =
            json!({"id": line.id, "value": value, "repairs": repairs(&answer.repairs), "valid": value.is_some()});
        add_warnings(&answer, &mut report);
        report
    }
}

/// Adds `truncated` and `verdict`, so that callers need not search the repairs and errors for them.
fn add_warnings(answer: &Answer, report: &mut Value) {
    let Some(members) = report.as_object_mut() else { return };
    if answer.is_truncated() {
        members.insert("truncated".to_owned(), json!(true));
    }
    if answer.verdict == Judged::TooCostly {
        members.insert("verdict".to_owned(), json!("too_costly"));
    }
}

/// Prints the value, the marked text, and why the value is not valid.
fn explain(text: &str, answer: &Answer, out: &mut dyn Write) -> Result<()> {
    match &answer.value {
        Some(value) => writeln!(out, "{value:#}\n")?,
        None => writeln!(out, "There is no JSON value in the text.\n")?,
    }
    write!(out, "{}", marks::explanation(text, &answer.repairs))?;
    match &answer.verdict {
        Judged::Valid | Judged::NoValue => {}
        Judged::Invalid(faults) => {
            for fault in faults {
                writeln!(out, "not valid: {} (at `{}`)", tame(&fault.detail), tame(&fault.at))?;
            }
        }
        Judged::TooCostly => writeln!(out, "not judged: {TOO_COSTLY}")?,
    }
    Ok(())
}

fn options(stream: bool) -> ReadOptions {
    let salvage = if stream { Options::partial() } else { Options::default() };
    ReadOptions::default().with_salvage(salvage)
}

fn read_schema(path: &str) -> Result<Arc<Schema>> {
    let bad = |error: &dyn std::fmt::Display| Failure::new(error, path, "expected: a JSON Schema");
    let schema = parse(&read_text(path)?).map_err(|error| bad(&error))?;
    Ok(Schema::cached(&schema).map_err(|error| bad(&error))?)
}

fn repairs(repairs: &[Repair]) -> Vec<Value> {
    let printed = |repair: &Repair| {
        let mut printed = json!({"kind": repair.kind, "class": repair.kind.class(), "at": repair.at});
        if let (Some(span), Some(members)) = (&repair.span, printed.as_object_mut()) {
            members.insert("span".to_owned(), json!([span.start, span.end]));
        }
        printed
    };
    repairs.iter().map(printed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_that_its_text_was_cut() {
        let parse = Parse {
            file: "-".to_owned(),
            schema: None,
            form: Form { stream: false, lines: Lines { jsonl: true, report: Report { explain: false } } },
        };
        let line = |input: &str| {
            let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
            let line = Line { id: json!(1), input: input.to_owned(), schema, kind: String::new() };
            let answer = parse.answer_line(&line, None);
            (answer["value"].clone(), answer["valid"].clone(), answer.get("truncated").cloned())
        };
        let value = json!({"path": "/tmp/x"});
        assert_eq!(line("{\"path\": \"/tmp/x\", \"cont"), (value.clone(), json!(true), Some(json!(true))));
        assert_eq!(line("{\"path\": \"/tmp/x\"}"), (value, json!(true), None));
    }

    #[test]
    fn a_line_says_that_its_value_could_not_be_judged() {
        let parse = Parse {
            file: "-".to_owned(),
            schema: None,
            form: Form { stream: false, lines: Lines { jsonl: true, report: Report { explain: false } } },
        };
        let schema = json!({"type": "string", "pattern": "^(a|a)*(?=b)$"});
        let line = Line { id: json!(1), input: format!("\"{}\"", "a".repeat(60)), schema, kind: String::new() };
        let answer = parse.answer_line(&line, None);
        assert_eq!((&answer["valid"], &answer["verdict"]), (&json!(false), &json!("too_costly")));
    }
}
