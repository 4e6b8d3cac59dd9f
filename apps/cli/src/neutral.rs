//! `polywire schema`: the neutral form, as JSON Schema.

use std::io::Write;

use anyhow::Result;
use clap::{Args, ValueEnum};
use polywire::{NeutralForm, neutral_schema};

use crate::Verdict;

const AFTER_HELP: &str = "\
Examples:
  polywire schema request > request.schema.json
  polywire schema event";

/// Print the JSON Schema of the neutral form
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Schema {
    /// Which form
    #[arg(value_enum)]
    form: FormArg,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormArg {
    /// A request
    Request,
    /// A whole response
    Response,
    /// An event of a streamed response
    Event,
}

impl Schema {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let form = match self.form {
            FormArg::Request => NeutralForm::Request,
            FormArg::Response => NeutralForm::Response,
            FormArg::Event => NeutralForm::Event,
        };
        writeln!(out, "{:#}", neutral_schema(form))?;
        Ok(Verdict::Fine)
    }
}
