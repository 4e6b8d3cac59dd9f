//! The `polywire` command: reads files, prints results, and leaves every decision to the library.
//!
//! [`run`] is the whole command, for the program and for the packages that carry it.

mod args;
mod ask;
mod audit;
mod batch;
mod changes;
mod check;
mod config;
mod convert_value;
mod corpus;
mod dialects;
mod diff;
mod emulate;
mod encode;
mod explain;
mod fit;
mod import;
mod input;
mod keys;
mod known;
mod locate;
mod markdown;
mod mcp;
mod models;
mod neutral;
mod parse;
mod prover;
mod regular_file;
mod request;
mod round_trip;
mod sarif;
mod serve;
mod style;
mod tally;
mod translate;
mod trust;
mod values;

use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

use style::{Output, Screen, Style};

const AFTER_HELP: &str = "\
Examples:
  polywire ask \"An order of three books\" --model emulator/openai --schema schema.json
  polywire batch prompts.jsonl answers.jsonl --model emulator/openai --schema schema.json --jobs 8
  polywire emulate --port 8080
  polywire serve --route '*=openai/gpt-4.1'
  polywire encode request.json --to anthropic/claude-sonnet-4-5
  polywire translate chat.json --from openai-chat --to gemini
  polywire fit tools.json --to openai-strict
  polywire check tools.json --for gemini,anthropic --format github
  polywire explain OAI-STRICT-07
  polywire dialects
  polywire models --can tools,strict,vision
  polywire config check
  polywire parse answer.txt --schema schema.json

Exit codes: 0 success, 1 findings (a violation, a loss that was not allowed, no valid value), 2 bad input or no answer.";

/// One LLM request in, any provider out; the answer back in your shape, with every change and loss listed
#[derive(Parser)]
#[command(name = "polywire", version, after_help = AFTER_HELP)]
struct Cli {
    /// Use this configuration file, and trust it for this command [default: `POLYWIRE_CONFIG`, ./polywire.toml, or the user's]
    #[arg(long = "config", value_name = "FILE", global = true)]
    config_file: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Ask(Box<ask::Ask>),
    Batch(Box<batch::Batch>),
    Emulate(emulate::Emulate),
    Serve(serve::Serve),
    Mcp(Box<mcp::Mcp>),
    Keys(keys::Keys),
    Import(import::Import),
    Encode(encode::Encode),
    Plan(encode::PlanCommand),
    Decode(translate::Decode),
    Translate(translate::Translate),
    Schema(neutral::Schema),
    Fit(fit::Fit),
    Check(check::Check),
    Explain(explain::Explain),
    Dialects(dialects::Dialects),
    Models(models::Models),
    Config(config::ConfigCommand),
    Audit(audit::Audit),
    Parse(parse::Parse),
    /// Convert a value from your schema to the shape of the fitted schema
    EncodeValue(convert_value::ConvertValue),
    /// Convert a value from the shape of the fitted schema back to your schema
    DecodeValue(convert_value::ConvertValue),
    /// Run proofs for `--prove`, one request a line, in a process that can be killed
    #[cfg(feature = "prove")]
    #[command(name = prover::COMMAND, hide = true)]
    ProveQuestions,
}

/// The outcome of a command that ran; decides the exit code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Fine,
    Findings,
}

/// Runs the command with its arguments, the name of the program first, and gives its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // The text of `--help` is an error too. A failure to write it cannot be reported anywhere.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    known::name_config(cli.config_file.clone());
    let mut out = Output::new(BufWriter::new(io::stdout().lock()), Screen::of_stdout());
    let verdict = execute(&cli.command, &mut out, Style::of_stdout()).and_then(|verdict| {
        out.flush()?;
        Ok(verdict)
    });
    match verdict {
        Ok(Verdict::Fine) => 0,
        Ok(Verdict::Findings) => 1,
        // The reader of the output closed the pipe on purpose.
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) => {
            // A failure to write the error cannot be reported anywhere.
            let _ = writeln!(io::stderr(), "polywire: {}", Screen::of_stderr().text(&format!("{error:#}")));
            2
        }
    }
}

fn execute(command: &Command, out: &mut dyn Write, style: Style) -> Result<Verdict> {
    match command {
        Command::Ask(ask) => ask.run(out, style),
        Command::Batch(batch) => batch.run(out, style),
        Command::Emulate(emulate) => emulate.run(out),
        Command::Serve(serve) => serve.run(out),
        Command::Mcp(mcp) => mcp.run(out),
        Command::Keys(keys) => keys.run(out),
        Command::Import(import) => import.run(out),
        Command::Encode(encode) => encode.run(out),
        Command::Plan(plan) => plan.run(out, style),
        Command::Decode(decode) => decode.run(out),
        Command::Translate(translate) => translate.run(out),
        Command::Schema(schema) => schema.run(out),
        Command::Fit(fit) => fit.run(out, style),
        Command::Check(check) => check.run(out, style),
        Command::Explain(explain) => explain.run(out, style),
        Command::Dialects(dialects) => dialects.run(out, style),
        Command::Models(models) => models.run(out, style),
        Command::Config(config) => config.run(out, style),
        Command::Audit(audit) => audit.run(out, style),
        Command::Parse(parse) => parse.run(out),
        Command::EncodeValue(convert) => convert.run(out, convert_value::Direction::Encode),
        Command::DecodeValue(convert) => convert.run(out, convert_value::Direction::Decode),
        #[cfg(feature = "prove")]
        Command::ProveQuestions => prover::answer(out),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
