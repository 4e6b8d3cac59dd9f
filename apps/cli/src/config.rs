//! `polywire config`: the user's `polywire.toml`, checked, shown and trusted.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use polywire::{Catalog, Config, Mistake, Network, Provider};
use serde_json::{Map, Value, json};

use crate::Verdict;
use crate::args::Json;
use crate::input::Failure;
use crate::known::{FILE, Found, Known, cache_path, find, users};
use crate::style::{Style, Tone, tame};
use crate::trust::{Trust, Trusted, list_path};

const HELP: &str = "\
Examples:
  polywire config check
  polywire config check team/polywire.toml --json
  polywire config show
  polywire config path
  polywire config trust
  polywire config untrust

The configuration is the file that --config or POLYWIRE_CONFIG names, else ./polywire.toml, else the file in the platform's \
configuration folder. It may have [defaults] (model, offline, ttl-hours), dialects = [\"FILE\", …], [[provider]], \
[[family]], [[model]] and [serve]; docs/models.md and docs/gateway.md show them.

A ./polywire.toml may come with someone else's folder. Until it is trusted, only [defaults], [[family]] and [[model]] of built-in \
providers are used; the rest is ignored with a note. `polywire config trust` trusts the file in its current form: if it changes, or a \
dialect file that it reads changes, it is no longer trusted. A file that you name, or that is in your configuration folder, is trusted.

Exit codes: 0 success, 1 the configuration has errors, 2 bad input.";

/// Check, show, locate or trust the configuration
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    command: Act,
}

#[derive(Subcommand)]
enum Act {
    /// Report every error in a configuration, with its line
    Check(Check),
    /// Show the effective settings: defaults, own providers, models and dialects, and which providers have a key
    Show(Json),
    /// Show where the configuration and the cache are
    Path(Json),
    /// Trust a configuration in its current form, with the providers, URLs, keys and files that it names
    Trust(File),
    /// Stop trusting a configuration
    Untrust(File),
}

#[derive(Args)]
struct File {
    /// The file [default: the configuration in use]
    path: Option<PathBuf>,
}

#[derive(Args)]
struct Check {
    /// The file [default: the configuration in use]
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
            Act::Trust(file) => file.trust(out, style),
            Act::Untrust(file) => file.untrust(out),
        }
    }
}

/// The given file, or the configuration in use.
fn given(path: Option<&PathBuf>) -> Result<Found> {
    if let Some(path) = path {
        return Ok(Found::unnamed(path.clone()));
    }
    find().ok_or_else(|| {
        let users = users().map(|path| path.display().to_string()).unwrap_or_default();
        let next = format!("looked for ./{FILE} and {users}");
        Failure::new("no configuration found", FILE, &next).into()
    })
}

impl Check {
    fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let found = given(self.path.as_ref())?;
        let opened = found.open()?;
        let trusted = opened.read_trusted();
        let is_trusted = trusted.is_some();
        let read = trusted.unwrap_or_else(|| opened.check_untrusted());
        if self.json.json {
            let mistakes = read.as_ref().err().map(Vec::as_slice).unwrap_or_default();
            let listed: Vec<_> = mistakes
                .iter()
                .map(|mistake| json!({"line": mistake.line, "column": mistake.column, "what": mistake.what}))
                .collect();
            writeln!(out, "{}", json!({"path": found.path, "trusted": is_trusted, "mistakes": listed}))?;
        } else {
            match &read {
                Ok(config) => good(out, style, &found.path, config)?,
                Err(mistakes) => bad(out, style, &found.path, mistakes)?,
            }
            writeln!(out, "{}", if is_trusted { "trusted" } else { NOT_TRUSTED })?;
        }
        Ok(if read.is_ok() { Verdict::Fine } else { Verdict::Findings })
    }
}

const NOT_TRUSTED: &str = "not trusted: `polywire config trust` trusts it as it is now";

impl File {
    fn trust(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let found = given(self.path.as_ref())?;
        let opened = found.open()?;
        let (read, hashes) = opened.read_to_trust();
        let config = match read {
            Ok(config) => config,
            Err(mistakes) => {
                bad(out, style, &found.path, &mistakes)?;
                writeln!(out, "not trusted: a configuration with mistakes cannot be")?;
                return Ok(Verdict::Findings);
            }
        };
        Trusted::add(&opened.path, hashes)?;
        writeln!(out, "{} is trusted as it is now", tame(&opened.path.display().to_string()))?;
        let base = config.base(Catalog::built_in());
        for row in config.providers().filter_map(|id| base.provider(id)) {
            let read: Vec<&str> = row.environment().into_iter().collect();
            let read = if read.is_empty() { "nothing of the environment".to_owned() } else { read.join(", ") };
            writeln!(out, "  {} at {} with {}", tame(&row.id), tame(&row.base_url), tame(&read))?;
        }
        Ok(Verdict::Fine)
    }

