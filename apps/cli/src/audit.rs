//! `polywire audit`: the laws over a corpus, in numbers. Every schema is fitted, checked and fitted again.

use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use polywire::schema::{Dialect, FitOptions, FittedText, Severity, check_text, dialects, fit_text, target};
use serde_json::json;

use crate::Verdict;
use crate::args::{FitArgs, Json, ProofTimeout, read_target};
use crate::corpus::{Sample, read_lines, read_sample};
use crate::input::{Failure, is_same_file, unreadable};
use crate::prover::Prover;
use crate::style::Style;
use crate::tally::{Outcome, Tally};
use crate::values;

/// So many schemas are read before their fits are timed.
const TIMED_TOGETHER: usize = 256;

/// A generous stack: the library bounds its depth, and reading the corpus is not to be what fails.
const STACK: usize = 64 << 20;

const AFTER_HELP: &str = "\
Examples:
  polywire audit corpus.jsonl.gz --to all
  polywire audit tools.jsonl --to openai-strict --emit fitted.jsonl --json
  polywire audit tools.jsonl --to openai-strict --prove

A line of the corpus is {\"name\",\"schema\"} or a tool. A line of --emit is
{\"name\",\"ok\",\"error\",\"schema\",\"strict\",\"changes\",\"us\"}, with \"target\" where there are several, and with
--prove a \"proof\": {\"relation\",\"gained\",\"lost\",\"silent\"}. Where the relation is \"undecided\", its
\"undecided\": {\"reason\",\"detail\"} says why: size, draft (keywords that JSON Schema 2020-12 lacks), image (the decoded
values have no schema), refused (by the validator), form (no canonical form), containment (not decidable), time,
memory or fault.

Exit codes: 0 every schema fits, passes `check` and does not change when fitted again; 1 otherwise; 2 bad input.";

/// Fit every schema of a corpus, and report acceptance, losses and timing
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Audit {
    /// A JSON lines file (may be .gz), or `-` for standard input
    corpus: String,
    /// A dialect, several joined by commas, or `all`; repeatable
    #[arg(long, value_name = "ID|all", required = true)]
    to: Vec<String>,
    /// Write one line for each fitted schema, in the order of the corpus
    #[arg(long, value_name = "OUT.jsonl")]
    emit: Option<String>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Read at most this many schemas
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Prove whether each fitted schema, after decoding, accepts the same values as the original: equal, wider, narrower or neither
    #[cfg_attr(feature = "prove", arg(long))]
    #[cfg_attr(not(feature = "prove"), arg(skip))]
    prove: bool,
    #[command(flatten)]
    proof_timeout: ProofTimeout,
    #[command(flatten)]
    options: FitArgs,
    #[command(flatten)]
    json: Json,
}

/// What became of one line of the corpus, by target, and what is to be written about it.
struct Report {
    index: usize,
    name: String,
    outcomes: Vec<Outcome>,
    lines: String,
}

/// What every worker shares.
struct Work<'a> {
    lines: &'a [String],
    targets: &'a [Cow<'static, Dialect>],
    options: FitOptions,
    next: AtomicUsize,
    emits: bool,
    /// How long a proof may take, where proofs are asked for.
    proves: Option<Duration>,
}

