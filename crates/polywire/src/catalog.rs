//! The catalog: provider and model rows, and the resolution of names such as `provider/model`.

pub(crate) mod config;
pub(crate) mod list;
mod merge;
mod model_table;
mod price_list;

pub use config::{
    Config, Defaults, Ignored, Mcp, McpServer, Mistake, ReadFile, Serve, ServeLimits, ServeLog, ServeOnLoss,
    ServeRecord, ServeRoute, ServeSticky, ServeStoreFailure, ServeStrict, ServeTarget, ServeTimeouts, Untrusted,
};
pub use list::{ListError, ListPage, read_list};

pub use crate::model::{Ability, Confidence, Family, Modality, ModelPatch, ModelRow, Origin, When};
pub use crate::price::{Cost, Price, UsdPerMillion};
pub use crate::provider::{
    Auth, AuthStyle, Budget, Dialects, ListEndpoint, ListPlace, ListStyle, Provider, SignatureRow, SurfaceRow,
};

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use polywire_schema::Dialect;
use polywire_wire::{Budgets, Protocol, Quirk, Strategy, Surface};
use serde::Deserialize;

use crate::address::env_placeholder;
use crate::change::{Action, Change, Effect, Kind, change};
use crate::provider::Slots;
use model_table::ModelTable;
use price_list::PriceList;

/// The built-in rows.
const PROVIDERS: &str = include_str!("../data/providers.toml");
const MODELS: &str = include_str!("../data/models.toml");

static BUILT_IN: LazyLock<Catalog> = LazyLock::new(|| {
    // A test ensures that the built-in rows are valid.
    Catalog::read(PROVIDERS, MODELS).unwrap_or_default()
});

/// Providers and models. Clones share the rows.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    entries: Vec<Arc<ProviderEntry>>,
    /// The models of every entry, in the same order.
    tables: Vec<Arc<ModelTable>>,
    families: Arc<BTreeMap<String, Family>>,
}

/// A provider and its dialects, which are loaded on first use.
#[derive(Debug)]
struct ProviderEntry {
    row: Provider,
    /// The caller's own dialects.
    own: Arc<[Dialect]>,
    slots: Vec<OnceLock<Slots>>,
}

impl ProviderEntry {
    fn new(row: Provider, own: Arc<[Dialect]>) -> Self {
        let slots = row.surfaces.iter().map(|_| OnceLock::new()).collect();
        Self { row, own, slots }
    }

    /// The dialects of a surface. Unknown ids are rejected when rows are read.
    fn slots(&self, surface: usize) -> Option<&Slots> {
        let find = || self.row.surfaces.get(surface).and_then(|row| row.dialects.find(&self.own).ok());
        Some(self.slots.get(surface)?.get_or_init(|| find().unwrap_or_default()))
    }
}

/// The error of invalid rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogError(pub(crate) String);

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CatalogError {}

/// The error of a name that cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolveError {
    /// The catalog has no such provider.
    UnknownProvider {
        /// The name.
        name: String,
        /// The known provider ids.
        known: Vec<String>,
    },
    /// The provider has no such surface.
    UnknownSurface {
        /// The name.
        name: String,
        /// The provider's surface ids.
        known: Vec<String>,
    },
    /// The model is not served on the surface.
    NotServed {
        /// The model.
        model: String,
        /// The requested surface.
        surface: String,
        /// The surfaces on which it is served.
        served: Vec<String>,
    },
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProvider { name, known } => {
                write!(f, "`{name}` is not a provider; the known providers are: {}", known.join(", "))
            }
            Self::UnknownSurface { name, known } => {
                write!(f, "`{name}` is not a surface of the provider; it has: {}", known.join(", "))
            }
            Self::NotServed { model, surface, served } => {
                write!(f, "`{model}` is not served on `{surface}`, only on: {}", served.join(", "))
            }
        }
    }
}

