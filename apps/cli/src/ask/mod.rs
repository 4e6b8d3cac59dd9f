//! `polywire ask`: a prompt to a model, and the value that was asked for, valid.

mod given;
mod how;
mod live;
mod show;
mod whom;

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

pub(crate) use how::How;
use live::Live;
pub(crate) use whom::{EMULATOR, Whom, no_answer};

const HELP: &str = "\
Examples:
  polywire ask \"An order of three books\" --model emulator/openai --schema examples/order.json
  polywire ask \"An order\" --model emulator/anthropic+fenced+wrong-1 --schema examples/order.json --explain
  polywire ask \"Why is the sky blue?\" --model anthropic/claude-sonnet-4-5 --stream
  polywire ask \"Book a table\" --model emulator/google --tools examples/tools.json
  polywire ask \"What is in it?\" --image photo.png --model openai/gpt-5 --model anthropic/claude-sonnet-4-5
  git diff | polywire ask - --model openai/gpt-5 --schema review.json --on-loss output=error --json

`emulator/PROVIDER[/MODEL][+TROUBLE]` speaks the provider's protocol on this machine, without a key \
(`polywire emulate --list`).

Of several models the next one is asked when one cannot be reached, has no key, is overloaded, or never gives a valid \
value; not when it refuses, or when the request itself is at fault.

`--stream` shows values and words while they arrive; on a pipe it prints JSON lines, the last one the whole answer.

Exit codes: 0 fine, 1 no valid value, a refusal, or a loss that `--on-loss` does not allow, 2 bad input or no answer.";

/// How long `--explain` plans again after a failure.
const PLAN_AGAIN: Duration = Duration::from_secs(2);

