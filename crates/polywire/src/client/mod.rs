//! The client: sends plans, decodes, restores and validates responses, and asks the model to correct invalid values.
//!
//! | to do this | call |
//! |---|---|
//! | get a response | [`Client::complete`] |
//! | stream a response | [`Client::stream`] |
//! | get a value of a type or schema | [`Client::ask`], [`Client::ask_value`], [`Client::ask_stream`] |
//! | let the model call functions | [`Client::run`] |
//! | choose a key, deadline or temperature for one call | [`Client::call`] |
//! | send over another HTTP stack | [`ClientBuilder::http`], [`Transport`] |
//! | use keys that expire, such as those of AWS or Google Cloud | [`ClientBuilder::credentials`] |
//! | list a provider's models | [`Client::list_models`] |
//! | pass a response on as bytes, in a gateway | [`Client::forward`] |

mod address;
mod ask;
mod ask_error;
mod asked;
mod blocking;
mod builder;
mod call;
mod credentials;
mod environment;
mod error;
mod exchange;
mod forward;
mod limits;
mod list;
mod mask;
mod mask_events;
mod options;
mod partial;
mod read;
mod reader;
mod secret;
mod send;
mod sign;
pub(crate) mod steps;
mod stream;
mod trace;
mod transport;
mod tries;
mod url;

use std::fmt;
use std::sync::Arc;

use polywire_wire::{Request, Response};

pub use ask::AskStream;
pub use ask_error::{AskError, AskErrorKind};
pub use asked::{AskOutcome, Asked, Attempt, ToolCalls};
pub use builder::ClientBuilder;
pub use call::CallOptions;
#[cfg(feature = "aws")]
pub use credentials::AwsCredentials;
#[cfg(feature = "gcp")]
pub use credentials::GcpCredentials;
pub use credentials::{Credential, CredentialFuture, Credentials};
pub use environment::Environment;
pub use error::{Failed, SendError};
pub use forward::{ForwardError, ForwardOptions, RawRequest, Refusal, Upstream};
pub use list::Listing;
pub use options::{ClientOptions, PlainHttp, RawBytes, SpanContent};
pub use partial::Partial;
pub use secret::Secret;
pub use sign::SigningKey;
pub use stream::CompletionStream;
pub use transport::{ByteStream, Transport, TransportError, TransportFuture, one_chunk};

use crate::catalog::Model;
use crate::change::Change;
use crate::plan::{Plan, Planner};
use crate::price::Cost;

use send::Replay;
use stream::CompletionState;

/// Sends requests to models. Cheap to clone: clones share connections, limits and keys.
///
/// Methods with a `models` parameter accept one model or a list. The models of a list are tried in order until one responds;
/// [`SendError::should_fall_back`] defines the errors that lead to the next one. The request, including its history, is planned for each
/// model. Futures and streams of a client may be dropped at any time, which cancels the request.
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
/// println!("{:?} after {} attempts", asked.value, asked.attempts.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    settings: Arc<builder::Settings>,
    shared: Arc<Shared>,
    call: Arc<CallOptions>,
}

/// The state that all clones of a client share.
struct Shared {
    planner: Arc<Planner>,
    transport: Arc<dyn Transport>,
    limits: limits::ProviderLimits,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A response in the caller's tool names and schemas, with its plan and cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completion {
    /// The restored response.
    pub response: Response,
    /// The plan of the request.
    pub plan: Plan,
    /// Every change and loss in the request and the response.
    pub changes: Vec<Change>,
    /// The response body as text, with [`RawBytes::Keep`].
    pub raw: Option<String>,
    /// The cost at the model's list price.
    pub cost: Cost,
    /// The number of retries.
    pub retries: usize,
}

impl Client {
    /// Creates a client with the default options and the keys of the environment.
    pub fn new() -> Result<Self, SendError> {
        Self::builder().build()
    }

    /// Creates a client with these options and the keys of the environment.
    pub fn with_options(options: ClientOptions) -> Result<Self, SendError> {
        Self::builder().options(options).build()
    }

    fn options(&self) -> &ClientOptions {
        &self.settings.options
    }

    /// Sends a request and returns the response in the caller's tool names and schemas. With `stream: true` the response is
    /// streamed and assembled.
    pub async fn complete(
        &self,
        request: &Request,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<Completion, SendError> {
        CompletionState::new(self, request.clone(), models.as_ref(), Replay::Allowed).finish().await
    }

    /// Sends a request and streams the response.
    ///
    /// ```no_run
    /// # async fn run(client: polywire::Client, request: polywire::wire::Request, model: polywire::Model) -> Result<(), polywire::SendError> {
    /// use polywire::wire::{Delta, Event};
    ///
    /// let mut answer = client.stream(&request, &model);
    /// while let Some(event) = answer.next().await {
    ///     if let Event::Delta { delta: Delta::Text(text), .. } = event? {
    ///         print!("{text}");
    ///     }
    /// }
    /// println!("{:?}", answer.finish().await?.response.usage);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(&self, request: &Request, models: &(impl AsRef<[Model]> + ?Sized)) -> CompletionStream {
        CompletionStream::new(self, Request { stream: true, ..request.clone() }, models.as_ref())
    }
}
