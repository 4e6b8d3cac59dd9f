//! The caller's own rows, from a `polywire.toml`: providers, families, models and dialects beside those that come with the crate or
//! over them, and defaults. Every mistake is told, with its line. Pure: files that the text names are read by the caller.

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
use super::stock::Stock;
use super::{Catalog, CatalogError, Host};
use crate::model::{Family, ModelPatch, ModelRow, Origin};
use crate::provider::{ProviderPatch, target_with};

pub use untrusted::{Ignored, Untrusted};

/// The tables of a configuration.
const TABLES: [&str; 5] = ["defaults", "dialects", "provider", "family", "model"];

/// What a caller says about providers, models and dialects.
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
    /// What is meant where nothing is said.
    pub defaults: Defaults,
    dialects: Arc<[Dialect]>,
    providers: Vec<Placed<ProviderPatch>>,
    families: Vec<Placed<Family>>,
    models: Vec<Placed<ModelPatch>>,
}

/// What is meant where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Defaults {
    /// The model, as `provider/model`.
    #[serde(default)]
    pub model: Option<String>,
    /// Whether providers are asked for their models only on demand.
    #[serde(default)]
    pub offline: Option<bool>,
    /// Hours for which a provider's list of models is fresh.
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
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

/// A row and where it stands.
#[derive(Clone, Debug)]
struct Placed<T> {
    row: T,
    at: usize,
}

/// Reads a file that a configuration names; what is wrong with it is a word for people.
pub type ReadFile<'f> = dyn Fn(&str) -> Result<String, String> + 'f;

impl Config {
    /// Reads a configuration, or tells every mistake in it, in the order of the lines.
    pub fn read(text: &str, files: &ReadFile<'_>) -> Result<Self, Vec<Mistake>> {
        let mut reader = Reader { text, mistakes: Vec::new() };
        let config = reader.config(files);
        if reader.mistakes.is_empty() {
            config.check(&mut reader);
        }
        reader.mistakes.sort();
        reader.mistakes.dedup();
        if reader.mistakes.is_empty() { Ok(config) } else { Err(reader.mistakes) }
    }

    /// This configuration with another one over it: its defaults and models win, its families are added where the id is free, its
    /// providers and dialects are left out. So a file that is not trusted takes nothing from the user's own.
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

