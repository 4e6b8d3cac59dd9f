//! The models to ask, emulated ones included, and the client that reaches them.

use std::collections::BTreeSet;
use std::fmt::Display;

use anyhow::Result;
use polywire::{Client, ClientOptions, Model, SendError};
pub(crate) use polywire_emulator::EMULATED as EMULATOR;
use polywire_emulator::{Emulator, EmulatorOptions, NameError, NamedModels, real_name};

use crate::input::Failure;
use crate::known::Known;
use crate::request::resolve_any;

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

impl Targets {
    pub(crate) async fn connect(names: &[String], options: ClientOptions) -> Result<Self> {
        let mut client = Client::with_options(options)?;
        let known = Known::load()?;
        let catalog = known.catalog_for(names.iter().map(|name| real_name(name)));
        let found = NamedModels::read(&catalog, names, |name| resolve_any(&catalog, name)).map_err(failure)?;
        let emulator = if found.emulated.is_empty() {
            None
        } else {
            let options = EmulatorOptions::default().with_catalog(catalog).with_dialects(known.config.dialects());
            Some(Emulator::start_with(0, options).await?)
        };
        if let Some(emulator) = &emulator {
            client = found.connect(client, emulator);
        }
        Ok(Self { models: found.models, client, emulated: found.emulated.into_keys().collect(), _emulator: emulator })
    }
}

/// An error of a name in the words of the command.
fn failure(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<NameError>() {
        Ok(error) => Failure::new(&error.what, &error.name, &error.next).into(),
        Err(error) => error,
    }
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
