//! `polywire fit`: a schema or a tool list, made acceptable to a provider.

use std::fs;
use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use polywire::schema::{Change, Dialect, Effect, FitOptions, StrictMode, ToolList, fit_text, fit_tools};
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::{FitArgs, Json, Patience, read_target};
use crate::diff::write_side_by_side;
use crate::input::{Input, parse, unreadable};
use crate::prove::{Proof, Prover};
use crate::style::{Style, Tone};
use crate::through::{Road, Trip, call_trips, read_values, write_trips};

const AFTER_HELP: &str = "\
Examples:
  polywire fit schema.json --to openai-strict
  polywire fit tools.json --to gemini --json
  polywire fit tools.json --to openai-strict,gemini-openapi   (what both accept)
  polywire fit tools.json --to ./acme.toml --output fitted.json
  polywire fit schema.json --to openai-strict --values samples.jsonl   (there and back)
  polywire fit schema.json --to openai-strict --prove   (does it accept the same?)
  npx some-mcp-server list | polywire fit - --to anthropic --output -

Exit codes: 0 fine, 1 a value of --values does not go through, strict was required in vain or a \
proof contradicts the changes, 2 bad input.";

const ABOUT: &str = "\
Fit a schema or a tool list to a provider.

The input is a bare JSON Schema, an MCP `tools/list` result, or the tools of OpenAI Chat, OpenAI Responses, Anthropic, \
Gemini or Bedrock. A tool list is written in the target's own shape.";

/// Fit a schema or a tool list to a provider
#[derive(Args)]
#[command(long_about = ABOUT, after_help = AFTER_HELP)]
pub(crate) struct Fit {
    /// A JSON file, or `-` for standard input
    file: String,
    /// Dialect ids or paths of dialect files; several mean what all of them accept
    #[arg(long, value_name = "ID[,ID…]")]
    to: String,
    #[command(flatten)]
    how: FitArgs,
    /// Write the fitted schema or list to a file, or with `-` write nothing else
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
    /// Sample values to send to the wire and back: one JSON value, JSON lines, or an array whose items are the values; for a
    /// tool list each is a call, {"name","arguments"}
    #[arg(long, value_name = "VALUES")]
    values: Option<String>,
    /// Prove what each fitted schema, seen through its lens, accepts against the caller's: equal, wider, narrower or neither
    #[cfg_attr(feature = "prove", arg(long))]
    #[cfg_attr(not(feature = "prove"), arg(skip))]
    prove: bool,
    #[command(flatten)]
    patience: Patience,
    #[command(flatten)]
    json: Json,
}

/// A fitted document and what there is to tell about it.
struct Outcome {
    /// `schema` or `tools`.
    kind: &'static str,
    document: Value,
    strict: bool,
    changes: Vec<Change>,
    /// Name, before and after of each schema.
    pairs: Vec<(String, Value, Value)>,
    /// What became of the sample values, where there are any.
    trips: Option<Vec<Trip>>,
    /// How what each schema accepts compares, where that was asked for.
    proofs: Vec<(String, Proof)>,
}

impl Fit {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let input = Input::read(&self.file)?;
        let target = read_target(&self.to)?;
        let options = self.how.options_for(&input);
        let values = self.values.as_deref().map(read_values).transpose()?;
        let mut outcome = match input.tools() {
            Some(list) => fit_list(&list, &target, &options, values),
            None => fit_schema(&input, &target, &options, values)?,
        };
        if self.prove {
            outcome.prove(&target, &options, self.patience.duration());
        }
        match self.output.as_deref() {
            Some("-") => writeln!(out, "{:#}", outcome.document)?,
            path => {
                if let Some(path) = path {
                    fs::write(path, format!("{:#}\n", outcome.document)).map_err(|error| unreadable(&error, path))?;
                }
                if self.json.json {
                    writeln!(out, "{}", outcome.to_json(target.id()))?;
                } else {
                    outcome.write_text(out, style, target.id())?;
                }
            }
        }
        let unmet = options.strict == StrictMode::Require && !outcome.strict;
        let lost = outcome.trips.iter().flatten().any(|trip| !trip.arrived());
        let unsaid = outcome.proofs.iter().any(|(_, proof)| proof.silent.is_some());
        Ok(if unmet || lost || unsaid { Verdict::Findings } else { Verdict::Fine })
    }
}

