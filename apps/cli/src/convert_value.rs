//! `polywire encode-value` and `polywire decode-value`: one value through the lens of a fitted schema, for scripts.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use polywire::schema::fit_text;

use crate::Verdict;
use crate::args::{FitArgs, read_target};
use crate::input::{Failure, Input, parse, read_text};

const AFTER_HELP: &str = "\
Examples:
  echo '{\"city\":\"Bern\"}' | polywire encode-value schema.json - --to openai-strict
  polywire decode-value schema.json answer.json --to openai-strict

Exit codes: 0 success, 2 the value cannot be converted; the message names the place.";

/// The direction of the conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encode,
    Decode,
}

/// Convert one value between your schema and the fitted schema
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ConvertValue {
    /// Your schema: a JSON file
    schema: String,
    /// The value: a JSON file, or `-` for standard input
    value: String,
    /// Dialect ids or paths of dialect files; several mean what all of them accept
    #[arg(long, value_name = "ID[,ID…]")]
    to: String,
    #[command(flatten)]
    options: FitArgs,
}

impl ConvertValue {
    pub(crate) fn run(&self, out: &mut dyn Write, direction: Direction) -> Result<Verdict> {
        let input = Input::read(&self.schema)?;
        let target = read_target(&self.to)?;
        let fitted =
            fit_text(&input.text, &target, &self.options.options_for(&input)).map_err(|error| input.refused(error))?;
        let bad = |error: &dyn std::fmt::Display| {
            Failure::new(error, &self.value, "expected: a value of the schema, or of its fitted form when decoding")
        };
        let value = parse(&read_text(&self.value)?).map_err(|error| bad(&error))?;
        let passed = match direction {
            Direction::Encode => fitted.encode(value),
            Direction::Decode => fitted.decode(value),
        };
        writeln!(out, "{}", passed.map_err(|error| bad(&error))?)?;
        Ok(Verdict::Fine)
    }
}
