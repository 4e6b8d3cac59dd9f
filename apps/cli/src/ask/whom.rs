//! Whom to ask: models by name, those of the emulator included, and the client that reaches them.

use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::Result;
use polywire::{Catalog, Client, ClientOptions, Model, Secret, SendError};
use polywire_gateway::{EMULATE_HEADER, Emulator};

use crate::input::Failure;
use crate::known::Known;
use crate::request::{resolve, resolve_in};

/// The provider that needs no key.
pub(crate) const EMULATOR: &str = "emulator/";

/// Whom to ask, and how they are reached.
pub(crate) struct Whom {
    /// The first that answers is taken.
    pub(crate) models: Vec<Model>,
    pub(crate) client: Client,
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
        let read = names.iter().map(|name| read(name)).collect::<Result<Vec<_>>>()?;
        let emulated = agreed(&read)?;
        let emulator = if emulated.is_empty() { None } else { Some(Emulator::start(0).await?) };
        let models: Vec<Model> = read.into_iter().map(|named| named.model).collect();
        for (provider, trouble) in &emulated {
            let row = models.iter().map(Model::provider).find(|row| row.id == *provider);
            let Some((emulator, row)) = emulator.as_ref().zip(row) else { continue };
            client = client.with_base_url(provider, &emulator.base_url(row));
            client = client.with_key(provider, Secret::new("emulated"));
            if !trouble.is_empty() {
                client = client.with_header_for(provider, EMULATE_HEADER, &trouble.replace('+', ","));
            }
        }
        Ok(Self { models, client, _emulator: emulator })
    }
}

fn read(name: &str) -> Result<Named> {
    let Some(rest) = name.strip_prefix(EMULATOR) else {
        let known = Known::load()?;
        let model = resolve_in(&known.catalog_for(name), name)?;
        known.announce(model.provider());
        return Ok(Named { model, trouble: None });
    };
    let (rest, trouble) = rest.split_once('+').unwrap_or((rest, ""));
    let model = if rest.contains('/') { resolve(rest)? } else { first_model(rest)? };
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

/// A model of a provider, on the surface that its name may have: the first row that is not on its way out.
fn first_model(name: &str) -> Result<Model> {
    let unnamed = resolve(&format!("{name}/emulated"))?;
    let (provider, surface) = (unnamed.provider(), unnamed.surface());
    let served = |row: &&polywire::ModelRow| {
        row.provider == provider.id && (row.surfaces.is_empty() || row.surfaces.contains(&surface.id))
    };
    let row = Catalog::built_in().models().filter(|row| row.deprecated.is_none()).find(served);
    match row {
        Some(row) => resolve(&format!("{}:{}/{}", provider.id, surface.id, row.id)),
        None => Ok(unnamed),
    }
}

/// Why nobody answered, and what to do next.
pub(crate) fn no_answer<'e>(
    what: &dyn Display,
    errors: impl IntoIterator<Item = &'e SendError>,
    models: &[String],
) -> anyhow::Error {
    let next = match errors.into_iter().find_map(missing_key) {
        Some(provider) => format!("or try it without a key: --model {EMULATOR}{provider}"),
        None => "`--explain` and `polywire plan` show what is sent".to_owned(),
    };
    Failure::new(what, &models.join(", "), &next).into()
}

/// The first provider that there is no key for.
fn missing_key(error: &SendError) -> Option<&str> {
    if let SendError::MissingKey { provider, .. } = error {
        return Some(provider);
    }
    let SendError::Everyone(failed) = error else { return None };
    failed.iter().find_map(|failed| missing_key(failed.error.as_ref()?))
}
