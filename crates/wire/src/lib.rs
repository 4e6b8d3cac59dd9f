//! One neutral LLM request, response and stream, read from and written to every provider protocol.
//!
//! ```
//! use polywire_wire::{Message, Protocol, Request, Surface};
//!
//! let request = Request::new("some-model", vec![Message::user("Hello")]);
//! let encoded = Protocol::OpenAiChat.encode_request(&request, &Surface::default());
//! assert_eq!(encoded.value()["messages"][0]["content"], "Hello");
//! assert!(encoded.changes.is_empty(), "nothing had to give");
//!
//! let decoded = Protocol::OpenAiChat.decode_request(encoded.value()).unwrap();
//! assert_eq!(decoded.value, request);
//! ```
//!
//! Every [`Protocol`] is read and written: requests, answers, streams and errors. What a protocol or a [`Surface`] cannot say
//! becomes a [`Change`] with place and effect; what it says and we do not understand is kept in [`Extra`] and the `Other`
//! variants.
//!
//! [`Protocol::repair_history`] makes a conversation one that the protocol accepts. Streams are pushed through
//! [`StreamDecoder`] and put together by [`Assembler`]; [`events_of`] and [`StreamEncoder`] go the other way.
//!
//! Not here: sending anything, schemas, or knowing a provider's or a model's name.

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
