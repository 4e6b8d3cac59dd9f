//! What the Python and the Node package share: every function takes plain data and returns plain data, and there is one [`Error`].
//!
//! A binding converts its language's values to [`serde_json::Value`] and back, and nothing more. Settings are structs that
//! deserialize from the caller's options; a wrong option is an [`Error`] with its name. Work that waits is an [`Operation`] on one
//! shared runtime, which [`shutdown`] ends.

mod answer;
mod ask;
mod catalog;
mod client;
mod dialects;
mod emulator;
mod error;
mod lists;
mod prompt;
mod reply;
mod run;
mod runtime;
mod schema;
mod settings;
mod translation;
mod validate;

pub use polywire::answer::{Fault, Repair};
pub use polywire::schema::{Dialect, FitOptions, Fitted, Slot, Violation};
pub use polywire::wire::Usage;
pub use polywire::{Action, Change, Effect};

pub use answer::{Parsed, PartialParser, Schema, parse};
pub use ask::{AskStream, AskedText, AskedValue, Partial};
pub use catalog::{dialects, models, plan};
pub use client::Client;
pub use dialects::model_dialects;
pub use emulator::{Emulator, misbehaviours};
pub use error::{Error, ErrorKind};
pub use lists::{Call, ToolList, check_tools, fit_tools};
pub use reply::{Reply, callback_tool};
pub use run::{RunEnded, ToolFuture, ToolHandler, ToolSpec};
pub use runtime::{Operation, block_on, shutdown, spawn};
pub use schema::{Ignored, check, fit, fit_fresh, read_schema, target};
pub use settings::{
    AskSettings, ClientSettings, FitSettings, ParseSettings, PlanSettings, RunSettings, TranslationSettings, settings,
};
pub use translation::{EndedStream, RefusedResponse, TranslatedBody, Translation, TranslationStream};
pub use validate::accept;
