//! `polywire keys`: keys of the gateway, with their limits.

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use polywire_gateway::{Key, KeyLimits, KeyRole, KeyStore};
use serde_json::json;

use crate::Verdict;
use crate::args::Json;
use crate::emulate::block_on;
use crate::input::Failure;
use crate::known::Known;
use crate::serve::default_store;
use crate::style::tame;

const HELP: &str = "\
Examples:
  polywire keys create ci --model 'gpt-*' --usd-per-month 20 --requests-per-minute 60
  polywire keys create me --admin
  polywire keys list
  polywire keys revoke 3f0c9a11d2b4e876

A key is shown once; only its hash is stored. A running gateway sees changes within seconds.";

/// Create, list, show or revoke keys of the gateway
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Keys {
    #[command(subcommand)]
    command: Act,
    /// Where the keys are kept [default: the store of the configuration, or a file in the data folder]
    #[arg(long, global = true)]
    store: Option<String>,
}

#[derive(Subcommand)]
enum Act {
    /// Create a key and print it
    Create(Create),
    /// List the keys
    List(Json),
    /// Show a key and its limits
    Show {
        /// The id of the key
        id: String,
    },
    /// Revoke a key
    Revoke {
        /// The id of the key
        id: String,
    },
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags of the command line")]
struct Create {
    /// The name of the key
    name: String,
    /// Let the key see the requests and usage of all keys, and manage keys
    #[arg(long)]
    admin: bool,
    /// Allow these model names, in which `*` is any text [default: all]
    #[arg(long = "model", value_name = "PATTERN")]
    models: Vec<String>,
    /// The budget per day (UTC) in US dollars
    #[arg(long)]
    usd_per_day: Option<f64>,
    /// The budget per calendar month (UTC) in US dollars
    #[arg(long)]
    usd_per_month: Option<f64>,
    /// The budget of the key in US dollars
    #[arg(long)]
    usd_total: Option<f64>,
    /// Requests per minute
    #[arg(long)]
    requests_per_minute: Option<u32>,
    /// Tokens per minute
    #[arg(long)]
    tokens_per_minute: Option<u32>,
    /// Concurrent requests
    #[arg(long)]
    concurrency: Option<u32>,
    /// Refuse requests of which something would be lost
    #[arg(long)]
    refuse_losses: bool,
    #[command(flatten)]
    json: Json,
}

impl Create {
    fn limits(&self) -> KeyLimits {
        let mut limits = KeyLimits::default();
        limits.models.clone_from(&self.models);
        (limits.usd_per_day, limits.usd_per_month, limits.usd_total) =
            (self.usd_per_day, self.usd_per_month, self.usd_total);
        limits.requests_per_minute = self.requests_per_minute;
        limits.tokens_per_minute = self.tokens_per_minute;
        limits.concurrency = self.concurrency;
        limits.refuse_losses = self.refuse_losses;
        limits
    }
}

impl Keys {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let configured = Known::load()?.config.serve.store;
        let place = self.store.clone().or(configured).or_else(default_store);
        let place = place.ok_or_else(|| Failure::new("there is no data folder", "keys", "give --store FILE"))?;
        block_on(async {
            let store = KeyStore::open(&place).await?;
            match &self.command {
                Act::Create(create) => {
                    let role = if create.admin { KeyRole::Admin } else { KeyRole::User };
                    let (key, text) = store.create(&create.name, role, create.limits()).await?;
                    if create.json.json {
                        writeln!(out, "{}", json!({"id": key.id, "key": text}))?;
                    } else {
                        writeln!(out, "{text}")?;
                    }
                }
                Act::List(json) => list(out, json, &store.list().await?)?,
                Act::Show { id } => {
                    let found = store.list().await?.into_iter().find(|key| key.id == *id);
                    let key = found.ok_or_else(|| unknown(id))?;
                    writeln!(out, "{:#}", shown(&key))?;
                }
                Act::Revoke { id } => {
                    let key = store.revoke(id).await?.ok_or_else(|| unknown(id))?;
                    writeln!(out, "{} ({}) is revoked", tame(&key.id), tame(&key.name))?;
                }
            }
            Ok(Verdict::Fine)
        })?
    }
}

fn list(out: &mut dyn Write, json: &Json, keys: &[Key]) -> Result<()> {
    if json.json {
        writeln!(out, "{}", json!(keys.iter().map(shown).collect::<Vec<_>>()))?;
        return Ok(());
    }
    for key in keys {
        let state = if key.revoked_at.is_some() { "revoked" } else { "valid" };
        let role = if key.role == KeyRole::Admin { "admin" } else { "user" };
        writeln!(out, "{}  {state:<7}  {role:<5}  {}", tame(&key.id), tame(&key.name))?;
    }
    Ok(())
}

/// A key without its hash.
fn shown(key: &Key) -> serde_json::Value {
    json!({
        "id": key.id, "name": key.name, "role": key.role, "limits": key.limits, "created-at": key.created_at,
        "revoked-at": key.revoked_at,
    })
}

fn unknown(id: &str) -> Failure {
    Failure::new("no such key", id, "`polywire keys list` lists the keys")
}
