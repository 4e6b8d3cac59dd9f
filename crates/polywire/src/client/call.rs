//! Options of one call.

use std::collections::BTreeMap;
use std::time::Duration;

use polywire_wire::Request;

use super::credentials::Credential;
use super::error::SendError;
use super::{Client, Secret, SigningKey};

/// Options of one call. They override those of the client and the request.
///
/// ```no_run
/// # async fn run(client: polywire::Client, request: polywire::wire::Request, model: polywire::Model) -> Result<(), polywire::SendError> {
/// use std::time::Duration;
/// use polywire::CallOptions;
///
/// let options = CallOptions::new()
///     .with_key("openai", "sk-of-this-tenant")
///     .with_header("x-request-source", "billing")
///     .with_deadline(Duration::from_secs(30))
///     .with_trace_parent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
///     .with_temperature(0.2)
///     .with_max_tokens(800);
/// let done = client.call(options).complete(&request, &model).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// By provider. A key is never sent to another provider, even if the call falls back to its models.
    pub(super) credentials: BTreeMap<String, Credential>,
    pub(super) headers: Headers,
    pub(super) deadline: Option<Duration>,
    pub(super) trace_parent: Option<String>,
    pub(super) temperature: Option<f64>,
    pub(super) max_tokens: Option<u64>,
}

/// Headers by provider (`None` for all) and name.
pub(super) type Headers = BTreeMap<(Option<String>, String), Secret>;

impl CallOptions {
    /// Creates options that override nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the key for a provider.
    #[must_use]
    pub fn with_key(mut self, provider: &str, key: impl Into<Secret>) -> Self {
        self.credentials.insert(provider.to_owned(), Credential::Key(key.into()));
        self
    }

    /// Sets the key that signs requests to a provider.
    #[must_use]
    pub fn with_signing_key(mut self, provider: &str, key: SigningKey) -> Self {
        self.credentials.insert(provider.to_owned(), Credential::Signing(key));
        self
    }

    /// Adds a header to requests to all providers.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: impl Into<Secret>) -> Self {
        self.headers.insert((None, name.to_ascii_lowercase()), value.into());
        self
    }

    /// Adds a header to requests to a provider.
    #[must_use]
    pub fn with_header_for(mut self, provider: &str, name: &str, value: impl Into<Secret>) -> Self {
        self.headers.insert((Some(provider.to_owned()), name.to_ascii_lowercase()), value.into());
        self
    }

    /// Sets the deadline of the whole call.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the W3C `traceparent` header, which is sent and recorded in spans.
    #[must_use]
    pub fn with_trace_parent(mut self, trace_parent: impl Into<String>) -> Self {
        self.trace_parent = Some(trace_parent.into());
        self
    }

    /// Overrides the temperature of the request.
    #[must_use]
    pub fn with_temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Overrides the output token limit of the request.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: u64) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    pub(super) fn apply(&self, request: &mut Request) {
        request.temperature = self.temperature.or(request.temperature);
        request.max_tokens = self.max_tokens.or(request.max_tokens);
    }

    /// Validates the trace parent. Providers ignore an invalid one silently, which would end the trace.
    pub(super) fn checked_trace_parent(&self) -> Result<Option<&str>, SendError> {
        let Some(text) = self.trace_parent.as_deref() else { return Ok(None) };
        let is_hex = |part: &str, length| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_id = |part: &str, length| is_hex(part, length) && part.bytes().any(|byte| byte != b'0');
        let parts: Vec<&str> = text.split('-').collect();
        match parts.as_slice() {
            ["00", trace, span, flags] if is_id(trace, 32) && is_id(span, 16) && is_hex(flags, 2) => Ok(Some(text)),
            _ => Err(SendError::Address("the trace parent is not a `traceparent` of version 00".to_owned())),
        }
    }
}

impl Client {
    /// Returns a client with options for one call. It shares connections, limits and settings with this one.
    #[must_use]
    pub fn call(&self, options: CallOptions) -> Self {
        Self { call: std::sync::Arc::new(options), ..self.clone() }
    }

    pub(super) fn deadline(&self) -> Duration {
        self.call.deadline.unwrap_or(self.settings.options.deadline)
    }
}
