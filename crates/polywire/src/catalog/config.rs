//! The caller's configuration, `polywire.toml`: providers, families, models and dialects that extend or override the built-in rows, and
//! defaults. Every mistake is reported with its line. Does no IO: the caller reads the files that the configuration names.

mod mcp;
mod serve;
mod untrusted;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use polywire_schema::Dialect;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::merge::overlay;
use super::model_table::ModelTable;
use super::{Catalog, CatalogError, ProviderEntry};
use crate::model::{Family, ModelPatch, ModelRow, Origin};
use crate::provider::{ProviderPatch, target_with};

pub use mcp::{Mcp, McpServer};
pub use serve::{
    Serve, ServeLimits, ServeLog, ServeOnLoss, ServeRecord, ServeRoute, ServeSticky, ServeStoreFailure, ServeStrict,
    ServeTarget, ServeTimeouts,
};
pub use untrusted::{Ignored, Untrusted};

/// The tables of a configuration.
const TABLES: [&str; 7] = ["defaults", "dialects", "provider", "family", "model", "serve", "mcp"];

/// A configuration of providers, models and dialects.
///
/// ```
/// use polywire::{Catalog, Config};
/// let text = r#"
/// [[model]]
/// provider = "groq"
/// id = "llama-99"
/// context = 1000000
/// also = ["native-output"]
/// "#;
/// let config = Config::read(text, &|_| Err("there are no files here".into())).unwrap();
/// let mut catalog = config.base(Catalog::built_in());
/// config.over(&mut catalog);
/// assert_eq!(catalog.resolve("groq/llama-99").unwrap().row().context, Some(1_000_000));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The defaults.
    pub defaults: Defaults,
    /// The settings of the gateway.
    pub serve: Serve,
    /// The servers behind the MCP proxy.
    pub mcp: Mcp,
    dialects: Arc<[Dialect]>,
    providers: Vec<Located<ProviderPatch>>,
    families: Vec<Located<Family>>,
    models: Vec<Located<ModelPatch>>,
}

/// The defaults of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Defaults {
    /// The model, as `provider/model`.
    #[serde(default)]
    pub model: Option<String>,
    /// `true` if model lists are only fetched on demand.
    #[serde(default)]
    pub offline: Option<bool>,
    /// The time to live of a provider's model list, in hours.
    #[serde(default)]
    pub ttl_hours: Option<u64>,
}

/// A mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The message.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

/// A row and its byte offset in the text.
#[derive(Clone, Debug)]
struct Located<T> {
    row: T,
    at: usize,
}

/// Reads a file that a configuration names. The error is a message for the user.
pub type ReadFile<'f> = dyn Fn(&str) -> Result<String, String> + 'f;

impl Config {
    /// Reads a configuration. The error has every mistake, in the order of the lines.
    pub fn read(text: &str, files: &ReadFile<'_>) -> Result<Self, Vec<Mistake>> {
        let mut reader = ConfigReader { text, mistakes: Vec::new() };
        let config = reader.config(files);
        if reader.mistakes.is_empty() {
            config.check(&mut reader);
        }
        reader.mistakes.sort();
        reader.mistakes.dedup();
        if reader.mistakes.is_empty() { Ok(config) } else { Err(reader.mistakes) }
    }

    /// Overrides defaults and models with those of another configuration and adds its families with new ids. Its providers and dialects
    /// are ignored, so that an untrusted file cannot change the user's own.
    #[must_use]
    pub fn with_models_of(mut self, other: Self) -> Self {
        let Defaults { model, offline, ttl_hours } = other.defaults;
        self.defaults.model = model.or(self.defaults.model);
        self.defaults.offline = offline.or(self.defaults.offline);
        self.defaults.ttl_hours = ttl_hours.or(self.defaults.ttl_hours);
        for family in other.families {
            if self.families.iter().all(|own| own.row.id != family.row.id) {
                self.families.push(family);
            }
        }
        let names = |row: &ModelPatch| (row.provider.to_lowercase(), row.id.to_lowercase());
        let replaced: BTreeSet<_> = other.models.iter().map(|model| names(&model.row)).collect();
        self.models.retain(|model| !replaced.contains(&names(&model.row)));
        self.models.extend(other.models);
        self
    }

