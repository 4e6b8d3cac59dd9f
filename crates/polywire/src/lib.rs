//! One LLM request in, any provider out; the answer back in the shape you asked for, and a report of every change and loss on the way.
//!
//! A request is planned for a model before anything is sent: its tools and output schema are fitted to what the provider accepts, its
//! history is repaired, and every change is on record.
//!
//! ```
//! use polywire::wire::Function;
//! use polywire::{Catalog, Request, plan};
//! use serde_json::json;
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}},
//!     "required": ["city"]
//! });
//! let request = Request::user("Is it warm in Bern?").tool(Function::new("weather", "The weather of a city", schema));
//!
//! let model = Catalog::built_in().resolve("openai/gpt-5")?;
//! let plan = plan(&request, &model);
//! assert!(plan.body.get().contains("\"strict\":true"));
//! for change in plan.changes() {
//!     println!("{} at {}: {}", change.code, change.at, change.detail);
//! }
//! # Ok::<(), polywire::catalog::ResolveError>(())
//! ```
//!
//! The client sends it, to the first of several models that answers, and gives a valid value of your type:
//!
//! ```no_run
//! # #[cfg(feature = "client")]
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use polywire::{Catalog, Client, Request};
//!
//! #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
//! struct Town {
//!     name: String,
//!     inhabitants: u32,
//! }
//!
//! let model = Catalog::built_in().resolve("anthropic/claude-sonnet-4-5")?;
//! let asked = Client::new()?.ask::<Town>(Request::user("A town on the Aare."), &model).await?;
//! println!("{:?} for {:?}", asked.value, asked.cost());
//! # Ok(())
//! # }
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`catalog`] | providers, models, their limits and prices, as rows; names to models |
//! | [`plan`](mod@plan) | a request and a model to everything that is decided before bytes |
//! | [`translate`](mod@translate) | bodies and streams of one protocol in another |
//! | [`translation`] | a request of one protocol to a model of any other, and the answer back |
//! | [`restore`](mod@restore) | answers back in the caller's names and shapes |
//! | [`client`] | sending, streaming, asking for values |
//! | [`tools`] | typed tools and the loop that calls them |
//! | [`store`] | what providers say of their models, kept between runs |
//! | [`wire`], [`schema`], [`answer`] | the libraries below: protocols, JSON Schemas, model text |
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `client` | yes | [`client`] and [`tools`], over tokio and reqwest with rustls and ring |
//! | `cache` | no | [`store`], over `SQLite` |
//! | `aws` | no | `client::AwsCredentials`: profiles, SSO and roles, over aws-config |
//! | `gcp` | no | `client::GcpCredentials`: service accounts and `gcloud`, over `gcp_auth` |
//!
//! Programs that run without a network are in `examples/` of the repository.

mod address;
pub mod catalog;
mod change;
#[cfg(feature = "client")]
pub mod client;
mod endpoint;
mod model;
mod neutral_schema;
pub mod plan;
mod price;
mod provider;
pub mod restore;
#[cfg(feature = "cache")]
pub mod store;
#[cfg(feature = "client")]
pub mod tools;
pub mod toolset;
pub mod translate;
pub mod translation;

pub use polywire_answer as answer;
pub use polywire_schema as schema;
pub use polywire_wire as wire;

pub use catalog::{Catalog, Model};
pub use change::{Action, Change, Code, Effect, Kind};
#[cfg(feature = "client")]
pub use client::{AskError, CallOptions, Client, ClientOptions, SendError};
pub use plan::{Plan, plan};
pub use polywire_wire::{Message, Request, Response};
#[cfg(feature = "client")]
pub use tools::Toolbox;
pub use toolset::Toolset;

// Names that the crates of this workspace use from here; their place is in the modules.
#[doc(hidden)]
pub use catalog::{
    Ability, Auth, AuthStyle, Budget, CatalogError, Confidence, Config, Cost, Defaults, Dialects, Family, Ignored,
    ListEndpoint, ListError, ListPage, ListPlace, ListStyle, Mistake, Modality, ModelPatch, ModelRow, Origin, Price,
    Provider, ReadFile, ResolveError, SignatureRow, SurfaceRow, Untrusted, UsdPerMillion, When, read_list,
};
#[cfg(feature = "client")]
#[doc(hidden)]
pub use client::{
    AskErrorKind, AskOutcome, AskStream, Asked, Attempt, Completion, CompletionStream, Failed, Listing, Partial,
    PlainHttp, RawBytes, Secret, SigningKey, SpanContent,
};
#[doc(hidden)]
pub use endpoint::Endpoint;
#[doc(hidden)]
pub use neutral_schema::{NeutralForm, neutral_schema};
#[doc(hidden)]
pub use plan::{Body, Encoded, LossError, OnLoss, PlanOptions, PlannedOutput, PlannedTool, Planner, Prompt, Strict};
#[doc(hidden)]
pub use polywire_wire::OUTPUT_TOOL;
#[doc(hidden)]
pub use restore::{Contract, RestoreEvents, Restored, restore};
#[cfg(feature = "cache")]
#[doc(hidden)]
pub use store::{Discovered, LookOptions, Network, RowSource, Store, Warning};
#[doc(hidden)]
pub use translate::{
    BodyKind, TranslateError, Translated, decode, decode_events, decode_request, decode_stream, translate,
};
pub use translation::{Echo, EchoStore, TranslateOptions, Translation};
#[doc(hidden)]
pub use translation::{
    StreamEnd, TranslatedError, TranslatedResponse, TranslatedStream, carried_headers, error_response,
};
