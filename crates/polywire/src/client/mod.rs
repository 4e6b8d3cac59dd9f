//! The client: sends plans, reads, restores and validates answers, and asks again with what was wrong.
//!
//! | to do this | call |
//! |---|---|
//! | get an answer | [`Client::complete`] |
//! | get an answer as it arrives | [`Client::stream`] |
//! | get a value of a type or schema | [`Client::ask`], [`Client::ask_value`], [`Client::ask_stream`] |
//! | let the model call functions | [`Client::run`] |
//! | choose a key, deadline or temperature for one call | [`Client::call`] |
//! | send over another HTTP stack | [`ClientBuilder::http`], [`Transport`] |
//! | list a provider's models | [`Client::list_models`] |

mod address;
mod ask;
mod ask_error;
mod asked;
mod builder;
mod call;
mod credentials;
mod environment;
mod error;
mod exchange;
mod list;
mod mask;
mod mask_events;
mod options;
mod pace;
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
mod work;

use std::fmt;
use std::sync::Arc;

use polywire_wire::{Request, Response};

pub use ask::AskStream;
pub use ask_error::{AskError, AskErrorKind};
pub use asked::{AskOutcome, Asked, Attempt, ToolCalls};
pub use builder::ClientBuilder;
pub use call::CallOptions;
pub use credentials::{Credential, CredentialFuture, Credentials};
pub use environment::Environment;
pub use error::{Failed, SendError};
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
use stream::Completing;

/// Sends requests to models. Cheap to clone: clones share connections, limits and keys.
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

/// What all clones of a client have in common.
struct Shared {
    planner: Arc<Planner>,
    transport: Arc<dyn Transport>,
    pace: pace::Pace,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("pace", &self.pace).finish_non_exhaustive()
    }
}

/// An answer in the caller's names and shapes, and how it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Completion {
    /// The answer.
    pub response: Response,
    /// The plan that it answers.
    pub plan: Plan,
    /// Every change and loss, on the way there and back.
    pub changes: Vec<Change>,
    /// The bytes of the answer, as far as they are text, where [`RawBytes::Keep`] asks for them.
    pub raw: Option<String>,
    /// What it cost, by the list price of the model.
    pub cost: Cost,
    /// How often the request was sent again because the provider could not take it.
    pub retries: usize,
}

impl Client {
    /// A client with the default options and the keys of the environment.
    pub fn new() -> Result<Self, SendError> {
        Self::builder().build()
    }

    /// A client with these options and the keys of the environment.
    pub fn with_options(options: ClientOptions) -> Result<Self, SendError> {
        Self::builder().options(options).build()
    }

    fn options(&self) -> &ClientOptions {
        &self.settings.options
    }

    /// Sends a request and gives the answer in the caller's names and shapes. A request that asks for a stream is answered by
    /// one, which is put together.
    pub async fn complete(
        &self,
        request: &Request,
        models: &(impl AsRef<[Model]> + ?Sized),
    ) -> Result<Completion, SendError> {
        Completing::new(self, request.clone(), models.as_ref(), Replay::Allowed).finish().await
    }

    /// Sends a request for an answer that comes in pieces.
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
