//! What the command knows of providers and models: the rows of the library, what providers said when they were last asked, and the
//! user's `polywire.toml`, which has the last word.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, anyhow};
use etcetera::BaseStrategy as _;
use polywire::{Catalog, Config, LookOptions, Mistake, Network, Provider, Store, Warning};

use crate::input::Failure;

/// The name of the user's configuration.
pub(crate) const FILE: &str = "polywire.toml";
/// Variables that name another configuration and another folder for the cache.
const CONFIG: &str = "POLYWIRE_CONFIG";
const CACHE: &str = "POLYWIRE_CACHE_DIR";

/// Where a configuration was found.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// Whether it came with the working directory, and so perhaps from somebody else.
    pub(crate) local: bool,
}

/// The configuration that counts: the one that the environment names, that of the working directory, that of the user.
pub(crate) fn find() -> Option<Found> {
    if let Some(path) = std::env::var_os(CONFIG).filter(|path| !path.is_empty()) {
        return Some(Found { path: PathBuf::from(path), local: false });
    }
    let here = Path::new(FILE);
    if here.is_file() {
        return Some(Found { path: here.to_owned(), local: true });
    }
    users().filter(|path| path.is_file()).map(|path| Found { path, local: false })
}

/// The user's own configuration, whether it exists or not.
pub(crate) fn users() -> Option<PathBuf> {
    let folders = etcetera::base_strategy::choose_native_strategy().ok()?;
    Some(folders.config_dir().join("polywire").join(FILE))
}

/// Reads a configuration. Paths in it are relative to it.
pub(crate) fn read(path: &Path) -> Result<Result<Config, Vec<Mistake>>> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path);
    let text =
        text.map_err(|error| anyhow!(Failure::new(error, &name, "give the path of a readable `polywire.toml`")))?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let file = |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| format!("`{name}`: {error}"));
    Ok(Config::read(&text, &file))
}

/// Everything that is known before a provider is asked.
pub(crate) struct Known {
    pub(crate) config: Config,
    /// The rows of the library and the user's providers: what lists are merged with.
    pub(crate) base: Catalog,
    pub(crate) found: Option<Found>,
}

impl Known {
    pub(crate) fn load() -> Result<Self> {
        let found = find();
        let Some(place) = &found else {
            return Ok(Self { config: Config::default(), base: Catalog::built_in().clone(), found });
        };
        let config = read(&place.path)?.map_err(|mistakes| {
            let what: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let next = "`polywire config check` tells the mistakes of a configuration";
            anyhow!(Failure::new(what.join("\n"), &place.path.display().to_string(), next))
        })?;
        let base = config.base(Catalog::built_in());
        Ok(Self { config, base, found })
    }

    /// The catalog for the models of these names: with what their providers said when they were last asked, and the user's rows.
    pub(crate) fn catalog_for<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Catalog {
        let mut catalog = self.base.clone();
        for name in names {
            self.recall(&mut catalog, name.split(['/', ':']).next().unwrap_or_default().trim());
        }
        self.config.over(&mut catalog);
        catalog
    }

    /// Puts in what a provider said when it was last asked. Nothing is made on the way of a request: without a cache there is
    /// nothing to recall.
    fn recall(&self, catalog: &mut Catalog, provider: &str) {
        if let Some(provider) = self.base.provider(provider)
            && let Some((address, path)) = address(provider).zip(cache_path().filter(|path| path.is_file()))
        {
            let options = self.options(Network::Never);
            let found = Store::open(&path).recall(&self.base, provider, &address, &options);
            warn(&found.warnings);
            catalog.put(&provider.id, found.rows);
        }
    }

    pub(crate) fn options(&self, network: Network) -> LookOptions {
        let options = LookOptions::at(SystemTime::now()).with_network(network);
        match self.config.defaults.ttl_hours {
            Some(hours) => options.with_ttl(Duration::from_secs(hours.saturating_mul(3600))),
            None => options,
        }
    }

    /// Whether requests go to an address, or with a key, that the configuration of the working directory names, and so perhaps
    /// somebody else.
    pub(crate) fn is_foreign(&self, provider: &Provider) -> bool {
        let usual = Catalog::built_in().provider(&provider.id);
        let same = usual.is_some_and(|row| row.base_url == provider.base_url && row.auth == provider.auth);
        !same && self.found.as_ref().is_some_and(|found| found.local)
    }

    /// Says so before anything is sent there. The key of a provider that everybody knows goes to such an address only if the
    /// user names the configuration.
    pub(crate) fn consent(&self, provider: &Provider) -> Result<()> {
        let Some(found) = self.found.as_ref().filter(|_| self.is_foreign(provider)) else { return Ok(()) };
        let what = format!("{FILE} of this folder sends {} to {}", provider.id, provider.base_url);
        let variables = |row: &Provider| row.auth.env.iter().chain(&row.auth.bearer_env).cloned().collect::<Vec<_>>();
        let own = variables(provider);
        let lends = Catalog::built_in().providers().flat_map(variables).any(|name| own.contains(&name));
        if lends && !provider.is_local() {
            let next = format!("if that is right, say so with {CONFIG}={}", found.path.display());
            return Err(Failure::new(
                format!("{what}, and your key with it"),
                &found.path.display().to_string(),
                &next,
            )
            .into());
        }
        note(&what);
        Ok(())
    }
}

/// Where a provider lists its models, where that is known.
pub(crate) fn address(provider: &Provider) -> Option<String> {
    provider.list_url(&provider.address().ok()?)
}

/// The file of the cache.
pub(crate) fn cache_path() -> Option<PathBuf> {
    let named = std::env::var_os(CACHE).filter(|path| !path.is_empty());
    named.map(|folder| PathBuf::from(folder).join("models.sqlite3")).or_else(Store::default_path)
}

/// The store, which is made if need be.
pub(crate) fn store() -> Store {
    cache_path().map_or_else(Store::in_memory, |path| Store::open(&path))
}

/// Tells what the user should know, beside the output.
pub(crate) fn warn(warnings: &[Warning]) {
    for warning in warnings {
        note(&warning.to_string());
    }
}

/// Tells something beside the output.
pub(crate) fn note(text: &str) {
    // There is nowhere left to say that this failed.
    let _ = writeln!(io::stderr(), "polywire: {text}");
}
