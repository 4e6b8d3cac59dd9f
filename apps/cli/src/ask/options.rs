//! Options that `ask` and `batch` share.

use std::fmt::Display;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use polywire::wire::{OutputFormat, Strategy};
use polywire::{ClientOptions, PlanOptions, Strict};

use crate::args::{PlainHttpArg, no_strict};
use crate::input::{Failure, parse, read_text};
use crate::request::{LossArgs, named};

/// Options for asking a model.
#[derive(Args)]
pub(crate) struct AskOptions {
    /// The model, such as `openai/gpt-5` or `emulator/openai` [default: the model of the configuration]; repeatable, the first model
    /// that answers is used
    #[arg(long = "model", value_name = "PROVIDER/MODEL")]
    models: Vec<String>,
    /// The JSON Schema of the answer; without it the answer is text
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    /// The system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// How to request structured output: the provider's native feature, a tool call, or instructions in the prompt
    #[arg(long, value_enum, default_value_t = StrategyArg::Auto)]
    strategy: StrategyArg,
    /// Attempts per model to get a valid value
    #[arg(long, value_name = "N", default_value_t = 3)]
    attempts: usize,
    /// Time limit in seconds for each prompt, retries included
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    deadline: u64,
    #[command(flatten)]
    loss: LossArgs,
    #[command(flatten)]
    plain_http: PlainHttpArg,
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

impl AskOptions {
    /// The models of `--model`, or the model of the configuration.
    pub(crate) fn models(&self) -> Result<Vec<String>> {
        if self.models.is_empty() { Ok(vec![named(None, "--model")?]) } else { Ok(self.models.clone()) }
    }

    /// The output format, if a schema was given.
    pub(crate) fn format(&self) -> Result<Option<OutputFormat>> {
        let Some(path) = self.schema.as_deref() else { return Ok(None) };
        let schema = parse(&read_text(path)?).map_err(|error| self.bad_schema(&error))?;
        let format = OutputFormat::strict("answer", schema).map_err(|error| self.bad_schema(&error))?;
        Ok(Some(format.with_strategy(self.strategy.strategy())))
    }

    /// The error for a schema that cannot be used.
    pub(crate) fn bad_schema(&self, why: &dyn Display) -> anyhow::Error {
        let path = self.schema.as_deref().unwrap_or_default();
        Failure::new(why, path, "expected: a JSON Schema, written as a JSON object").into()
    }

    pub(crate) fn client_options(&self) -> ClientOptions {
        let strict = if no_strict() { Strict::Off } else { Strict::Auto };
        let plan = self.loss.apply(PlanOptions::default().with_strict(strict));
        let options = ClientOptions::default()
            .with_plan(plan)
            .with_attempts(self.attempts)
            .with_deadline(Duration::from_secs(self.deadline));
        self.plain_http.apply(options)
    }
}
