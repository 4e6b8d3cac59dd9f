//! `polywire fit`: rewrites a schema or a tool list so that a provider accepts it.

use std::borrow::Cow;
use std::fs;
use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use polywire::schema::{
    Change, Dialect, FitOptions, FittedText, FittedTools, StrictMode, ToolList, ToolShape, fit_text, fit_tools,
};
use polywire_testkit::prove::Proof;
use serde::Serializer as _;
use serde::ser::SerializeMap as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::{FitArgs, Json, ProofTimeout, read_target};
use crate::changes::write_changes;
use crate::diff::write_side_by_side;
use crate::input::{Input, parse, unreadable};
use crate::known::note;
use crate::prover::Prover;
use crate::round_trip::{RoundTrip, TripResult, read_values, send_calls, write_results};
use crate::style::{Style, Tone, tame};

const AFTER_HELP: &str = "\
Examples:
  polywire fit schema.json --to openai-strict
  polywire fit tools.json --to gemini --json
  polywire fit tools.json --to openai-strict,gemini-openapi   (what both accept)
  polywire fit tools.json --to ./acme.toml --output fitted.json
  polywire fit schema.json --to openai-strict --values samples.jsonl   (round trip)
  polywire fit schema.json --to openai-strict --prove   (does it accept the same values?)
  polywire fit --mcp 'npx -y @modelcontextprotocol/server-everything' --to anthropic --output -

Exit codes: 0 success, 1 a value of --values does not survive the round trip, `--strict require` cannot be met, or a \
proof contradicts the listed changes, 2 bad input.";

const ABOUT: &str = "\
Fit a schema or a tool list to a provider.

The input is a bare JSON Schema, an MCP `tools/list` result, or the tools of OpenAI Chat, OpenAI Responses, Anthropic, \
Gemini or Bedrock. A tool list is written in the target's own shape.";

/// Fit a schema or a tool list to a provider
#[derive(Args)]
#[command(long_about = ABOUT, after_help = AFTER_HELP)]
pub(crate) struct Fit {
    /// A JSON file, or `-` for standard input
    #[arg(required_unless_present = "mcp")]
    file: Option<String>,
    /// The tools of an MCP server, by its command line or URL, instead of a file
    #[arg(long, value_name = "COMMAND|URL", conflicts_with = "file")]
    mcp: Option<String>,
    /// Dialect ids or paths of dialect files; several mean what all of them accept
    #[arg(long, value_name = "ID[,ID…]")]
    to: String,
    #[command(flatten)]
    options: FitArgs,
    /// Write the fitted schema or list to a file; `-` writes it to standard output and nothing else
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
    /// Sample values for a round trip: one JSON value, JSON lines, or an array of values; for a tool list each value is a call,
    /// {"name","arguments"}
    #[arg(long, value_name = "VALUES")]
    values: Option<String>,
    /// Prove whether the fitted schema, after decoding, accepts the same values as yours: equal, wider, narrower or neither
    #[cfg_attr(feature = "prove", arg(long))]
    #[cfg_attr(not(feature = "prove"), arg(skip))]
    prove: bool,
    #[command(flatten)]
    proof_timeout: ProofTimeout,
    #[command(flatten)]
    json: Json,
}

/// What was fitted.
enum Fitted<'i> {
    Schema { input: &'i Input, fitted: FittedText },
    Tools { list: &'i ToolList, fitted: FittedTools },
}

/// A name, and a schema before and after.
type Pair<'f> = (&'f str, Cow<'f, Value>, Cow<'f, Value>);

/// The result of the command.
struct Outcome<'i> {
    fitted: Fitted<'i>,
    /// Round trips of the sample values, if any.
    results: Option<Vec<TripResult>>,
    /// Proofs by schema name, with `--prove`.
    proofs: Vec<(String, Proof)>,
}

impl Fit {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let input = Input::of(self.file.as_deref(), self.mcp.as_deref())?;
        let target = read_target(&self.to)?;
        let options = self.options.options_for(&input);
        let values = self.values.as_deref().map(read_values).transpose()?;
        let fitted = Fitted::new(&input, &target, &options)?;
        if let (Fitted::Tools { .. }, Some(body)) = (&fitted, &input.body) {
            let at = &body.output.at;
            note(&format!("only the tools are fitted; fit the output schema at `{at}` separately"));
        }
        let results = values.map(|values| fitted.results(values, target.shape())).transpose()?;
        let mut outcome = Outcome { fitted, results, proofs: Vec::new() };
        if self.prove {
            outcome.prove(&target, &options, self.proof_timeout.duration())?;
        }
        match self.output.as_deref() {
            Some("-") => writeln!(out, "{}", outcome.fitted.pretty()?)?,
            path => {
                if let Some(path) = path {
                    let text = format!("{}\n", outcome.fitted.pretty()?);
                    fs::write(path, text).map_err(|error| unreadable(&error, path))?;
                }
                if self.json.json {
                    outcome.write_json(out, target.id())?;
                } else {
                    outcome.write_text(out, style, target.id())?;
                }
            }
        }
        let unmet = options.strict == StrictMode::Require && !outcome.fitted.strict();
        if unmet {
            note(&format!("`--strict require` cannot be met for `{}`", target.id()));
        }
        let lost = outcome.results.iter().flatten().any(|trip| !trip.arrived());
        let unsaid = outcome.proofs.iter().any(|(_, proof)| proof.silent.is_some());
        Ok(if unmet || lost || unsaid { Verdict::Findings } else { Verdict::Fine })
    }
}

