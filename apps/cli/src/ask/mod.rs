//! `polywire ask`: sends a prompt to a model and prints a value that the schema accepts.

mod inputs;
mod live;
mod options;
mod show;
mod target;

use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use polywire::client::ToolCalls;
use polywire::wire::{Block, Message, Output, OutputFormat, Request, Role, StopReason, Text};
use polywire::{AskError, AskErrorKind, AskOutcome, Asked, Completion, Planner, RawBytes, SendError};
use serde_json::Value;

use crate::Verdict;
use crate::args::Json;
use crate::changes::write_changes;
use crate::emulate::block_on;
use crate::encode::refused;
use crate::input::{Failure, read_text};
use crate::style::{Style, Tone};

use live::Live;
pub(crate) use options::AskOptions;
pub(crate) use target::{EMULATOR, Targets, no_answer};

const HELP: &str = "\
Examples:
  polywire ask \"An order of three books\" --model emulator/openai --schema examples/order.json
  polywire ask \"An order\" --model emulator/anthropic+fenced+wrong-1 --schema examples/order.json --explain
  polywire ask \"Why is the sky blue?\" --model anthropic/claude-sonnet-4-5 --stream
  polywire ask \"Book a table\" --model emulator/google --tools examples/tools.json
  polywire ask \"What is in it?\" --image photo.png --model openai/gpt-5 --model anthropic/claude-sonnet-4-5
  git diff | polywire ask - --model openai/gpt-5 --schema review.json --on-loss output=error --json

`emulator/PROVIDER[/MODEL][+MISBEHAVIOUR…]` emulates the provider in this process and needs no key \
(`polywire emulate --list` lists the misbehaviours).

With several `--model`, the next one is used if a model cannot be reached, has no key, is overloaded, or never returns a \
valid value; not if it refuses, or if the request itself is invalid.

`--stream` shows the answer while it arrives; on a pipe it prints JSON lines, the last one with the whole answer.

Exit codes: 0 success, 1 no valid value, a refusal, or a loss that `--on-loss` forbids, 2 bad input or no answer.";

/// Time limit for planning again, for `--explain` after a failure.
const PLAN_TIMEOUT: Duration = Duration::from_secs(2);

/// Ask a model for text, or for a value that a schema accepts
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Ask {
    /// The prompt; `-` reads standard input, as does a pipe without a prompt
    prompt: Option<String>,
    #[command(flatten)]
    options: AskOptions,
    /// Tools that the model may call: a tool list of MCP or of any provider; calls are printed in the tools' own schemas
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// An image or a PDF to send with the prompt; repeatable
    #[arg(long, value_name = "FILE")]
    image: Vec<String>,
    #[command(flatten)]
    show: Show,
    #[command(flatten)]
    live: Stream,
    #[command(flatten)]
    json: Json,
}

/// `--explain`.
#[derive(Args)]
struct Show {
    /// Show the plan, the request body, the raw response, and every repair
    #[arg(long)]
    explain: bool,
}

/// `--stream`.
#[derive(Args)]
struct Stream {
    /// Show the answer while it arrives
    #[arg(long)]
    stream: bool,
}

