//! What only serves proofs about fitted schemas: sample values ([`sample()`]), the schema of everything that a lens can decode
//! ([`image()`]), the changes that account for a loss ([`Cover`]), `OpenAPI` schemas for validators ([`as_json_schema`]), and proofs
//! that a fitted schema accepts the same values ([`prove`]), and valid JSON broken the way models break it ([`faults`]). Tests, the fuzzer, the emulator and `polywire audit` share it.
//!
//! Not here: fitting, and IO. Whoever wants a proof to end in time runs it in a process of its own.

mod carriers;
mod cover;
pub mod faults;
mod image;
mod openapi;
pub mod prove;
mod sample;
mod value_path;
mod values;

pub use carriers::{Carrier, carriers};
pub use cover::{Cover, Place};
pub use image::{NoImage, image, image_at_most};
pub use openapi::as_json_schema;
pub use sample::sample;
pub use value_path::References;
pub use values::{equal, shortened};