impl std::error::Error for ResolveError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderFile {
    provider: Vec<Provider>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ModelFile {
    #[serde(rename = "source")]
    _source: String,
    #[serde(rename = "checked-on")]
    _checked_on: String,
    model: Vec<ModelPatch>,
    family: Vec<Family>,
    #[serde(default)]
    price: Vec<PriceList>,
}

impl Catalog {
    /// The built-in rows.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Reads the caller's own rows, in the format of `data/providers.toml` and `data/models.toml`.
    pub fn from_toml(providers: &str, models: &str) -> Result<Self, CatalogError> {
        let catalog = Self::read(providers, models)?;
        for entry in &catalog.entries {
            entry.row.check_dialects(&[])?;
        }
        Ok(catalog)
    }

    /// Reads rows without loading their dialects.
    fn read(providers: &str, models: &str) -> Result<Self, CatalogError> {
        let providers: ProviderFile = toml::from_str(providers).map_err(|error| CatalogError(error.to_string()))?;
        let models: ModelFile = toml::from_str(models).map_err(|error| CatalogError(error.to_string()))?;
        let families = models.family.into_iter().map(|family| (family.id.clone(), family)).collect();
        let mut catalog = Self { families: Arc::new(families), ..Self::default() };
        for row in providers.provider {
            catalog.add_provider(row, Arc::default())?;
        }
        let mut rows: Vec<Vec<ModelRow>> = vec![Vec::new(); catalog.entries.len()];
        for line in &models.model {
            let (number, row) = catalog.resolve_row(line)?;
            if let Some(rows) = rows.get_mut(number) {
                rows.push(row);
            }
        }
        for list in &models.price {
            list.apply(&mut rows)?;
        }
        for (table, rows) in catalog.tables.iter_mut().zip(rows) {
            *table = Arc::new(ModelTable::with_unique_names(rows)?);
        }
        Ok(catalog)
    }

    fn add_provider(&mut self, row: Provider, own: Arc<[Dialect]>) -> Result<(), CatalogError> {
        if self.entries.iter().any(|entry| entry.row.is_called(&row.id)) {
            return Err(row.fault("the id is taken"));
        }
        self.check_provider(&row)?;
        self.entries.push(Arc::new(ProviderEntry::new(row, own)));
        self.tables.push(Arc::default());
        Ok(())
    }

    fn check_provider(&self, row: &Provider) -> Result<(), CatalogError> {
        if row.surfaces.is_empty() {
            return Err(row.fault("it has no surface"));
        }
        row.check_addresses()?;
        let families = row.surfaces.iter().filter_map(|surface| surface.unknown.as_ref()).chain([&row.unknown]);
        match families.into_iter().find(|family| !self.families.contains_key(*family)) {
            Some(missing) => Err(row.fault(&format!("there is no family `{missing}`"))),
            None => Ok(()),
        }
    }

    /// Merges a line of the catalog with its family. Returns the index of the provider and the row.
    fn resolve_row(&self, line: &ModelPatch) -> Result<(usize, ModelRow), CatalogError> {
        let fault = |what: &str| CatalogError(format!("model `{}/{}`: {what}", line.provider, line.id));
        let entry = self.entries.iter().enumerate().find(|(_, entry)| entry.row.id == line.provider);
        let Some((number, entry)) = entry else { return Err(fault("there is no such provider")) };
        let family = line.family.as_ref().unwrap_or(&entry.row.unknown);
        let Some(family) = self.families.get(family) else {
            return Err(fault(&format!("there is no family `{family}`")));
        };
        let mut row = family.row(&entry.row.id, &line.id);
        line.apply_to(&mut row);
        (row.dated, row.aliases) = (line.dated.clone(), line.aliases.clone());
        row.known_from = vec![Origin::Catalog];
        if row.surfaces.iter().any(|id| entry.row.surface(id).is_none()) {
            return Err(fault("it names a surface that its provider does not have"));
        }
        Ok((number, row))
    }

    /// All providers, in the order of the rows.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.entries.iter().map(|entry| &entry.row)
    }

