//! `polywire decode` and `polywire translate`: bodies of one protocol in the neutral form, or in another protocol.

use std::io::{self, Write};

use anyhow::Result;
use clap::{Args, ValueEnum};
use polywire::wire::Protocol;
use polywire::{BodyKind, Change, TranslateError, decode, decode_stream, translate};
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::Json;
use crate::changes::write_changes;
use crate::input::{Failure, read_bytes};
use crate::request::protocol;
use crate::style::Style;

const DECODE_HELP: &str = "\
Examples:
  polywire decode answer.json --from anthropic-messages
  curl -sN … | polywire decode - --from openai-chat --stream

Prints the answer in the neutral form (see `polywire schema response`), changes on standard error.
Exit codes: 0 success, 1 the stream is incomplete (what arrived is printed), 2 bad input.";

/// Read an answer of a provider into the neutral form
#[derive(Args)]
#[command(after_help = DECODE_HELP)]
pub(crate) struct Decode {
    /// A whole answer or a recorded stream: a file, or `-` for standard input
    response: String,
    /// The protocol of the answer
    #[arg(long, value_name = "PROTOCOL")]
    from: String,
    /// The answer is a stream
    #[arg(long)]
    stream: bool,
}

impl Decode {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let from = protocol(&self.from)?;
        let body = read_bytes(&self.response)?;
        let bad = |error: TranslateError| bad_body(&error, &self.response, from);
        let (response, cut) = if self.stream {
            match decode_stream(&body, from).map_err(bad)? {
                Ok(response) => (response, None),
                Err(cut) => (cut.response.clone(), Some(cut)),
            }
        } else {
            let decoded = decode(&body, from).map_err(bad)?;
            let changes: Vec<Change> = decoded.changes.into_iter().map(Change::from).collect();
            write_changes(&mut io::stderr(), Style::plain(), &changes)?;
            (decoded.value, None)
        };
        serde_json::to_writer_pretty(&mut *out, &response)?;
        writeln!(out)?;
        let Some(cut) = cut else { return Ok(Verdict::Fine) };
        writeln!(io::stderr(), "polywire: {cut}")?;
        Ok(Verdict::Findings)
    }
}

const TRANSLATE_HELP: &str = "\
Examples:
  polywire translate chat.json --from openai-chat --to anthropic-messages
  polywire translate - --from gemini --to openai-responses --kind response < answer.json
  polywire translate events.txt --from anthropic-messages --to openai-chat --kind stream

The body goes to standard output, every change and loss to standard error; `--json` prints {\"body\",\"changes\"}.
Tools, names and the history of a request are fitted to the target.
Exit codes: 0 success, 2 bad input.";

/// Convert a request, response or stream between protocols
#[derive(Args)]
#[command(after_help = TRANSLATE_HELP)]
pub(crate) struct Translate {
    /// A body or a recorded stream: a file, or `-` for standard input
    file: String,
    /// The protocol of the body
    #[arg(long, value_name = "PROTOCOL")]
    from: String,
    /// The protocol of the output
    #[arg(long, value_name = "PROTOCOL")]
    to: String,
    /// What the body is
    #[arg(long, value_enum, default_value_t = KindArg::Request)]
    kind: KindArg,
    #[command(flatten)]
    json: Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindArg {
    Request,
    Response,
    Stream,
}

impl KindArg {
    fn kind(self) -> BodyKind {
        match self {
            Self::Request => BodyKind::Request,
            Self::Response => BodyKind::Response,
            Self::Stream => BodyKind::Stream,
        }
    }
}

impl Translate {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let (from, to) = (protocol(&self.from)?, protocol(&self.to)?);
        let body = read_bytes(&self.file)?;
        let translated =
            translate(&body, from, to, self.kind.kind()).map_err(|error| bad_body(&error, &self.file, from))?;
        if self.json.json {
            // A stream is no JSON; it stands there as text.
            let text = || Value::String(String::from_utf8_lossy(&translated.body).into_owned());
            let body = serde_json::from_slice(&translated.body).unwrap_or_else(|_| text());
            writeln!(out, "{}", json!({ "body": body, "changes": translated.changes }))?;
            return Ok(Verdict::Fine);
        }
        out.write_all(&translated.body)?;
        if matches!(self.kind, KindArg::Request | KindArg::Response) {
            writeln!(out)?;
        }
        write_changes(&mut io::stderr(), Style::plain(), &translated.changes)?;
        Ok(Verdict::Fine)
    }
}

fn bad_body(error: &TranslateError, file: &str, from: Protocol) -> anyhow::Error {
    Failure::new(error, file, &format!("expected: a body of {from}")).into()
}
