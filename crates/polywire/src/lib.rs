//! One LLM request in, any provider's wire out, the answer back in the shape you asked for, and a list of everything that had
//! to give.

mod address;
mod catalog;
mod change;
#[cfg(feature = "client")]
pub mod client;
mod endpoint;
mod model;
mod neutral_schema;
mod plan;
mod price;
mod provider;
mod restore;
#[cfg(feature = "cache")]
mod store;
#[cfg(feature = "client")]
pub mod tools;
mod translate;

pub use catalog::config::{Config, Defaults, Ignored, Mistake, ReadFile, Untrusted};
pub use catalog::list::{ListError, ListPage, read_list};
pub use catalog::{Catalog, CatalogError, Model, ResolveError};
pub use change::{Change, Effect, Kind};
#[cfg(feature = "client")]
pub use client::{
    AskError, AskErrorKind, AskOutcome, AskStream, Asked, Attempt, CallOptions, Client, ClientOptions, Completion,
    CompletionStream, Failed, Listing, Partial, PlainHttp, RawBytes, Secret, SendError, SigningKey, SpanContent,
};
pub use endpoint::Endpoint;
pub use model::{Ability, Confidence, Family, Modality, ModelPatch, ModelRow, Origin, When};
pub use neutral_schema::{NeutralForm, neutral_schema};
pub use plan::{
    Body, Encoded, LossError, OnLoss, Plan, PlanOptions, PlannedOutput, PlannedTool, Planner, Prompt, Strict, plan,
};
pub use polywire_answer as answer;
pub use polywire_schema as schema;
pub use polywire_wire as wire;
pub use polywire_wire::OUTPUT_TOOL;
pub use price::{Cost, Price, UsdPerMillion};
pub use provider::{
    Auth, AuthStyle, Budget, Dialects, ListEndpoint, ListPlace, ListStyle, Provider, SignatureRow, SurfaceRow,
};
pub use restore::{RestoreEvents, Restored, restore};
#[cfg(feature = "cache")]
pub use store::{Discovered, How, LookOptions, Network, Store, Warning};
pub use translate::{
    BodyKind, TranslateError, Translated, decode, decode_events, decode_request, decode_stream, translate,
};
