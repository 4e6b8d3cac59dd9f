//! The side of the client: standard input and output, or streamable HTTP.

pub(crate) mod http;
pub(crate) mod stdio;