impl Ask {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let request = self.request()?;
        let format = self.options.format()?;
        block_on(async {
            let is_explained = self.show.explain && !self.prints_json();
            let raw_bytes = if is_explained { RawBytes::Keep } else { RawBytes::Discard };
            let targets =
                Targets::connect(&self.options.models()?, self.options.client_options().with_raw_bytes(raw_bytes))
                    .await?;
            if !is_explained {
                return self.answer(out, style, &targets, request, format).await;
            }
            show::write_emulated(out, &targets.emulated)?;
            let output = format.clone().map(Output::Schema);
            let sent = Request { output, ..request.clone() };
            let printed = self.answer(out, style, &targets, request, format).await;
            if printed.is_err() {
                self.print_plans(out, style, &targets, &sent).await?;
            }
            printed
        })?
    }

    async fn answer(
        &self,
        out: &mut dyn Write,
        style: Style,
        targets: &Targets,
        request: Request,
        format: Option<OutputFormat>,
    ) -> Result<Verdict> {
        match format {
            Some(format) => self.ask_value(out, style, targets, request, format).await,
            None => self.complete(out, style, targets, request).await,
        }
    }

    /// Prints the request for every model after a failure, if planning again does not take long.
    async fn print_plans(&self, out: &mut dyn Write, style: Style, targets: &Targets, request: &Request) -> Result<()> {
        let planner = Planner::new(self.options.client_options().plan);
        let (models, request) = (targets.models.clone(), request.clone());
        let plan = move || models.iter().filter_map(|model| planner.plan(&request, model).ok()).collect::<Vec<_>>();
        let Ok(plans) = tokio::time::timeout(PLAN_TIMEOUT, tokio::task::spawn_blocking(plan)).await else {
            writeln!(out, "planning again took too long; the plan is not shown")?;
            return Ok(());
        };
        for plan in plans? {
            show::write_sent(out, style, &plan)?;
            writeln!(out)?;
        }
        out.flush()?;
        Ok(())
    }

    fn request(&self) -> Result<Request> {
        let prompt = match self.prompt.as_deref() {
            None if io::stdin().is_terminal() => {
                return Err(Failure::new("no prompt", "PROMPT", "give a prompt, or `-` for standard input").into());
            }
            None | Some("-") => read_text("-")?,
            Some(prompt) => prompt.to_owned(),
        };
        let images = self.image.iter().map(|path| inputs::image(path));
        let content = images.chain([Ok(Block::text(prompt))]).collect::<Result<Vec<_>>>()?;
        let mut request = Request::new("", vec![Message::new(Role::User, content)]);
        request.system.extend(self.options.system.iter().map(|text| Text { text: text.clone(), ..Text::default() }));
        request.tools = self.tools.as_deref().map(inputs::tools).transpose()?.unwrap_or_default();
        Ok(request)
    }

    /// Where the answer is shown while it arrives, with `--stream`.
    fn live_view(&self) -> Option<Live> {
        self.live.stream.then(|| Live::new(self.json.json))
    }

    async fn ask_value(
        &self,
        out: &mut dyn Write,
        style: Style,
        targets: &Targets,
        request: Request,
        format: OutputFormat,
    ) -> Result<Verdict> {
        let asked = match self.live_view() {
            Some(mut live) => {
                let mut asking = targets.client.ask_format_stream(request, format, &targets.models);
                while let Some(Ok(partial)) = asking.next().await {
                    live.partial(out, &partial)?;
                }
                live.end();
                asking.outcome().await
            }
            None => targets.client.ask_or_call(request, format, &targets.models).await,
        };
        match asked {
            Ok(AskOutcome::Value(asked)) => self.print_value(out, style, &asked),
            Ok(AskOutcome::ToolCalls(calls)) => self.print_calls(out, style, &calls),
            Ok(other) => Err(anyhow::anyhow!("cannot show {other:?}")),
            Err(error) => self.print_error(out, style, &error),
        }
    }

    async fn complete(
        &self,
        out: &mut dyn Write,
        style: Style,
        targets: &Targets,
        request: Request,
    ) -> Result<Verdict> {
        let mut has_text = false;
        let done = match self.live_view() {
            Some(mut live) => {
                let mut answer = targets.client.stream(&request, &targets.models);
                while let Some(Ok(event)) = answer.next().await {
                    has_text |= live.event(out, &event)?;
                }
                answer.finish().await
            }
            None => targets.client.complete(&request, &targets.models).await,
        };
        match done {
            Ok(done) => self.print_completion(out, style, &done, has_text),
            Err(SendError::Loss(error)) => refused(out, error.losses()),
            Err(error) => Err(no_answer(&error, [&error], &self.options.models()?)),
        }
    }

    /// Whether the answer is printed as JSON.
    fn prints_json(&self) -> bool {
        self.json.json || self.live_view().is_some_and(|live| live.is_json())
    }

    fn print_value(&self, out: &mut dyn Write, style: Style, asked: &Asked<Value>) -> Result<Verdict> {
        if self.prints_json() {
            writeln!(out, "{}", show::value_json(asked))?;
            return Ok(Verdict::Fine);
        }
        if self.show.explain {
            show::write_attempts(out, style, &asked.attempts)?;
        }
        show::write_value(out, style, asked)?;
        Ok(Verdict::Fine)
    }

    fn print_calls(&self, out: &mut dyn Write, style: Style, calls: &ToolCalls) -> Result<Verdict> {
        if self.prints_json() {
            writeln!(out, "{}", show::calls_json(&calls.response))?;
            return Ok(Verdict::Fine);
        }
        if self.show.explain {
            show::write_attempts(out, style, &calls.attempts)?;
        }
        show::write_response(out, style, &calls.response)?;
        Ok(Verdict::Fine)
    }

    fn print_error(&self, out: &mut dyn Write, style: Style, error: &AskError) -> Result<Verdict> {
        match &error.kind {
            AskErrorKind::Send(SendError::Loss(loss)) => return refused(out, loss.losses()),
            AskErrorKind::Send(why) => {
                let before = error.failed.iter().filter_map(|failed| failed.error.as_ref());
                return Err(no_answer(error, before.chain([why]), &self.options.models()?));
            }
            AskErrorKind::Schema(_) => return Err(self.options.bad_schema(error)),
            AskErrorKind::Refused(_)
            | AskErrorKind::Truncated
            | AskErrorKind::UnexpectedToolCalls(_)
            | AskErrorKind::TooCostly
            | AskErrorKind::Invalid
            | AskErrorKind::Typed(_)
            | _ => {}
        }
        if self.prints_json() {
            writeln!(out, "{}", show::error_json(error))?;
        } else {
            if self.show.explain {
                show::write_attempts(out, style, &error.attempts)?;
            }
            writeln!(out, "{} {}", style.paint(Tone::Bad, "no value:"), style.text(&error.to_string()))?;
        }
        Ok(Verdict::Findings)
    }

    fn print_completion(
        &self,
        out: &mut dyn Write,
        style: Style,
        done: &Completion,
        has_text: bool,
    ) -> Result<Verdict> {
        if self.prints_json() {
            writeln!(out, "{}", show::completion_json(done))?;
            return Ok(verdict(done));
        }
        if self.show.explain {
            show::write_exchange(out, style, 1, &done.plan, done.raw.as_deref())?;
            writeln!(out)?;
        }
        if has_text {
            writeln!(out)?;
        } else {
            show::write_response(out, style, &done.response)?;
        }
        writeln!(out)?;
        write_changes(out, style, &done.changes)?;
        Ok(verdict(done))
    }
}

/// A refusal makes the exit code 1.
fn verdict(done: &Completion) -> Verdict {
    let refused = matches!(done.response.stop, StopReason::Refusal | StopReason::ContentFilter);
    if refused || done.response.refusal.is_some() { Verdict::Findings } else { Verdict::Fine }
}
