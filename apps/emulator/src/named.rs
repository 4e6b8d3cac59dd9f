//! Names of models that may be emulated ones (`emulator/PROVIDER[/MODEL][+MISBEHAVIOUR…]`), and a client that reaches them.

use std::collections::BTreeMap;
use std::fmt;

use polywire::{Catalog, Client, Model, ModelRow, Secret};

use crate::misbehave::Misbehaviour;
use crate::respond::EMULATE_HEADER;
use crate::server::Emulator;

/// The prefix of models that are emulated and need no key.
pub const EMULATED: &str = "emulator/";

/// The key that is sent to the emulator. Keys are masked in answers, so this must be a text that no answer contains.
const EMULATOR_KEY: &str = "key-of-the-emulator";

/// The models of a list of names, and which of their providers are emulated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NamedModels {
    /// In the order of preference.
    pub models: Vec<Model>,
    /// The ids of the emulated providers, and their misbehaviours.
    pub emulated: BTreeMap<String, String>,
}

/// A name that leads to no model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameError {
    /// What is wrong.
    pub what: String,
    /// The name.
    pub name: String,
    /// What to do about it.
    pub next: String,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (`{}`); {}", self.what, self.name, self.next)
    }
}

impl std::error::Error for NameError {}

impl NameError {
    fn new(what: impl Into<String>, name: &str, next: impl Into<String>) -> Self {
        Self { what: what.into(), name: name.to_owned(), next: next.into() }
    }
}

/// The name without the prefix of emulated models and without misbehaviours: what a catalog knows.
pub fn real_name(name: &str) -> &str {
    match name.strip_prefix(EMULATED) {
        Some(rest) => rest.split_once('+').map_or(rest, |(name, _)| name),
        None => name,
    }
}

impl NamedModels {
    /// Reads names. `resolve` finds the model of a real name in the catalog; a provider without a model is enough.
    pub fn read<E: From<NameError>>(
        catalog: &Catalog,
        names: &[String],
        resolve: impl Fn(&str) -> Result<Model, E>,
    ) -> Result<Self, E> {
        let mut models = Vec::with_capacity(names.len());
        let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
        for name in names {
            let (model, misbehaviour) = read(catalog, name, &resolve)?;
            let known = found.entry(model.provider().id.clone()).or_insert_with(|| misbehaviour.clone());
            if *known != misbehaviour {
                // A provider has one address, so all its models must agree.
                let what =
                    "a provider cannot be both emulated and real, or have two misbehaviours, in one list of models";
                return Err(NameError::new(what, &model.name(), "give models of different providers").into());
            }
            models.push(model);
        }
        let emulated =
            found.into_iter().filter_map(|(provider, misbehaviour)| Some((provider, misbehaviour?))).collect();
        Ok(Self { models, emulated })
    }

    /// A client that sends requests to emulated providers to the emulator.
    pub fn connect(&self, mut client: Client, emulator: &Emulator) -> Client {
        for (provider, misbehaviour) in &self.emulated {
            let Some(row) = self.models.iter().map(Model::provider).find(|row| row.id == *provider) else { continue };
            client = client.with_base_url(provider, &emulator.base_url(row));
            client = client.with_key(provider, Secret::new(EMULATOR_KEY));
            if !misbehaviour.is_empty() {
                client = client.with_header_for(provider, EMULATE_HEADER, &misbehaviour.replace('+', ","));
            }
        }
        client
    }
}

/// A model, and the requested misbehaviours; `None` for a real provider.
fn read<E: From<NameError>>(
    catalog: &Catalog,
    name: &str,
    resolve: &impl Fn(&str) -> Result<Model, E>,
) -> Result<(Model, Option<String>), E> {
    let Some(rest) = name.strip_prefix(EMULATED) else {
        return Ok((complete(resolve(name)?, name)?, None));
    };
    let (rest, misbehaviour) = rest.split_once('+').unwrap_or((rest, ""));
    for misbehaviour in misbehaviour.split('+').filter(|misbehaviour| !misbehaviour.is_empty()) {
        if Misbehaviour::named(misbehaviour).is_none() {
            let what = format!("unknown misbehaviour `{misbehaviour}`");
            return Err(NameError::new(what, name, "`polywire emulate --list` lists the misbehaviours").into());
        }
    }
    let model = if rest.contains('/') { resolve(rest)? } else { resolve(&first_model(catalog, rest, resolve)?)? };
    Ok((complete(model, name)?, Some(misbehaviour.to_owned())))
}

/// The model, if its name is more than that of a provider.
fn complete(model: Model, name: &str) -> Result<Model, NameError> {
    if model.id().is_empty() {
        let provider = &model.provider().id;
        let next = format!("give {provider}/MODEL; `polywire models --provider {provider}` lists them");
        return Err(NameError::new("no model is named", name, next));
    }
    Ok(model)
}

/// The name of the first model of a provider that is not deprecated, on the surface that the name gives or on the provider's first one.
fn first_model<E>(catalog: &Catalog, name: &str, resolve: &impl Fn(&str) -> Result<Model, E>) -> Result<String, E> {
    let unnamed = resolve(name)?;
    let (provider, surface) = (unnamed.provider(), unnamed.surface());
    let rows = || catalog.models_of(&provider.id).filter(|row| row.deprecated.is_none());
    let served = |row: &&ModelRow| row.surfaces.is_empty() || row.surfaces.contains(&surface.id);
    if let Some(row) = rows().find(served) {
        return Ok(format!("{}:{}/{}", provider.id, surface.id, row.id));
    }
    let other = rows().find(|_| !name.contains(':')).map_or("emulated", |row| row.id.as_str());
    Ok(format!("{name}/{other}"))
}
