//! R-G2: reasoning and signatures survive a caller's protocol without a place for them, and answers of other providers in between.

use std::sync::Arc;

use polywire::wire::{Protocol, Stamp};
use polywire::{Catalog, EchoStore, TranslateOptions, Translation};
use serde_json::{Value, json};

const CLAUDE: &str = "anthropic/claude-sonnet-4-5";
const GEMINI: &str = "google/gemini-2.5-pro";

/// A Chat client: it keeps texts and calls, as the `OpenAI` SDKs do, and nothing else.
struct Conversation {
    store: Arc<EchoStore>,
    caller: &'static str,
    messages: Vec<Value>,
}

impl Conversation {
    fn new(store: &Arc<EchoStore>, caller: &'static str) -> Self {
        Self {
            store: Arc::clone(store),
            caller,
            messages: vec![json!({"role": "user", "content": "Is it warm in Bern?"})],
        }
    }

    fn translation(&self, model: &str, stream: bool) -> Translation {
        let tool = json!({"type": "function", "function": {"name": "weather", "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}}}});
        let body = json!({"model": "any", "stream": stream, "messages": self.messages, "tools": [tool]}).to_string();
        let model = Catalog::built_in().resolve(model).expect("a model");
        let options = TranslateOptions::default().with_echo(self.store.scoped(self.caller));
        let options = options.with_stamp(Stamp::new(1, format!("{}", self.messages.len())));
        Translation::new(body.as_bytes(), Protocol::OpenAiChat, &model, &options).expect("a translation")
    }

    /// What is sent to a model.
    fn sent(&self, model: &str) -> Value {
        serde_json::from_str(self.translation(model, false).plan().body.get()).expect("JSON")
    }

    fn answered(&mut self, model: &str, answer: &Value) {
        let answer = self.translation(model, false).response(answer.to_string().as_bytes()).expect("an answer");
        let answer: Value = serde_json::from_slice(&answer.body).expect("JSON");
        self.keep(&answer["choices"][0]["message"]);
    }

    fn streamed(&mut self, model: &str, events: &str) {
        let mut stream = self.translation(model, true).stream();
        let mut text = Vec::new();
        for byte in events.as_bytes().chunks(7) {
            text.extend_from_slice(&stream.push(byte));
        }
        let end = stream.finish();
        assert_eq!(end.error, None);
        text.extend_from_slice(&end.bytes);
        let text = String::from_utf8(text).expect("text");
        let mut message = json!({"content": "", "tool_calls": []});
        for line in text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]") {
            let chunk: Value = serde_json::from_str(line).expect("JSON");
            let delta = &chunk["choices"][0]["delta"];
            if let Some(more) = delta["content"].as_str() {
                message["content"] = format!("{}{more}", message["content"].as_str().unwrap_or_default()).into();
            }
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                let calls = message["tool_calls"].as_array_mut().expect("calls");
                if call["id"].is_string() {
                    calls.push(call.clone());
                } else {
                    let last = &mut calls.last_mut().expect("a call")["function"]["arguments"];
                    let more = call["function"]["arguments"].as_str().unwrap_or_default();
                    *last = format!("{}{more}", last.as_str().unwrap_or_default()).into();
                }
            }
        }
        self.keep(&message);
    }

    /// Keeps an answer, the result of its calls, or the next question.
    fn keep(&mut self, message: &Value) {
        let calls: Vec<Value> = message["tool_calls"].as_array().cloned().unwrap_or_default();
        let mut kept = json!({"role": "assistant", "content": message["content"]});
        if calls.is_empty() {
            self.messages.push(kept);
            self.messages.push(json!({"role": "user", "content": "And tomorrow?"}));
            return;
        }
        let ids: Vec<Value> = calls.iter().map(|call| call["id"].clone()).collect();
        kept["tool_calls"] = calls.into();
        self.messages.push(kept);
        let results = ids.into_iter().map(|id| json!({"role": "tool", "tool_call_id": id, "content": "20 degrees"}));
        self.messages.extend(results);
    }
}

fn openai_answer(text: &str) -> Value {
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})
}

fn claude_answer(content: &Value, stop: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
        "stop_reason": stop, "usage": {"input_tokens": 1, "output_tokens": 1}})
}

fn thought(text: &str, signature: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": signature})
}

