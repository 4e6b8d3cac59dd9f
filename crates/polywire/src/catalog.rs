//! The catalog: providers and models as rows, and the way from a name such as `provider/model` to what is known of it.

pub(crate) mod config;
pub(crate) mod list;
mod merge;
mod price_list;
mod stock;

pub use config::{Config, Defaults, Ignored, Mistake, ReadFile, Untrusted};
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

use crate::address::shown_env;
use crate::change::{Action, Change, Effect, Kind, change};
use crate::provider::Slots;
use price_list::PriceList;
use stock::Stock;

/// The rows that come with the crate.
const PROVIDERS: &str = include_str!("../data/providers.toml");
const MODELS: &str = include_str!("../data/models.toml");

static BUILT_IN: LazyLock<Catalog> = LazyLock::new(|| {
    // A test reads the rows too; rows that cannot be read are no rows.
    Catalog::read(PROVIDERS, MODELS).unwrap_or_default()
});

/// Providers and models. A copy shares its rows.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    hosts: Vec<Arc<Host>>,
    /// The models of every host, in the same order.
    stocks: Vec<Arc<Stock>>,
    families: Arc<BTreeMap<String, Family>>,
}

/// A provider, and its dialects as soon as somebody asks for them.
#[derive(Debug)]
struct Host {
    row: Provider,
    /// Dialects that do not come with the crate.
    own: Arc<[Dialect]>,
    slots: Vec<OnceLock<Slots>>,
}

impl Host {
    fn new(row: Provider, own: Arc<[Dialect]>) -> Self {
        let slots = row.surfaces.iter().map(|_| OnceLock::new()).collect();
        Self { row, own, slots }
    }

    /// The dialects of a surface. Ids that are none are refused when rows are read.
    fn slots(&self, surface: usize) -> Option<&Slots> {
        let find = || self.row.surfaces.get(surface).and_then(|row| row.dialects.find(&self.own).ok());
        Some(self.slots.get(surface)?.get_or_init(|| find().unwrap_or_default()))
    }
}

/// Why rows could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogError(pub(crate) String);

impl fmt::Display for CatalogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CatalogError {}

