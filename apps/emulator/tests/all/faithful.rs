//! The emulator refuses what the provider refuses, in the provider's words.

use polywire_emulator::Emulator;
use serde_json::{Value, json};

use super::http::post;

#[tokio::test]
async fn a_strict_schema_that_is_open_is_refused() {
    let emulator = Emulator::start(0).await.expect("a port");
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": schema}});
    let body = json!({"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "response_format": format});
    let (status, error) = post(&emulator, "/v1/chat/completions", &body).await;
    assert_eq!((status, error["error"]["type"].as_str()), (400, Some("invalid_request_error")), "{error}");
}

#[tokio::test]
async fn a_history_that_needs_repair_is_refused() {
    let emulator = Emulator::start(0).await.expect("a port");
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "done"}]);
    let body =
        json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": result}]});
    let (status, error) = post(&emulator, "/v1/messages", &body).await;
    assert_eq!((status, error["type"].as_str()), (400, Some("error")), "{error}");
}

#[tokio::test]
async fn paths_are_the_providers_own() {
    let emulator = Emulator::start(0).await.expect("a port");
    let chat = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]});
    let (status, answer) = post(&emulator, "/groq/openai/v1/chat/completions", &chat).await;
    assert_eq!((status, answer["choices"][0]["finish_reason"].as_str()), (200, Some("stop")), "{answer}");
    let gemini = json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]});
    let (status, answer) = post(&emulator, "/v1beta/models/gemini-2.5-pro:generateContent", &gemini).await;
    assert_eq!((status, answer["candidates"][0]["finishReason"].as_str()), (200, Some("STOP")), "{answer}");
    let converse = json!({"messages": [{"role": "user", "content": [{"text": "Hi"}]}]});
    let (status, answer) = post(&emulator, "/model/anthropic.claude-sonnet-4-5-v1%3A0/converse", &converse).await;
    assert_eq!((status, answer["stopReason"].as_str()), (200, Some("end_turn")), "{answer}");
    assert_eq!(post(&emulator, "/nowhere", &chat).await.0, 404);
}

/// A suffix of the model asks for misbehaviour too, where no header can be set.
#[tokio::test]
async fn a_suffix_of_the_model_misbehaves() {
    let emulator = Emulator::start(0).await.expect("a port");
    let body = json!({"model": "gpt-4o+529", "messages": [{"role": "user", "content": "Hi"}]});
    assert_eq!(post(&emulator, "/v1/chat/completions", &body).await.0, 529);
    let body = json!({"model": "gpt-4o+unheard-of", "messages": [{"role": "user", "content": "Hi"}]});
    assert_eq!(post(&emulator, "/v1/chat/completions", &body).await.0, 400);
}

/// Types in capitals are those of the `OpenAPI` slot.
#[tokio::test]
async fn schemas_with_types_in_capitals_are_followed() {
    let emulator = Emulator::start(0).await.expect("a port");
    let schema = json!({"type": "OBJECT", "properties": {"n": {"type": "INTEGER"}, "s": {"type": "STRING", "nullable": true}}, "required": ["n", "s"]});
    let config = json!({"responseMimeType": "application/json", "responseSchema": schema});
    let body = json!({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": config});
    let (status, answer) = post(&emulator, "/v1beta/models/gemini-2.5-pro:generateContent", &body).await;
    let text = answer["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap_or_default();
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    assert!(status == 200 && value["n"].is_i64() && (value["s"].is_string() || value["s"].is_null()), "{answer}");
}
