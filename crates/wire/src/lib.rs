//! One neutral LLM request, response and stream, read from and written to every provider protocol.
//!
//! ```
//! use polywire_wire::{Message, Protocol, Request, Surface};
//!
//! let request = Request::new("some-model", vec![Message::user("Hello")]);
//! let encoded = Protocol::OpenAiChat.encode_request(&request, &Surface::default());
//! assert_eq!(encoded.value()["messages"][0]["content"], "Hello");
//! assert!(encoded.changes.is_empty(), "nothing was lost");
//!
//! let decoded = Protocol::OpenAiChat.decode_request(encoded.value()).unwrap();
//! assert_eq!(decoded.value, request);
//! ```
//!
//! Every [`Protocol`] can be decoded and encoded: requests, responses, streams and errors. A value that a protocol or a [`Surface`]
//! does not support is reported as a [`Change`] with its location and effect. Unknown fields and values are kept in [`Extra`] and in
//! the `Other` variants.
//!
//! [`Protocol::repair_history`] repairs a conversation that the protocol would reject. [`StreamDecoder`] turns bytes into events and
//! [`Assembler`] turns events into a response; [`events_of`] and [`StreamEncoder`] do the reverse.
//!
//! Out of scope: network access, JSON Schema, and the names of providers and models.

mod assemble;
mod error;
mod fault;
mod fields;
mod frame;
mod history;
mod neutral;
mod output_tool;
mod protocol;
mod report;
mod stamp;
mod stream;
mod surface;
mod tap;

pub use assemble::{Assembler, IncompleteStream, events_of};
pub use error::{DecodeError, DecodeErrorKind};
pub use fault::{FaultKind, Headers, WireError};
pub use frame::{Frame, Framer, Framing, LONGEST_FRAME};
pub use neutral::{
    Audio, Block, Cache, Delta, Document, Effort, Event, Extra, Function, Image, Message, Other, Output, OutputError,
    OutputFormat, RawSchema, Reasoning, RedactedThinking, Request, Response, ResultBlock, Role, Signature, Source,
    StopReason, Strategy, Text, Thinking, ThinkingMode, Tool, ToolCall, ToolChoice, ToolOrigin, ToolResult,
    ToolResultReference, Usage,
};
pub use output_tool::OUTPUT_TOOL;
pub use polywire_report::{Action, Change, Code, Effect};
pub use protocol::{Decoded, Encoded, EncodedError, Protocol};
pub use stamp::{Stamp, Stamper};
pub use stream::{StreamDecoder, StreamEncoder};
pub use surface::{Budgets, Envelope, Quirk, Surface};
pub use tap::{StreamTap, Tapped};