    /// All models, in the order of the rows.
    pub fn models(&self) -> impl Iterator<Item = &ModelRow> {
        self.tables.iter().flat_map(|table| table.rows())
    }

    /// A provider by its id or an alias, ignoring case.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.position_of(name).and_then(|number| self.entries.get(number)).map(|entry| &entry.row)
    }

    /// The models of a provider, in the order of the rows.
    pub fn models_of(&self, provider: &str) -> impl Iterator<Item = &ModelRow> {
        let table = self.position_of(provider).and_then(|number| self.tables.get(number));
        table.into_iter().flat_map(|table| table.rows())
    }

    /// Returns `true` if a row of the provider describes this model id.
    pub fn has_model(&self, provider: &str, id: &str) -> bool {
        let number = self.position_of(provider);
        let entry = number.and_then(|number| Some((self.entries.get(number)?, self.tables.get(number)?)));
        entry.is_some_and(|(entry, table)| table.find(&entry.row, id).is_some())
    }

    fn position_of(&self, provider: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.row.is_called(provider))
    }

    /// Resolves `provider/model`, or `provider:surface/model` for another surface than the model's default. Case is ignored;
    /// dated ids and aliases are recognized. A model without a row gets the features that all models of the provider support, and
    /// a change in [`Model::changes`].
    ///
    /// ```
    /// use polywire::Catalog;
    /// let model = Catalog::built_in().resolve("OpenAI/gpt-4o-2024-08-06").unwrap();
    /// assert_eq!((model.provider().id.as_str(), model.id()), ("openai", "gpt-4o-2024-08-06"));
    /// assert!(model.changes().is_empty());
    /// ```
    pub fn resolve(&self, name: &str) -> Result<Model, ResolveError> {
        let (head, id) = name.split_once('/').unwrap_or((name, ""));
        let (head, surface) = head.split_once(':').map_or((head, None), |(head, surface)| (head, Some(surface)));
        let Some(number) = self.position_of(head.trim()) else {
            let known = self.providers().map(|provider| provider.id.clone()).collect();
            return Err(ResolveError::UnknownProvider { name: head.to_owned(), known });
        };
        self.model_at(number, surface.map(str::trim), id.trim())
    }

    /// A model of the first provider that serves a protocol. In the built-in rows this is the protocol's owner.
    pub fn of_protocol(&self, protocol: Protocol, id: &str) -> Result<Model, ResolveError> {
        let surfaces = self
            .entries
            .iter()
            .enumerate()
            .flat_map(|(number, entry)| entry.row.surfaces.iter().map(move |surface| (number, surface)));
        let Some((number, surface)) = surfaces.into_iter().find(|(_, surface)| surface.protocol == protocol) else {
            let known = self.providers().map(|provider| provider.id.clone()).collect();
            return Err(ResolveError::UnknownProvider { name: protocol.name().to_owned(), known });
        };
        self.model_at(number, Some(&surface.id), id)
    }

    fn model_at(&self, number: usize, surface: Option<&str>, id: &str) -> Result<Model, ResolveError> {
        let unknown = || ResolveError::UnknownProvider { name: id.to_owned(), known: Vec::new() };
        let entry = self.entries.get(number).ok_or_else(unknown)?;
        let found = self.tables.get(number).and_then(|table| table.find(&entry.row, id));
        let asked = surface.or_else(|| found.as_ref().and_then(|(row, _)| row.surfaces.first()).map(String::as_str));
        let surface = match asked {
            None => 0,
            Some(id) => {
                let same = |row: &SurfaceRow| row.id.eq_ignore_ascii_case(id);
                let known = || entry.row.surfaces.iter().map(|row| row.id.clone()).collect();
                entry
                    .row
                    .surfaces
                    .iter()
                    .position(same)
                    .ok_or_else(|| ResolveError::UnknownSurface { name: id.to_owned(), known: known() })?
            }
        };
        let place = entry.row.surfaces.get(surface).ok_or_else(unknown)?;
        let Some((row, id)) = found else { return Ok(self.unknown_model(entry, surface, place, id)) };
        if !row.surfaces.is_empty() && !row.surfaces.contains(&place.id) {
            let served = row.surfaces.clone();
            return Err(ResolveError::NotServed { model: row.id.clone(), surface: place.id.clone(), served });
        }
        let mut changes = Vec::new();
        if row.known_from == [Origin::Provider] {
            let detail = "the provider lists the model without all of its features";
            changes.push(unknown_model_change(&entry.row, &id, detail));
        }
        if let Some(why) = &row.deprecated {
            let what = (Action::Noted, Effect::Note);
            changes.push(change(Kind::Model, "deprecated", "/model", what, format!("`{}`: {why}", row.id)));
        }
        Ok(Model { entry: Arc::clone(entry), surface, row, id, changes })
    }

    fn unknown_model(&self, entry: &Arc<ProviderEntry>, surface: usize, place: &SurfaceRow, id: &str) -> Model {
        let family = place.unknown.as_ref().unwrap_or(&entry.row.unknown);
        // Rows with an unknown family are rejected when they are read.
        let row = self.families.get(family).map(|family| family.row(&entry.row.id, id));
        let row = Arc::new(row.unwrap_or_else(|| ModelRow::minimal(&entry.row.id, id)));
        let change = unknown_model_change(&entry.row, id, "the model is not in the catalog");
        Model { entry: Arc::clone(entry), surface, row, id: id.to_owned(), changes: vec![change] }
    }
}