    fn untrust(&self, out: &mut dyn Write) -> Result<Verdict> {
        let path = given(self.path.as_ref())?.path;
        // A file that is gone was trusted by the path that it had.
        let path = path.canonicalize().or_else(|_| std::path::absolute(&path))?;
        let was = Trusted::remove(&path)?;
        let state = if was { "is not trusted any more" } else { "was not trusted" };
        writeln!(out, "{} {state}", tame(&path.display().to_string()))?;
        Ok(Verdict::Fine)
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
        writeln!(out, "{}: {}", style.paint(Tone::Strong, tame(&place)), tame(&mistake.what))?;
    }
    let plural = if mistakes.len() == 1 { "" } else { "s" };
    writeln!(out, "{} error{plural}", mistakes.len())?;
    Ok(())
}

/// What counts, with the defaults of the library where the configuration is silent. Keys are named by their variables.
struct Shown {
    config: Option<String>,
    trust: Trust,
    ignored: Vec<String>,
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
        let Known { config, base, found, .. } = known;
        let address = |id: &str| base.provider(id).map(|row| row.base_url.clone()).unwrap_or_default();
        let key = |row: &Provider| Some((row.id.clone(), row.key_variables())).filter(|(_, names)| !names.is_empty());
        Self {
            config: found.as_ref().map(|found| found.path.display().to_string()),
            trust: known.trust,
            ignored: known.ignored.iter().map(ToString::to_string).collect(),
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
            let json = json!({
                "config": self.config, "trusted": self.trust.is_trusted(), "ignored": self.ignored, "model": self.model, "offline": self.offline, "ttl-hours": self.ttl_hours,
                "providers": providers, "models": self.models, "dialects": self.dialects, "keys": keys,
            });
            writeln!(out, "{json}")?;
            return Ok(Verdict::Fine);
        }
        let or_none = |words: Vec<String>| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        let providers = self.providers.iter().map(|(id, address)| format!("{id} ({address})")).collect();
        let keys = self.keys.iter().map(|(id, names)| format!("{id} ({})", names.join(", "))).collect();
        let lines = [
            ("configuration", or_none(self.config.iter().cloned().collect())),
            ("trusted", if self.trust.is_trusted() { "yes" } else { NOT_TRUSTED }.to_owned()),
            ("ignored", or_none(self.ignored.clone())),
            ("default model", or_none(self.model.iter().cloned().collect())),
            ("offline", if self.offline { "yes" } else { "no" }.to_owned()),
            ("lists fresh for", format!("{} hours", self.ttl_hours)),
            ("own providers", or_none(providers)),
            ("own models", or_none(self.models.clone())),
            ("own dialects", or_none(self.dialects.clone())),
            ("keys for", or_none(keys)),
        ];
        for (name, text) in lines {
            writeln!(out, "{name:<15}  {}", tame(&text))?;
        }
        Ok(Verdict::Fine)
    }
}

fn paths(out: &mut dyn Write, json: &Json) -> Result<Verdict> {
    let (counts, users, cache, list) = (find(), users(), cache_path(), list_path());
    // Whether a file with mistakes is trusted can be said all the same.
    let trusted = counts.as_ref().map(|found| found.open().is_ok_and(|opened| opened.read_trusted().is_some()));
    let counts = counts.map(|found| found.path);
    if json.json {
        let json = json!({"config": counts, "trusted": trusted, "user": users, "cache": cache, "trust-list": list});
        writeln!(out, "{json}")?;
        return Ok(Verdict::Fine);
    }
    let show = |path: Option<PathBuf>| path.map_or_else(|| "none".to_owned(), |path| path.display().to_string());
    writeln!(out, "configuration  {}", show(counts))?;
    if let Some(trusted) = trusted {
        writeln!(out, "trusted        {}", if trusted { "yes" } else { NOT_TRUSTED })?;
    }
    writeln!(out, "the user's     {}", show(users))?;
    writeln!(out, "model cache    {}", show(cache))?;
    writeln!(out, "trusted files  {}", show(list))?;
    Ok(Verdict::Fine)
}