    /// The dialect that a comma-separated list of ids names, the caller's own first.
    pub fn target(&self, ids: &str) -> Result<std::borrow::Cow<'static, Dialect>, CatalogError> {
        target_with(ids, &self.dialects).map_err(CatalogError)
    }

    /// The ids of the providers that it adds or changes, in its order.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().map(|placed| placed.row.id.as_str())
    }

    /// The models that it adds or changes, as provider and id, in its order.
    pub fn models(&self) -> impl Iterator<Item = (&str, &str)> {
        self.models.iter().map(|placed| (placed.row.provider.as_str(), placed.row.id.as_str()))
    }

    /// How many rows there are: providers, families, models.
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.providers.len(), self.families.len(), self.models.len())
    }

    /// The catalog with the caller's providers and families, and no models of the caller's yet: what lists are merged with.
    pub fn base(&self, catalog: &Catalog) -> Catalog {
        // Every mistake was told when the configuration was read.
        self.based(catalog, &mut |_, _| {})
    }

    /// Puts the caller's models over a catalog: they have the last word.
    pub fn over(&self, catalog: &mut Catalog) {
        self.laid_over(catalog, &mut |_, _| {});
    }

    fn based(&self, catalog: &Catalog, fault: &mut dyn FnMut(usize, String)) -> Catalog {
        let mut catalog = catalog.clone();
        for Placed { row, at } in &self.families {
            if Arc::make_mut(&mut catalog.families).insert(row.id.clone(), row.clone()).is_some() {
                fault(*at, format!("there is a family `{}` already", row.id));
            }
        }
        let mut seen = BTreeSet::new();
        for Placed { row: patch, at } in &self.providers {
            if !seen.insert(&patch.id) {
                fault(*at, format!("the provider `{}` stands here twice", patch.id));
            }
            let number = catalog.number(&patch.id);
            let base = patch.like.as_ref().or(number.map(|_| &patch.id)).map(|like| (like, catalog.provider(like)));
            let row = match base {
                Some((like, None)) => Err(CatalogError(format!("there is no provider `{like}` to be like"))),
                Some((_, like)) => patch.over(like),
                None => patch.over(None),
            };
            let row = row.and_then(|row| {
                catalog.check_provider(&row)?;
                row.check_dialects(&self.dialects)?;
                Ok(row)
            });
            match (row, number) {
                (Err(error), _) => fault(*at, error.to_string()),
                (Ok(row), Some(number)) => {
                    if let (Some(host), Some(stock)) = (catalog.hosts.get_mut(number), catalog.stocks.get_mut(number)) {
                        *host = Arc::new(Host::new(row, Arc::clone(&self.dialects)));
                        // Another provider's row is another fingerprint.
                        *stock = Arc::new(Stock::lenient(stock.shared().to_vec()));
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

    fn laid_over(&self, catalog: &mut Catalog, fault: &mut dyn FnMut(usize, String)) {
        let mut by_provider: BTreeMap<usize, Vec<&Placed<ModelPatch>>> = BTreeMap::new();
        for placed in &self.models {
            match catalog.number(&placed.row.provider) {
                Some(number) => by_provider.entry(number).or_default().push(placed),
                None => fault(placed.at, format!("there is no provider `{}`", placed.row.provider)),
            }
        }
        for (number, patches) in by_provider {
            let Some((host, stock)) = catalog.hosts.get(number).zip(catalog.stocks.get(number)) else { continue };
            let mut rows = stock.shared().to_vec();
            let mut seen = BTreeSet::new();
            for Placed { row: patch, at } in patches {
                if !seen.insert(patch.id.to_lowercase()) {
                    fault(*at, format!("the model `{}/{}` stands here twice", patch.provider, patch.id));
                }
                match catalog.own_row(host, stock, patch) {
                    Err(error) => fault(*at, error.to_string()),
                    Ok((place, row)) => match place.and_then(|place| rows.get_mut(place)) {
                        Some(old) => *old = Arc::new(row),
                        None => rows.push(Arc::new(row)),
                    },
                }
            }
            if let Some(stock) = catalog.stocks.get_mut(number) {
                *stock = Arc::new(Stock::lenient(rows));
            }
        }
    }

    /// Tells what is wrong between the rows.
    fn check(&self, reader: &mut Reader<'_>) {
        let mut faults = Vec::new();
        let mut catalog = self.based(Catalog::built_in(), &mut |at, what| faults.push((at, what)));
        self.laid_over(&mut catalog, &mut |at, what| faults.push((at, what)));
        for (at, what) in faults {
            reader.record(at..at, what);
        }
    }
}

impl Catalog {
    /// The row of a model with what its caller says over it, and the place of the row that it replaces.
    fn own_row(
        &self,
        host: &Host,
        stock: &Stock,
        patch: &ModelPatch,
    ) -> Result<(Option<usize>, ModelRow), CatalogError> {
        let provider = &host.row;
        let fault = |what: &str| CatalogError(format!("model `{}/{}`: {what}", patch.provider, patch.id));
        let place = stock.exactly(&patch.id);
        let old = place.and_then(|place| stock.shared().get(place));
        for name in patch.aliases.iter().chain(&patch.dated) {
            if stock.exactly(name).is_some_and(|taken| Some(taken) != place) {
                return Err(fault(&format!("`{name}` is taken by another model")));
            }
        }
        let like = || stock.find(provider, &patch.id).map(|(row, _)| row);
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

/// Reads a text and remembers what is wrong with it.
struct Reader<'t> {
    text: &'t str,
    mistakes: Vec<Mistake>,
}

impl<'t> Reader<'t> {
    /// The text before a place.
    fn before(&self, at: usize) -> &str {
        self.text.get(..at.min(self.text.len())).unwrap_or(self.text)
    }

    /// The line of a place, from 1.
    fn line(&self, at: usize) -> usize {
        self.before(at).matches('\n').count() + 1
    }

    fn record(&mut self, at: Range<usize>, what: impl Into<String>) {
        let before = self.before(at.start);
        let line = self.line(at.start);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        // The first line of a message says what is wrong; the rest may show the text again.
        let what = what.into().trim().to_owned();
        self.mistakes.push(Mistake { line, column, what });
    }

    fn config(&mut self, files: &ReadFile<'_>) -> Config {
        let Some(document) = self.document() else { return Config::default() };
        let defaults = document.get("defaults").and_then(|value| self.row(value.clone())).unwrap_or_default();
        Config {
            defaults,
            dialects: self.dialects(document.get("dialects"), files).into(),
            providers: self.rows(document.get("provider")),
            families: self.rows(document.get("family")),
            models: self.rows(document.get("model")),
        }
    }

    /// The tables of the text, unless it is no TOML: what such a text seems to say is not worth a word.
    fn document(&mut self) -> Option<DeTable<'t>> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            self.record(error.span().unwrap_or_default(), error.message());
        }
        if !self.mistakes.is_empty() {
            return None;
        }
        let document = document.into_inner();
        for (key, _) in document.iter().filter(|(key, _)| !TABLES.contains(&key.get_ref().as_ref())) {
            self.record(
                key.span(),
                format!("unknown key `{}`, expected one of `{}`", key.get_ref(), TABLES.join("`, `")),
            );
        }
        Some(document)
    }

    fn dialects(&mut self, value: Option<&Spanned<DeValue<'_>>>, files: &ReadFile<'_>) -> Vec<Dialect> {
        let Some(value) = value else { return Vec::new() };
        let Some(paths) = value.get_ref().as_array() else {
            self.record(value.span(), "`dialects` is a list of paths of dialect files");
            return Vec::new();
        };
        let mut dialects: Vec<Dialect> = Vec::new();
        for path in paths {
            let read = path.get_ref().as_str().ok_or_else(|| "this is no path".to_owned()).and_then(files);
            match read.and_then(|text| Dialect::from_toml(&text).map_err(|error| error.to_string())) {
                Err(error) => self.record(path.span(), error),
                Ok(dialect) if dialects.iter().any(|other| other.id() == dialect.id()) => {
                    self.record(path.span(), format!("there are two dialects `{}`", dialect.id()));
                }
                Ok(dialect) => dialects.push(dialect),
            }
        }
        dialects
    }

    fn rows<T: DeserializeOwned>(&mut self, value: Option<&Spanned<DeValue<'_>>>) -> Vec<Placed<T>> {
        let Some(value) = value else { return Vec::new() };
        let Some(entries) = value.get_ref().as_array() else {
            self.record(value.span(), "this is a list of tables: write it with two brackets, as in `[[model]]`");
            return Vec::new();
        };
        let mut rows = Vec::new();
        for entry in entries {
            rows.extend(self.row(entry.clone()).map(|row| Placed { row, at: entry.span().start }));
        }
        rows
    }

    /// Reads a row. A key that is wrong is told and left out, until the rest can be read.
    fn row<T: DeserializeOwned>(&mut self, mut value: Spanned<DeValue<'_>>) -> Option<T> {
        let mut wrong: Vec<String> = Vec::new();
        loop {
            let error = match T::deserialize(ValueDeserializer::from(value.clone())) {
                Ok(row) => return wrong.is_empty().then_some(row),
                Err(error) => error,
            };
            let span = error.span().unwrap_or_else(|| value.span());
            let whole = value.span();
            let DeValue::Table(table) = value.get_mut() else {
                self.record(span, error.message());
                return None;
            };
            let here = |part: Range<usize>| part.start <= span.start && span.end <= part.end && part != whole;
            let key = table.iter().find(|(key, member)| here(key.span()) || here(member.span()));
            let key = key.map(|(key, _)| key.get_ref().to_string());
            // What is missing because it was left out was told already.
            let told = |name: &String| key.is_none() && error.message().contains(&format!("`{name}`"));
            if !wrong.iter().any(told) {
                self.record(span, error.message());
            }
            let key = key?;
            table.remove(key.as_str());
            wrong.push(key);
        }
    }
}
