//! The fuzz target of the gateway's inbound decoders, through its router and over HTTP on loopback.

#[path = "../../apps/gateway/tests/all/router_input.rs"]
mod router_input;

use std::sync::LazyLock;

use polywire_gateway::{Gateway, GatewayOptions};
use tokio::runtime::Runtime;

/// A gateway that runs until the process ends.
struct Running {
    gateway: Gateway,
    _runtime: Runtime,
}

static RUNNING: LazyLock<Result<Running, String>> = LazyLock::new(|| {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let mut options = GatewayOptions::default();
    options.serve.listen = Some(([127, 0, 0, 1], 0).into());
    options.serve.log = polywire::catalog::ServeLog::Off;
    options.serve.retries = Some(0);
    let gateway = runtime.block_on(Gateway::start(options)).map_err(|error| error.to_string())?;
    Ok(Running { gateway, _runtime: runtime })
});

/// Sends an input to the gateway.
pub fn gateway(data: &[u8]) -> Result<(), String> {
    let running = RUNNING.as_ref().map_err(Clone::clone)?;
    router_input::router_input(running.gateway.url().trim_start_matches("http://"), data)
}
