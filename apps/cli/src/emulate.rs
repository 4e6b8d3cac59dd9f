//! `polywire emulate`: every provider's protocol on loopback, without a key.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use polywire::Provider;
use polywire_emulator::{EMULATE_HEADER, Emulator, EmulatorOptions, misbehaviours};
use serde_json::{Map, Value, json};

use crate::Verdict;
use crate::args::Json;
use crate::input::Failure;
use crate::known::Known;

const HELP: &str = "\
Examples:
  polywire emulate --port 8080
  OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=any python agent.py
  ANTHROPIC_BASE_URL=http://127.0.0.1:8080 ANTHROPIC_API_KEY=any python agent.py
  curl 127.0.0.1:8080/groq/openai/v1/chat/completions -H 'x-polywire-emulate: 429-1' --json @body.json

Paths are the providers' own; one that several have goes to the first, unless the provider's id stands before it; providers \
and models of polywire.toml are emulated too. The header `x-polywire-emulate` or a suffix of the model (`gpt-5+fenced`) makes answers go wrong; `--list` says how.";

/// Emulate every provider on this machine, without keys, to test agents and clients
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Emulate {
    /// The port [default: any free port]
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// List the misbehaviours that can be requested, and exit
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    json: Json,
}

impl Emulate {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        if self.list && self.json.json {
            let rows: Vec<_> =
                misbehaviours().iter().map(|row| json!({"name": row.name, "meaning": row.meaning})).collect();
            writeln!(out, "{}", Value::from(rows))?;
            return Ok(Verdict::Fine);
        }
        if self.list {
            for row in misbehaviours() {
                writeln!(out, "{:<10} {}", row.name, row.meaning)?;
            }
            return Ok(Verdict::Fine);
        }
        let known = Known::load()?;
        let catalog = known.catalog_for([]);
        let providers: Vec<Provider> = catalog.providers().cloned().collect();
        block_on(async {
            let options = EmulatorOptions::default().with_catalog(catalog).with_dialects(known.config.dialects());
            let started = Emulator::start_with(self.port, options).await;
            let place = format!("port {}", self.port);
            let next = "give another --port, or omit it to use any free port";
            let emulator = started.map_err(|error| Failure::new(error, &place, next))?;
            if self.json.json {
                let bases: Map<String, Value> =
                    providers.iter().map(|row| (row.id.clone(), emulator.base_url(row).into())).collect();
                writeln!(out, "{}", json!({"url": emulator.url(), "providers": bases}))?;
            } else {
                writeln!(
                    out,
                    "listening on {}; request misbehaviours with the header {EMULATE_HEADER}",
                    emulator.url()
                )?;
                for provider in &providers {
                    writeln!(out, "  {:<12} {}", provider.id, emulator.base_url(provider))?;
                }
            }
            out.flush()?;
            emulator.wait().await;
            Ok(Verdict::Fine)
        })?
    }
}

/// Runs an async command. Blocking work for an answer that came too late is not waited for.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(done)
}
