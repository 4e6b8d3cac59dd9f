//! The emulator.

use napi::Result;
use napi_derive::napi;
use polywire_bindings as bindings;

use crate::text::{thrown, written};

/// A running emulator.
#[napi]
pub struct Emulator(bindings::Emulator);

/// Starts an emulator; 0 is any free port.
#[napi]
pub fn start_emulator(port: u16) -> Result<Emulator> {
    Ok(Emulator(bindings::Emulator::start(port).map_err(thrown)?))
}

#[napi]
impl Emulator {
    /// The address.
    #[napi(getter)]
    pub fn url(&self) -> &str {
        self.0.url()
    }

    /// The base URL that replaces a provider's own.
    #[napi]
    pub fn base_url(&self, provider: String) -> Result<String> {
        self.0.base_url(&provider).map_err(thrown)
    }

    /// Stops it.
    #[napi]
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// What goes wrong on demand.
#[napi]
pub fn misbehaviours() -> Result<String> {
    written(bindings::misbehaviours())
}
