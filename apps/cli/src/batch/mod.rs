//! `polywire batch`: one prompt per input line, one value per output line, exactly once, across crashes.

mod input;
mod output;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use polywire::wire::{FaultKind, OutputFormat, Text};
use polywire::{AskErrorKind, SendError};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Verdict;
use crate::args::Json;
use crate::ask::{AskOptions, Targets, no_answer};
use crate::emulate::block_on;
use crate::input::Failure;
use crate::style::{Style, Tone};
use input::{Line, Lines};
use output::{Done, Record, Writer};

const HELP: &str = "\
Examples:
  polywire batch prompts.jsonl answers.jsonl --model emulator/openai --schema examples/order.json --jobs 8
  polywire batch prompts.jsonl answers.jsonl --model openai/gpt-5 --model anthropic/claude-sonnet-4-5 --schema s.json

A line of IN is a prompt as a JSON string, {\"prompt\", \"system\"?, \"id\"?}, or a request in the neutral form with an optional \
\"id\". A line of OUT is {\"line\", \"id\"?, \"input\", \"value\", \"model\", \"attempts\", \"usage\"}: `line` counts from 1, `input` is the \
fingerprint of the line. Lines of OUT are in the order of completion; with `--jobs 1` that is the order of IN.

Run the same command again to resume: lines in OUT are skipped, an incomplete last line is removed, and failed lines are \
tried again. An OUT that belongs to another IN is refused. When a provider asks to wait, all jobs wait.

Exit codes: 0 every line has a value, 1 some lines failed (see the `--failed` file), 2 bad input or no model can answer.";

/// Retries per line: many jobs may have to wait at the same time.
const RETRIES: usize = 20;

/// Ask for one value per line; can be interrupted and resumed at any time
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Batch {
    /// The prompts, one JSON value per line
    #[arg(value_name = "IN.jsonl")]
    input: PathBuf,
    /// The values, one JSON value per line
    #[arg(value_name = "OUT.jsonl")]
    output: PathBuf,
    #[command(flatten)]
    options: AskOptions,
    /// Number of concurrent requests
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// The file for failed lines [default: OUT.failed]
    #[arg(long, value_name = "FILE")]
    failed: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

/// The outcome of one line.
enum Outcome {
    Value(Record),
    Failed(Value),
    /// An error that every other line would have too.
    Fatal(anyhow::Error),
}

impl Batch {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let format = self.options.format()?;
        if let (Ok(input), Ok(output)) = (self.input.canonicalize(), self.output.canonicalize())
            && input == output
        {
            let place = self.output.display().to_string();
            return Err(
                Failure::new("the output file is the input file", &place, "give another file for the values").into()
            );
        }
        let mut writer = Writer::open(&self.output)?;
        let done = writer.resume()?;
        let total = Lines::open(&self.input)?.count_checked(&done)?;
        let failures = self.failed.clone().unwrap_or_else(|| {
            let mut name = self.output.clone().into_os_string();
            name.push(".failed");
            name.into()
        });
        let bar = progress(total);
        bar.set_position(done.len() as u64);
        let counts = block_on(self.work(&mut writer, Failures::new(failures), &done, format, &bar))??;
        bar.finish_and_clear();
        writer.sync()?;
        self.record(out, style, &counts, done.len())
    }

    async fn work(
        &self,
        writer: &mut Writer,
        mut failures: Failures,
        done: &Done,
        format: Option<OutputFormat>,
        bar: &ProgressBar,
    ) -> Result<Counts> {
        let jobs = usize::from(self.jobs);
        let options = self.options.client_options().with_max_concurrency(jobs).with_retries(RETRIES);
        let targets = std::sync::Arc::new(Targets::connect(&self.options.models()?, options).await?);
        let mut lines = Lines::open(&self.input)?;
        let mut counts = Counts::default();
        let mut tasks = JoinSet::new();
        failures.clear()?;
        loop {
            while tasks.len() < jobs {
                let Some(line) = lines.next_open(done)? else { break };
                let (targets, format, system) =
                    (std::sync::Arc::clone(&targets), format.clone(), self.options.system.clone());
                tasks.spawn(async move { ask(&targets, line, format, system).await });
            }
            let Some(joined) = tasks.join_next().await else { return Ok(counts) };
            match joined? {
                Outcome::Value(record) => {
                    writer.write(&record)?;
                    counts.values += 1;
                }
                Outcome::Failed(failure) => {
                    failures.write(&failure)?;
                    counts.failed += 1;
                }
                Outcome::Fatal(error) => return Err(error),
            }
            bar.inc(1);
        }
    }

    fn record(&self, out: &mut dyn Write, style: Style, counts: &Counts, before: usize) -> Result<Verdict> {
        let Counts { values, failed } = counts;
        if self.json.json {
            writeln!(out, "{}", json!({"values": values, "failed": failed, "before": before}))?;
        } else {
            let good = style.paint(Tone::Good, values);
            write!(out, "{good} values written")?;
            if before > 0 {
                write!(out, ", {before} already there")?;
            }
            writeln!(out, ", {failed} lines failed")?;
        }
        Ok(if *failed == 0 { Verdict::Fine } else { Verdict::Findings })
    }
}

#[derive(Default)]
struct Counts {
    values: usize,
    failed: usize,
}

/// The side file. It is there when something failed.
struct Failures {
    path: PathBuf,
    file: Option<std::fs::File>,
}

impl Failures {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// What failed before is tried again.
    fn clear(&mut self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(self.refused(&error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn write(&mut self, failure: &Value) -> Result<()> {
        let line = format!("{failure}\n");
        let file = match self.file.take() {
            Some(file) => file,
            None => std::fs::File::create(&self.path).map_err(|error| self.refused(&error))?,
        };
        self.file.insert(file).write_all(line.as_bytes()).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &std::io::Error) -> anyhow::Error {
        Failure::new(error, &self.path.display().to_string(), "give a file that can be written with `--failed`").into()
    }
}

async fn ask(targets: &Targets, line: Line, format: Option<OutputFormat>, system: Option<String>) -> Outcome {
    let Line { number, id, fingerprint, request } = line;
    let failed = |why: &str, attempts: usize| {
        let id = id.iter().map(|id| ("id", id.clone()));
        let failure = [("line", json!(number))].into_iter().chain(id);
        let failure =
            failure.chain([("input", json!(fingerprint)), ("error", json!(why)), ("attempts", json!(attempts))]);
        Outcome::Failed(failure.map(|(name, value)| (name.to_owned(), value)).collect())
    };
    let mut request = match request {
        Ok(request) => request,
        Err(why) => return failed(&why, 0),
    };
    let texts = system.into_iter().map(|text| Text { text, ..Text::default() });
    request.system = texts.chain(std::mem::take(&mut request.system)).collect();
    let record = |value, model: &polywire::Plan, attempts, usage| {
        let model = format!("{}/{}", model.provider, model.model);
        Outcome::Value(Record { line: number, id: id.clone(), input: fingerprint, value, model, attempts, usage })
    };
    let Some(format) = format else {
        return match targets.client.complete(&request, &targets.models).await {
            Ok(done) => {
                let usage = done.response.usage.clone().unwrap_or_default();
                let calls: Vec<_> = done.response.calls().collect();
                let text = done.response.text();
                let value = if calls.is_empty() { json!(text) } else { json!({"text": text, "calls": calls}) };
                record(value, &done.plan, 1, usage)
            }
            Err(error) if is_fatal(&error) => fatal(&error, &error, targets),
            Err(error) => failed(&error.to_string(), 0),
        };
    };
    match targets.client.ask_format(request, format, &targets.models).await {
        Ok(asked) => {
            let (usage, attempts) = (asked.usage(), asked.attempts.len());
            let Some(last) = asked.attempts.last() else { return failed("no request was sent", 0) };
            record(asked.value.clone(), &last.plan, attempts, usage)
        }
        Err(error) if matches!(error.kind, AskErrorKind::Schema(_)) => {
            let next = "expected: a JSON Schema, written as a JSON object";
            Outcome::Fatal(Failure::new(error, "--schema", next).into())
        }
        Err(error) => {
            let before = error.failed.iter().all(|failed| failed.error.as_ref().is_some_and(is_fatal));
            if let AskErrorKind::Send(why) = &error.kind
                && before
                && is_fatal(why)
            {
                return fatal(&error, why, targets);
            }
            failed(&error.to_string(), error.attempts.len())
        }
    }
}

fn fatal(what: &dyn std::fmt::Display, why: &SendError, targets: &Targets) -> Outcome {
    let models: Vec<String> = targets.models.iter().map(polywire::Model::name).collect();
    Outcome::Fatal(no_answer(what, [why], &models))
}

/// Whether every other line would have the same error.
fn is_fatal(error: &SendError) -> bool {
    match error {
        SendError::MissingKey { .. } | SendError::Address(_) => true,
        SendError::Provider(error) => {
            matches!(error.kind, FaultKind::Authentication | FaultKind::Billing | FaultKind::Permission)
        }
        SendError::AllModelsFailed(failed) => failed.iter().all(|failed| failed.error.as_ref().is_some_and(is_fatal)),
        SendError::Loss(_)
        | SendError::Connection(_)
        | SendError::FirstByteTimeout(_)
        | SendError::IdleTimeout(_)
        | SendError::Credentials { .. }
        | SendError::Deadline(_)
        | SendError::TooLarge(_)
        | SendError::Cut(_)
        | SendError::Unreadable { .. }
        | _ => false,
    }
}

fn progress(length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
