//! How a client is made.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::call::{CallOptions, Headers};
use super::credentials::{Credential, Credentials, Sources};
use super::error::SendError;
use super::pace::Pace;
use super::transport::{Http, Transport};
use super::{Client, ClientOptions, Environment, Secret, Shared, SigningKey};
use crate::plan::Planner;

/// What a client knows of its caller. Clones of a client share it until one of them changes it.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) options: ClientOptions,
    /// By provider.
    pub(super) keys: BTreeMap<String, Credential>,
    pub(super) credentials: Sources,
    /// Base URLs by provider; one may hold a password.
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

/// Makes a [`Client`].
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
    /// All options at once.
    pub fn options(mut self, options: ClientOptions) -> Self {
        self.options = options;
        self
    }

    /// Sends over this HTTP client. It should not follow redirects: a provider's key may go with them.
    pub fn http(self, client: reqwest::Client) -> Self {
        self.transport(Http::of(client))
    }

    /// Sends over this transport.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// A key for a provider, in the place of one from the environment.
    pub fn key(mut self, provider: &str, key: impl Into<Secret>) -> Self {
        self.keys.insert(provider.to_owned(), Credential::Key(key.into()));
        self
    }

    /// A key that signs requests to a provider, in the place of one from the environment.
    pub fn signing_key(mut self, provider: &str, key: SigningKey) -> Self {
        self.keys.insert(provider.to_owned(), Credential::Signing(key));
        self
    }

    /// Credentials that are fetched before every request to a provider.
    pub fn credentials(mut self, provider: &str, credentials: impl Credentials + 'static) -> Self {
        self.credentials.insert(provider.to_owned(), Arc::new(credentials));
        self
    }

    /// Another base URL for a provider: what stands before the paths of its surfaces.
    pub fn base_url(mut self, provider: &str, url: &str) -> Self {
        self.base_urls.insert(provider.to_owned(), Secret::new(url.trim_end_matches('/')));
        self
    }

    /// One more header on every request.
    pub fn header(mut self, name: &str, value: impl Into<Secret>) -> Self {
        self.headers.insert((None, name.to_ascii_lowercase()), value.into());
        self
    }

    /// One more header on every request to a provider.
    pub fn header_for(mut self, provider: &str, name: &str, value: impl Into<Secret>) -> Self {
        self.headers.insert((Some(provider.to_owned()), name.to_ascii_lowercase()), value.into());
        self
    }

    /// The environment to look keys, base URLs and regions up in. Without one, that of the process is read once, by `build`.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// The time to reach a host, where no HTTP stack is given.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.options.connect_timeout = timeout;
        self
    }

    /// The time until an answer begins.
    pub fn first_byte_timeout(mut self, timeout: Duration) -> Self {
        self.options.first_byte_timeout = timeout;
        self
    }

    /// The longest silence within an answer.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.options.idle_timeout = timeout;
        self
    }

    /// The time for everything.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.options.deadline = deadline;
        self
    }

    /// How many exchanges go on at a time with one provider.
    pub fn max_concurrency(mut self, provider: &str, exchanges: usize) -> Self {
        self.options.provider_concurrency.insert(provider.to_owned(), exchanges);
        self
    }

    /// The client.
    pub fn build(self) -> Result<Client, SendError> {
        let transport = match self.transport {
            Some(transport) => transport,
            None => Arc::new(Http::new(self.options.connect_timeout)?),
        };
        let planner = Arc::new(Planner::new(self.options.plan.clone()));
        let shared = Shared { planner, transport, pace: Pace::new(&self.options) };
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
    /// Begins to make a client.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    fn settings_mut(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.settings)
    }

    /// A client with a key for a provider. It shares connections and limits with this one, as all `with_…` do.
    #[must_use]
    pub fn with_key(mut self, provider: &str, key: impl Into<Secret>) -> Self {
        self.settings_mut().keys.insert(provider.to_owned(), Credential::Key(key.into()));
        self
    }

    /// A client with a key that signs requests to a provider.
    #[must_use]
    pub fn with_signing_key(mut self, provider: &str, key: SigningKey) -> Self {
        self.settings_mut().keys.insert(provider.to_owned(), Credential::Signing(key));
        self
    }

    /// A client with another base URL for a provider.
    #[must_use]
    pub fn with_base_url(mut self, provider: &str, url: &str) -> Self {
        self.settings_mut().base_urls.insert(provider.to_owned(), Secret::new(url.trim_end_matches('/')));
        self
    }

    /// A client with one more header on every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.settings_mut().headers.insert((None, name.to_ascii_lowercase()), Secret::new(value));
        self
    }

    /// A client with one more header on every request to a provider.
    #[must_use]
    pub fn with_header_for(mut self, provider: &str, name: &str, value: &str) -> Self {
        self.settings_mut().headers.insert((Some(provider.to_owned()), name.to_ascii_lowercase()), Secret::new(value));
        self
    }
}
