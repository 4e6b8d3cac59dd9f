//! Errors of `bedrock-converse`: the AWS error format.

pub(super) use crate::protocol::aws_error::{body, decode, encode, exception_type, of_event};
