//! `polywire explain`: the rule behind a code.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use polywire::schema::{dialects, explain, explain_own, own_codes};
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::Json;
use crate::input::Failure;
use crate::style::{Style, Tone};

const AFTER_HELP: &str = "\
Examples:
  polywire explain OAI-STRICT-07
  polywire explain gem-schema-36 --json";

/// Explain a rule: what it is about, the provider's error text, and the source
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Explain {
    /// A code printed by `check`, `fit`, `plan` or `encode`
    code: String,
    #[command(flatten)]
    json: Json,
}

impl Explain {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let rows = explain(&self.code);
        if let Some((code, meaning)) = explain_own(&self.code) {
            if self.json.json {
                let rows = json!([{ "dialect": null, "rule": { "code": code, "says": meaning } }]);
                writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
            } else {
                writeln!(out, "{} is a code of polywire itself, for every dialect", style.paint(Tone::Strong, code))?;
                writeln!(out, "  means    {meaning}")?;
            }
            return Ok(Verdict::Fine);
        }
        if rows.is_empty() {
            return Err(Failure::new("no rule has this code", &self.code, &near(&self.code)).into());
        }
        if self.json.json {
            let rows: Vec<Value> =
                rows.iter().map(|(dialect, rule)| json!({ "dialect": dialect.id(), "rule": rule })).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
            return Ok(Verdict::Fine);
        }
        for (dialect, rule) in rows {
            let limit = rule.limit.map(|limit| format!(", limit {limit}")).unwrap_or_default();
            writeln!(out, "{} in {} ({})", style.paint(Tone::Strong, rule.code), dialect.id(), dialect.title())?;
            writeln!(out, "  about    {}{limit}", rule.about)?;
            writeln!(out, "  outcome  {}", style.severity(rule.severity))?;
            writeln!(out, "  says     {}", rule.says)?;
            writeln!(out, "  known    {}, from {}", rule.confidence, rule.source)?;
        }
        Ok(Verdict::Fine)
    }
}

fn near(code: &str) -> String {
    let mut codes: Vec<&str> = dialects().flat_map(|dialect| dialect.rules().map(|rule| rule.code)).collect();
    codes.extend(own_codes().map(|(code, _)| code));
    codes.sort_unstable();
    codes.dedup();
    match similar::get_close_matches(code.to_ascii_uppercase().as_str(), &codes, 5, 0.6).as_slice() {
        [] => "`polywire dialects ID` lists the codes of a dialect".to_owned(),
        near => format!("near to it: {}", near.join(", ")),
    }
}