/// Ask a model, and get a value that the schema accepts
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Ask {
    /// What to ask; `-`, or nothing on a pipe, for standard input
    prompt: Option<String>,
    #[command(flatten)]
    how: How,
    /// Tools that the model may call, in the shape of MCP or of any provider; calls are printed in the tools' own schemas
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// An image or a PDF to look at; can be given several times
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
    /// Show the plan, the body that was sent, the answer as it came, and every repair
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
        let format = self.how.format()?;
        block_on(async {
            let is_explained = self.show.explain && !self.prints_json();
            let raw_bytes = if is_explained { RawBytes::Keep } else { RawBytes::Discard };
            let whom = Whom::of(&self.how.models()?, self.how.options().with_raw_bytes(raw_bytes)).await?;
            if !is_explained {
                return self.answer(out, style, &whom, request, format).await;
            }
            show::write_emulated(out, &whom.emulated)?;
            let output = format.clone().map(Output::Schema);
            let sent = Request { output, ..request.clone() };
            let told = self.answer(out, style, &whom, request, format).await;
            if told.is_err() {
                self.tell_plans(out, style, &whom, &sent).await?;
            }
            told
        })?
    }

    async fn answer(
        &self,
        out: &mut dyn Write,
        style: Style,
        whom: &Whom,
        request: Request,
        format: Option<OutputFormat>,
    ) -> Result<Verdict> {
        match format {
            Some(format) => self.value(out, style, whom, request, format).await,
            None => self.words(out, style, whom, request).await,
        }
    }

    /// What every model was sent, or would have been, where nobody answered and the plans do not take long.
    async fn tell_plans(&self, out: &mut dyn Write, style: Style, whom: &Whom, request: &Request) -> Result<()> {
        let planner = Planner::new(self.how.options().plan);
        let (models, request) = (whom.models.clone(), request.clone());
        let plan = move || models.iter().filter_map(|model| planner.plan(&request, model).ok()).collect::<Vec<_>>();
        let Ok(plans) = tokio::time::timeout(PLAN_AGAIN, tokio::task::spawn_blocking(plan)).await else {
            writeln!(out, "the plan takes too long to be shown")?;
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
                return Err(
                    Failure::new("nothing is asked", "PROMPT", "give a prompt, or `-` for standard input").into()
                );
            }
            None | Some("-") => read_text("-")?,
            Some(prompt) => prompt.to_owned(),
        };
        let images = self.image.iter().map(|path| given::image(path));
        let content = images.chain([Ok(Block::text(prompt))]).collect::<Result<Vec<_>>>()?;
        let mut request = Request::new("", vec![Message::new(Role::User, content)]);
        request.system.extend(self.how.system.iter().map(|text| Text { text: text.clone(), ..Text::default() }));
        request.tools = self.tools.as_deref().map(given::tools).transpose()?.unwrap_or_default();
        Ok(request)
    }

    /// Whether the answer is to be seen while it arrives, and by whom.
    fn watch(&self) -> Option<Live> {
        self.live.stream.then(|| Live::new(self.json.json))
    }

    async fn value(
        &self,
        out: &mut dyn Write,
        style: Style,
        whom: &Whom,
        request: Request,
        format: OutputFormat,
    ) -> Result<Verdict> {
        let asked = match self.watch() {
            Some(mut live) => {
                let mut asking = whom.client.ask_format_stream(request, format, &whom.models);
                while let Some(Ok(partial)) = asking.next().await {
                    live.partial(out, &partial)?;
                }
                live.end();
                asking.outcome().await
            }
            None => whom.client.ask_or_call(request, format, &whom.models).await,
        };
        match asked {
            Ok(AskOutcome::Value(asked)) => self.tell_value(out, style, &asked),
            Ok(AskOutcome::ToolCalls(calls)) => self.tell_calls(out, style, &calls),
            Ok(other) => Err(anyhow::anyhow!("cannot show {other:?}")),
            Err(error) => self.tell_failure(out, style, &error),
        }
    }

    async fn words(&self, out: &mut dyn Write, style: Style, whom: &Whom, request: Request) -> Result<Verdict> {
        let mut told = false;
        let done = match self.watch() {
            Some(mut live) => {
                let mut answer = whom.client.stream(&request, &whom.models);
                while let Some(Ok(event)) = answer.next().await {
                    told |= live.event(out, &event)?;
                }
                answer.finish().await
            }
            None => whom.client.complete(&request, &whom.models).await,
        };
        match done {
            Ok(done) => self.tell_words(out, style, &done, told),
            Err(SendError::Loss(error)) => refused(out, error.losses()),
            Err(error) => Err(no_answer(&error, [&error], &self.how.models()?)),
        }
    }

    /// Whether the answer is printed as JSON.
    fn prints_json(&self) -> bool {
        self.json.json || self.watch().is_some_and(|live| live.is_json())
    }

    fn tell_value(&self, out: &mut dyn Write, style: Style, asked: &Asked<Value>) -> Result<Verdict> {
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

    fn tell_calls(&self, out: &mut dyn Write, style: Style, calls: &ToolCalls) -> Result<Verdict> {
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

    fn tell_failure(&self, out: &mut dyn Write, style: Style, error: &AskError) -> Result<Verdict> {
        match &error.kind {
            AskErrorKind::Send(SendError::Loss(loss)) => return refused(out, loss.losses()),
            AskErrorKind::Send(why) => {
                let before = error.failed.iter().filter_map(|failed| failed.error.as_ref());
                return Err(no_answer(error, before.chain([why]), &self.how.models()?));
            }
            AskErrorKind::Schema(_) => return Err(self.how.bad_schema(error)),
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

    fn tell_words(&self, out: &mut dyn Write, style: Style, done: &Completion, told: bool) -> Result<Verdict> {
        if self.prints_json() {
            writeln!(out, "{}", show::completion_json(done))?;
            return Ok(verdict(done));
        }
        if self.show.explain {
            show::write_exchange(out, style, 1, &done.plan, done.raw.as_deref())?;
            writeln!(out)?;
        }
        if told {
            writeln!(out)?;
        } else {
            show::write_response(out, style, &done.response)?;
        }
        writeln!(out)?;
        write_changes(out, style, &done.changes)?;
        Ok(verdict(done))
    }
}

/// A refusal is no answer to what was asked.
fn verdict(done: &Completion) -> Verdict {
    let refused = matches!(done.response.stop, StopReason::Refusal | StopReason::ContentFilter);
    if refused || done.response.refusal.is_some() { Verdict::Findings } else { Verdict::Fine }
}