fn fit_list(list: &ToolList, target: &Dialect, options: &FitOptions, calls: Option<Vec<Value>>) -> Outcome {
    let fitted = fit_tools(list, target, options);
    let pairs = list.tools.iter().zip(&fitted.tools);
    Outcome {
        kind: "tools",
        document: fitted.to_json(),
        strict: fitted.strict(),
        changes: fitted.all_changes().cloned().collect(),
        pairs: pairs.map(|(entry, tool)| (tool.name.clone(), entry.schema.clone(), tool.schema.clone())).collect(),
        trips: calls.map(|calls| call_trips(&fitted, target.shape(), calls)),
        proofs: Vec::new(),
    }
}

fn fit_schema(input: &Input, target: &Dialect, options: &FitOptions, values: Option<Vec<Value>>) -> Result<Outcome> {
    let fitted = fit_text(&input.text, target, options).map_err(|error| input.refused(error))?;
    let document = parse(&fitted.schema)?;
    let trips = values.map(|values| {
        let road = Road::of(fitted.lens(), &document, target.shape());
        values.into_iter().map(|value| road.trip(value)).collect()
    });
    let before = input.document.clone().unwrap_or_default();
    Ok(Outcome {
        kind: "schema",
        document: document.clone(),
        strict: fitted.strict(),
        changes: fitted.changes,
        pairs: vec![(input.name.clone(), before, document)],
        trips,
        proofs: Vec::new(),
    })
}

impl Outcome {
    /// Compares what each schema accepts with what was asked for.
    fn prove(&mut self, target: &Dialect, options: &FitOptions, patience: Duration) {
        let mut prover = Prover::new(patience);
        let compare = |(name, before, _): &(String, Value, Value)| {
            let asked = before.to_string();
            let fitted = fit_text(&asked, target, options).ok()?;
            Some((name.clone(), prover.prove(&fitted, &asked, target.shape())))
        };
        self.proofs = self.pairs.iter().filter_map(compare).collect();
    }

    fn to_json(&self, target: &str) -> Value {
        let mut told =
            json!({ "target": target, self.kind: self.document, "strict": self.strict, "changes": self.changes });
        if let (Some(trips), Some(told)) = (&self.trips, told.as_object_mut()) {
            told.insert("values".to_owned(), trips.iter().map(|trip| trip.told.clone()).collect());
        }
        if let (false, Some(told)) = (self.proofs.is_empty(), told.as_object_mut()) {
            let proofs = self.proofs.iter().map(|(name, proof)| json!({ "name": name, "proof": proof }));
            told.insert("proofs".to_owned(), proofs.collect());
        }
        told
    }

    fn write_text(&self, out: &mut dyn Write, style: Style, target: &str) -> Result<()> {
        for (name, before, after) in &self.pairs {
            let same = if before == after { " (unchanged)" } else { "" };
            writeln!(out, "{}{same}", style.paint(Tone::Strong, name))?;
            write_side_by_side(out, style, &format!("{before:#}\n"), &format!("{after:#}\n"))?;
            writeln!(out)?;
        }
        for effect in [Effect::Narrower, Effect::Wider, Effect::Same, Effect::Note] {
            let changes: Vec<&Change> = self.changes.iter().filter(|change| change.effect == effect).collect();
            if changes.is_empty() {
                continue;
            }
            writeln!(out, "{} ({})", style.effect(effect), changes.len())?;
            for change in changes {
                let at = if change.at.is_empty() { "/" } else { &change.at };
                let code = style.paint(Tone::Strong, &change.code);
                writeln!(out, "  {code} {at} {}: {}", style.paint(Tone::Faint, change.action), change.detail)?;
            }
            writeln!(out)?;
        }
        if let Some(trips) = &self.trips {
            write_trips(out, style, trips)?;
        }
        for (name, proof) in &self.proofs {
            writeln!(out, "{}: {proof}", style.paint(Tone::Strong, name))?;
        }
        let strict = if self.strict { "strict" } else { "not strict" };
        let plural = if self.changes.len() == 1 { "" } else { "s" };
        writeln!(out, "{target}: {strict}, {} change{plural}", self.changes.len())?;
        Ok(())
    }
}