fn unknown_model_change(provider: &Provider, id: &str, why: &str) -> Change {
    let detail = format!("`{id}`: {why}; only features that every {} model supports are used", provider.title);
    change(Kind::Model, UNKNOWN_MODEL, "/model", (Action::Assumed, Effect::Note), detail)
}

/// The code of the change for models that are not in the catalog.
const UNKNOWN_MODEL: &str = "unknown-model";

/// A model on one of its provider's surfaces.
#[derive(Clone, Debug)]
pub struct Model {
    entry: Arc<ProviderEntry>,
    surface: usize,
    row: Arc<ModelRow>,
    id: String,
    changes: Vec<Change>,
}

/// A model can be passed where a list of models is expected.
impl AsRef<[Self]> for Model {
    fn as_ref(&self) -> &[Self] {
        std::slice::from_ref(self)
    }
}

impl Model {
    /// The provider's row.
    pub fn provider(&self) -> &Provider {
        &self.entry.row
    }

    /// The model's row.
    pub fn row(&self) -> &ModelRow {
        &self.row
    }

    /// The model id in requests.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The full name, `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.entry.row.id, self.id)
    }

    /// The model for requests in the provider's own protocol. If it is not in the catalog, all features of the protocol are passed on
    /// and the provider rejects what it does not support, because the caller may know more about the model than the catalog.
    pub(crate) fn for_own_protocol(&self) -> Cow<'_, Self> {
        if !self.changes.iter().any(|change| change.code == UNKNOWN_MODEL) {
            return Cow::Borrowed(self);
        }
        let row = Arc::new(ModelRow::permissive(&self.entry.row.id, &self.id));
        let detail = format!("`{}`: the model is not in the catalog; its features are not checked", self.id);
        let change = change(Kind::Model, UNKNOWN_MODEL, "/model", (Action::Assumed, Effect::Note), detail);
        Cow::Owned(Self { row, changes: vec![change], ..self.clone() })
    }

    /// The surface's row.
    ///
    /// # Panics
    ///
    /// Never: a handle is made of a surface that exists.
    #[expect(clippy::indexing_slicing, reason = "the handle is made of an index into this very list")]
    pub fn surface(&self) -> &SurfaceRow {
        &self.entry.row.surfaces[self.surface]
    }

    /// The model on a surface of the given protocol, if the provider serves it there; otherwise unchanged.
    ///
    /// ```
    /// use polywire::Catalog;
    /// use polywire::wire::Protocol;
    /// let model = Catalog::built_in().resolve("openai/gpt-4o").unwrap();
    /// assert_eq!(model.protocol(), Protocol::OpenAiResponses);
    /// assert_eq!(model.preferring(Protocol::OpenAiChat).protocol(), Protocol::OpenAiChat);
    /// assert_eq!(model.preferring(Protocol::Gemini).protocol(), Protocol::OpenAiResponses);
    /// ```
    #[must_use]
    pub fn preferring(&self, protocol: Protocol) -> Self {
        if self.protocol() == protocol {
            return self.clone();
        }
        // A surface with its own family for unknown models serves other models than the rest of the provider.
        let is_known = !self.changes.iter().any(|change| change.code == UNKNOWN_MODEL);
        let is_served = |row: &SurfaceRow| match self.row.surfaces.as_slice() {
            [] => is_known || row.unknown == self.surface().unknown,
            served => served.contains(&row.id),
        };
        let place = self.entry.row.surfaces.iter().position(|row| row.protocol == protocol && is_served(row));
        Self { surface: place.unwrap_or(self.surface), ..self.clone() }
    }

    /// The protocol of the surface.
    pub fn protocol(&self) -> Protocol {
        self.surface().protocol
    }

    /// The changes for an unknown or deprecated model.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub(crate) fn slots(&self) -> &Slots {
        static NONE: Slots = Slots { tool_strict: None, tool: None, output_strict: None, output: None };
        self.entry.slots(self.surface).unwrap_or(&NONE)
    }

    /// The default strategy of structured output. It depends on rows only, so that replays of a request are identical (R-C5).
    pub fn strategy(&self) -> Strategy {
        let slots = &self.surface().dialects;
        let slot = slots.output.is_some() || (slots.output_strict.is_some() && self.row.can(Ability::Strict));
        if slot && self.row.can(Ability::NativeOutput) {
            Strategy::Native
        } else if self.row.can(Ability::Tools) && !self.wire().has(Quirk::NoForcedChoice) {
            Strategy::Tool
        } else {
            Strategy::Prompted
        }
    }

    /// The deviations from the protocol, of the surface and of the model.
    pub fn wire(&self) -> Surface {
        let (surface, row) = (self.surface(), &self.row);
        let mut wire = surface.wire.clone();
        // The client replaces this placeholder with the value of the environment variable.
        let named = surface.envelope_env.iter().map(|(name, env)| (name.clone(), env_placeholder(env).into()));
        wire.envelope_fields.extend(named);
        let unread = MODALITY_QUIRKS.iter().filter(|(modality, _)| !row.reads(*modality)).map(|(_, quirk)| *quirk);
        let never = [(row.sampling, Quirk::NoSampling), (row.forced, Quirk::NoForcedChoice)];
        let never = never.into_iter().filter(|(when, _)| *when == When::Never).map(|(_, quirk)| quirk);
        for quirk in row.quirks.iter().copied().chain(unread).chain(never) {
            wire = wire.with(quirk);
        }
        if !row.efforts.is_empty() {
            let taken = |effort: &_| wire.efforts.is_empty() || wire.efforts.contains(effort);
            wire.efforts = row.efforts.iter().filter(|effort| taken(effort)).cloned().collect();
        }
        if row.budgets != Budgets::default() {
            wire.budgets = row.budgets;
        }
        // Providers reject a limit above the model's maximum.
        wire.max_tokens = wire.max_tokens.map(|limit| row.output.map_or(limit, |most| limit.min(most)));
        wire
    }
}

/// The quirks of models that do not accept an input modality.
const MODALITY_QUIRKS: [(Modality, Quirk); 3] =
    [(Modality::Image, Quirk::NoImages), (Modality::Audio, Quirk::NoAudio), (Modality::Pdf, Quirk::NoDocuments)];
