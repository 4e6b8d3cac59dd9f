//! `polywire mcp inspect`: what tools cost, which provider refuses what of them, and what a budget would leave of them.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use clap::Args;
use polywire::schema::{Severity, check_tools, read_tools};
use serde::Serialize;
use serde_json::{Value, json};

use super::budget::{BudgetReport, meet_budget, tokens};
use super::servers::{Servers, tools_of};
use crate::Verdict;
use crate::args::{Json, read_target};
use crate::known::note;
use crate::style::tame;

/// List the tools of servers: bytes and tokens, and what each provider refuses
#[derive(Args)]
pub(super) struct Inspect {
    #[command(flatten)]
    servers: Servers,
    /// Dialect ids, each checked on its own
    #[arg(
        long = "for",
        value_name = "ID[,ID…]",
        value_delimiter = ',',
        default_value = "openai-strict,anthropic,gemini"
    )]
    dialects: Vec<String>,
    /// Show what is left of the tools in so many tokens: descriptions shortened and optional parts left out, by a fixed rule
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    #[command(flatten)]
    json: Json,
}

/// What is told of one tool.
#[derive(Serialize)]
struct ToolRow {
    server: String,
    tool: String,
    bytes: usize,
    tokens: usize,
    /// The codes of what each dialect refuses, or may refuse.
    refused: BTreeMap<String, Vec<String>>,
}

impl Inspect {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let (mut rows, mut tools) = (Vec::new(), Vec::new());
        for server in self.servers.specs()? {
            match tools_of(&server) {
                Ok(listed) => {
                    for tool in listed.tools {
                        rows.push(self.row(&server.name, &tool)?);
                        tools.push(tool);
                    }
                }
                // One server never takes the others down.
                Err(error) => note(&format!("{error:#}")),
            }
        }
        let report = self.budget.map(|budget| meet_budget(&mut tools, budget));
        match (self.json.json, &report) {
            (true, Some(report)) => {
                let whole = json!({"tools": rows, "budget": report, "left": tools});
                writeln!(out, "{whole:#}")?;
            }
            (true, None) => writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?,
            (false, report) => {
                self.write_table(out, &rows)?;
                report.as_ref().map_or(Ok(()), |report| write_report(out, report))?;
            }
        }
        Ok(Verdict::Fine)
    }

    fn row(&self, server: &str, tool: &Value) -> Result<ToolRow> {
        let bytes = tool.to_string().len();
        let list = read_tools(&json!([tool]));
        let mut refused = BTreeMap::new();
        for id in &self.dialects {
            let dialect = read_target(id)?;
            let violations = list.as_ref().map(|list| check_tools(list, &dialect)).unwrap_or_default();
            let rejected = violations.into_iter().filter(|one| one.severity != Severity::Ignored);
            refused.insert(id.clone(), rejected.map(|one| one.code).collect());
        }
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(ToolRow { server: server.to_owned(), tool: name, bytes, tokens: tokens(bytes), refused })
    }

    fn write_table(&self, out: &mut dyn Write, rows: &[ToolRow]) -> Result<()> {
        let width = rows.iter().map(|row| row.tool.len()).max().unwrap_or_default().clamp(4, 60);
        write!(out, "{:width$} {:>8} {:>8}", "tool", "bytes", "tokens")?;
        for id in &self.dialects {
            write!(out, " {id:>18}")?;
        }
        writeln!(out)?;
        for ToolRow { tool, bytes, tokens, refused, .. } in rows {
            write!(out, "{tool:width$} {bytes:>8} {tokens:>8}")?;
            for id in &self.dialects {
                let told = match refused.get(id).map_or(0, Vec::len) {
                    0 => "fits".to_owned(),
                    count => format!("{count} refused"),
                };
                write!(out, " {told:>18}")?;
            }
            writeln!(out)?;
        }
        let (bytes, tokens) = rows.iter().fold((0, 0), |(bytes, tokens), row| (bytes + row.bytes, tokens + row.tokens));
        writeln!(out, "{} tools, {bytes} bytes, about {tokens} tokens", rows.len())?;
        Ok(())
    }
}

fn write_report(out: &mut dyn Write, report: &BudgetReport) -> Result<()> {
    let BudgetReport { budget, tokens_before, tokens_after, cuts } = report;
    writeln!(out, "\nbudget {budget}: about {tokens_before} tokens become {tokens_after}")?;
    for cut in cuts {
        let step = json!(cut.step);
        writeln!(
            out,
            "  {:>6} bytes, {}: {} {}",
            cut.bytes,
            step.as_str().unwrap_or_default(),
            cut.tool,
            tame(&cut.at)
        )?;
    }
    if tokens_after > budget {
        writeln!(out, "the budget is not met: what is left is required")?;
    }
    Ok(())
}
