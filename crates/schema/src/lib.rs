//! Any JSON Schema checked against, and fitted to, any LLM provider, with every change on record.
//!
//! ```
//! use polywire_schema::{FitOptions, Slot, check, dialect, fit};
//! use serde_json::json;
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {
//!         "city": {"type": "string", "minLength": 1},
//!         "days": {"type": "integer", "default": 3}
//!     },
//!     "required": ["city"]
//! });
//! let strict = dialect("openai-strict").unwrap();
//!
//! // Predict the provider's answer.
//! let violations = check(&schema, strict, Slot::Tool).unwrap();
//! assert!(violations[0].says.contains("'additionalProperties' is required to be supplied and to be false"));
//!
//! // Rewrite the schema until it is accepted, and list every change.
//! let fitted = fit(&schema, strict, &FitOptions::default()).unwrap();
//! assert!(fitted.strict());
//! assert!(check(&fitted.schema, strict, Slot::Tool).unwrap().is_empty());
//! for change in &fitted.changes {
//!     println!("{} {} {} ({})", change.code, change.at, change.detail, change.effect);
//! }
//! ```
//!
//! A [`Dialect`] is data: what one provider surface accepts, rule by rule, with source and date. [`check`] predicts the
//! provider's verdict on a document as it stands; [`fit`] rewrites it by a fixed order of small rewrites that read the same
//! rows. [`Dialect::meet`] joins several dialects into what all of them accept.
//!
//! Not here: sending anything, reading files, or knowing a model's name.

mod arena;
mod cache;
mod check;
mod dialect;
mod error;
mod fit;
mod graph;
mod json;
mod keyword;
mod lens;
mod names;
mod pattern;
mod place;
mod read;
mod spelling;
mod step_budget;
pub mod targets;
mod tools;
mod types;
mod walk;
mod zod;

pub use cache::{FitCache, ToolRef};
pub use check::{Violation, check, check_text, strict_preflight};
pub use dialect::{
    Confidence, Dialect, DialectError, RuleView, Severity, Slot, ToolShape, dialect, dialects, explain, explain_own,
    own_codes, target,
};
pub use error::{ReadError, ReadErrorKind};
#[cfg(feature = "schemars")]
pub use fit::fit_type;
pub use fit::{AmbiguousNull, FitOptions, Fitted, FittedText, Open, Spill, StrictMode, fit, fit_text};
pub use lens::{DecodeRepair, Lens, LensError};
pub use polywire_report::{Action, Change, Code, Effect};
pub use read::{Draft, Limits, Resolver, Unresolved};
pub use tools::{
    FittedTool, FittedTools, OutputSchema, SharedEntry, ToolEntry, ToolList, ToolsByPlace, check_output, check_tools,
    fit_tools, is_schema, read_output, read_tools,
};

/// What `polywire-testkit` reads of keywords and lenses for samples and proofs. No promise: it changes with the engine.
#[doc(hidden)]
pub mod internals {
    pub use crate::json::{pointer_tokens, unescaped};
    pub use crate::keyword::{KeywordValue, Kw};
    pub use crate::lens::view::{GuardView, LensView};
    pub use crate::lens::{Absent, Branch, Field, GuardId, LensId, ObjectShape, Pattern, Rest, Shape};
    pub use crate::pattern::matcher as compile_pattern;
    pub use crate::types::Types;
}

/// Callers share these between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Dialect>();
    shared::<Fitted>();
    shared::<FittedTools>();
    shared::<FitCache>();
    shared::<Lens>();
};
