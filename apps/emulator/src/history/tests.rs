//! Conversations that each protocol takes and refuses, in the words of the provider.

use polywire::Catalog;
use serde_json::{Value, json};

use super::judge;

/// The words of the refusal, if there is one.
fn refusal(model: &str, body: &Value) -> Option<String> {
    let model = Catalog::built_in().resolve(model).expect("a model");
    judge(body, &model).err().map(|error| error.message)
}

#[track_caller]
fn refuses(model: &str, body: &Value, words: &str) {
    let message = refusal(model, body).unwrap_or_default();
    assert!(message.contains(words), "{model}: `{message}` for {body}");
}

#[track_caller]
fn takes(model: &str, body: &Value) {
    assert_eq!(refusal(model, body), None, "{model}: {body}");
}

const CHAT: &str = "openai:chat/gpt-4o";
const RESPONSES: &str = "openai:responses/gpt-5";
const CLAUDE: &str = "anthropic/claude-sonnet-4-5";
const GEMINI: &str = "google/gemini-2.5-pro";
const CONVERSE: &str = "bedrock:converse/anthropic.claude-sonnet-4-5";

fn chat(messages: &Value) -> Value {
    let mut all = vec![json!({"role": "system", "content": ""}), json!({"role": "user", "content": "Go."})];
    all.extend(messages.as_array().cloned().unwrap_or_default());
    json!({"messages": all})
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
}

#[test]
fn chat_pairs_calls_and_messages() {
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
    takes(CHAT, &chat(&json!([calls, result("b"), result("a"), {"role": "user", "content": ""}])));
    takes(CHAT, &chat(&json!([{"role": "assistant", "content": "Hi"}, {"role": "assistant", "content": "there"}])));
    refuses(CHAT, &chat(&json!([calls, result("a")])), "did not have response messages: b");
    refuses(
        CHAT,
        &chat(&json!([calls, result("a"), {"role": "user", "content": "?"}, result("b")])),
        "did not have response",
    );
    refuses(CHAT, &chat(&json!([result("a")])), "must be a response to a preceeding message");
    refuses(
        CHAT,
        &chat(&json!([{"role": "assistant", "content": null, "tool_calls": []}])),
        "expected a string, got null",
    );
    let long = "x".repeat(41);
    let calls = json!({"role": "assistant", "tool_calls": [call(&long)]});
    refuses(CHAT, &chat(&json!([calls, result(&long)])), "maximum length 40");
    takes("groq/llama-3.3-70b-versatile", &chat(&json!([calls, result(&long)])));
}

#[test]
fn responses_pair_items_by_id() {
    let call = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "1"});
    let said = json!({"role": "user", "content": "?"});
    takes(RESPONSES, &json!({"input": [said, call, said, output]}));
    takes(RESPONSES, &json!({"input": "Hi"}));
    refuses(RESPONSES, &json!({"input": [said, call]}), "No tool output found for function call a.");
    refuses(
        RESPONSES,
        &json!({"input": [output, call]}),
        "No tool call found for function call output with call_id a.",
    );
    let id = json!({"type": "function_call", "id": "call_1", "call_id": "a", "name": "f", "arguments": "{}"});
    refuses(RESPONSES, &json!({"input": [id, output]}), "begins with 'fc'");
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    refuses(RESPONSES, &json!({"store": false, "input": [thought, call, output]}), "not persisted");
    takes(RESPONSES, &json!({"input": [thought, call, output]}));
}

