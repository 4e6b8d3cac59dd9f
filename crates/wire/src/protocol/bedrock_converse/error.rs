//! Errors of `bedrock-converse`: those of AWS.

pub(super) use crate::protocol::aws_error::{body, decode, encode, of_event, word};
