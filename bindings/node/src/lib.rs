//! The native part of the Node package: classes and functions over `polywire-bindings`. Values cross as JSON text; the TypeScript side
//! (`ts/`) makes of them what the package exports.

mod answer;
mod catalog;
mod client;
#[cfg(feature = "command")]
mod command;
mod emulator;
mod operation;
mod schema;
mod text;
mod tools;
mod translation;
