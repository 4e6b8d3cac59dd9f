//! The emulator of providers, in this process.

use std::sync::{Arc, Mutex};

use polywire::Catalog;
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::runtime::{block_on, lock};

/// A running emulator. It ends when it is stopped or the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Emulator {
    url: String,
    running: Arc<Mutex<Option<polywire_emulator::Emulator>>>,
}

impl Emulator {
    /// Starts on a port of loopback; 0 is any free port. Waits until it listens.
    pub fn start(port: u16) -> Result<Self, Error> {
        block_on(async move { Self::open(port).await })
    }

    /// The same on the shared runtime.
    pub(crate) async fn open(port: u16) -> Result<Self, Error> {
        let started = polywire_emulator::Emulator::start(port).await;
        let emulator =
            started.map_err(|error| Error::new(ErrorKind::Send, "no-port", format!("port {port}: {error}")))?;
        Ok(Self { url: emulator.url(), running: Arc::new(Mutex::new(Some(emulator))) })
    }

    /// The address, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The base URL that replaces a provider's own.
    pub fn base_url(&self, provider: &str) -> Result<String, Error> {
        let model = Catalog::built_in().resolve(provider)?;
        self.with(|emulator| emulator.base_url(model.provider()))
    }

    /// Stops it. Its connections end.
    pub fn stop(&self) {
        drop(lock(&self.running).take());
    }

    pub(crate) fn with<T>(&self, then: impl FnOnce(&polywire_emulator::Emulator) -> T) -> Result<T, Error> {
        lock(&self.running).as_ref().map(then).ok_or_else(|| Error::input("stopped", "the emulator was stopped"))
    }
}

/// What goes wrong on demand: `{"name", "meaning"}`.
pub fn misbehaviours() -> Vec<Value> {
    polywire_emulator::misbehaviours().iter().map(|row| json!({"name": row.name, "meaning": row.meaning})).collect()
}