impl<'i> Fitted<'i> {
    fn new(input: &'i Input, target: &Dialect, options: &FitOptions) -> Result<Self> {
        if let Some(list) = &input.tools {
            return Ok(Self::Tools { list, fitted: fit_tools(list, target, options) });
        }
        let fitted = fit_text(&input.text, target, options).map_err(|error| input.refused(error))?;
        Ok(Self::Schema { input, fitted })
    }

    fn strict(&self) -> bool {
        match self {
            Self::Schema { fitted, .. } => fitted.strict(),
            Self::Tools { fitted, .. } => fitted.strict(),
        }
    }

    fn changes(&self) -> Vec<&Change> {
        match self {
            Self::Schema { fitted, .. } => fitted.changes.iter().collect(),
            Self::Tools { fitted, .. } => fitted.all_changes().collect(),
        }
    }

    /// The name of each schema, and what it was before and after.
    fn pairs(&self) -> Result<Vec<Pair<'_>>> {
        Ok(match self {
            Self::Schema { input, fitted } => {
                vec![(&input.name, Cow::Owned(parse(&input.text)?), Cow::Owned(parse(&fitted.schema)?))]
            }
            Self::Tools { list, fitted } => {
                let pairs = list.tools.iter().zip(&fitted.tools);
                pairs
                    .map(|(entry, tool)| {
                        (tool.name.as_str(), Cow::Borrowed(&entry.schema), Cow::Borrowed(&tool.schema))
                    })
                    .collect()
            }
        })
    }

    /// The fitted document for people.
    fn pretty(&self) -> Result<String> {
        let document = match self {
            Self::Schema { fitted, .. } => parse(&fitted.schema)?,
            Self::Tools { fitted, .. } => fitted.to_json(),
        };
        Ok(format!("{document:#}"))
    }

    fn results(&self, values: Vec<Value>, shape: ToolShape) -> Result<Vec<TripResult>> {
        match self {
            Self::Schema { fitted, .. } => {
                let round_trip = RoundTrip::new(fitted.lens(), &parse(&fitted.schema)?, shape);
                Ok(values.into_iter().map(|value| round_trip.send(value)).collect())
            }
            Self::Tools { fitted, .. } => Ok(send_calls(fitted, shape, values)),
        }
    }
}

impl Outcome<'_> {
    /// Proves each fitted schema against the caller's.
    fn prove(&mut self, target: &Dialect, options: &FitOptions, timeout: Duration) -> Result<()> {
        let mut prover = Prover::new(timeout);
        let compare = |(name, before, _): Pair<'_>| {
            let asked = before.to_string();
            let fitted = fit_text(&asked, target, options).ok()?;
            Some((name.to_owned(), prover.prove(&fitted, &asked, target.shape())))
        };
        self.proofs = self.fitted.pairs()?.into_iter().filter_map(compare).collect();
        Ok(())
    }

    fn write_json(&self, out: &mut dyn Write, target: &str) -> Result<()> {
        let mut writer = serde_json::Serializer::new(&mut *out);
        let mut result = writer.serialize_map(None)?;
        result.serialize_entry("target", target)?;
        match &self.fitted {
            Fitted::Schema { fitted, .. } => {
                result.serialize_entry("schema", serde_json::from_str::<&RawValue>(&fitted.schema)?)?;
            }
            Fitted::Tools { fitted, .. } => result.serialize_entry("tools", &fitted.to_json())?,
        }
        result.serialize_entry("strict", &self.fitted.strict())?;
        result.serialize_entry("changes", &self.fitted.changes())?;
        if let Some(results) = &self.results {
            let values: Vec<&Value> = results.iter().map(|trip| &trip.result).collect();
            result.serialize_entry("values", &values)?;
        }
        if !self.proofs.is_empty() {
            let proofs = self.proofs.iter().map(|(name, proof)| json!({ "name": name, "proof": proof }));
            result.serialize_entry("proofs", &proofs.collect::<Vec<_>>())?;
        }
        result.end()?;
        writeln!(out)?;
        Ok(())
    }

    fn write_text(&self, out: &mut dyn Write, style: Style, target: &str) -> Result<()> {
        for (name, before, after) in self.fitted.pairs()? {
            let same = if before == after { " (unchanged)" } else { "" };
            writeln!(out, "{}{same}", style.paint(Tone::Strong, tame(name)))?;
            write_side_by_side(out, style, &format!("{before:#}\n"), &format!("{after:#}\n"))?;
            writeln!(out)?;
        }
        let changes = self.fitted.changes();
        write_changes(out, style, changes.iter().copied())?;
        if let Some(results) = &self.results {
            write_results(out, style, results)?;
        }
        for (name, proof) in &self.proofs {
            writeln!(out, "{}: {proof}", style.paint(Tone::Strong, name))?;
        }
        let strict = if self.fitted.strict() { "strict" } else { "not strict" };
        let plural = if changes.len() == 1 { "" } else { "s" };
        writeln!(out, "{target}: {strict}, {} change{plural}", changes.len())?;
        Ok(())
    }
}
