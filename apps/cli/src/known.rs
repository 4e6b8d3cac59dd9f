//! Providers and models known to the command: the library's rows, the cached lists of providers, and the user's `polywire.toml`,
//! which overrides both.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};
use std::time::{Duration, SystemTime};

use anyhow::{Result, anyhow};
use etcetera::BaseStrategy as _;
use polywire::{Catalog, Config, Ignored, LookOptions, Mistake, Network, Provider, Store, Untrusted, Warning};

use crate::input::Failure;
use crate::regular_file::read_regular;
use crate::style::{Screen, tame};
use crate::trust::{Hashes, Trust, Trusted, sha256};

/// The name of the user's configuration.
pub(crate) const FILE: &str = "polywire.toml";
/// Environment variables for the path of the configuration and the folder of the cache.
const CONFIG: &str = "POLYWIRE_CONFIG";
const CACHE: &str = "POLYWIRE_CACHE_DIR";

/// The configuration that `--config` names.
static NAMED: OnceLock<PathBuf> = OnceLock::new();

/// Sets the configuration of `--config`, once.
pub(crate) fn name_config(path: Option<PathBuf>) {
    if let Some(path) = path {
        // Nobody names another one in the same process.
        let _ = NAMED.set(path);
    }
}

/// Where a configuration was found.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// Whether the user named it for this command, or put it or a link to it in the folder for configurations.
    chosen: bool,
}

/// A configuration, limited to what its trust allows.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// What is ignored, if the file is not trusted.
    pub(crate) ignored: Vec<Ignored>,
    pub(crate) trust: Trust,
}

impl Found {
    /// A file that may come from someone else.
    pub(crate) fn unnamed(path: PathBuf) -> Self {
        Self { path, chosen: false }
    }

    /// Opens the file, with links resolved, and reads its text.
    pub(crate) fn open(&self) -> Result<Opened<'_>> {
        let refused = |error: io::Error| {
            let name = self.path.display().to_string();
            anyhow!(Failure::new(error, &name, "give the path of a readable `polywire.toml`"))
        };
        let path = self.path.canonicalize().map_err(refused)?;
        let text = read_regular(&path).map_err(refused)?;
        Ok(Opened { found: self, path, text })
    }

    /// Reads the configuration, as far as it is trusted.
    pub(crate) fn load(&self) -> Result<Result<Loaded, Vec<Mistake>>> {
        let opened = self.open()?;
        if let Some(read) = opened.read_trusted() {
            return Ok(read.map(|config| Loaded { config, ignored: Vec::new(), trust: Trust::Trusted }));
        }
        let read = Config::read_untrusted(&opened.text);
        Ok(read.map(|Untrusted { config, ignored, .. }| Loaded { config, ignored, trust: Trust::Untrusted }))
    }

    /// Reads the configuration, as far as it is trusted; mistakes in it are an error.
    fn load_fine(&self) -> Result<Loaded> {
        self.load()?.map_err(|mistakes| {
            let what: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            let next = "`polywire config check` lists the errors";
            anyhow!(Failure::new(what.join("\n"), &self.path.display().to_string(), next))
        })
    }
}

/// The text of a configuration, read once, so that the text that is hashed is the text that is used.
pub(crate) struct Opened<'f> {
    found: &'f Found,
    pub(crate) path: PathBuf,
    text: String,
}

impl Opened<'_> {
    /// The configuration, if it is trusted.
    pub(crate) fn read_trusted(&self) -> Option<Result<Config, Vec<Mistake>>> {
        let reads = Reads::beside(&self.path);
        if self.found.chosen || is_users(&self.path) {
            return Some(Config::read(&self.text, &|name| reads.read(name)));
        }
        let trusted = Trusted::load();
        let hashes = trusted.hashes(&self.path).filter(|hashes| hashes.sha256 == sha256(&self.text))?;
        let read = Config::read(&self.text, &|name| reads.read(name));
        Some(read).filter(|_| reads.hashes() == hashes.reads)
    }

    /// The errors of an untrusted configuration. The files that it names are not read.
    pub(crate) fn check_untrusted(&self) -> Result<Config, Vec<Mistake>> {
        Config::read(&self.text, &|name| Err(format!("`{name}` is not read, because this file is not trusted")))
    }

    /// The configuration and the record to store when the user trusts it.
    pub(crate) fn read_to_trust(&self) -> (Result<Config, Vec<Mistake>>, Hashes) {
        let reads = Reads::beside(&self.path);
        let read = Config::read(&self.text, &|name| reads.read(name));
        (read, Hashes { sha256: sha256(&self.text), reads: reads.hashes() })
    }
}

/// The files that a configuration reads, and the hashes of those that were read. Paths are relative to the configuration.
struct Reads {
    folder: PathBuf,
    hashes: RefCell<BTreeMap<String, String>>,
}

