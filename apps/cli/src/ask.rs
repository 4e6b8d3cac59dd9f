//! `polywire ask`: a prompt to a model, and the value that was asked for, valid.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use polywire::wire::{Message, OutputFormat, Request, Strategy, Text};
use polywire::{AskError, AskFailure, Asked, Attempt, Catalog, Client, ClientOptions, Model, Secret, SendError};
use polywire_gateway::{EMULATE_HEADER, Emulator};
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::Json;
use crate::changes::write_changes;
use crate::emulate::runtime;
use crate::input::{Failure, parse, read_text};
use crate::known::Known;
use crate::request::{named, resolve, resolve_in};
use crate::style::{Style, Tone};

/// The provider that needs no key.
const EMULATOR: &str = "emulator/";

const HELP: &str = "\
Examples:
  polywire ask \"An order of three books\" --model emulator/openai --schema examples/order.json
  polywire ask \"An order\" --model emulator/anthropic+fenced+wrong-1 --schema examples/order.json --explain
  polywire ask \"Why is the sky blue?\" --model anthropic/claude-sonnet-4-5
  git diff | polywire ask - --model openai/gpt-5 --schema review.json --json

`emulator/PROVIDER[/MODEL][+TROUBLE]` speaks the provider's protocol on this machine, without a key (`polywire emulate --list`).
Exit codes: 0 fine, 1 no valid value, 2 bad input or no answer.";

/// Ask a model, and get a value that the schema accepts
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Ask {
    /// What to ask, or `-` for standard input
    prompt: String,
    /// The model, such as `openai/gpt-5` or `emulator/openai`; by default that of the configuration
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// The JSON Schema of the answer; without one the answer is words
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    /// Instructions that come before the prompt
    #[arg(long)]
    system: Option<String>,
    /// The channel by which the shape of the answer is asked for
    #[arg(long, value_enum, default_value_t = StrategyArg::Auto)]
    strategy: StrategyArg,
    /// How often to ask before a value that is not valid is an error
    #[arg(long, default_value_t = 3)]
    attempts: usize,
    /// Seconds for everything
    #[arg(long, default_value_t = 900)]
    deadline: u64,
    #[command(flatten)]
    show: Show,
    #[command(flatten)]
    json: Json,
}

/// How the way of the answer is shown.
#[derive(Args)]
struct Show {
    /// Show the body that was sent, the answer as it came, and every repair
    #[arg(long)]
    explain: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum StrategyArg {
    Auto,
    Native,
    Tool,
    Prompted,
}

impl StrategyArg {
    fn strategy(self) -> Strategy {
        match self {
            Self::Auto => Strategy::Auto,
            Self::Native => Strategy::Native,
            Self::Tool => Strategy::Tool,
            Self::Prompted => Strategy::Prompted,
        }
    }
}

impl Ask {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let request = self.request()?;
        let format = self.schema.as_deref().map(|path| self.format(path)).transpose()?;
        runtime()?.block_on(async {
            let name = named(self.model.as_deref(), "--model")?;
            let target = Target::of(&name, self.options()).await?;
            if let Some(format) = format {
                let asked = target.client.ask_format(request, format, &target.model).await;
                return self.tell(out, style, asked);
            }
            let done = target.client.complete(&request, &target.model).await;
            let done = done.map_err(|error| no_answer(&error, &name))?;
            if self.json.json {
                writeln!(out, "{}", json!({"response": done.response, "changes": done.changes}))?;
            } else {
                writeln!(out, "{}", done.response.text())?;
                write_changes(out, style, &done.changes)?;
            }
            Ok(Verdict::Fine)
        })
    }

    fn request(&self) -> Result<Request> {
        let prompt = if self.prompt == "-" { read_text("-")? } else { self.prompt.clone() };
        let mut request = Request::new("", vec![Message::user(prompt)]);
        request.system.extend(self.system.iter().map(|text| Text { text: text.clone(), ..Text::default() }));
        Ok(request)
    }

    fn format(&self, path: &str) -> Result<OutputFormat> {
        let next = "expected: one JSON Schema that is an object";
        let schema = parse(&read_text(path)?).map_err(|error| Failure::new(error, path, next))?;
        let format = OutputFormat::strict("answer", schema).map_err(|error| Failure::new(error, path, next))?;
        Ok(format.with_strategy(self.strategy.strategy()))
    }

    fn options(&self) -> ClientOptions {
        ClientOptions::default().with_attempts(self.attempts).with_deadline(Duration::from_secs(self.deadline))
    }