impl Audit {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let targets = self.targets()?;
        let lines = read_lines(&self.corpus, self.limit)?;
        if self.emit.as_deref().is_some_and(|path| is_same_file(path, &self.corpus)) {
            return Err(
                Failure::new("--emit would overwrite the corpus", &self.corpus, "give --emit another path").into()
            );
        }
        let emit: Option<Box<dyn Write>> = match self.emit.as_deref() {
            Some(path) => Some(Box::new(BufWriter::new(File::create(path).map_err(|error| unreadable(&error, path))?))),
            None => None,
        };
        let work = Work {
            lines: &lines,
            targets: &targets,
            options: self.options.options(),
            next: AtomicUsize::new(0),
            emits: emit.is_some(),
            proves: self.prove.then(|| self.proof_timeout.duration()),
        };
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok().map(Into::into)).unwrap_or(1).max(1);
        let hook = panic::take_hook();
        // A panic is counted as a failure of its schema; its text would only tear the progress bar.
        panic::set_hook(Box::new(|_| {}));
        let tallies = work.run(jobs, emit);
        panic::set_hook(hook);
        let tallies = tallies?;
        if self.json.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&json!({ "corpus": self.corpus, "targets": tallies }))?)?;
        } else {
            Tally::write_table(out, style, &tallies)?;
        }
        Ok(if tallies.iter().all(Tally::is_clean) { Verdict::Fine } else { Verdict::Findings })
    }

    fn targets(&self) -> Result<Vec<Cow<'static, Dialect>>> {
        let mut targets = Vec::new();
        for name in &self.to {
            if name == "all" {
                targets.extend(dialects().map(Cow::Borrowed));
            } else {
                targets.push(read_target(name)?);
            }
        }
        Ok(targets)
    }
}

impl Work<'_> {
    fn run(&self, jobs: usize, mut emit: Option<Box<dyn Write>>) -> Result<Vec<Tally>> {
        let progress = progress(self.lines.len() * 2);
        let mut tallies: Vec<Tally> = self.targets.iter().map(|target| Tally::of(target.id())).collect();
        let times = thread::scope(|scope| -> Result<_> {
            let clock = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || self.timed(&progress))?;
            Ok(clock.join().unwrap_or_default())
        })?;
        thread::scope(|scope| -> Result<()> {
            let times = &times;
            let (sender, reports) = mpsc::sync_channel(jobs * 16);
            for _ in 0..jobs {
                let sender = sender.clone();
                thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || self.work(times, &sender))?;
            }
            drop(sender);
            // Reports come as they are ready and are told in the order of the corpus.
            let mut early = BTreeMap::new();
            let mut due = 0;
            for report in reports {
                early.insert(report.index, report);
                while let Some(report) = early.remove(&due) {
                    for (tally, outcome) in tallies.iter_mut().zip(&report.outcomes) {
                        tally.add(&report.name, outcome);
                    }
                    if let Some(emit) = &mut emit {
                        emit.write_all(report.lines.as_bytes())?;
                    }
                    due += 1;
                    progress.inc(1);
                }
            }
            Ok(())
        })?;
        if let Some(mut emit) = emit {
            emit.flush()?;
        }
        progress.finish_and_clear();
        tallies.iter_mut().for_each(Tally::settle);
        Ok(tallies)
    }

    /// How long every fit takes, by line and target. They are timed one after the other, so that neither what else the audit does
    /// nor its other threads are in the figures.
    fn timed(&self, progress: &ProgressBar) -> Vec<Vec<Duration>> {
        let mut times = vec![Vec::with_capacity(self.targets.len()); self.lines.len()];
        for (lines, times) in self.lines.chunks(TIMED_TOGETHER).zip(times.chunks_mut(TIMED_TOGETHER)) {
            let texts: Vec<Option<String>> = lines.iter().map(|line| Some(read_sample(line, 0).ok()?.text)).collect();
            for target in self.targets {
                for (text, times) in texts.iter().zip(&mut *times) {
                    let start = Instant::now();
                    let fitted = text.as_ref().map(|text| guarded(|| fitted(text, target, &self.options)));
                    times.push(start.elapsed());
                    drop(fitted);
                }
            }
            progress.inc(lines.len() as u64);
        }
        times
    }

    fn work(&self, times: &[Vec<Duration>], reports: &mpsc::SyncSender<Report>) {
        let mut prover = self.proves.map(Prover::new);
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(line) = self.lines.get(index) else { return };
            let times = times.get(index).map_or(&[][..], Vec::as_slice);
            if reports.send(self.report(index, line, times, prover.as_mut())).is_err() {
                return;
            }
        }
    }

    fn report(&self, index: usize, line: &str, times: &[Duration], mut prover: Option<&mut Prover>) -> Report {
        let sample = read_sample(line, index + 1);
        let name = sample.as_ref().map_or_else(|_| format!("line {}", index + 1), |sample| sample.name.clone());
        let mut report = Report { index, name, outcomes: Vec::new(), lines: String::new() };
        for (number, target) in self.targets.iter().enumerate() {
            let time = times.get(number).copied().unwrap_or_default();
            let (outcome, fitted) = match &sample {
                Ok(sample) => audit(sample, target, &self.options, time, prover.as_deref_mut()),
                Err(error) => (Outcome::failed(error.clone(), Duration::ZERO), None),
            };
            if self.emits {
                let several = self.targets.len() > 1;
                report.lines += &emitted(&report.name, several.then(|| target.id()), &outcome, fitted.as_ref());
            }
            report.outcomes.push(outcome);
        }
        report
    }
}

