//! The client: plans sent, answers read, restored and validated, and asked for again with what was wrong.

mod address;
mod ask;
mod ask_error;
mod error;
mod exchange;
mod list;
mod mask;
mod mask_events;
mod options;
mod pace;
mod partial;
mod read;
mod secret;
mod send;
mod sign;
mod stream;
mod trace;
mod tries;
mod url;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use polywire_wire::{Request, Response};

pub use ask::{AskStream, Asked, Attempt};
pub use ask_error::{AskError, AskErrorKind};
pub use error::{Failed, SendError};
pub use list::Listing;
pub use options::{ClientOptions, PlainHttp, SpanContent};
pub use partial::Partial;
pub use secret::Secret;
pub use sign::SigningKey;
pub use stream::CompletionStream;

use crate::catalog::Model;
use crate::change::Change;
use crate::plan::{Plan, Planner};

use send::Replay;

/// Sends requests to models.
///
/// Where a model is asked for, a list of models may be given: the first that answers is taken. Which errors lead to the next one is
/// [`SendError::should_fall_back`]; every model gets the caller's request in its own shapes, history included. Futures and streams of a
/// client may be dropped at any time, which ends the exchange.
///
/// ```no_run
/// use polywire::wire::{Message, Request};
/// use polywire::{Catalog, Client};
///
/// #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
/// struct Town {
///     name: String,
///     inhabitants: u32,
/// }
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let model = Catalog::built_in().resolve("anthropic/claude-sonnet-4-5")?;
/// let request = Request::new("", vec![Message::user("A town on the Aare.")]);
/// let asked = Client::new()?.ask::<Town>(request, &model).await?;
/// println!("{:?}, asked for {} times", asked.value, asked.attempts.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    options: ClientOptions,
    planner: Arc<Planner>,
    http: exchange::Http,
    pace: pace::Pace,
    keys: BTreeMap<String, Secret>,
    signing_keys: BTreeMap<String, SigningKey>,
    /// An address may hold a password.
    addresses: BTreeMap<String, Secret>,
    /// By provider, or for all, and by name.
    headers: BTreeMap<(Option<String>, String), Secret>,
}

/// An answer in the caller's names and shapes, and how it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completion {
    /// The answer.
    pub response: Response,
    /// The plan that it answers.
    pub plan: Plan,
    /// Everything that had to give, on the way there and back.
    pub changes: Vec<Change>,
    /// The bytes of the answer, as far as they are text.
    pub raw: String,
    /// How often the request was sent again because the provider could not take it.
    pub retries: usize,
}

impl Client {
    /// A client with the default options.
    pub fn new() -> Result<Self, SendError> {
        Self::with_options(ClientOptions::default())
    }

    /// A client.
    pub fn with_options(options: ClientOptions) -> Result<Self, SendError> {
        Ok(Self {
            planner: Arc::new(Planner::new(options.plan.clone())),
            http: exchange::Http::new()?,
            pace: pace::Pace::new(options.max_concurrency),
            options,
            keys: BTreeMap::new(),
            signing_keys: BTreeMap::new(),
            addresses: BTreeMap::new(),
            headers: BTreeMap::new(),
        })
    }

    /// The same with a key for a provider, instead of one from the environment.
    #[must_use]
    pub fn with_key(mut self, provider: &str, key: Secret) -> Self {
        self.keys.insert(provider.to_owned(), key);
        self
    }

    /// The same with a key that signs requests to a provider, instead of one from the environment.
    #[must_use]
    pub fn with_signing_key(mut self, provider: &str, key: SigningKey) -> Self {
        self.signing_keys.insert(provider.to_owned(), key);
        self
    }

    /// The same with another address for a provider: what stands before the paths of its surfaces.
    #[must_use]
    pub fn with_base_url(mut self, provider: &str, url: &str) -> Self {
        self.addresses.insert(provider.to_owned(), Secret::new(url.trim_end_matches('/')));
        self
    }

    /// The same with one more header on every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert((None, name.to_ascii_lowercase()), Secret::new(value));
        self
    }

    /// The same with one more header on every request to a provider.
    #[must_use]
    pub fn with_header_for(mut self, provider: &str, name: &str, value: &str) -> Self {
        self.headers.insert((Some(provider.to_owned()), name.to_ascii_lowercase()), Secret::new(value));
        self
    }

    /// Sends a request and gives the answer in the caller's names and shapes. A request that asks for a stream is answered by
    /// one, which is put together.
    pub async fn complete(
        &self,
        request: &Request,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<Completion, SendError> {
        CompletionStream::new(self, request, models.as_ref(), Replay::Allowed).finish().await
    }

    /// Sends a request for an answer that comes in pieces.
    ///
    /// ```no_run
    /// # async fn run(client: polywire::Client, request: polywire::wire::Request, model: polywire::Model) -> Result<(), polywire::SendError> {
    /// use polywire::wire::{Delta, Event};
    ///
    /// let mut answer = client.stream(&request, &model);
    /// while let Some(event) = answer.next().await {
    ///     if let Event::Delta { delta: Delta::Text(text), .. } = event {
    ///         print!("{text}");
    ///     }
    /// }
    /// println!("{:?}", answer.finish().await?.response.usage);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(&self, request: &Request, models: &(impl AsRef<[Model]> + ?Sized)) -> CompletionStream {
        let request = Request { stream: true, ..request.clone() };
        CompletionStream::new(self, &request, models.as_ref(), Replay::Forbidden)
    }
}
