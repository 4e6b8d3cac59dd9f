//! The client: plans sent, answers read, restored and validated, and asked for again with what was wrong.

mod address;
mod ask;
mod error;
mod list;
mod options;
mod secret;
mod send;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use polywire_wire::{Request, Response};

pub use ask::{AskError, AskFailure, Asked, Attempt};
pub use error::SendError;
pub use list::Listing;
pub use options::ClientOptions;
pub use secret::Secret;

use crate::catalog::Model;
use crate::change::Change;
use crate::plan::{Plan, Planner};
use crate::restore::restore;

/// Sends requests to models.
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
    http: send::Http,
    keys: BTreeMap<String, Secret>,
    addresses: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
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
            http: send::Http::new()?,
            options,
            keys: BTreeMap::new(),
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

    /// The same with another address for a provider: what stands before the paths of its surfaces.
    #[must_use]
    pub fn with_base_url(mut self, provider: &str, url: &str) -> Self {
        self.addresses.insert(provider.to_owned(), url.trim_end_matches('/').to_owned());
        self
    }

    /// The same with one more header on every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_ascii_lowercase(), value.to_owned());
        self
    }

    /// Sends a request and gives the answer in the caller's names and shapes. A request that asks for a stream is answered by
    /// one, which is put together.
    pub async fn complete(&self, request: &Request, model: &Model) -> Result<Completion, SendError> {
        let plan = self.planner.plan(request, model).map_err(SendError::Loss)?;
        let until = Instant::now() + self.options.deadline;
        let sent = self.send(&plan, model, request.stream, until).await?;
        let restored = restore(sent.response, &plan);
        let changes = plan.changes().iter().cloned().chain(sent.changes).chain(restored.changes).collect();
        Ok(Completion { response: restored.response, plan, changes, retries: sent.retries })
    }
}