/// Why a name leads to no model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolveError {
    /// There is no such provider.
    UnknownProvider {
        /// The name that was given.
        name: String,
        /// The ids there are.
        known: Vec<String>,
    },
    /// The provider has no such surface.
    UnknownSurface {
        /// The name that was given.
        name: String,
        /// The ids there are.
        known: Vec<String>,
    },
    /// The model is not served on the surface.
    NotServed {
        /// The model.
        model: String,
        /// The surface that was asked for.
        surface: String,
        /// The surfaces there are for it.
        served: Vec<String>,
    },
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownProvider { name, known } => {
                write!(f, "`{name}` is not a provider; known are: {}", known.join(", "))
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
    /// The rows that come with the crate.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// A catalog of the caller's own rows, in the form of `data/providers.toml` and `data/models.toml`.
    pub fn from_toml(providers: &str, models: &str) -> Result<Self, CatalogError> {
        let catalog = Self::read(providers, models)?;
        for host in &catalog.hosts {
            host.row.check_dialects(&[])?;
        }
        Ok(catalog)
    }

    /// Reads rows, and leaves their dialects for later.
    fn read(providers: &str, models: &str) -> Result<Self, CatalogError> {
        let providers: ProviderFile = toml::from_str(providers).map_err(|error| CatalogError(error.to_string()))?;
        let models: ModelFile = toml::from_str(models).map_err(|error| CatalogError(error.to_string()))?;
        let families = models.family.into_iter().map(|family| (family.id.clone(), family)).collect();
        let mut catalog = Self { families: Arc::new(families), ..Self::default() };
        for row in providers.provider {
            catalog.add_provider(row, Arc::default())?;
        }
        let mut rows: Vec<Vec<ModelRow>> = vec![Vec::new(); catalog.hosts.len()];
        for line in &models.model {
            let (host, row) = catalog.settle(line)?;
            if let Some(rows) = rows.get_mut(host) {
                rows.push(row);
            }
        }
        for list in &models.price {
            list.over(&mut rows)?;
        }
        for (stock, rows) in catalog.stocks.iter_mut().zip(rows) {
            *stock = Arc::new(Stock::strict(rows)?);
        }
        Ok(catalog)
    }

    fn add_provider(&mut self, row: Provider, own: Arc<[Dialect]>) -> Result<(), CatalogError> {
        if self.hosts.iter().any(|host| host.row.is_called(&row.id)) {
            return Err(row.fault("the id is taken"));
        }
        self.check_provider(&row)?;
        self.hosts.push(Arc::new(Host::new(row, own)));
        self.stocks.push(Arc::default());
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

    /// The host and the row of a line of the catalog.
    fn settle(&self, line: &ModelPatch) -> Result<(usize, ModelRow), CatalogError> {
        let fault = |what: &str| CatalogError(format!("model `{}/{}`: {what}", line.provider, line.id));
        let host = self.hosts.iter().enumerate().find(|(_, host)| host.row.id == line.provider);
        let Some((number, host)) = host else { return Err(fault("there is no such provider")) };
        let family = line.family.as_ref().unwrap_or(&host.row.unknown);
        let Some(family) = self.families.get(family) else {
            return Err(fault(&format!("there is no family `{family}`")));
        };
        let mut row = family.row(&host.row.id, &line.id);
        line.over(&mut row);
        (row.dated, row.aliases) = (line.dated.clone(), line.aliases.clone());
        row.known_from = vec![Origin::Catalog];
        if row.surfaces.iter().any(|id| host.row.surface(id).is_none()) {
            return Err(fault("it names a surface that its provider does not have"));
        }
        Ok((number, row))
    }

    /// All providers, in the order of the rows.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.hosts.iter().map(|host| &host.row)
    }

    /// All models, in the order of the rows.
    pub fn models(&self) -> impl Iterator<Item = &ModelRow> {
        self.stocks.iter().flat_map(|stock| stock.rows())
    }

    /// A provider by its id or an alias, whatever the case.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.number(name).and_then(|number| self.hosts.get(number)).map(|host| &host.row)
    }

    /// The models of a provider, in the order of the rows.
    pub fn models_of(&self, provider: &str) -> impl Iterator<Item = &ModelRow> {
        let stock = self.number(provider).and_then(|number| self.stocks.get(number));
        stock.into_iter().flat_map(|stock| stock.rows())
    }

    fn number(&self, provider: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.row.is_called(provider))
    }

    /// The model that a name means: `provider/model`, or `provider:surface/model` for another surface than the model's own.
    /// Case does not matter; dated ids and aliases count. A model without a row gets what the provider's models have in
    /// common at least, and a change that says so.
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
        let Some(number) = self.number(head.trim()) else {
            let known = self.providers().map(|provider| provider.id.clone()).collect();
            return Err(ResolveError::UnknownProvider { name: head.to_owned(), known });
        };
        self.model_at(number, surface.map(str::trim), id.trim())
    }

    /// A model of the first provider in the catalog that serves a protocol: its owner, in the rows that come with the crate.
    pub fn of_protocol(&self, protocol: Protocol, id: &str) -> Result<Model, ResolveError> {
        let surfaces = self
            .hosts
            .iter()
            .enumerate()
            .flat_map(|(number, host)| host.row.surfaces.iter().map(move |surface| (number, surface)));
        let Some((number, surface)) = surfaces.into_iter().find(|(_, surface)| surface.protocol == protocol) else {
            let known = self.providers().map(|provider| provider.id.clone()).collect();
            return Err(ResolveError::UnknownProvider { name: protocol.name().to_owned(), known });
        };
        self.model_at(number, Some(&surface.id), id)
    }

    fn model_at(&self, number: usize, surface: Option<&str>, id: &str) -> Result<Model, ResolveError> {
        let unknown = || ResolveError::UnknownProvider { name: id.to_owned(), known: Vec::new() };
        let host = self.hosts.get(number).ok_or_else(unknown)?;
        let found = self.stocks.get(number).and_then(|stock| stock.find(&host.row, id));
        let asked = surface.or_else(|| found.as_ref().and_then(|(row, _)| row.surfaces.first()).map(String::as_str));
        let surface = match asked {
            None => 0,
            Some(id) => {
                let same = |row: &SurfaceRow| row.id.eq_ignore_ascii_case(id);
                let known = || host.row.surfaces.iter().map(|row| row.id.clone()).collect();
                host.row
                    .surfaces
                    .iter()
                    .position(same)
                    .ok_or_else(|| ResolveError::UnknownSurface { name: id.to_owned(), known: known() })?
            }
        };
        let place = host.row.surfaces.get(surface).ok_or_else(unknown)?;
        let Some((row, id)) = found else { return Ok(self.unknown(host, surface, place, id)) };
        if !row.surfaces.is_empty() && !row.surfaces.contains(&place.id) {
            let served = row.surfaces.clone();
            return Err(ResolveError::NotServed { model: row.id.clone(), surface: place.id.clone(), served });
        }
        let mut changes = Vec::new();
        if row.known_from == [Origin::Provider] {
            let detail = "the provider lists it, but not all that it can do";
            changes.push(unknown_model(&host.row, &id, detail));
        }
        if let Some(why) = &row.deprecated {
            let what = (Action::Noted, Effect::Note);
            changes.push(change(Kind::Model, "deprecated", "/model", what, format!("`{}`: {why}", row.id)));
        }
        Ok(Model { host: Arc::clone(host), surface, row, id, changes })
    }

    /// A model without a row.
    fn unknown(&self, host: &Arc<Host>, surface: usize, place: &SurfaceRow, id: &str) -> Model {
        let family = place.unknown.as_ref().unwrap_or(&host.row.unknown);
        // Rows whose family is missing are refused when they are read.
        let row = self.families.get(family).map(|family| family.row(&host.row.id, id));
        let row = Arc::new(row.unwrap_or_else(|| ModelRow::careful(&host.row.id, id)));
        let change = unknown_model(&host.row, id, "it is not in the catalog");
        Model { host: Arc::clone(host), surface, row, id: id.to_owned(), changes: vec![change] }
    }
}

