//! A running gateway: started with a configuration, reloaded with another, stopped without losing a request.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use polywire::catalog::Serve;
use polywire::client::Environment;
use polywire::schema::Dialect;
use polywire::{Catalog, Client, ClientOptions, PlainHttp, Secret};
use polywire_emulator::{Emulator, EmulatorOptions};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::admin::router;
use crate::log;
use crate::routes::Routes;
use crate::server::{Server, bind};
use crate::settings::Settings;
use crate::state::{Access, Active, Shared};
use crate::store::Store;
use crate::telemetry::Telemetry;

/// The key that is sent to the emulator. Keys are masked in answers, so this must be a text that no answer contains.
const EMULATOR_KEY: &str = "key-of-the-emulator";

/// What a gateway serves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// The settings of `[serve]`.
    pub serve: Serve,
    /// Providers and models.
    pub catalog: Catalog,
    /// Dialects of the configuration.
    pub dialects: Arc<[Dialect]>,
    /// The environment with the providers' keys.
    pub environment: Environment,
    /// Who may send requests while there are no gateway keys. By default everybody on this machine if the gateway listens on loopback.
    pub access: Option<Access>,
    /// The hosts to which requests may be sent without TLS.
    pub plain_http: PlainHttp,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            serve: Serve::default(),
            catalog: Catalog::built_in().clone(),
            dialects: Arc::default(),
            environment: Environment::empty(),
            access: None,
            plain_http: PlainHttp::LoopbackOnly,
        }
    }
}

impl GatewayOptions {
    /// Serves with these settings.
    #[must_use]
    pub fn with_serve(mut self, serve: Serve) -> Self {
        self.serve = serve;
        self
    }

    /// Serves the models of this catalog.
    #[must_use]
    pub fn with_catalog(mut self, catalog: Catalog, dialects: &[Dialect]) -> Self {
        self.catalog = catalog;
        self.dialects = dialects.into();
        self
    }

    /// Takes providers' keys and URLs from this environment.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets who may send requests while there are no gateway keys.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }

    /// Sets the hosts to which requests may be sent without TLS.
    #[must_use]
    pub fn with_plain_http(mut self, plain_http: PlainHttp) -> Self {
        self.plain_http = plain_http;
        self
    }
}

/// A running gateway. It stops when this is dropped.
#[derive(Debug)]
pub struct Gateway {
    address: SocketAddr,
    shared: Arc<Shared>,
    emulator: Option<Emulator>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
}

/// The default address.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4100);

impl Gateway {
    /// Starts a gateway. Needs a tokio runtime. Without any provider's key it serves the emulator.
    pub async fn start(options: GatewayOptions) -> anyhow::Result<Self> {
        let place = options.serve.store.clone().unwrap_or_else(|| "memory".to_owned());
        let store = Store::open(&place).await?;
        let listener = bind(options.serve.listen.unwrap_or(LISTEN)).await?;
        let address = listener.local_addr()?;
        let access =
            options.access.unwrap_or(if address.ip().is_loopback() { Access::Loopback } else { Access::KeysOnly });
        let emulator = emulator_for(&options).await?;
        let counters = options.serve.counters.clone();
        let active = active(options, emulator.as_ref())?;
        let shared = Arc::new(Shared::new(active, store, counters.as_deref(), access).await?);
        let (stop, stopped) = watch::channel(false);
        let server = Server { listener, router: router(Arc::clone(&shared)), shared: Arc::clone(&shared) };
        Ok(Self { address, shared, emulator, stop, server: tokio::spawn(server.run(stopped)) })
    }

    /// The address, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns `true` if no provider has a key, so that the emulator answers.
    pub fn is_emulated(&self) -> bool {
        self.emulator.is_some()
    }

    /// Returns `true` if there are gateway keys.
    pub fn has_keys(&self) -> bool {
        self.shared.has_keys()
    }

    /// The ids of the providers that requests can be sent to.
    pub fn providers(&self) -> Vec<String> {
        self.shared.active().routes.providers().to_vec()
    }

    /// Replaces the configuration. Requests that are open keep theirs. The address and the stores stay. On an error the old
    /// configuration stays.
    pub async fn reload(&mut self, options: GatewayOptions) -> anyhow::Result<()> {
        let emulator = emulator_for(&options).await?;
        let next = active(options, emulator.as_ref())?;
        self.shared.replace(next);
        // Requests to the old emulator may be open; it ends with the next reload or the gateway.
        self.emulator = emulator;
        log::event("reload", "the configuration was replaced");
        Ok(())
    }

    /// Stops accepting connections and waits for open requests, at most for the drain timeout.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // The task has no result but its end.
        let _ = (&mut self.server).await;
        let shared = Arc::clone(&self.shared);
        let flushed = tokio::task::spawn_blocking(move || shared.telemetry.as_ref().map(Telemetry::shutdown));
        let _ = flushed.await;
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn client(options: &GatewayOptions, settings: &Settings) -> anyhow::Result<Client> {
    let client_options = ClientOptions::default()
        .with_connect_timeout(settings.connect_timeout)
        .with_first_byte_timeout(settings.first_byte_timeout)
        .with_idle_timeout(settings.idle_timeout)
        .with_deadline(settings.total_timeout)
        .with_max_concurrency(settings.concurrency_per_provider)
        // A caller rather learns of a long wait than waits for it here.
        .with_max_retry_after(std::time::Duration::from_secs(2))
        .with_plain_http(options.plain_http);
    Ok(Client::builder().options(client_options).environment(options.environment.clone()).build()?)
}

/// The emulator, if no provider is configured.
async fn emulator_for(options: &GatewayOptions) -> anyhow::Result<Option<Emulator>> {
    let client = client(options, &Settings::from(options.serve.clone()))?;
    if options.catalog.providers().any(|provider| client.is_configured(provider)) {
        return Ok(None);
    }
    let emulated = EmulatorOptions::default().with_catalog(options.catalog.clone()).with_dialects(&options.dialects);
    Ok(Some(Emulator::start_with(0, emulated).await.map_err(io::Error::other)?))
}

fn active(options: GatewayOptions, emulator: Option<&Emulator>) -> anyhow::Result<Active> {
    let settings = Settings::from(options.serve.clone());
    let mut client = client(&options, &settings)?;
    if let Some(emulator) = emulator {
        for provider in options.catalog.providers() {
            client = client.with_base_url(&provider.id, &emulator.base_url(provider));
            client = client.with_key(&provider.id, Secret::new(EMULATOR_KEY));
        }
    }
    let configured = options.catalog.providers().filter(|provider| client.is_configured(provider));
    let providers = configured.map(|provider| provider.id.clone()).collect();
    let routes = Routes::new(options.catalog, &settings, providers).map_err(anyhow::Error::msg)?;
    Ok(Active { settings, routes, client })
}
