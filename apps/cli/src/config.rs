//! `polywire config`: the user's `polywire.toml`, checked and shown.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use polywire::{Config, Mistake, Network, Provider};
use serde_json::{Map, Value, json};

use crate::Verdict;
use crate::args::Json;
use crate::input::Failure;
use crate::known::{FILE, Known, cache_path, find, read, users};
use crate::style::{Style, Tone};

const HELP: &str = "\
Examples:
  polywire config check
  polywire config check team/polywire.toml --json
  polywire config show
  polywire config path

The configuration that counts is the one that POLYWIRE_CONFIG names, else ./polywire.toml, else the one in the platform's \
folder for configurations. It may have [defaults] (model, offline, ttl-hours), dialects = [\"FILE\", …], [[provider]], [[family]] \
and [[model]]; docs/models.md shows them.

Exit codes: 0 fine, 1 mistakes, 2 bad input.";

/// Check the configuration, or show what it says and where it is
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    command: Act,
}

#[derive(Subcommand)]
enum Act {
    /// Tell every mistake in a configuration, with its line
    Check(Check),
    /// Show what counts: defaults, own providers, models and dialects, and for which providers there is a key
    Show(Json),
    /// Show where the configuration and the cache are
    Path(Json),
}

#[derive(Args)]
struct Check {
    /// The file; by default the configuration that counts
    path: Option<PathBuf>,
    #[command(flatten)]
    json: Json,
}

impl ConfigCommand {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        match &self.command {
            Act::Check(check) => check.run(out, style),
            Act::Show(json) => Shown::new(&Known::load()?).write(out, json),
            Act::Path(json) => paths(out, json),
        }
    }
}

impl Check {
    fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let found = self.path.clone().or_else(|| find().map(|found| found.path));
        let Some(path) = found else {
            let users = users().map(|path| path.display().to_string()).unwrap_or_default();
            let next = format!("looked for ./{FILE} and {users}");
            return Err(Failure::new("there is no configuration", FILE, &next).into());
        };
        let read = read(&path)?;
        if self.json.json {
            let mistakes = read.as_ref().err().map(Vec::as_slice).unwrap_or_default();
            let told: Vec<_> = mistakes
                .iter()
                .map(|mistake| json!({"line": mistake.line, "column": mistake.column, "what": mistake.what}))
                .collect();
            writeln!(out, "{}", json!({"path": path, "mistakes": told}))?;
        } else {
            match &read {
                Ok(config) => good(out, style, &path, config)?,
                Err(mistakes) => bad(out, style, &path, mistakes)?,
            }
        }
        Ok(if read.is_ok() { Verdict::Fine } else { Verdict::Findings })
    }
}

fn good(out: &mut dyn Write, style: Style, path: &Path, config: &Config) -> Result<()> {
    let (providers, families, models) = config.counts();
    let dialects = config.dialects().len();
    let fine = style.paint(Tone::Good, "fine");
    writeln!(
        out,
        "{}: {fine}; providers {providers}, families {families}, models {models}, dialects {dialects}",
        path.display()
    )?;
    Ok(())
}

fn bad(out: &mut dyn Write, style: Style, path: &Path, mistakes: &[Mistake]) -> Result<()> {
    for mistake in mistakes {
        let place = format!("{}:{}:{}", path.display(), mistake.line, mistake.column);
        writeln!(out, "{}: {}", style.paint(Tone::Strong, place), mistake.what)?;
    }
    let plural = if mistakes.len() == 1 { "" } else { "s" };
    writeln!(out, "{} mistake{plural}", mistakes.len())?;
    Ok(())
}

/// What counts, with the defaults of the library where the configuration is silent. Keys are named by their variables.
struct Shown {
    config: Option<String>,
    model: Option<String>,
    offline: bool,
    ttl_hours: u64,
    providers: Vec<(String, String)>,
    models: Vec<String>,
    dialects: Vec<String>,
    keys: Vec<(String, Vec<String>)>,
}

impl Shown {
    fn new(known: &Known) -> Self {
        let Known { config, base, found } = known;
        let address = |id: &str| base.provider(id).map(|row| row.base_url.clone()).unwrap_or_default();
        let key = |row: &Provider| Some((row.id.clone(), row.key_variables())).filter(|(_, names)| !names.is_empty());
        Self {
            config: found.as_ref().map(|found| found.path.display().to_string()),
            model: config.defaults.model.clone(),
            offline: config.defaults.offline.unwrap_or_default(),
            ttl_hours: known.options(Network::WhenStale).ttl.as_secs() / 3600,
            providers: config.providers().map(|id| (id.to_owned(), address(id))).collect(),
            models: config.models().map(|(provider, id)| format!("{provider}/{id}")).collect(),
            dialects: config.dialects().iter().map(|dialect| dialect.id().to_owned()).collect(),
            keys: base.providers().filter_map(key).collect(),
        }
    }

    fn write(&self, out: &mut dyn Write, json: &Json) -> Result<Verdict> {
        if json.json {
            let providers: Map<String, Value> =
                self.providers.iter().map(|(id, address)| (id.clone(), address.as_str().into())).collect();
            let keys: Map<String, Value> = self.keys.iter().map(|(id, names)| (id.clone(), json!(names))).collect();
            let told = json!({
                "config": self.config, "model": self.model, "offline": self.offline, "ttl-hours": self.ttl_hours,
                "providers": providers, "models": self.models, "dialects": self.dialects, "keys": keys,
            });
            writeln!(out, "{told}")?;
            return Ok(Verdict::Fine);
        }
        let or_none = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        let providers = self.providers.iter().map(|(id, address)| format!("{id} ({address})")).collect();
        let keys = self.keys.iter().map(|(id, names)| format!("{id} ({})", names.join(", "))).collect();
        let lines = [
            ("configuration", or_none(self.config.iter().cloned().collect())),
            ("default model", or_none(self.model.iter().cloned().collect())),
            ("offline", if self.offline { "yes" } else { "no" }.to_owned()),
            ("lists fresh for", format!("{} hours", self.ttl_hours)),
            ("own providers", or_none(providers)),
            ("own models", or_none(self.models.clone())),
            ("own dialects", or_none(self.dialects.clone())),
            ("keys for", or_none(keys)),
        ];
        for (name, text) in lines {
            writeln!(out, "{name:<15}  {text}")?;
        }
        Ok(Verdict::Fine)
    }
}

fn paths(out: &mut dyn Write, json: &Json) -> Result<Verdict> {
    let (counts, users, cache) = (find().map(|found| found.path), users(), cache_path());
    if json.json {
        writeln!(out, "{}", json!({"config": counts, "user": users, "cache": cache}))?;
        return Ok(Verdict::Fine);
    }
    let show = |path: Option<PathBuf>| path.map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    writeln!(out, "configuration  {}", show(counts))?;
    writeln!(out, "the user's     {}", show(users))?;
    writeln!(out, "model cache    {}", show(cache))?;
    Ok(Verdict::Fine)
}