    /// The caller's own dialects.
    pub fn dialects(&self) -> &[Dialect] {
        &self.dialects
    }

    /// The dialect for a comma-separated list of ids. The caller's own dialects have precedence.
    pub fn target(&self, ids: &str) -> Result<std::borrow::Cow<'static, Dialect>, CatalogError> {
        target_with(ids, &self.dialects).map_err(CatalogError)
    }

    /// The ids of the configured providers, in their order.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|located| located.row.id.as_str())
    }

    /// The configured models as provider and id, in their order.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str)> {
        self.models.iter().map(|located| (located.row.provider.as_str(), located.row.id.as_str()))
    }

    /// The numbers of providers, families and models.
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.providers.len(), self.families.len(), self.models.len())
    }

    /// Returns the catalog with the configured providers and families, but not the models. Model lists are merged with this catalog.
    pub fn base(&self, catalog: &Catalog) -> Catalog {
        // Mistakes were reported when the configuration was read.
        self.with_providers(catalog, &mut |_, _| {})
    }

    /// Applies the configured models to a catalog. They override all other sources.
    pub fn over(&self, catalog: &mut Catalog) {
        self.apply_models(catalog, &mut |_, _| {});
    }

    fn with_providers(&self, catalog: &Catalog, fault: &mut dyn FnMut(usize, String)) -> Catalog {
        let mut catalog = catalog.clone();
        for Located { row, at } in &self.families {
            if Arc::make_mut(&mut catalog.families).insert(row.id.clone(), row.clone()).is_some() {
                fault(*at, format!("the family `{}` already exists", row.id));
            }
        }
        let mut seen = BTreeSet::new();
        for Located { row: patch, at } in &self.providers {
            if !seen.insert(&patch.id) {
                fault(*at, format!("the provider `{}` is defined twice", patch.id));
            }
            let number = catalog.position_of(&patch.id);
            let base = patch.like.as_ref().or(number.map(|_| &patch.id)).map(|like| (like, catalog.provider(like)));
            let row = match base {
                Some((like, None)) => Err(CatalogError(format!("`like` names the unknown provider `{like}`"))),
                Some((_, like)) => patch.apply_to(like),
                None => patch.apply_to(None),
            };
            let row = row.and_then(|row| {
                catalog.check_provider(&row)?;
                row.check_dialects(&self.dialects)?;
                Ok(row)
            });
            match (row, number) {
                (Err(error), _) => fault(*at, error.to_string()),
                (Ok(row), Some(number)) => {
                    if let (Some(entry), Some(table)) =
                        (catalog.entries.get_mut(number), catalog.tables.get_mut(number))
                    {
                        *entry = Arc::new(ProviderEntry::new(row, Arc::clone(&self.dialects)));
                        // The provider's row is part of the fingerprint, so the cached one is dropped.
                        *table = Arc::new(ModelTable::with_first_names(table.shared().to_vec()));
                    }
                }
                (Ok(row), None) => {
                    if let Err(error) = catalog.add_provider(row, Arc::clone(&self.dialects)) {
                        fault(*at, error.to_string());
                    }
                }
            }
        }
        catalog
    }

    fn apply_models(&self, catalog: &mut Catalog, fault: &mut dyn FnMut(usize, String)) {
        let mut by_provider: BTreeMap<usize, Vec<&Located<ModelPatch>>> = BTreeMap::new();
        for located in &self.models {
            match catalog.position_of(&located.row.provider) {
                Some(number) => by_provider.entry(number).or_default().push(located),
                None => fault(located.at, format!("there is no provider `{}`", located.row.provider)),
            }
        }
        for (number, patches) in by_provider {
            let Some((entry, table)) = catalog.entries.get(number).zip(catalog.tables.get(number)) else { continue };
            let mut rows = table.shared().to_vec();
            let mut seen = BTreeSet::new();
            for Located { row: patch, at } in patches {
                if !seen.insert(patch.id.to_lowercase()) {
                    fault(*at, format!("the model `{}/{}` is defined twice", patch.provider, patch.id));
                }
                match catalog.configured_row(entry, table, patch) {
                    Err(error) => fault(*at, error.to_string()),
                    Ok((place, row)) => match place.and_then(|place| rows.get_mut(place)) {
                        Some(old) => *old = Arc::new(row),
                        None => rows.push(Arc::new(row)),
                    },
                }
            }
            if let Some(table) = catalog.tables.get_mut(number) {
                *table = Arc::new(ModelTable::with_first_names(rows));
            }
        }
    }

    /// Reports inconsistencies between rows.
    fn check(&self, reader: &mut ConfigReader<'_>) {
        let mut faults = Vec::new();
        let mut catalog = self.with_providers(Catalog::built_in(), &mut |at, what| faults.push((at, what)));
        self.apply_models(&mut catalog, &mut |at, what| faults.push((at, what)));
        let place = |text: &str| reader.text.find(&format!("\"{text}\"")).unwrap_or_default();
        for route in &self.serve.routes {
            if route.to.is_empty() {
                faults.push((place(&route.name), format!("the route `{}` has no models", route.name)));
            }
            for model in route.to.iter().map(|target| &target.model).filter(|model| model.contains('/')) {
                if let Err(error) = catalog.resolve(model) {
                    faults.push((place(model), error.to_string()));
                }
            }
        }
        for (at, what) in faults {
            reader.record_mistake(at..at, what);
        }
    }
}

