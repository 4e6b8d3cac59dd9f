//! Fields at the top of a request that a provider knows. Some providers refuse a request with any other.

use polywire::wire::{Protocol, WireError};
use serde_json::Value;

use crate::judge::refusal;

/// The fields of one protocol, as those providers read it whose refusal is certain.
struct Known {
    protocol: Protocol,
    providers: &'static [&'static str],
    fields: &'static [&'static str],
    message: fn(&str) -> String,
}

const KNOWN: &[Known] = &[
    // Fields of anthropic-sdk-typescript 1.8.0 (GA and beta), the sampling that version 2023-06-01 still takes, and what Vertex AI
    // and Bedrock add. Text: ANT-REQ-06.
    Known {
        protocol: Protocol::AnthropicMessages,
        providers: &["anthropic", "vertex", "bedrock"],
        fields: &[
            "anthropic_beta",
            "anthropic_version",
            "cache_control",
            "compaction",
            "container",
            "context_management",
            "diagnostics",
            "fallback_credit_token",
            "fallbacks",
            "inference_geo",
            "max_tokens",
            "mcp_servers",
            "messages",
            "metadata",
            "model",
            "output_config",
            "output_format",
            "service_tier",
            "speed",
            "stop_sequences",
            "stream",
            "system",
            "temperature",
            "thinking",
            "thread",
            "tool_choice",
            "tools",
            "top_k",
            "top_p",
            "user_profile_id",
            "workspace_id",
        ],
        message: |name| format!("{name}: Extra inputs are not permitted"),
    },
    // GEM-CFG-01; protobuf reads both spellings. Text: GEM-SCHEMA-07.
    Known {
        protocol: Protocol::Gemini,
        providers: &["google", "vertex"],
        fields: &[
            "cachedContent",
            "cached_content",
            "contents",
            "continuationToken",
            "continuation_token",
            "generationConfig",
            "generation_config",
            "labels",
            "model",
            "modelArmorConfig",
            "model_armor_config",
            "outputConfig",
            "output_config",
            "safetySettings",
            "safety_settings",
            "serviceTier",
            "service_tier",
            "store",
            "systemInstruction",
            "system_instruction",
            "toolConfig",
            "tool_config",
            "tools",
        ],
        message: |name| format!("Invalid JSON payload received. Unknown name \"{name}\": Cannot find field."),
    },
    // Fields of openai-node 6.49.0.
    Known {
        protocol: Protocol::OpenAiChat,
        providers: &["openai"],
        fields: &[
            "audio",
            "frequency_penalty",
            "function_call",
            "functions",
            "logit_bias",
            "logprobs",
            "max_completion_tokens",
            "max_tokens",
            "messages",
            "metadata",
            "modalities",
            "model",
            "moderation",
            "n",
            "parallel_tool_calls",
            "prediction",
            "presence_penalty",
            "prompt_cache_key",
            "prompt_cache_options",
            "prompt_cache_retention",
            "reasoning_effort",
            "response_format",
            "safety_identifier",
            "seed",
            "service_tier",
            "stop",
            "store",
            "stream",
            "stream_options",
            "temperature",
            "tool_choice",
            "tools",
            "top_logprobs",
            "top_p",
            "user",
            "verbosity",
            "web_search_options",
        ],
        message: |name| format!("Unrecognized request argument supplied: {name}"),
    },
    // Fields of openai-node 6.49.0, and `client_metadata`, which Codex 0.169 sends.
    Known {
        protocol: Protocol::OpenAiResponses,
        providers: &["openai"],
        fields: &[
            "background",
            "client_metadata",
            "context_management",
            "conversation",
            "include",
            "input",
            "instructions",
            "max_output_tokens",
            "max_tool_calls",
            "metadata",
            "model",
            "moderation",
            "parallel_tool_calls",
            "previous_response_id",
            "prompt",
            "prompt_cache_key",
            "prompt_cache_options",
            "prompt_cache_retention",
            "reasoning",
            "safety_identifier",
            "service_tier",
            "store",
            "stream",
            "stream_options",
            "temperature",
            "text",
            "tool_choice",
            "tools",
            "top_logprobs",
            "top_p",
            "truncation",
            "user",
        ],
        message: |name| format!("Unknown parameter: '{name}'."),
    },
];

/// Refuses a request with a field that the provider does not know.
pub(crate) fn judge(body: &Value, provider: &str, protocol: Protocol) -> Result<(), Box<WireError>> {
    let row = KNOWN.iter().find(|row| row.protocol == protocol && row.providers.contains(&provider));
    let (Some(row), Some(fields)) = (row, body.as_object()) else { return Ok(()) };
    match fields.keys().find(|name| !row.fields.contains(&name.as_str())) {
        Some(name) => Err(refusal(&(row.message)(name), name)),
        None => Ok(()),
    }
}

/// Whether a request names a beta, in its header or in its body.
fn has_beta(body: &Value, header: &str, beta: &str) -> bool {
    let in_body = body.get("anthropic_beta").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    header.split(',').map(str::trim).chain(in_body).any(|name| name == beta)
}

/// The beta of Anthropic's older field for structured output.
const OUTPUT_FORMAT_BETA: &str = "structured-outputs-2025-11-13";

/// Moves Anthropic's older `output_format` to where it is read today. Without its beta it is an unknown field.
pub(crate) fn modernize(body: &mut Value, protocol: Protocol, betas: &str) -> Result<(), Box<WireError>> {
    if protocol != Protocol::AnthropicMessages || body.get("output_format").is_none() {
        return Ok(());
    }
    if !has_beta(body, betas, OUTPUT_FORMAT_BETA) {
        return Err(refusal("output_format: Extra inputs are not permitted", "output_format"));
    }
    let Some(fields) = body.as_object_mut() else { return Ok(()) };
    if let Some(format) = fields.shift_remove("output_format").filter(|format| !format.is_null()) {
        let config = fields.entry("output_config").or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(config) = config.as_object_mut() {
            config.entry("format").or_insert(format);
        }
    }
    Ok(())
}
