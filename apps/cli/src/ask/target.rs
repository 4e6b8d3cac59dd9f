//! The models to ask, emulated ones included, and the client that reaches them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use anyhow::Result;
use polywire::{Catalog, Client, ClientOptions, Model, ModelRow, Secret, SendError};
use polywire_emulator::{EMULATE_HEADER, Emulator, EmulatorOptions, Misbehaviour};

use crate::input::Failure;
use crate::known::Known;
use crate::request::{resolve_any, resolve_in};

/// The prefix of models that are emulated and need no key.
pub(crate) const EMULATOR: &str = "emulator/";

/// The key that is sent to the emulator. Keys are masked in answers, so this must be a text that no answer contains.
const EMULATOR_KEY: &str = "key-of-the-emulator";

/// The models to ask, and the client that reaches them.
pub(crate) struct Targets {
    /// In the order of preference.
    pub(crate) models: Vec<Model>,
    pub(crate) client: Client,
    /// The ids of the emulated providers.
    pub(crate) emulated: BTreeSet<String>,
    /// Stops when dropped.
    _emulator: Option<Emulator>,
}

/// A parsed model name.
struct NamedModel {
    model: Model,
    /// The requested misbehaviours; `None` for a real provider.
    misbehaviour: Option<String>,
}

impl Targets {
    pub(crate) async fn connect(names: &[String], options: ClientOptions) -> Result<Self> {
        let mut client = Client::with_options(options)?;
        let known = Known::load()?;
        let catalog = known.catalog_for(names.iter().map(|name| {
            let name = name.strip_prefix(EMULATOR).unwrap_or(name);
            name.split_once('+').map_or(name, |(name, _)| name)
        }));
        let read = names.iter().map(|name| read(&catalog, name)).collect::<Result<Vec<_>>>()?;
        let emulated = emulated_providers(&read)?;
        let emulator = if emulated.is_empty() {
            None
        } else {
            let options = EmulatorOptions::default().with_catalog(catalog).with_dialects(known.config.dialects());
            Some(Emulator::start_with(0, options).await?)
        };
        let models: Vec<Model> = read.into_iter().map(|named| named.model).collect();
        for (provider, misbehaviour) in &emulated {
            let row = models.iter().map(Model::provider).find(|row| row.id == *provider);
            let Some((emulator, row)) = emulator.as_ref().zip(row) else { continue };
            client = client.with_base_url(provider, &emulator.base_url(row));
            client = client.with_key(provider, Secret::new(EMULATOR_KEY));
            if !misbehaviour.is_empty() {
                client = client.with_header_for(provider, EMULATE_HEADER, &misbehaviour.replace('+', ","));
            }
        }
        Ok(Self { models, client, emulated: emulated.into_keys().collect(), _emulator: emulator })
    }
}

fn read(catalog: &Catalog, name: &str) -> Result<NamedModel> {
    let Some(rest) = name.strip_prefix(EMULATOR) else {
        return Ok(NamedModel { model: resolve_in(catalog, name)?, misbehaviour: None });
    };
    let (rest, misbehaviour) = rest.split_once('+').unwrap_or((rest, ""));
    for misbehaviour in misbehaviour.split('+').filter(|misbehaviour| !misbehaviour.is_empty()) {
        if Misbehaviour::named(misbehaviour).is_none() {
            let what = format!("unknown misbehaviour `{misbehaviour}`");
            return Err(Failure::new(what, name, "`polywire emulate --list` lists the misbehaviours").into());
        }
    }
    let model = if rest.contains('/') { resolve_in(catalog, rest)? } else { first_model(catalog, rest)? };
    Ok(NamedModel { model, misbehaviour: Some(misbehaviour.to_owned()) })
}

/// The emulated providers and their misbehaviours. A provider has one address, so all its models must agree.
fn emulated_providers(named: &[NamedModel]) -> Result<BTreeMap<String, String>> {
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    for NamedModel { model, misbehaviour } in named {
        let known = found.entry(model.provider().id.clone()).or_insert_with(|| misbehaviour.clone());
        if known != misbehaviour {
            let what = "a provider cannot be both emulated and real, or have two misbehaviours, in one list of models";
            let next = "give models of different providers";
            return Err(Failure::new(what, &model.name(), next).into());
        }
    }
    Ok(found.into_iter().filter_map(|(provider, misbehaviour)| Some((provider, misbehaviour?))).collect())
}

/// The first model of a provider that is not deprecated, on the surface that the name gives or on the provider's first one.
fn first_model(catalog: &Catalog, name: &str) -> Result<Model> {
    let unnamed = resolve_any(catalog, name)?;
    let (provider, surface) = (unnamed.provider(), unnamed.surface());
    let rows = || catalog.models_of(&provider.id).filter(|row| row.deprecated.is_none());
    let served = |row: &&ModelRow| row.surfaces.is_empty() || row.surfaces.contains(&surface.id);
    if let Some(row) = rows().find(served) {
        return resolve_in(catalog, &format!("{}:{}/{}", provider.id, surface.id, row.id));
    }
    let other = rows().find(|_| !name.contains(':')).map_or("emulated", |row| row.id.as_str());
    resolve_in(catalog, &format!("{name}/{other}"))
}

/// The error for a request that no model answered.
pub(crate) fn no_answer<'e>(
    what: &dyn Display,
    errors: impl IntoIterator<Item = &'e SendError>,
    models: &[String],
) -> anyhow::Error {
    let next = match errors.into_iter().find_map(missing_key) {
        Some(provider) => format!("or try the emulator, without a key: --model {EMULATOR}{provider}"),
        None => "`--explain` shows what is sent".to_owned(),
    };
    Failure::new(what, &models.join(", "), &next).into()
}

/// The first provider without a key.
fn missing_key(error: &SendError) -> Option<&str> {
    if let SendError::MissingKey { provider, .. } = error {
        return Some(provider);
    }
    let SendError::AllModelsFailed(failed) = error else { return None };
    failed.iter().find_map(|failed| missing_key(failed.error.as_ref()?))
}