#[test]
fn messages_pair_blocks_in_the_next_turn() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let calling = |ids: &[&str]| {
        let blocks: Vec<Value> =
            ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}})).collect();
        json!({"role": "assistant", "content": blocks})
    };
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id});
    let text = json!({"type": "text", "text": "Go on."});
    let body = |turns: &[Value]| json!({"messages": turns});
    takes(
        CLAUDE,
        &body(&[
            user(json!("Hi")),
            user(json!("there")),
            calling(&["a", "b"]),
            user(json!([result("b"), result("a"), text])),
        ]),
    );
    takes(CLAUDE, &body(&[json!({"role": "assistant", "content": "Hi"}), user(json!("Yes"))]));
    let unanswered = "without `tool_result` blocks immediately after: a";
    refuses(CLAUDE, &body(&[user(json!("x")), calling(&["a"])]), unanswered);
    refuses(CLAUDE, &body(&[user(json!("x")), calling(&["a"]), user(json!([text, result("a")]))]), unanswered);
    refuses(CLAUDE, &body(&[user(json!("x")), calling(&["a"]), user(json!([text]))]), unanswered);
    refuses(CLAUDE, &body(&[user(json!([result("a")]))]), "unexpected `tool_use_id`");
    refuses(CLAUDE, &body(&[user(json!("x")), calling(&["a", "a"]), user(json!([result("a")]))]), "must be unique");
    refuses(
        CLAUDE,
        &body(&[user(json!("x")), calling(&["a.b"]), user(json!([result("a.b")]))]),
        "String should match pattern",
    );
    refuses(CLAUDE, &body(&[user(json!(""))]), "must be non-empty");
    refuses(CLAUDE, &body(&[user(json!([]))]), "must have non-empty content");
    refuses(CLAUDE, &body(&[user(json!("x")), json!({"role": "assistant", "content": "So: "})]), "trailing whitespace");
    let thought = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, text]});
    refuses(CLAUDE, &body(&[user(json!("x")), thought, user(json!("y"))]), "signature: Field required");
    let orphan = json!({"role": "assistant", "content": [{"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}]});
    refuses(CLAUDE, &body(&[user(json!("x")), orphan, user(json!("y"))]), "`web_search_tool_result` blocks");
}

#[test]
fn gemini_counts_results() {
    let user = |parts: Value| json!({"role": "user", "parts": parts});
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    let (call, words) = (json!({"functionCall": {"name": "f", "args": {}}}), json!({"text": "Hi"}));
    let result = json!({"functionResponse": {"id": "made-up", "name": "f", "response": {}}});
    let body = |turns: &[Value]| json!({"systemInstruction": {"parts": [{"text": ""}]}, "contents": turns});
    takes(GEMINI, &body(&[user(json!([words])), model(json!([call])), user(json!([result]))]));
    takes(GEMINI, &body(&[user(json!([words])), user(json!([{"text": ""}]))]));
    let count = "number of function response parts";
    refuses(GEMINI, &body(&[user(json!([words])), model(json!([call, call])), user(json!([result]))]), count);
    refuses(GEMINI, &body(&[user(json!([words])), model(json!([call])), user(json!([words]))]), count);
    refuses(GEMINI, &body(&[user(json!([words])), user(json!([result]))]), "immediately after a function call turn");
    refuses(
        GEMINI,
        &body(&[user(json!([words])), model(json!([words])), model(json!([call])), user(json!([result]))]),
        "immediately after a user turn",
    );
    refuses(GEMINI, &body(&[user(json!([words])), model(json!([words]))]), "ends with a user turn");
    refuses(GEMINI, &body(&[user(json!([words, {}]))]), "required oneof field 'data'");
    refuses(GEMINI, &body(&[user(json!([]))]), "must not be empty");
    let list = json!({"functionResponse": {"name": "f", "response": [1]}});
    refuses(GEMINI, &body(&[user(json!([words])), model(json!([call])), user(json!([list]))]), "cannot start list");
    let signed = "google/gemini-3-pro-preview";
    refuses(
        signed,
        &body(&[user(json!([words])), model(json!([call])), user(json!([result]))]),
        "missing a thought_signature",
    );
    takes(
        signed,
        &body(&[
            user(json!([words])),
            model(json!([call])),
            user(json!([result])),
            model(json!([words])),
            user(json!([words])),
        ]),
    );
}

#[test]
fn converse_alternates_and_declares() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let (words, tool_use) = (json!({"text": "Hi"}), json!({"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}));
    let calls = json!({"role": "assistant", "content": [tool_use]});
    let result = json!({"toolResult": {"toolUseId": "a", "content": []}});
    let body = |turns: &[Value]| json!({"messages": turns, "toolConfig": {"tools": [{}]}});
    takes(CONVERSE, &body(&[user(json!([words])), calls.clone(), user(json!([result]))]));
    refuses(CONVERSE, &body(&[user(json!([words])), user(json!([words]))]), "roles must alternate");
    refuses(
        CONVERSE,
        &body(&[json!({"role": "assistant", "content": [words]}), user(json!([words]))]),
        "must start with a user message",
    );
    refuses(
        CONVERSE,
        &body(&[user(json!([words])), calls.clone(), user(json!([words]))]),
        "Expected toolResult blocks",
    );
    let twice = json!({"role": "assistant", "content": [tool_use, tool_use]});
    refuses(CONVERSE, &body(&[user(json!([words])), twice, user(json!([result, result]))]), "duplicate Ids: a");
    let undeclared = json!({"messages": [user(json!([words])), calls, user(json!([result]))]});
    refuses(CONVERSE, &undeclared, "toolConfig field must be defined");
    refuses(CONVERSE, &body(&[user(json!([{"text": " "}]))]), "is blank");
}

#[test]
fn rows_of_a_provider_add_rules() {
    let calls = json!({"role": "assistant", "content": "", "tool_calls": [call("call_PTLP8xhu3uwZ")]});
    let result = json!({"role": "tool", "tool_call_id": "call_PTLP8xhu3uwZ", "content": "1"});
    refuses("mistral/mistral-large-latest", &chat(&json!([calls, result])), "with a length of 9");
}
