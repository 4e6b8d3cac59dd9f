//! Which dialects are the main ones. The benchmarks take this file in by its path.

/// The dialects of the providers' own surfaces.
pub(crate) const MAIN: [&str; 12] = [
    "anthropic",
    "anthropic-strict",
    "azure-strict",
    "bedrock",
    "cca",
    "gemini",
    "gemini-openapi",
    "mcp",
    "openai",
    "openai-responses",
    "openai-strict",
    "vertex-openapi",
];
