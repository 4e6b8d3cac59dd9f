//! `polywire models`: the models that are known, by what they can do, and one of them in full.

use std::io::Write;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use polywire::{
    Ability, AuthStyle, Catalog, Client, ClientOptions, Discovered, Listing, Modality, Model, ModelRow, Network,
    Provider, RowSource, SendError, Store, Warning, When,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Verdict;
use crate::args::{Json, PlainHttpArg};
use crate::changes::write_changes;
use crate::emulate::block_on;
use crate::input::Failure;
use crate::known::{Known, address, note, store, warn};
use crate::request::resolve_in;
use crate::style::{Style, Tone, tame};

const HELP: &str = "\
Examples:
  polywire models
  polywire models --provider anthropic --can tools,strict,vision
  polywire models --can output,pdf --least-context 500000 --json
  polywire models --provider ollama --refresh
  polywire models show openai/gpt-5

A provider's own list overrides the rows that come with polywire, and polywire.toml overrides both. Lists are cached in the \
platform's cache folder, and fetched again after a day (`--ttl`) if there is a key; local servers are asked only if \
`--provider` names them.

Exit codes: 0 success, 1 a list could not be fetched or a model is unknown, 2 bad input.";

/// List the models and what they can do, or show one
#[derive(Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Models {
    #[command(subcommand)]
    command: Option<Act>,
    /// Only the models of this provider
    #[arg(long)]
    provider: Option<String>,
    /// Only models that can do all of these
    #[arg(long, value_enum, value_delimiter = ',')]
    can: Vec<Can>,
    /// Only models with a context window of at least this many tokens
    #[arg(long, value_name = "TOKENS")]
    least_context: Option<u64>,
    /// Only models that are not deprecated
    #[arg(long)]
    current: bool,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    json: Json,
}

#[derive(Subcommand)]
enum Act {
    /// Show everything known about one model
    Show(Show),
}

#[derive(Args)]
struct Show {
    /// The model, such as `openai/gpt-5`
    id: String,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    json: Json,
}

/// Options for fetching the providers' lists.
#[derive(Args)]
struct Asking {
    #[command(flatten)]
    refresh: Refresh,
    #[command(flatten)]
    offline: Offline,
    /// Hours after which a cached list is fetched again
    #[arg(long, value_name = "HOURS")]
    ttl: Option<u64>,
    #[command(flatten)]
    plain_http: PlainHttpArg,
}

#[derive(Args)]
struct Refresh {
    /// Fetch the providers' lists now, even if the cache is fresh
    #[arg(long, conflicts_with = "offline")]
    refresh: bool,
}

#[derive(Args)]
struct Offline {
    /// Do not use the network
    #[arg(long)]
    offline: bool,
}

/// What a model can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Can {
    /// Tool calls
    Tools,
    /// Strict tool schemas, enforced by the provider
    Strict,
    /// Native structured output by a schema
    Output,
    /// JSON mode without a schema
    Json,
    /// Parallel tool calls
    Parallel,
    /// Tools and an output schema in one request
    ToolsWithOutput,
    /// Forced tool calls
    Forced,
    /// Sampling parameters such as temperature
    Sampling,
    /// Configurable reasoning
    Thinking,
    /// Image input
    Vision,
    /// Audio input
    Audio,
    /// Video input
    Video,
    /// PDF input
    Pdf,
}

/// Every ability in the order and the words of the table.
const ABILITIES: [(Can, &str); 9] = [
    (Can::Tools, "tools"),
    (Can::Strict, "strict"),
    (Can::Output, "output"),
    (Can::Json, "json"),
    (Can::Parallel, "parallel"),
    (Can::ToolsWithOutput, "tools-with-output"),
    (Can::Forced, "forced"),
    (Can::Sampling, "sampling"),
    (Can::Thinking, "thinking"),
];
const MODALITIES: [(Can, &str); 4] =
    [(Can::Vision, "vision"), (Can::Audio, "audio"), (Can::Video, "video"), (Can::Pdf, "pdf")];

