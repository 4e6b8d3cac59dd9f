//! `polywire batch`: one prompt a line in, one value a line out, each exactly once, whatever kills it on the way.

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
use crate::ask::{How, Whom, no_answer};
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
fingerprint of the line. Lines of OUT stand in the order in which they were done, not in that of IN; with `--jobs 1` the two are \
the same.

The same command again goes on where it was killed: what OUT holds is not asked for again, a last line that was torn is cut \
off, and lines that failed are tried once more. OUT of another IN is refused. A provider that asks to wait makes all jobs wait.

Exit codes: 0 every line has its value, 1 some failed (see the side file), 2 bad input or nobody can answer.";

/// How often a line is sent again: many jobs may be told to wait at once.
const PATIENCE: usize = 20;

/// Ask for one value a line; can be killed and started again at any time
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Batch {
    /// What to ask, one JSON value a line
    #[arg(value_name = "IN.jsonl")]
    input: PathBuf,
    /// Where the values go, one JSON value a line
    #[arg(value_name = "OUT.jsonl")]
    output: PathBuf,
    #[command(flatten)]
    how: How,
    /// How many lines are asked at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// Where failures go; `OUT.failed` by default
    #[arg(long, value_name = "FILE")]
    failed: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

/// What became of a line.
enum Outcome {
    Value(Record),
    Failed(Value),
    /// Every other line would fail in the same way.
    Hopeless(anyhow::Error),
}

impl Batch {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let format = self.how.format()?;
        if let (Ok(input), Ok(output)) = (self.input.canonicalize(), self.output.canonicalize())
            && input == output
        {
            let place = self.output.display().to_string();
            return Err(Failure::new("the output is the input", &place, "give a file of its own for the values").into());
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
        writer.settle()?;
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
        let options = self.how.options().with_max_concurrency(jobs).with_retries(PATIENCE);
        let whom = std::sync::Arc::new(Whom::of(&self.how.models()?, options).await?);
        let mut lines = Lines::open(&self.input)?;
        let mut counts = Counts::default();
        let mut tasks = JoinSet::new();
        failures.clear()?;
        loop {
            while tasks.len() < jobs {
                let Some(line) = lines.next_open(done)? else { break };
                let (whom, format, system) = (std::sync::Arc::clone(&whom), format.clone(), self.how.system.clone());
                tasks.spawn(async move { ask(&whom, line, format, system).await });
            }
            let Some(joined) = tasks.join_next().await else { return Ok(counts) };
            match joined? {
                Outcome::Value(record) => {
                    writer.write(&record)?;
                    counts.values += 1;
                }
                Outcome::Failed(told) => {
                    failures.write(&told)?;
                    counts.failed += 1;
                }
                Outcome::Hopeless(error) => return Err(error),
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
                write!(out, ", {before} were there before")?;
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

    fn write(&mut self, told: &Value) -> Result<()> {
        let line = format!("{told}\n");
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

async fn ask(whom: &Whom, line: Line, format: Option<OutputFormat>, system: Option<String>) -> Outcome {
    let Line { number, id, fingerprint, request } = line;
    let failed = |why: &str, attempts: usize| {
        let id = id.iter().map(|id| ("id", id.clone()));
        let told = [("line", json!(number))].into_iter().chain(id);
        let told = told.chain([("input", json!(fingerprint)), ("error", json!(why)), ("attempts", json!(attempts))]);
        Outcome::Failed(told.map(|(name, value)| (name.to_owned(), value)).collect())
    };
    let mut request = match request {
        Ok(request) => request,
        Err(why) => return failed(&why, 0),
    };
    let told = system.into_iter().map(|text| Text { text, ..Text::default() });
    request.system = told.chain(std::mem::take(&mut request.system)).collect();
    let record = |value, model: &polywire::Plan, attempts, usage| {
        let model = format!("{}/{}", model.provider, model.model);
        Outcome::Value(Record { line: number, id: id.clone(), input: fingerprint, value, model, attempts, usage })
    };
    let Some(format) = format else {
        return match whom.client.complete(&request, &whom.models).await {
            Ok(done) => {
                let usage = done.response.usage.clone().unwrap_or_default();
                let calls: Vec<_> = done.response.calls().collect();
                let text = done.response.text();
                let value = if calls.is_empty() { json!(text) } else { json!({"text": text, "calls": calls}) };
                record(value, &done.plan, 1, usage)
            }
            Err(error) if is_hopeless(&error) => hopeless(&error, &error, whom),
            Err(error) => failed(&error.to_string(), 0),
        };
    };
    match whom.client.ask_format(request, format, &whom.models).await {
        Ok(asked) => {
            let (usage, attempts) = (asked.usage(), asked.attempts.len());
            let Some(last) = asked.attempts.last() else { return failed("it was never asked", 0) };
            record(asked.value.clone(), &last.plan, attempts, usage)
        }
        Err(error) if matches!(error.kind, AskErrorKind::Schema(_)) => {
            let next = "expected: one JSON Schema that is an object";
            Outcome::Hopeless(Failure::new(error, "--schema", next).into())
        }
        Err(error) => {
            let before = error.failed.iter().all(|failed| failed.error.as_ref().is_some_and(is_hopeless));
            if let AskErrorKind::Send(why) = &error.kind
                && before
                && is_hopeless(why)
            {
                return hopeless(&error, why, whom);
            }
            failed(&error.to_string(), error.attempts.len())
        }
    }
}

fn hopeless(what: &dyn std::fmt::Display, why: &SendError, whom: &Whom) -> Outcome {
    let models: Vec<String> = whom.models.iter().map(polywire::Model::name).collect();
    Outcome::Hopeless(no_answer(what, [why], &models))
}

/// Whether every other line would fail in the same way.
fn is_hopeless(error: &SendError) -> bool {
    match error {
        SendError::MissingKey { .. } | SendError::Address(_) => true,
        SendError::Provider(error) => {
            matches!(error.kind, FaultKind::Authentication | FaultKind::Billing | FaultKind::Permission)
        }
        SendError::AllModelsFailed(failed) => {
            failed.iter().all(|failed| failed.error.as_ref().is_some_and(is_hopeless))
        }
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