    fn tell(&self, out: &mut dyn Write, style: Style, asked: Result<Asked<Value>, AskError>) -> Result<Verdict> {
        let asked = match asked {
            Ok(asked) => asked,
            Err(AskError { why: AskFailure::Send(error), .. }) => {
                return Err(no_answer(&error, self.model.as_deref().unwrap_or_default()));
            }
            Err(error) => {
                if self.json.json {
                    let told = json!({"error": error.to_string(), "attempts": attempts(&error.attempts)});
                    writeln!(out, "{told}")?;
                } else {
                    self.explain(out, style, &error.attempts)?;
                    writeln!(out, "{} {error}", style.paint(Tone::Bad, "no value:"))?;
                }
                return Ok(Verdict::Findings);
            }
        };
        if self.json.json {
            let told = json!({
                "value": asked.value,
                "strategy": asked.strategy,
                "attempts": attempts(&asked.attempts),
                "repairs": asked.repairs(),
                "changes": asked.changes,
                "usage": asked.usage(),
            });
            writeln!(out, "{told}")?;
            return Ok(Verdict::Fine);
        }
        self.explain(out, style, &asked.attempts)?;
        writeln!(out, "{:#}\n", asked.value)?;
        let times = asked.attempts.len();
        let plural = if times == 1 { "" } else { "s" };
        let usage = asked.usage();
        let how = channel(asked.strategy);
        let valid = style.paint(Tone::Good, "valid");
        let (read, wrote) = (usage.input_tokens, usage.output_tokens);
        writeln!(out, "{valid}, asked for {how}, {times} attempt{plural}, {read} tokens in and {wrote} out")?;
        for repair in asked.repairs() {
            writeln!(
                out,
                "  repaired {}: {}",
                if repair.at.is_empty() { "/" } else { &repair.at },
                repair.kind.meaning()
            )?;
        }
        writeln!(out)?;
        write_changes(out, style, &asked.changes)?;
        Ok(Verdict::Fine)
    }

    fn explain(&self, out: &mut dyn Write, style: Style, attempts: &[Attempt]) -> Result<()> {
        for (number, attempt) in attempts.iter().enumerate().filter(|_| self.show.explain) {
            let head =
                format!("attempt {}: {} {}", number + 1, attempt.plan.endpoint.method, attempt.plan.endpoint.url);
            writeln!(out, "{}", style.paint(Tone::Strong, head))?;
            writeln!(out, "{}", attempt.plan.body.get())?;
            writeln!(out, "{}\n{}", style.paint(Tone::Strong, "answered"), attempt.raw)?;
            for fault in &attempt.faults {
                writeln!(out, "  wrong at `{}`: {}", fault.at, fault.detail)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

fn channel(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Native => "by the protocol's own field",
        Strategy::Tool => "by a tool",
        Strategy::Prompted => "in the prompt",
        Strategy::Auto | _ => "as the model does it best",
    }
}

fn attempts(attempts: &[Attempt]) -> Vec<Value> {
    let told = |attempt: &Attempt| {
        let faults: Vec<String> =
            attempt.faults.iter().map(|fault| format!("{}: {}", fault.at, fault.detail)).collect();
        json!({"response": attempt.response, "repairs": attempt.repairs, "faults": faults, "retries": attempt.retries})
    };
    attempts.iter().map(told).collect()
}

fn no_answer(error: &SendError, model: &str) -> anyhow::Error {
    let next = if let SendError::MissingKey { provider, .. } = error {
        format!("or try it without a key: --model {EMULATOR}{provider}")
    } else {
        "`--explain` and `polywire plan` show what is sent".to_owned()
    };
    Failure::new(error, model, &next).into()
}

/// Whom to ask, and how they are reached.
struct Target {
    model: Model,
    client: Client,
    /// Ends with the target.
    _emulator: Option<Emulator>,
}

impl Target {
    async fn of(name: &str, options: ClientOptions) -> Result<Self> {
        let client = Client::with_options(options)?;
        let Some(rest) = name.strip_prefix(EMULATOR) else {
            let known = Known::load()?;
            let model = resolve_in(&known.catalog_for(name), name)?;
            known.announce(model.provider());
            return Ok(Self { model, client, _emulator: None });
        };
        let (rest, trouble) = rest.split_once('+').unwrap_or((rest, ""));
        let model = if rest.contains('/') { resolve(rest)? } else { first_model(rest)? };
        let emulator = Emulator::start(0).await?;
        let provider = model.provider();
        let mut client = client.with_base_url(&provider.id, &emulator.base_url(provider));
        client = client.with_key(&provider.id, Secret::new("emulated"));
        if !trouble.is_empty() {
            client = client.with_header(EMULATE_HEADER, &trouble.replace('+', ","));
        }
        Ok(Self { model, client, _emulator: Some(emulator) })
    }
}

/// A model of a provider, on the surface that its name may have: the first row that is not on its way out.
fn first_model(name: &str) -> Result<Model> {
    let unnamed = resolve(&format!("{name}/emulated"))?;
    let (provider, surface) = (unnamed.provider(), unnamed.surface());
    let served = |row: &&polywire::ModelRow| {
        row.provider == provider.id && (row.surfaces.is_empty() || row.surfaces.contains(&surface.id))
    };
    let row = Catalog::built_in().models().filter(|row| row.deprecated.is_none()).find(served);
    match row {
        Some(row) => resolve(&format!("{}:{}/{}", provider.id, surface.id, row.id)),
        None => Ok(unnamed),
    }
}
