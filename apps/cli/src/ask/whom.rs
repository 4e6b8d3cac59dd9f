//! Whom to ask: models by name, those of the emulator included, and the client that reaches them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use anyhow::Result;
use polywire::{Catalog, Client, ClientOptions, Model, ModelRow, Secret, SendError};
use polywire_emulator::{EMULATE_HEADER, Emulator, EmulatorOptions, Misbehaviour};

use crate::input::Failure;
use crate::known::Known;
use crate::request::{resolve_any, resolve_in};

/// The provider that needs no key.
pub(crate) const EMULATOR: &str = "emulator/";

/// The key that the emulator is shown. It is no word that an answer would have.
const EMULATED_KEY: &str = "key-of-the-emulator";

/// Whom to ask, and how they are reached.
pub(crate) struct Whom {
    /// The first that answers is taken.
    pub(crate) models: Vec<Model>,
    pub(crate) client: Client,
    /// The providers that are emulated.
    pub(crate) emulated: BTreeSet<String>,
    /// Ends with the rest.
    _emulator: Option<Emulator>,
}

/// A name taken apart.
struct Named {
    model: Model,
    /// The trouble that is asked for, where the provider is emulated.
    trouble: Option<String>,
}

impl Whom {
    pub(crate) async fn of(names: &[String], options: ClientOptions) -> Result<Self> {
        let mut client = Client::with_options(options)?;
        let known = Known::load()?;
        let catalog = known.catalog_for(names.iter().map(|name| {
            let name = name.strip_prefix(EMULATOR).unwrap_or(name);
            name.split_once('+').map_or(name, |(name, _)| name)
        }));
        let read = names.iter().map(|name| read(&catalog, name)).collect::<Result<Vec<_>>>()?;
        let emulated = agreed(&read)?;
        let emulator = if emulated.is_empty() {
            None
        } else {
            let options = EmulatorOptions::default().with_catalog(catalog).with_dialects(known.config.dialects());
            Some(Emulator::start_with(0, options).await?)
        };
        let models: Vec<Model> = read.into_iter().map(|named| named.model).collect();
        for (provider, trouble) in &emulated {
            let row = models.iter().map(Model::provider).find(|row| row.id == *provider);
            let Some((emulator, row)) = emulator.as_ref().zip(row) else { continue };
            client = client.with_base_url(provider, &emulator.base_url(row));
            client = client.with_key(provider, Secret::new(EMULATED_KEY));
            if !trouble.is_empty() {
                client = client.with_header_for(provider, EMULATE_HEADER, &trouble.replace('+', ","));
            }
        }
        Ok(Self { models, client, emulated: emulated.into_keys().collect(), _emulator: emulator })
    }
}

fn read(catalog: &Catalog, name: &str) -> Result<Named> {
    let Some(rest) = name.strip_prefix(EMULATOR) else {
        return Ok(Named { model: resolve_in(catalog, name)?, trouble: None });
    };
    let (rest, trouble) = rest.split_once('+').unwrap_or((rest, ""));
    for trouble in trouble.split('+').filter(|trouble| !trouble.is_empty()) {
        if Misbehaviour::named(trouble).is_none() {
            let what = format!("`{trouble}` is no trouble that can be asked for");
            return Err(Failure::new(what, name, "`polywire emulate --list` lists what can go wrong").into());
        }
    }
    let model = if rest.contains('/') { resolve_in(catalog, rest)? } else { first_model(catalog, rest)? };
    Ok(Named { model, trouble: Some(trouble.to_owned()) })
}

/// The emulated providers and their trouble. One provider is one address: it is emulated in one way, or not at all.
fn agreed(named: &[Named]) -> Result<BTreeMap<String, String>> {
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    for Named { model, trouble } in named {
        let known = found.entry(model.provider().id.clone()).or_insert_with(|| trouble.clone());
        if known != trouble {
            let what = "one provider cannot be both emulated and real, or in two kinds of trouble, in one list";
            let next = "give models of different providers";
            return Err(Failure::new(what, &model.name(), next).into());
        }
    }
    Ok(found.into_iter().filter_map(|(provider, trouble)| Some((provider, trouble?))).collect())
}

/// A model of a provider, on the surface that its name may have: the first row that is not on its way out, of those on the
/// provider's first surface where there are any.
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

/// Why nobody answered, and what to do next.
pub(crate) fn no_answer<'e>(
    what: &dyn Display,
    errors: impl IntoIterator<Item = &'e SendError>,
    models: &[String],
) -> anyhow::Error {
    let next = match errors.into_iter().find_map(missing_key) {
        Some(provider) => format!("or try it without a key: --model {EMULATOR}{provider}"),
        None => "`--explain` shows what is sent".to_owned(),
    };
    Failure::new(what, &models.join(", "), &next).into()
}

/// The first provider that there is no key for.
fn missing_key(error: &SendError) -> Option<&str> {
    if let SendError::MissingKey { provider, .. } = error {
        return Some(provider);
    }
    let SendError::AllModelsFailed(failed) = error else { return None };
    failed.iter().find_map(|failed| missing_key(failed.error.as_ref()?))
}