fn unknown_model(provider: &Provider, id: &str, why: &str) -> Change {
    let detail = format!("`{id}`: {why}; it is taken for what every model of {} can do", provider.title);
    change(Kind::Model, UNKNOWN_MODEL, "/model", (Action::Assumed, Effect::Note), detail)
}

/// The code of the change that says that a model is not in the catalog.
const UNKNOWN_MODEL: &str = "unknown-model";

/// A model of a provider on one of its surfaces: everything that is decided before a request is known.
#[derive(Clone, Debug)]
pub struct Model {
    host: Arc<Host>,
    surface: usize,
    row: Arc<ModelRow>,
    id: String,
    changes: Vec<Change>,
}

/// One model is a list of one, where a list of models is asked for.
impl AsRef<[Self]> for Model {
    fn as_ref(&self) -> &[Self] {
        std::slice::from_ref(self)
    }
}

impl Model {
    /// The provider's row.
    pub fn provider(&self) -> &Provider {
        &self.host.row
    }

    /// The row of what the model can do.
    pub fn row(&self) -> &ModelRow {
        &self.row
    }

    /// The id that is sent.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its full name: `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.host.row.id, self.id)
    }

    /// The model for a caller who speaks the provider's own protocol. Of a model that is not in the catalog, such a caller may know
    /// more than we do: everything that the protocol has passes, and the provider judges it.
    pub(crate) fn for_own_protocol(&self) -> Cow<'_, Self> {
        if !self.changes.iter().any(|change| change.code == UNKNOWN_MODEL) {
            return Cow::Borrowed(self);
        }
        let row = Arc::new(ModelRow::trusting(&self.host.row.id, &self.id));
        let detail = format!("`{}`: it is not in the catalog; what it can do is left to the provider", self.id);
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
        &self.host.row.surfaces[self.surface]
    }

    /// The protocol it is spoken to in.
    pub fn protocol(&self) -> Protocol {
        self.surface().protocol
    }

    /// What is to be said of the choice itself: a model that is not known, or deprecated.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub(crate) fn slots(&self) -> &Slots {
        static NONE: Slots = Slots { tool_strict: None, tool: None, output_strict: None, output: None };
        self.host.slots(self.surface).unwrap_or(&NONE)
    }

    /// How structured output is asked for unless the request says otherwise. It depends on rows alone, so that the same
    /// request replays in the same way (R-C5).
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

    /// How this model departs from its protocol: the surface's ways and its own.
    pub fn wire(&self) -> Surface {
        let (surface, row) = (self.surface(), &self.row);
        let mut wire = surface.wire.clone();
        // The value comes in when the request is sent; until then the field says which variable holds it.
        let named = surface.envelope_env.iter().map(|(name, env)| (name.clone(), shown_env(env).into()));
        wire.envelope_fields.extend(named);
        let unread = UNREAD.iter().filter(|(modality, _)| !row.reads(*modality)).map(|(_, quirk)| *quirk);
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
        // A default that is more than the model can write would be refused.
        wire.max_tokens = wire.max_tokens.map(|limit| row.output.map_or(limit, |most| limit.min(most)));
        wire
    }
}

/// What a model that does not read a thing refuses.
const UNREAD: [(Modality, Quirk); 3] =
    [(Modality::Image, Quirk::NoImages), (Modality::Audio, Quirk::NoAudio), (Modality::Pdf, Quirk::NoDocuments)];