/// Fits one schema, which took so long, and looks at what came of it.
fn audit(
    sample: &Sample,
    dialect: &Dialect,
    options: &FitOptions,
    time: Duration,
    prover: Option<&mut Prover>,
) -> (Outcome, Option<FittedText>) {
    let fitted = match guarded(|| fitted(&sample.text, dialect, options)) {
        Ok(fitted) => fitted,
        Err(error) => return (Outcome::failed(error, time), None),
    };
    // What could not be strict was fitted to the next rung, whose rules are the ones to pass.
    let rung = dialect.fallback().filter(|_| dialect.strict() && !fitted.strict()).and_then(|ids| target(ids).ok());
    let judge = rung.as_deref().unwrap_or(dialect);
    let violations = guarded(|| check_text(&fitted.schema, judge, options.slot).map_err(|error| error.to_string()));
    let again = guarded(|| self::fitted(&fitted.schema, dialect, options));
    let objection = match violations {
        // A keyword that is ignored may stay, where the model reads it.
        Ok(violations) => violations
            .iter()
            .find(|one| one.severity != Severity::Ignored)
            .map(|first| format!("{} at `{}`: {}", first.code, first.at, first.says)),
        Err(error) => Some(error),
    };
    let drift = match again {
        Ok(again) => (again.schema != fitted.schema).then(|| "fitting again changes it".to_owned()),
        Err(error) => Some(error),
    };
    let round_trips =
        guarded(|| Ok(values::judge(&fitted, &sample.text, dialect.shape(), &sample.instances))).unwrap_or_default();
    let proof = prover.map(|prover| prover.prove(&fitted, &sample.text, dialect.shape()));
    (
        Outcome::fitted(&sample.text, &fitted, time, objection, drift).with_round_trips(round_trips).with_proof(proof),
        Some(fitted),
    )
}

fn fitted(text: &str, dialect: &Dialect, options: &FitOptions) -> Result<FittedText, String> {
    fit_text(text, dialect, options).map_err(|error| error.to_string())
}

/// Runs a step so that a panic in it fails this step alone.
fn guarded<T>(step: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(step))
        .unwrap_or_else(|payload| Err(format!("panic: {}", panic_text(&*payload))))
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

/// One line of `--emit`. The schema is put in as the text that it already is.
fn emitted(name: &str, target: Option<&str>, outcome: &Outcome, fitted: Option<&FittedText>) -> String {
    let target = target.map(|id| format!(",\"target\":{}", json!(id))).unwrap_or_default();
    let schema = fitted.map_or("null", |fitted| fitted.schema.as_str());
    let strict = fitted.is_some_and(FittedText::strict);
    let changes = json!(fitted.map(|fitted| &fitted.changes).into_iter().flatten().collect::<Vec<_>>());
    let proof = outcome.proof.as_ref().map(|proof| format!(",\"proof\":{}", json!(proof))).unwrap_or_default();
    format!(
        "{{\"name\":{}{target},\"ok\":{},\"error\":{},\"schema\":{schema},\"strict\":{strict},\"changes\":{changes},\"values\":{}{proof},\"us\":{}}}\n",
        json!(name),
        outcome.error.is_none(),
        json!(outcome.error),
        json!(outcome.round_trips.values),
        outcome.microseconds(),
    )
}

/// A bar on standard error, which hides itself where nobody looks.
fn progress(length: usize) -> ProgressBar {
    let bar = ProgressBar::new(length as u64);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {per_sec} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
