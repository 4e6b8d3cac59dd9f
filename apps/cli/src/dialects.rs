//! `polywire dialects`: the dialects, or the rules of one.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use polywire::schema::{Dialect, RuleView, dialects};
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::{Json, read_target};
use crate::markdown;
use crate::style::{Style, Tone};

const AFTER_HELP: &str = "\
Examples:
  polywire dialects
  polywire dialects openai-strict
  polywire dialects --markdown > docs/dialects.md";

/// List the dialects, or the rules of one
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Dialects {
    /// A dialect, a meet of several, or the path of a dialect file
    id: Option<String>,
    /// Print the support matrix as Markdown
    #[arg(long, conflicts_with_all = ["id", "json"])]
    markdown: bool,
    #[command(flatten)]
    json: Json,
}

impl Dialects {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        match &self.id {
            _ if self.markdown => markdown::write_matrix(out, &dialects().collect::<Vec<_>>())?,
            Some(id) => {
                let dialect = read_target(id)?;
                if self.json.json {
                    let rules: Vec<RuleView<'_>> = dialect.rules().collect();
                    let mut document = summary(&dialect);
                    document.as_object_mut().map(|members| members.insert("rules".to_owned(), json!(rules)));
                    writeln!(out, "{document:#}")?;
                } else {
                    write_rules(out, style, &dialect)?;
                }
            }
            None if self.json.json => {
                let all: Vec<Value> = dialects().map(summary).collect();
                writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
            }
            None => write_table(out, style)?,
        }
        Ok(Verdict::Fine)
    }
}

fn summary(dialect: &Dialect) -> Value {
    json!({
        "id": dialect.id(),
        "title": dialect.title(),
        "serves": dialect.serves(),
        "strict": dialect.strict(),
        "fallback": dialect.fallback(),
        "source": dialect.source(),
        "checked_on": dialect.checked_on(),
    })
}

fn write_table(out: &mut dyn Write, style: Style) -> Result<()> {
    let width = dialects().map(|dialect| dialect.id().len()).max().unwrap_or_default();
    for dialect in dialects() {
        let strict = if dialect.strict() { "strict" } else { "" };
        let rules = dialect.rules().count();
        let id = style.paint(Tone::Strong, dialect.id());
        writeln!(out, "{id:width$}  {rules:>3} rules  {strict:6}  {}", dialect.serves())?;
    }
    Ok(())
}

fn write_rules(out: &mut dyn Write, style: Style, dialect: &Dialect) -> Result<()> {
    let strict = if dialect.strict() { ", with the strict flag" } else { "" };
    writeln!(out, "{}: {}{strict}", style.paint(Tone::Strong, dialect.id()), dialect.title())?;
    writeln!(out, "serves   {}", dialect.serves())?;
    writeln!(out, "source   {} ({})", dialect.source(), dialect.checked_on())?;
    if let Some(fallback) = dialect.fallback() {
        writeln!(out, "else     {fallback}")?;
    }
    writeln!(out)?;
    for rule in dialect.rules() {
        let limit = rule.limit.map(|limit| format!(" {limit}")).unwrap_or_default();
        let code = style.paint(Tone::Strong, rule.code);
        writeln!(out, "{code}  {}  {}{limit}", style.severity(rule.severity), rule.about)?;
        writeln!(out, "    {}", style.paint(Tone::Faint, rule.says))?;
    }
    Ok(())
}
