//! `polywire decode` and `polywire translate`: bodies of one protocol in the neutral form, or in another protocol.

use std::io::{self, Write};

use anyhow::Result;
use clap::{Args, ValueEnum};
use polywire::wire::Protocol;
use polywire::{
    BodyKind, Catalog, LossError, Model, TranslateError, TranslateOptions, Translated, Translation, decode,
    decode_request, decode_stream, translate,
};
use serde_json::{Value, json};

use crate::Verdict;
use crate::args::Json;
use crate::changes::write_changes;
use crate::encode::refused;
use crate::input::{Failure, read_bytes};
use crate::request::{LossArgs, protocol, resolve};
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
            write_changes(&mut io::stderr(), Style::plain(), &decoded.changes)?;
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
  polywire translate chat.json --from openai-chat --model anthropic/claude-sonnet-4-5
  polywire translate chat.json --from openai-chat --to gemini --on-loss error
  polywire translate answer.json --kind response --from anthropic-messages --to openai-chat \\
      --request chat.json --model anthropic/claude-sonnet-4-5
  polywire translate events.txt --kind stream --from anthropic-messages --to openai-chat

A request is planned for the model, or for an unknown model of the protocol: tools, names and history are fitted.
With `--request`, an answer comes back in the names and shapes of that request; without it only the protocol changes.
The body goes to standard output, changes to standard error; `--json` prints {\"body\",\"changes\"}.
Exit codes: 0 success, 1 losses that `--on-loss` does not allow, 2 bad input.";

/// Convert a request, response or stream between protocols
#[derive(Args)]
#[command(after_help = TRANSLATE_HELP)]
pub(crate) struct Translate {
    /// A body or a recorded stream: a file, or `-` for standard input
    file: String,
    /// The protocol of the body
    #[arg(long, value_name = "PROTOCOL")]
    from: String,
    /// The protocol to convert to; for a request, `--model` says it too
    #[arg(long, value_name = "PROTOCOL", required_unless_present = "model")]
    to: Option<String>,
    /// The model that a request goes to, or that gave the answer to `--request`
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// What the body is
    #[arg(long, value_enum, default_value_t = KindArg::Request)]
    kind: KindArg,
    /// The request that a response or stream answers, in the protocol of `--to`
    #[arg(long, value_name = "FILE", requires = "model", requires = "to")]
    request: Option<String>,
    #[command(flatten)]
    loss: LossArgs,
    #[command(flatten)]
    json: Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KindArg {
    Request,
    Response,
    Stream,
}

impl Translate {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let from = protocol(&self.from)?;
        let body = read_bytes(&self.file)?;
        let translated = match (self.kind, &self.request) {
            (KindArg::Request, _) => self.request(&body, from),
            (KindArg::Response | KindArg::Stream, Some(request)) => self.answer(&body, from, request),
            (KindArg::Response, None) => Ok(self.convert(&body, from, BodyKind::Response)?),
            (KindArg::Stream, None) => Ok(self.convert(&body, from, BodyKind::Stream)?),
        };
        let translated = match translated {
            Ok(translated) => translated,
            Err(error) => match error.downcast_ref::<LossError>() {
                Some(refused_losses) => return refused(out, refused_losses.losses()),
                None => return Err(error),
            },
        };
        self.write(out, &translated)
    }

    /// A request for a model.
    fn request(&self, body: &[u8], from: Protocol) -> Result<Translated> {
        let model = match (&self.model, &self.to) {
            (Some(name), to) => {
                let model = resolve(name)?;
                if let Some(to) = to.as_deref().map(protocol).transpose()?.filter(|to| *to != model.protocol()) {
                    let next = "leave `--to` out, or name another surface of the provider in `--model`";
                    let error = format!("this model speaks {}, not {to}", model.protocol());
                    return Err(Failure::new(error, name, next).into());
                }
                model
            }
            (None, to) => {
                let to = protocol(to.as_deref().unwrap_or_default())?;
                let asked = decode_request(body, from).map_err(|error| bad_body(&error, &self.file, from))?;
                Catalog::built_in().of_protocol(to, &asked.value.model)?
            }
        };
        let translation = self.translation(body, from, &model, &self.file)?;
        let sent = translation.request();
        Ok(Translated::new(sent.body.get().as_bytes().to_vec(), sent.changes.to_vec()))
    }

    /// An answer in the names and shapes of the request that it answers.
    fn answer(&self, body: &[u8], from: Protocol, request: &str) -> Result<Translated> {
        let model = resolve(self.model.as_deref().unwrap_or_default())?;
        if model.protocol() != from {
            let error = format!("this model answers in {}, not in {from}", model.protocol());
            return Err(Failure::new(error, &self.file, "give the protocol of the model as `--from`").into());
        }
        let to = protocol(self.to.as_deref().unwrap_or_default())?;
        let translation = self.translation(&read_bytes(request)?, to, &model, request)?;
        if self.kind == KindArg::Stream {
            let mut stream = translation.stream();
            let mut bytes = stream.push(body).into_owned();
            let end = stream.finish();
            bytes.extend_from_slice(&end.bytes);
            return Ok(Translated::new(bytes, end.changes));
        }
        let back = translation.response(body).map_err(|error| bad_body(&error, &self.file, from))?;
        Ok(Translated::new(back.body, back.changes))
    }

    fn translation(&self, body: &[u8], from: Protocol, model: &Model, file: &str) -> Result<Translation> {
        let options = TranslateOptions::default();
        let plan = self.loss.apply(options.plan.clone());
        let options = options.with_plan(plan);
        Translation::new(body, from, model, &options).map_err(|error| match error {
            TranslateError::Loss(losses) => losses.into(),
            error @ (TranslateError::Json(_) | TranslateError::Decode(_) | TranslateError::Resolve(_) | _) => {
                bad_body(&error, file, from)
            }
        })
    }

    /// An answer without its request: only the protocol changes.
    fn convert(&self, body: &[u8], from: Protocol, kind: BodyKind) -> Result<Translated> {
        let to = protocol(self.to.as_deref().unwrap_or_default())?;
        translate(body, from, to, kind).map_err(|error| bad_body(&error, &self.file, from))
    }

    fn write(&self, out: &mut dyn Write, translated: &Translated) -> Result<Verdict> {
        if self.json.json {
            // A stream is not JSON; it is written as text.
            let text = || Value::String(String::from_utf8_lossy(&translated.body).into_owned());
            let body = serde_json::from_slice(&translated.body).unwrap_or_else(|_| text());
            writeln!(out, "{}", json!({ "body": body, "changes": translated.changes }))?;
            return Ok(Verdict::Fine);
        }
        out.write_all(&translated.body)?;
        if self.kind != KindArg::Stream {
            writeln!(out)?;
        }
        write_changes(&mut io::stderr(), Style::plain(), &translated.changes)?;
        Ok(Verdict::Fine)
    }
}

fn bad_body(error: &TranslateError, file: &str, from: Protocol) -> anyhow::Error {
    Failure::new(error, file, &format!("expected: a body of {from}")).into()
}
