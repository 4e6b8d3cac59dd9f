//! `polywire serve`: the gateway, with the configuration of this user, reloaded when it changes.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::Args;
use polywire::Catalog;
use polywire::catalog::ServeRoute;
use polywire::client::Environment;
use polywire_gateway::{Access, Gateway, GatewayOptions};

use crate::Verdict;
use crate::args::PlainHttpArg;
use crate::input::Failure;
use crate::known::{Known, note};
use crate::trust::list_path;

const HELP: &str = "\
Examples:
  polywire serve
  polywire serve --route '*=openai/gpt-4.1'
  polywire serve --route 'claude-*=openai/gpt-5,google/gemini-2.5-pro' --route fast=groq/llama-3.3-70b-versatile
  OPENAI_BASE_URL=http://127.0.0.1:4100/v1 python agent.py
  ANTHROPIC_BASE_URL=http://127.0.0.1:4100 ANTHROPIC_AUTH_TOKEN=any claude
  GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:4100 GEMINI_API_KEY=any gemini

Serves OpenAI Chat and Responses, Anthropic Messages and Gemini to every provider that has a key in the environment; without any \
key, to the emulator. [serve] in polywire.toml has routes, limits, stores and policies (docs/gateway.md); SIGHUP or a changed file \
reloads it. As long as there are no gateway keys (`polywire keys create`), requests of this machine need none.";

/// How often the configuration is looked at.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// Serve clients of every protocol from any provider, with a report of every change
#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct Serve {
    /// The port [default: 4100]
    #[arg(long)]
    port: Option<u16>,
    /// The address to listen on [default: 127.0.0.1]
    #[arg(long)]
    host: Option<std::net::IpAddr>,
    /// Serve requests for a model name, in which `*` is any text, from the first of these models that answers
    #[arg(long = "route", value_name = "NAME=MODEL[,MODEL…]")]
    routes: Vec<String>,
    /// Where keys and the ledger are kept: a file, or `memory` [default: a file in the data folder]
    #[arg(long)]
    store: Option<String>,
    /// Serve without gateway keys even if other machines can connect
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    plain_http: PlainHttpArg,
}

impl Serve {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.serve(out))
    }

    async fn serve(&self, out: &mut dyn Write) -> Result<Verdict> {
        let (options, file) = self.options()?;
        let address = options.serve.listen;
        let is_exposed = address.is_some_and(|address| !address.ip().is_loopback());
        let place = address.map(|address| address.to_string()).unwrap_or_default();
        let mut gateway = Gateway::start(options).await.map_err(|error| {
            Failure::new(error, &place, "`polywire config check` checks [serve]; give another --port")
        })?;
        if is_exposed && !self.open && !gateway.has_keys() {
            note(
                "there are no gateway keys, so every request is refused; `polywire keys create NAME` creates one, --open serves without",
            );
        }
        writeln!(out, "listening on {}", gateway.url())?;
        if gateway.is_emulated() {
            writeln!(out, "no provider has a key in the environment, so the emulator answers")?;
        } else {
            writeln!(out, "providers: {}", gateway.providers().join(", "))?;
        }
        out.flush()?;
        let mut watched = Watched::new(file);
        loop {
            match next_event(&mut watched).await? {
                Event::Stop => break,
                Event::Reload => match self.options() {
                    Ok((options, file)) => {
                        watched = Watched::new(file);
                        if let Err(error) = gateway.reload(options).await {
                            note(&format!("the configuration was not reloaded, the old one stays: {error:#}"));
                        }
                    }
                    Err(error) => note(&format!("the configuration was not reloaded, the old one stays: {error:#}")),
                },
            }
        }
        gateway.stop().await;
        Ok(Verdict::Fine)
    }

    /// The options by the configuration and the command line, and the file of the configuration.
    fn options(&self) -> Result<(GatewayOptions, Option<PathBuf>)> {
        let known = Known::load()?;
        let names: Vec<String> = known.base.providers().map(|provider| provider.id.clone()).collect();
        let catalog: Catalog = known.catalog_for(names.iter().map(String::as_str));
        let mut serve = known.config.serve.clone();
        let default = SocketAddr::from(([127, 0, 0, 1], 4100));
        let mut listen = serve.listen.unwrap_or(default);
        listen.set_port(self.port.unwrap_or(listen.port()));
        listen.set_ip(self.host.unwrap_or(listen.ip()));
        serve.listen = Some(listen);
        serve.store = self.store.clone().or(serve.store).or_else(default_store);
        for text in self.routes.iter().rev() {
            let route = ServeRoute::parse(text);
            let route =
                route.ok_or_else(|| Failure::new("invalid route", text, "write NAME=MODEL or NAME=MODEL,MODEL"))?;
            serve.routes.insert(0, route);
        }
        let mut options = GatewayOptions::default()
            .with_serve(serve)
            .with_catalog(catalog, known.config.dialects())
            .with_environment(Environment::process());
        if self.open {
            options = options.with_access(Access::Open);
        }
        options = options.with_plain_http(self.plain_http.hosts());
        Ok((options, known.found.map(|found| found.path)))
    }
}

/// The file of keys and the ledger, in the user's data folder.
pub(crate) fn default_store() -> Option<String> {
    let folder = list_path()?.parent()?.to_owned();
    Some(folder.join("gateway.sqlite3").display().to_string())
}

enum Event {
    Stop,
    Reload,
}

/// A file and when it was changed.
struct Watched {
    path: Option<PathBuf>,
    changed: Option<SystemTime>,
}

impl Watched {
    fn new(path: Option<PathBuf>) -> Self {
        let changed = path.as_deref().and_then(changed_at);
        Self { path, changed }
    }

    fn has_changed(&self) -> bool {
        self.path.as_deref().and_then(changed_at) != self.changed
    }
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// Waits for a signal or a changed configuration.
async fn next_event(watched: &mut Watched) -> Result<Event> {
    let mut interval = tokio::time::interval(RELOAD_INTERVAL);
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut hangup = signal(SignalKind::hangup())?;
        let mut terminate = signal(SignalKind::terminate())?;
        loop {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => return Ok(Event::Stop),
                _ = terminate.recv() => return Ok(Event::Stop),
                _ = hangup.recv() => return Ok(Event::Reload),
                _ = interval.tick() => if watched.has_changed() {
                    // A file that stays broken is reported once.
                    watched.changed = watched.path.as_deref().and_then(changed_at);
                    return Ok(Event::Reload);
                },
            }
        }
    }
    #[cfg(not(unix))]
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => return Ok(Event::Stop),
            _ = interval.tick() => if watched.has_changed() {
                watched.changed = watched.path.as_deref().and_then(changed_at);
                return Ok(Event::Reload);
            },
        }
    }
}
