//! Any JSON Schema checked against, and fitted to, any LLM provider, with every change on record.
mod check;
mod dialect;
mod error;
mod fit;
mod graph;
mod json;
mod keyword;
mod lens;
mod pattern;
mod read;
mod report;
mod tools;
mod types;
mod zod;

pub use check::{Violation, check, check_text};
pub use dialect::{
    Confidence, Dialect, DialectError, RuleView, Severity, Slot, ToolShape, dialect, dialects, explain, target,
};
pub use error::{ReadError, ReadErrorKind};
pub use fit::{FitOptions, Fitted, FittedText, Open, Spill, StrictMode, fit, fit_text};
pub use lens::Lens;
pub use read::{Draft, Limits, Resolver, Unresolved};
pub use report::{Action, Change, Effect};
pub use tools::{FittedTool, FittedTools, ToolEntry, ToolList, check_tools, fit_tools, read_tools};