impl Catalog {
    /// Applies a configured model to its row. Returns the index of the row that it replaces, if any, and the new row.
    fn configured_row(
        &self,
        entry: &ProviderEntry,
        table: &ModelTable,
        patch: &ModelPatch,
    ) -> Result<(Option<usize>, ModelRow), CatalogError> {
        let provider = &entry.row;
        let fault = |what: &str| CatalogError(format!("model `{}/{}`: {what}", patch.provider, patch.id));
        let place = table.position_of(&patch.id);
        let old = place.and_then(|place| table.shared().get(place));
        for name in patch.aliases.iter().chain(&patch.dated) {
            if table.position_of(name).is_some_and(|taken| Some(taken) != place) {
                return Err(fault(&format!("`{name}` is taken by another model")));
            }
        }
        let like = || table.find(provider, &patch.id).map(|(row, _)| row);
        let mut row = match (&patch.family, old.cloned().or_else(like)) {
            (None, Some(row)) => ModelRow::clone(&row),
            (family, old) => {
                let family = family.as_ref().unwrap_or(&provider.unknown);
                let family =
                    self.families.get(family).ok_or_else(|| fault(&format!("there is no family `{family}`")))?;
                let known_from = old.map(|old| old.known_from.clone()).unwrap_or_default();
                ModelRow { known_from, ..family.row(&provider.id, &patch.id) }
            }
        };
        let names = |old: &Arc<ModelRow>| (old.id.clone(), old.aliases.clone(), old.dated.clone());
        (row.id, row.aliases, row.dated) = old.map_or_else(|| (patch.id.clone(), Vec::new(), Vec::new()), names);
        overlay(&mut row, patch, Origin::Config);
        if let Some(missing) = row.surfaces.iter().find(|id| provider.surface(id).is_none()) {
            return Err(fault(&format!("its provider has no surface `{missing}`")));
        }
        Ok((place, row))
    }
}

/// Reads a configuration and collects its mistakes.
struct ConfigReader<'t> {
    text: &'t str,
    mistakes: Vec<Mistake>,
}

impl<'t> ConfigReader<'t> {
    /// The text before an offset.
    fn before(&self, at: usize) -> &str {
        self.text.get(..at.min(self.text.len())).unwrap_or(self.text)
    }

    /// The line of an offset, from 1.
    fn line(&self, at: usize) -> usize {
        self.before(at).matches('\n').count() + 1
    }

    fn record_mistake(&mut self, at: Range<usize>, what: impl Into<String>) {
        let before = self.before(at.start);
        let line = self.line(at.start);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let what = what.into().trim().to_owned();
        self.mistakes.push(Mistake { line, column, what });
    }

