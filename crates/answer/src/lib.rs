//! Reads model output: extracts the JSON value, coerces it to a schema, validates it, and records every repair.
//!
//! ```
//! use polywire_answer::{Verdict, read};
//! use serde_json::json;
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "mood": {"enum": ["calm", "busy"]}},
//!     "required": ["city", "days"]
//! });
//! let text = "<think>Bern?</think> Here you are:\n```json\n{city: 'Bern', \"Days\": \"3\", mood: Calm,}\n```";
//!
//! let answer = read(text, &schema).unwrap();
//! assert_eq!(answer.value, Some(json!({"city": "Bern", "days": 3, "mood": "calm"})));
//! assert_eq!(answer.verdict, Verdict::Valid);
//! for repair in &answer.repairs {
//!     println!("{} {} {:?}", repair.kind, repair.at, repair.kind.class());
//! }
//! ```
//!
//! | function | from | to |
//! |---|---|---|
//! | [`salvage`] | a text | its value, or none; valid JSON unchanged |
//! | [`Stream`] | chunks of a text | the value so far, which parts are complete, what changed |
//! | [`coerce`] | a value and a schema | the value converted to the types and names of the schema |
//! | [`validate`] | a value and a schema | validation errors, and [`feedback`] for the model |
//! | [`read`], [`read_typed`] | a text and a schema | all of the above |
//!
//! Reading takes time linear in the text, whatever the text; depth is bounded ([`Options::max_depth`]); nothing panics. Work is
//! counted, and a value that is too costly to validate is [`Verdict::TooCostly`] ([`ReadOptions::max_steps`]). [`Options`] has the
//! choices on which parsers of broken JSON disagree.
//!
//! This crate sends nothing, reads no files, and does not know which model wrote the text.

mod assert;
mod budget;
mod calls;
mod choices;
mod coerce;
mod fold;
mod judge;
mod keyword;
mod options;
mod paths;
mod read;
mod readings;
mod repair;
mod salvage;
mod schema;
mod shape;
mod stream;
mod tags;
mod tree;
mod validate;

pub use coerce::{CoerceOptions, Defaults};
pub use judge::{Formats, Judge};
pub use options::{BareText, CutKey, CutLiteral, Ellipsis, LeadingZeros, MissingValue, NotANumber, Options, Several};
pub use read::{Answer, ReadError, ReadOptions, Verdict, coerce, read, read_typed, read_with};
pub use repair::{CostClass, Repair, RepairKind};
pub use salvage::{Salvaged, salvage};
pub use schema::{Schema, SchemaError};
pub use stream::{Event, OpenText, Stream};
pub use validate::{Fault, TOO_COSTLY, feedback, validate};