impl Can {
    fn of(self, row: &ModelRow) -> bool {
        match self {
            Self::Tools => row.can(Ability::Tools),
            Self::Strict => row.can(Ability::Strict),
            Self::Output => row.can(Ability::NativeOutput),
            Self::Json => row.can(Ability::JsonMode),
            Self::Parallel => row.can(Ability::ParallelCalls),
            Self::ToolsWithOutput => row.can(Ability::ToolsWithOutput),
            Self::Forced => row.forced != When::Never,
            Self::Sampling => row.sampling != When::Never,
            Self::Thinking => !row.thinking.is_empty() || !row.efforts.is_empty(),
            Self::Vision => row.reads(Modality::Image),
            Self::Audio => row.reads(Modality::Audio),
            Self::Video => row.reads(Modality::Video),
            Self::Pdf => row.reads(Modality::Pdf),
        }
    }
}

fn words(row: &ModelRow, all: &[(Can, &'static str)]) -> String {
    all.iter().filter(|(can, _)| can.of(row)).map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

impl Models {
    pub(crate) fn run(&self, out: &mut dyn Write, style: Style) -> Result<Verdict> {
        let known = Known::load()?;
        if let Some(Act::Show(show)) = &self.command {
            return show.run(out, style, &known);
        }
        let providers: Vec<Provider> = match &self.provider {
            None => known.base.providers().cloned().collect(),
            Some(name) => vec![provider(&known, name)?],
        };
        let Asked { catalog, discovered, warnings } = self.asking.ask(&known, &providers, self.provider.is_some())?;
        let chosen = |row: &&ModelRow| {
            self.can.iter().all(|can| can.of(row))
                && self.least_context.is_none_or(|least| row.context.is_some_and(|context| context >= least))
                && !(self.current && row.deprecated.is_some())
        };
        let rows: Vec<&ModelRow> =
            providers.iter().flat_map(|provider| catalog.models_of(&provider.id)).filter(chosen).collect();
        if self.json.json {
            let sources: Vec<Value> = discovered.iter().map(|(id, found)| source(id, found)).collect();
            writeln!(out, "{}", json!({"models": rows, "sources": sources, "warnings": warnings}))?;
        } else {
            write_table(out, style, &rows)?;
        }
        warn(&warnings);
        Ok(verdict(&warnings))
    }
}

impl Show {
    fn run(&self, out: &mut dyn Write, style: Style, known: &Known) -> Result<Verdict> {
        let head = self.id.split(['/', ':']).next().unwrap_or_default();
        let provider = provider(known, head)?;
        if !self.id.contains('/') {
            bail!(Failure::new(
                "this is a provider, not a model",
                &self.id,
                "give PROVIDER/MODEL, or list its models with --provider"
            ));
        }
        let Asked { catalog, discovered, warnings } = self.asking.ask(known, std::slice::from_ref(&provider), true)?;
        let model = resolve_in(&catalog, &self.id)?;
        let found = discovered.first().map(|(id, found)| source(id, found));
        if self.json.json {
            let json = json!({
                "name": model.name(),
                "surface": model.surface().id,
                "strategy": model.strategy(),
                "row": model.row(),
                "changes": model.changes(),
                "source": found,
                "warnings": warnings,
            });
            writeln!(out, "{json}")?;
        } else {
            write_model(out, style, &model)?;
        }
        warn(&warnings);
        let unknown = model.changes().iter().any(|change| change.code == "unknown-model");
        Ok(if unknown { Verdict::Findings } else { verdict(&warnings) })
    }
}

fn verdict(warnings: &[Warning]) -> Verdict {
    let vain = warnings.iter().any(|warning| matches!(warning.code, "not-asked" | "list-cut"));
    if vain { Verdict::Findings } else { Verdict::Fine }
}

fn provider(known: &Known, name: &str) -> Result<Provider> {
    match known.base.provider(name.trim()) {
        Some(provider) => Ok(provider.clone()),
        None => {
            bail!(resolve_in(&known.base, name).err().unwrap_or_else(|| anyhow::anyhow!("`{name}` is not a provider")))
        }
    }
}

/// What is known after those were asked that are to be asked.
struct Asked {
    catalog: Catalog,
    /// How the rows of every provider came.
    discovered: Vec<(String, Discovered)>,
    warnings: Vec<Warning>,
}

impl Asking {
    /// `by_name` is whether the user named the provider, and so means it to be asked.
    fn ask(&self, known: &Known, providers: &[Provider], by_name: bool) -> Result<Asked> {
        let offline = self.offline.offline || (known.config.defaults.offline == Some(true) && !self.refresh.refresh);
        let network = match (self.refresh.refresh, offline) {
            (true, _) => Network::Always,
            (false, true) => Network::Never,
            (false, false) => Network::WhenStale,
        };
        let mut options = known.options(network);
        if let Some(hours) = self.ttl {
            options = options.with_ttl(Duration::from_secs(hours.saturating_mul(3600)));
        }
        let mut store = store();
        let mut discovered: Vec<(String, Discovered)> = Vec::new();
        let mut open = Vec::new();
        for provider in providers {
            let place = address(provider).unwrap_or_default();
            let keyed = provider.has_key() && provider.auth.style != AuthStyle::None;
            let silent = !(by_name || keyed) || (!provider.has_key() && !self.refresh.refresh);
            let options = if silent { options.with_network(Network::Never) } else { options };
            if let Some(found) = store.fresh(&known.base, provider, &place, &options) {
                discovered.push((provider.id.clone(), found));
            } else {
                open.push((provider, place));
            }
        }
        if open.is_empty() && self.refresh.refresh && providers.iter().any(|provider| provider.list.is_some()) {
            note("no provider was asked: there is no key in the environment; use --provider to ask a local server");
        }
        if !open.is_empty() {
            let client = self.client()?;
            let asked = open.iter().map(|(provider, _)| (*provider).clone()).collect();
            let answers = block_on(fetch(&client, asked))?;
            for ((provider, place), answer) in open.iter().zip(answers) {
                let found = match answer {
                    Ok(listing) => {
                        let listed = (listing.models.as_slice(), listing.cut.as_deref());
                        store.save(&known.base, provider, place, listed, &options)
                    }
                    Err(error) => store.not_asked(&known.base, provider, place, &error, &options),
                };
                discovered.push((provider.id.clone(), found));
            }
        }
        Ok(collect(known, &mut store, discovered))
    }

    /// A client with shorter timeouts than one for answers.
    fn client(&self) -> Result<Client> {
        let options = ClientOptions::default()
            .with_timeout(Duration::from_secs(15))
            .with_deadline(Duration::from_secs(30))
            .with_retries(2)
            .with_max_response_bytes(32 << 20);
        Ok(Client::with_options(self.plain_http.apply(options))?)
    }
}

fn collect(known: &Known, store: &mut Store, mut discovered: Vec<(String, Discovered)>) -> Asked {
    let mut catalog = known.base.clone();
    let mut warnings = store.take_warnings();
    for (id, found) in &mut discovered {
        warnings.append(&mut found.warnings);
        if found.source != RowSource::Static {
            catalog.put(id, std::mem::take(&mut found.rows));
        }
    }
    known.config.over(&mut catalog);
    Asked { catalog, discovered, warnings }
}

/// Asks several providers at once; the answers are in the order of the providers.
async fn fetch(client: &Client, providers: Vec<Provider>) -> Vec<Result<Listing, SendError>> {
    let mut asked = JoinSet::new();
    for (number, provider) in providers.into_iter().enumerate() {
        let client = client.clone();
        asked.spawn(async move { (number, client.list_models(&provider).await) });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by_key(|(number, _)| *number);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn source(provider: &str, found: &Discovered) -> Value {
    json!({"provider": provider, "how": found.source, "age_seconds": found.age.map(|age| age.as_secs())})
}

/// A number of tokens, shortened: 400k, 1.05M.
fn tokens(count: Option<u64>) -> String {
    match count {
        None => "-".to_owned(),
        Some(count) if count < 10_000 => count.to_string(),
        Some(count) if count < 1_000_000 => format!("{}k", count / 1000),
        Some(count) if count % 1_000_000 < 10_000 => format!("{}M", count / 1_000_000),
        Some(count) => format!("{}.{:02}M", count / 1_000_000, count % 1_000_000 / 10_000),
    }
}

fn write_table(out: &mut dyn Write, style: Style, rows: &[&ModelRow]) -> Result<()> {
    // Ids are what a provider or a configuration says, and each row is one line.
    let name = |row: &ModelRow| tame(&format!("{}/{}", row.provider, row.id)).into_owned();
    let width = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or_default().min(60);
    let reads = rows.iter().map(|row| words(row, &MODALITIES).len()).max().unwrap_or_default().max(5);
    if !rows.is_empty() {
        let head = format!("{:width$}  {:>7}  {:>6}  {:reads$}  can", "model", "context", "output", "reads");
        writeln!(out, "{}", style.paint(Tone::Faint, head))?;
    }
    for row in rows {
        let (context, output) = (tokens(row.context), tokens(row.output));
        let name = name(row);
        let (name, media) = (style.paint(Tone::Strong, &name), words(row, &MODALITIES));
        write!(out, "{name:width$}  {context:>7}  {output:>6}  {media:reads$}  {}", words(row, &ABILITIES))?;
        if row.deprecated.is_some() {
            write!(out, "  {}", style.paint(Tone::Doubtful, "deprecated"))?;
        }
        writeln!(out)?;
    }
    let plural = if rows.len() == 1 { "" } else { "s" };
    writeln!(out, "{} model{plural}", rows.len())?;
    Ok(())
}

fn write_model(out: &mut dyn Write, style: Style, model: &Model) -> Result<()> {
    let row = model.row();
    writeln!(
        out,
        "{} on {}, protocol {}",
        style.paint(Tone::Strong, tame(&model.name())),
        model.surface().id,
        model.protocol()
    )?;
    let listed = |words: &[String]| if words.is_empty() { "-".to_owned() } else { words.join(" ") };
    let named = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let fields = serde_json::to_value(row)?;
    let list = |field: &str| listed(&fields.get(field).map(named).unwrap_or_default());
    let word = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or("-").to_owned();
    let count = |count: Option<u64>| count.map_or_else(|| "not known".to_owned(), |count| count.to_string());
    let lines = [
        ("context", count(row.context)),
        ("output", count(row.output)),
        ("reads", list("input")),
        ("can", list("can")),
        ("forced tools", word("forced")),
        ("sampling", word("sampling")),
        ("thinking", list("thinking")),
        ("efforts", list("efforts")),
        ("default effort", word("default-effort")),
        ("surfaces", if row.surfaces.is_empty() { "all".to_owned() } else { list("surfaces") }),
        ("quirks", list("quirks")),
        ("aliases", listed(&row.aliases.iter().chain(&row.dated).cloned().collect::<Vec<_>>())),
        ("strategy", serde_json::to_value(model.strategy())?.as_str().unwrap_or_default().to_owned()),
        ("family", row.family.clone()),
        ("known from", format!("{} ({})", list("known-from"), word("confidence"))),
    ];
    for (about, what) in lines.iter().filter(|(_, what)| what != "-") {
        writeln!(out, "  {about:<14} {}", tame(what))?;
    }
    write_changes(out, style, model.changes())?;
    Ok(())
}