    fn config(&mut self, files: &ReadFile<'_>) -> Config {
        let Some(document) = self.document() else { return Config::default() };
        let defaults = document.get("defaults").and_then(|value| self.row(value.clone())).unwrap_or_default();
        let serve = document.get("serve").and_then(|value| self.row(value.clone())).unwrap_or_default();
        let mcp: Mcp = document.get("mcp").and_then(|value| self.row(value.clone())).unwrap_or_default();
        for (name, server) in &mcp.servers {
            if server.command.is_some() == server.url.is_some() {
                let at = document.get("mcp").map_or(0..0, Spanned::span);
                self.record_mistake(at, format!("the MCP server `{name}` needs either a `command` or a `url`"));
            }
        }
        Config {
            defaults,
            serve,
            mcp,
            dialects: self.dialects(document.get("dialects"), files).into(),
            providers: self.rows(document.get("provider")),
            families: self.rows(document.get("family")),
            models: self.rows(document.get("model")),
        }
    }

    /// The tables of the text; `None` if it is not TOML, because mistakes found after a syntax error are misleading.
    fn document(&mut self) -> Option<DeTable<'t>> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            self.record_mistake(error.span().unwrap_or_default(), error.message());
        }
        if !self.mistakes.is_empty() {
            return None;
        }
        let document = document.into_inner();
        for (key, _) in document.iter().filter(|(key, _)| !TABLES.contains(&key.get_ref().as_ref())) {
            self.record_mistake(
                key.span(),
                format!("unknown key `{}`, expected one of `{}`", key.get_ref(), TABLES.join("`, `")),
            );
        }
        Some(document)
    }

    fn dialects(&mut self, value: Option<&Spanned<DeValue<'_>>>, files: &ReadFile<'_>) -> Vec<Dialect> {
        let Some(value) = value else { return Vec::new() };
        let Some(paths) = value.get_ref().as_array() else {
            self.record_mistake(value.span(), "`dialects` must be a list of paths of dialect files");
            return Vec::new();
        };
        let mut dialects: Vec<Dialect> = Vec::new();
        for path in paths {
            let read = path.get_ref().as_str().ok_or_else(|| "the path is not a string".to_owned()).and_then(files);
            match read.and_then(|text| Dialect::from_toml(&text).map_err(|error| error.to_string())) {
                Err(error) => self.record_mistake(path.span(), error),
                Ok(dialect) if dialects.iter().any(|other| other.id() == dialect.id()) => {
                    self.record_mistake(path.span(), format!("the dialect `{}` is defined twice", dialect.id()));
                }
                Ok(dialect) => dialects.push(dialect),
            }
        }
        dialects
    }

    fn rows<T: DeserializeOwned>(&mut self, value: Option<&Spanned<DeValue<'_>>>) -> Vec<Located<T>> {
        let Some(value) = value else { return Vec::new() };
        let Some(entries) = value.get_ref().as_array() else {
            self.record_mistake(
                value.span(),
                "expected a list of tables: write it with two brackets, as in `[[model]]`",
            );
            return Vec::new();
        };
        let mut rows = Vec::new();
        for entry in entries {
            rows.extend(self.row(entry.clone()).map(|row| Located { row, at: entry.span().start }));
        }
        rows
    }

    /// Reads a row. Invalid keys are reported and removed one by one, so that all of them are found.
    fn row<T: DeserializeOwned>(&mut self, mut value: Spanned<DeValue<'_>>) -> Option<T> {
        let mut removed: Vec<String> = Vec::new();
        loop {
            let error = match T::deserialize(ValueDeserializer::from(value.clone())) {
                Ok(row) => return removed.is_empty().then_some(row),
                Err(error) => error,
            };
            let span = error.span().unwrap_or_else(|| value.span());
            let whole = value.span();
            let DeValue::Table(table) = value.get_mut() else {
                self.record_mistake(span, error.message());
                return None;
            };
            let here = |part: Range<usize>| part.start <= span.start && span.end <= part.end && part != whole;
            let key = table.iter().find(|(key, member)| here(key.span()) || here(member.span()));
            let key = key.map(|(key, _)| key.get_ref().to_string());
            // The removed key may now be reported as missing.
            let is_removed = |name: &String| key.is_none() && error.message().contains(&format!("`{name}`"));
            if !removed.iter().any(is_removed) {
                self.record_mistake(span, error.message());
            }
            let key = key?;
            table.remove(key.as_str());
            removed.push(key);
        }
    }
}