/// The blocks of the assistant's turns in a request to Anthropic.
fn turns(sent: &Value) -> Vec<&Vec<Value>> {
    let messages = sent["messages"].as_array().expect("messages");
    messages
        .iter()
        .filter(|message| message["role"] == "assistant")
        .filter_map(|message| message["content"].as_array())
        .collect()
}

#[test]
fn r_g2_anthropic_s_thinking_returns_after_another_provider_has_answered() {
    let store = Arc::new(EchoStore::new(1 << 20));
    let mut talk = Conversation::new(&store, "caller");
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Bern"}});
    let redacted = json!({"type": "redacted_thinking", "data": "sealed"});
    talk.answered(CLAUDE, &claude_answer(&json!([thought("Look it up.", "s1"), redacted, call]), "tool_use"));
    // The next turn of the same provider, which Anthropic refuses without the thinking of the call.
    let own = talk.sent(CLAUDE);
    assert_eq!(turns(&own)[0][..2], [thought("Look it up.", "s1"), redacted.clone()]);
    talk.answered(
        CLAUDE,
        &claude_answer(
            &json!([thought("It is warm.", "s2"), {"type": "text", "text": "Yes, 20 degrees."}]),
            "end_turn",
        ),
    );

    let other = talk.sent("openai:chat/gpt-4o").to_string();
    assert!(!other.contains("s1") && !other.contains("sealed") && !other.contains("Look it up"), "{other}");
    talk.answered("openai:chat/gpt-4o", &openai_answer("I do not know."));

    let back = talk.sent(CLAUDE);
    let turns = turns(&back);
    assert_eq!(turns[0][..2], [thought("Look it up.", "s1"), redacted]);
    assert_eq!(turns[0][2]["id"], "toolu_1");
    assert_eq!(turns[1][..], [thought("It is warm.", "s2"), json!({"type": "text", "text": "Yes, 20 degrees."})]);
    // The other provider's turn has a plain text.
    let other =
        back["messages"].as_array().expect("messages").iter().find(|message| message["content"] == "I do not know.");
    assert!(turns.len() == 2 && other.is_some_and(|message| message["role"] == "assistant"), "{back}");
    let changes = talk.translation(CLAUDE, false);
    let places: Vec<&str> =
        changes.changes().iter().filter(|change| change.code == "echo").map(|change| change.at.as_str()).collect();
    assert_eq!(places, ["/messages/1", "/messages/3"]);
}

#[test]
fn r_g2_streams_are_kept_like_whole_answers() {
    let store = Arc::new(EchoStore::new(1 << 20));
    let mut talk = Conversation::new(&store, "caller");
    let event = |name: &str, data: Value| format!("event: {name}\ndata: {data}\n\n");
    let delta = |index: u32, delta: Value| {
        event("content_block_delta", json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let open = |index: u32, block: Value| {
        event("content_block_start", json!({"type": "content_block_start", "index": index, "content_block": block}))
    };
    let close = |index: u32| event("content_block_stop", json!({"type": "content_block_stop", "index": index}));
    let events = [
        event("message_start", json!({"type": "message_start", "message": claude_answer(&json!([]), "")})),
        open(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Look "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "it up."})),
        delta(0, json!({"type": "signature_delta", "signature": "s1"})),
        close(0),
        open(1, json!({"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{\"city\": \"Bern\"}"})),
        close(1),
        event(
            "message_delta",
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}}),
        ),
        event("message_stop", json!({"type": "message_stop"})),
    ];
    talk.streamed(CLAUDE, &events.concat());
    talk.answered("openai:chat/gpt-4o", &openai_answer("20 degrees."));
    let back = talk.sent(CLAUDE);
    assert_eq!(turns(&back)[0][0], thought("Look it up.", "s1"));
}

