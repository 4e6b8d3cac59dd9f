//! An estimate of tokens: four bytes of what the model reads are one.

use serde_json::Value;

const BYTES_PER_TOKEN: usize = 4;

/// Fields of a body, in any protocol, that the model reads.
const READ: &[&str] = &[
    "system",
    "messages",
    "tools",
    "toolConfig",
    "contents",
    "content",
    "systemInstruction",
    "system_instruction",
    "input",
    "instructions",
    "requests",
];

/// The tokens that the model reads, at least one.
pub(crate) fn input_tokens(body: &Value) -> u64 {
    // Code Assist and Vertex's `countTokens` wrap the request.
    let wrapped = ["request", "generateContentRequest"].iter().find_map(|key| body.get(*key));
    let body = wrapped.unwrap_or(body);
    let length = READ.iter().filter_map(|key| body.get(*key)).map(|value| value.to_string().len()).sum();
    tokens(length).max(1)
}

/// The tokens of a text of so many bytes.
pub(crate) fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}
