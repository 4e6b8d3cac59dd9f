//! `polywire encode` and `polywire plan`: one request for one model, as it would be sent, or as it was decided.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use polywire::wire::Strategy;
use polywire::{Change, Plan};
use serde_json::json;

use crate::Verdict;
use crate::args::Json;
use crate::changes::write_changes;
use crate::request::{RequestArgs, named};
use crate::style::{Style, Tone};

const ENCODE_HELP: &str = "\
Examples:
  polywire encode request.json --to openai/gpt-5
  polywire encode request.json --to anthropic            (the model named in the request)
  polywire encode chat.json --from openai-chat --to google/gemini-2.5-pro
  polywire encode request.json --to openai:chat/gpt-4o    (another surface of the provider)

Prints {\"method\",\"url\",\"headers\",\"body\",\"changes\"}. Secrets are named, not printed: `{env VAR}`.
Exit codes: 0 success, 1 a loss that `--on-loss` forbids, 2 bad input.";

/// Encode a request for a provider: method, URL, headers, body, and every change and loss
#[derive(Args)]
#[command(after_help = ENCODE_HELP)]
pub(crate) struct Encode {
    #[command(flatten)]
    request: RequestArgs,
    /// The target, such as `openai/gpt-5`; by default the model of the configuration
    #[arg(long, value_name = "PROVIDER[/MODEL]")]
    to: Option<String>,
}

impl Encode {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        match self.request.plan(&named(self.to.as_deref(), "--to")?)? {
            Ok(plan) => {
                serde_json::to_writer_pretty(&mut *out, &plan.encoded())?;
                writeln!(out)?;
                Ok(Verdict::Fine)
            }
            Err(losses) => refused(out, &losses),
        }
    }
}

const PLAN_HELP: &str = "\
Examples:
  polywire plan request.json --model anthropic/claude-opus-5-5
  polywire plan request.json --model openai/gpt-5 --json
  polywire plan request.json --model deepseek/deepseek-chat --on-loss output=error,tools=error

Exit codes: 0 success, 1 a loss that `--on-loss` forbids, 2 bad input.";

/// Show the plan for a request: tools, names, output strategy, and every change and loss
#[derive(Args)]
#[command(after_help = PLAN_HELP)]
pub(crate) struct PlanCommand {
    #[command(flatten)]
    request: RequestArgs,
    /// The model, such as `anthropic/claude-sonnet-4-5`; by default that of the configuration
    #[arg(long, value_name = "PROVIDER[/MODEL]")]
    model: Option<String>,
    #[command(flatten)]
    json: Json,
}

impl PlanCommand {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        match self.request.plan(&named(self.model.as_deref(), "--model")?)? {
            Ok(plan) if self.json.json => {
                serde_json::to_writer(&mut *out, &plan)?;
                writeln!(out)?;
            }
            Ok(plan) => write_plan(out, style, &plan)?,
            Err(losses) => return refused(out, &losses),
        }
        Ok(Verdict::Fine)
    }
}

pub(crate) fn refused(out: &mut dyn Write, losses: &[Change]) -> Result<Verdict> {
    writeln!(out, "{:#}", json!({ "refused": losses }))?;
    Ok(Verdict::Findings)
}

/// Prints a plan.
pub(crate) fn write_plan(out: &mut dyn Write, style: Style, plan: &Plan) -> Result<()> {
    let name = format!("{}/{}", plan.provider, plan.model);
    writeln!(out, "{} speaks {} at {}", style.paint(Tone::Strong, name), plan.protocol, plan.endpoint.url)?;
    for tool in &plan.tools {
        let called = if tool.name == tool.wire_name { String::new() } else { format!(", called {}", tool.wire_name) };
        let strict = if tool.strict { "strict" } else { "not strict" };
        let shape = if tool.lens.is_some() { ", in another shape" } else { "" };
        let shared = match tool.shared_by.as_slice() {
            [] => String::new(),
            names => format!(", for {}", names.join(", ")),
        };
        writeln!(out, "  tool {}{called}: {strict}{shape}{shared}", style.paint(Tone::Strong, &tool.name))?;
    }
    if let Some(output) = &plan.output {
        let strategy = channel(output.strategy);
        let strict = if output.strict { "strict" } else { "not strict" };
        writeln!(out, "  {strategy}: {strict}")?;
    }
    writeln!(out)?;
    write_changes(out, style, plan.changes())?;
    let plural = if plan.changes().len() == 1 { "" } else { "s" };
    writeln!(out, "{} change{plural}, {} lost something", plan.changes().len(), plan.losses().count())?;
    Ok(())
}

/// A strategy in words.
pub(crate) fn channel(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Native => "native structured output",
        Strategy::Tool => "structured output by a tool call",
        Strategy::Prompted => "structured output by instructions in the prompt",
        Strategy::Auto | _ => "structured output by the best strategy of the model",
    }
}