#[test]
fn r_g2_gemini_s_thought_signatures_return_too() {
    let store = Arc::new(EchoStore::new(1 << 20));
    let mut talk = Conversation::new(&store, "caller");
    let part = json!({"functionCall": {"name": "weather", "args": {"city": "Bern"}}, "thoughtSignature": "g1"});
    let answer =
        |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]});
    // Gemini's calls have no ids; the caller's are made up.
    talk.answered(GEMINI, &answer(json!([part])));
    talk.answered("openai:chat/gpt-4o", &openai_answer("20 degrees."));
    talk.answered(GEMINI, &answer(json!([{"text": "Warmer."}, {"text": "", "thoughtSignature": "g2"}])));
    let back = talk.sent(GEMINI);
    let contents = back["contents"].as_array().expect("contents");
    let parts: Vec<&Value> = contents
        .iter()
        .filter(|content| content["role"] == "model")
        .flat_map(|content| content["parts"].as_array().expect("parts"))
        .collect();
    let signatures: Vec<&str> = parts.iter().filter_map(|part| part["thoughtSignature"].as_str()).collect();
    assert_eq!(signatures, ["g1", "g2"], "{back}");
    assert_eq!(parts[0]["functionCall"]["name"], "weather");
}

/// A client of Anthropic's protocol shows the summary of `OpenAI`'s reasoning, and cannot keep the reasoning itself.
#[test]
fn r_g2_openai_s_encrypted_reasoning_returns_to_it() {
    let store = Arc::new(EchoStore::new(1 << 20));
    let model = Catalog::built_in().resolve("openai:responses/gpt-5").expect("a model");
    let options = TranslateOptions::default().with_echo(store.scoped("caller"));
    let question = json!({"role": "user", "content": "Is it warm in Bern?"});
    let tools = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
    let body =
        |messages: Value| json!({"model": "any", "max_tokens": 99, "messages": messages, "tools": tools}).to_string();
    let translation = |messages: Value| {
        Translation::new(body(messages).as_bytes(), Protocol::AnthropicMessages, &model, &options)
            .expect("a translation")
    };
    let first = translation(json!([question]));
    let sent: Value = serde_json::from_str(first.plan().body.get()).expect("JSON");
    assert_eq!(sent["include"], json!(["reasoning.encrypted_content"]));
    let answer = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5", "output": [
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed", "summary": [{"type": "summary_text", "text": "Look it up."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": "{}"}]});
    let answer = first.response(answer.to_string().as_bytes()).expect("an answer").body;
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    let result =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "20 degrees"}]});
    let next = translation(json!([question, {"role": "assistant", "content": answer["content"]}, result]));
    let sent: Value = serde_json::from_str(next.plan().body.get()).expect("JSON");
    let reasoning: Vec<&Value> =
        sent["input"].as_array().expect("items").iter().filter(|item| item["type"] == "reasoning").collect();
    assert_eq!(reasoning.len(), 1, "{sent}");
    assert_eq!(reasoning[0]["encrypted_content"], "sealed");
}

/// The same text after another question is another turn, and another caller gets nothing.
#[test]
fn r_g2_reasoning_belongs_to_its_turn_and_its_caller() {
    let store = Arc::new(EchoStore::new(1 << 20));
    let mut talk = Conversation::new(&store, "caller");
    talk.answered(
        CLAUDE,
        &claude_answer(&json!([thought("Secret.", "s1"), {"type": "text", "text": "Yes."}]), "end_turn"),
    );
    assert!(talk.sent(CLAUDE).to_string().contains("s1"));
    let mut other = Conversation::new(&store, "other");
    other.messages = talk.messages.clone();
    assert!(!other.sent(CLAUDE).to_string().contains("s1"));
    talk.messages[0]["content"] = json!("Is it cold in Bern?");
    assert!(!talk.sent(CLAUDE).to_string().contains("s1"));
}

#[test]
fn r_g2_the_store_is_bounded_and_forgets_the_oldest() {
    let store = Arc::new(EchoStore::new(10_000));
    for number in 0..100 {
        let mut talk = Conversation::new(&store, "caller");
        let call = json!({"type": "tool_use", "id": format!("toolu_{number}"), "name": "weather", "input": {}});
        talk.answered(CLAUDE, &claude_answer(&json!([thought(&"x".repeat(500), "s"), call]), "tool_use"));
        let is_kept = talk.sent(CLAUDE).to_string().contains("xxx");
        assert!(is_kept, "{number}");
    }
    let (turns, bytes) = store.size();
    assert!(bytes <= 10_000 && (5..20).contains(&turns), "{turns} turns, {bytes} bytes");
    let none = Arc::new(EchoStore::new(0));
    let mut talk = Conversation::new(&none, "caller");
    talk.answered(CLAUDE, &claude_answer(&json!([thought("x", "s"), {"type": "text", "text": "Yes."}]), "end_turn"));
    assert_eq!(none.size(), (0, 0));
}
