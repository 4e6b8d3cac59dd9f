//! The builder of a client.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::call::{CallOptions, Headers};
use super::credentials::{Credential, Credentials, Sources};
use super::error::SendError;
use super::limits::ProviderLimits;
use super::transport::{ReqwestTransport, Transport};
use super::{Client, ClientOptions, Environment, Secret, Shared, SigningKey};
use crate::plan::Planner;

/// The caller's settings. Clones of a client share them until one of them changes a setting.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) options: ClientOptions,
    /// By provider.
    pub(super) keys: BTreeMap<String, Credential>,
    pub(super) credentials: Sources,
    /// Base URLs by provider. They may contain a password.
    pub(super) base_urls: BTreeMap<String, Secret>,
    pub(super) headers: Headers,
    pub(super) environment: Environment,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("options", &self.options)
            .field("keys", &self.keys)
            .field("credentials", &self.credentials.keys())
            .field("base_urls", &self.base_urls)
            .field("headers", &self.headers)
            .field("environment", &self.environment)
            .finish()
    }
}

/// Builds a [`Client`].
///
/// ```
/// use std::time::Duration;
/// use polywire::Client;
/// use polywire::client::Environment;
///
/// let client = Client::builder()
///     .environment(Environment::empty())
///     .key("openai", "sk-test")
///     .base_url("ollama", "http://127.0.0.1:11434")
///     .idle_timeout(Duration::from_secs(30))
///     .build()?;
/// # Ok::<(), polywire::SendError>(())
/// ```
#[derive(Default)]
#[must_use = "a builder makes a client with `build`"]
pub struct ClientBuilder {
    options: ClientOptions,
    keys: BTreeMap<String, Credential>,
    credentials: Sources,
    base_urls: BTreeMap<String, Secret>,
    headers: Headers,
    environment: Option<Environment>,
    transport: Option<Arc<dyn Transport>>,
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl ClientBuilder {
    /// Sets all options.
    pub fn options(mut self, options: ClientOptions) -> Self {
        self.options = options;
        self
    }

    /// Uses this HTTP client. It should not follow redirects, which could send a provider's key to another host.
    pub fn http(self, client: reqwest::Client) -> Self {
        self.transport(ReqwestTransport::from_client(client))
    }

    /// Uses this transport.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Sets the key for a provider. It overrides the environment.
    pub fn key(mut self, provider: &str, key: impl Into<Secret>) -> Self {
        self.keys.insert(provider.to_owned(), Credential::Key(key.into()));
        self
    }

    /// Sets the key that signs requests to a provider. It overrides the environment.
    pub fn signing_key(mut self, provider: &str, key: SigningKey) -> Self {
        self.keys.insert(provider.to_owned(), Credential::Signing(key));
        self
    }

    /// Sets a source of credentials, which is called before every request to a provider.
    pub fn credentials(mut self, provider: &str, credentials: impl Credentials + 'static) -> Self {
        self.credentials.insert(provider.to_owned(), Arc::new(credentials));
        self
    }

    /// Sets the base URL of a provider. The paths of its surfaces are appended to it.
    pub fn base_url(mut self, provider: &str, url: &str) -> Self {
        self.base_urls.insert(provider.to_owned(), Secret::new(url.trim_end_matches('/')));
        self
    }

    /// Adds a header to every request.
    pub fn header(mut self, name: &str, value: impl Into<Secret>) -> Self {
        self.headers.insert((None, name.to_ascii_lowercase()), value.into());
        self
    }

    /// Adds a header to every request to a provider.
    pub fn header_for(mut self, provider: &str, name: &str, value: impl Into<Secret>) -> Self {
        self.headers.insert((Some(provider.to_owned()), name.to_ascii_lowercase()), value.into());
        self
    }

    /// Sets the environment for keys, base URLs and regions. By default `build` reads that of the process.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Sets the connect timeout. It does not apply to the caller's own HTTP client or transport.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// Sets the timeout until a response starts.
    pub fn first_byte_timeout(mut self, timeout: Duration) -> Self {
        self.options.first_byte_timeout = timeout;
        self
    }

    /// Sets the timeout between two chunks of a response.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.options.idle_timeout = timeout;
        self
    }

    /// Sets the deadline of a whole call.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = deadline;
        self
    }

    /// Sets the maximum number of concurrent requests to a provider.
    pub fn max_concurrency(mut self, provider: &str, exchanges: usize) -> Self {
        self.options.provider_concurrency.insert(provider.to_owned(), exchanges);
        self
    }

    /// Builds the client.
    pub fn build(self) -> Result<Client, SendError> {
        let transport = match self.transport {
            Some(transport) => transport,
            None => Arc::new(ReqwestTransport::new(self.options.connect_timeout)?),
        };
        let planner = Arc::new(Planner::new(self.options.plan.clone()));
        let shared = Shared { planner, transport, limits: ProviderLimits::new(&self.options) };
        let settings = Settings {
            options: self.options,
            keys: self.keys,
            credentials: self.credentials,
            base_urls: self.base_urls,
            headers: self.headers,
            environment: self.environment.unwrap_or_else(Environment::process),
        };
        Ok(Client { settings: Arc::new(settings), shared: Arc::new(shared), call: Arc::new(CallOptions::new()) })
    }
}

impl Client {
    /// Creates a builder.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    fn settings_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.settings)
    }

    /// Returns a client with a key for a provider. Like all `with_…` methods, it shares connections and limits with this one.
    #[must_use]
    pub fn with_key(mut self, provider: &str, key: impl Into<Secret>) -> Self {
        self.settings_mut().keys.insert(provider.to_owned(), Credential::Key(key.into()));
        self
    }

    /// Returns a client with a key that signs requests to a provider.
    #[must_use]
    pub fn with_signing_key(mut self, provider: &str, key: SigningKey) -> Self {
        self.settings_mut().keys.insert(provider.to_owned(), Credential::Signing(key));
        self
    }

    /// Returns a client with another base URL for a provider.
    #[must_use]
    pub fn with_base_url(mut self, provider: &str, url: &str) -> Self {
        self.settings_mut().base_urls.insert(provider.to_owned(), Secret::new(url.trim_end_matches('/')));
        self
    }

    /// Returns a client with an additional header on every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.settings_mut().headers.insert((None, name.to_ascii_lowercase()), Secret::new(value));
        self
    }

    /// Returns a client with an additional header on every request to a provider.
    #[must_use]
    pub fn with_header_for(mut self, provider: &str, name: &str, value: &str) -> Self {
        self.settings_mut().headers.insert((Some(provider.to_owned()), name.to_ascii_lowercase()), Secret::new(value));
        self
    }
}
