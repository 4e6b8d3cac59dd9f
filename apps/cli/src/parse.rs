//! `polywire parse`: the value in what a model wrote, the repairs it took, and the verdict of the schema.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use polywire::answer::{Answer, Options, ReadOptions, Repair, Schema, TOO_COSTLY, Verdict as Judged, read_with};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Verdict;
use crate::input::{Failure, parse, read_text};

const AFTER_HELP: &str = "\
Examples:
  echo 'Sure: {city: \"Bern\", days: \"3\"}' | polywire parse - --schema schema.json
  polywire parse answer.txt --stream
  polywire parse answers.jsonl --jsonl

A line of --jsonl is {\"id\", \"input\", \"schema\"?, \"kind\"?}; the kind `partial` reads that line as --stream does.
The answer is {\"value\", \"repairs\", \"valid\", \"errors\"}; a value that is not valid is null there, and `draft` has it.
Where the text ended before the value did, `truncated` is true: the value may be valid and still not be what was meant.
Where checking the schema would take too long, `verdict` is `too_costly`: the value is then not valid, and not known to be invalid.

Exit codes: 0 a valid value, 1 none, 2 bad input; with --jsonl 0, and every line has its own verdict.";

/// Read the value in what a model wrote, with every repair
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Parse {
    /// The model's text, or `-` for standard input
    #[arg(default_value = "-", value_name = "FILE|-")]
    file: String,
    /// The schema that the value must meet: a JSON file
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    #[command(flatten)]
    form: Form,
}

/// What the input is.
#[derive(Args)]
struct Form {
    /// The text is still arriving: give what has arrived of the value
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    lines: Lines,
}

#[derive(Args)]
struct Lines {
    /// Read many texts, one a line
    #[arg(long)]
    jsonl: bool,
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
        let errors = match &answer.verdict {
            Judged::Valid => json!([]),
            Judged::Invalid(faults) => json!(faults),
            Judged::TooCostly => json!([{"at": "", "detail": TOO_COSTLY}]),
            Judged::NoValue => json!([{"at": "", "detail": "there is no value in the text"}]),
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

/// Adds what must be seen without a look at the repairs and errors: that the text was cut, valid or not, and that the value could
/// not be judged, which is not the same as being invalid.
fn add_warnings(answer: &Answer, report: &mut Value) {
    let Some(members) = report.as_object_mut() else { return };
    if answer.is_truncated() {
        members.insert("truncated".to_owned(), json!(true));
    }
    if answer.verdict == Judged::TooCostly {
        members.insert("verdict".to_owned(), json!("too_costly"));
    }
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
        let parse =
            Parse { file: "-".to_owned(), schema: None, form: Form { stream: false, lines: Lines { jsonl: true } } };
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
        let parse =
            Parse { file: "-".to_owned(), schema: None, form: Form { stream: false, lines: Lines { jsonl: true } } };
        let schema = json!({"type": "string", "pattern": "^(a|a)*(?=b)$"});
        let line = Line { id: json!(1), input: format!("\"{}\"", "a".repeat(60)), schema, kind: String::new() };
        let answer = parse.answer_line(&line, None);
        assert_eq!((&answer["valid"], &answer["verdict"]), (&json!(false), &json!("too_costly")));
    }
}