impl Reads {
    fn beside(path: &Path) -> Self {
        Self { folder: path.parent().unwrap_or(Path::new("")).to_owned(), hashes: RefCell::default() }
    }

    fn read(&self, name: &str) -> Result<String, String> {
        let text = read_regular(&self.folder.join(name)).map_err(|error| format!("`{name}`: {error}"))?;
        self.hashes.borrow_mut().insert(name.to_owned(), sha256(&text));
        Ok(text)
    }

    fn hashes(&self) -> BTreeMap<String, String> {
        self.hashes.borrow().clone()
    }
}

/// The configuration in use: the one that the user names, else that of the working directory, else that of the user.
pub(crate) fn find() -> Option<Found> {
    let named = NAMED.get().cloned();
    let named = named.or_else(|| std::env::var_os(CONFIG).filter(|path| !path.is_empty()).map(PathBuf::from));
    if let Some(path) = named {
        return Some(Found { path, chosen: true });
    }
    let here = Path::new(FILE);
    if here.is_file() {
        return Some(Found::unnamed(here.to_owned()));
    }
    users_own()
}

/// The user's own configuration, if it exists.
fn users_own() -> Option<Found> {
    users().filter(|path| path.is_file()).map(|path| Found { path, chosen: true })
}

/// The user's own configuration, whether it exists or not.
pub(crate) fn users() -> Option<PathBuf> {
    let folders = etcetera::base_strategy::choose_native_strategy().ok()?;
    Some(folders.config_dir().join("polywire").join(FILE))
}

/// Whether a file is in the user's configuration folder.
fn is_users(path: &Path) -> bool {
    let folder = users().and_then(|path| path.parent()?.canonicalize().ok());
    folder.is_some_and(|folder| path.parent() == Some(&folder))
}

/// Everything known without a request to a provider.
pub(crate) struct Known {
    pub(crate) config: Config,
    /// The library's rows and the user's providers, into which lists are merged.
    pub(crate) base: Catalog,
    pub(crate) found: Option<Found>,
    /// Whether the configuration is trusted.
    pub(crate) trust: Trust,
    /// What is ignored of the configuration.
    pub(crate) ignored: Vec<Ignored>,
}

impl Known {
    pub(crate) fn load() -> Result<Self> {
        let found = find();
        let Some(place) = &found else {
            let (config, base) = (Config::default(), Catalog::built_in().clone());
            return Ok(Self { config, base, found, trust: Trust::Trusted, ignored: Vec::new() });
        };
        let Loaded { mut config, ignored, trust } = place.load_fine()?;
        note_ignored(place, &ignored);
        if let Some(own) = users_own().filter(|_| trust == Trust::Untrusted) {
            // Somebody else's file must not switch the user's own addresses off: that would send keys elsewhere too.
            config = own.load_fine()?.config.with_models_of(config);
        }
        let base = config.base(Catalog::built_in());
        Ok(Self { config, base, found, trust, ignored })
    }

    /// The catalog for these models, with the cached lists of their providers and the user's rows.
    pub(crate) fn catalog_for<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Catalog {
        let mut catalog = self.base.clone();
        for name in names {
            self.recall(&mut catalog, name.split(['/', ':']).next().unwrap_or_default().trim());
        }
        self.config.over(&mut catalog);
        catalog
    }

    /// Merges the cached list of a provider. A request never creates a cache.
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
}

/// Prints once what is ignored because the file is not trusted, and how to trust it.
fn note_ignored(found: &Found, ignored: &[Ignored]) {
    static SAID: Once = Once::new();
    if !ignored.is_empty() {
        SAID.call_once(|| {
            let what: Vec<String> = ignored.iter().map(|ignored| tame(&ignored.to_string()).into_owned()).collect();
            let (path, what) = (found.path.display(), what.join(", "));
            note(&format!(
                "{path} is not trusted, so this is ignored: {what}; `polywire config trust` trusts the file"
            ));
        });
    }
}

/// The URL of a provider's list of models, if known.
pub(crate) fn address(provider: &Provider) -> Option<String> {
    provider.list_url(&provider.address().ok()?)
}

/// The file of the cache.
pub(crate) fn cache_path() -> Option<PathBuf> {
    let named = std::env::var_os(CACHE).filter(|path| !path.is_empty());
    named.map(|folder| PathBuf::from(folder).join("models.sqlite3")).or_else(Store::default_path)
}

/// Opens the store, and creates it if necessary.
pub(crate) fn store() -> Store {
    cache_path().map_or_else(Store::in_memory, |path| Store::open(&path))
}

/// Prints warnings to standard error.
pub(crate) fn warn(warnings: &[Warning]) {
    for warning in warnings {
        note(&warning.to_string());
    }
}

/// Prints a note to standard error.
pub(crate) fn note(text: &str) {
    // There is nowhere left to say that this failed.
    let _ = writeln!(io::stderr(), "polywire: {}", Screen::of_stderr().text(text));
}
