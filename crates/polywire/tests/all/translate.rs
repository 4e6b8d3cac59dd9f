//! Bodies from one protocol to another.

use polywire::wire::{Protocol, StopReason};
use polywire::{BodyKind, TranslateError, decode, decode_stream, translate};
use serde_json::{Value, json};

const CHAT: &str = r#"{"model":"gpt-4o","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
    {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look_up","arguments":"{\"q\":\"a\"}"}}]},
    {"role":"tool","tool_call_id":"call_1","content":"found"}],
    "tools":[{"type":"function","function":{"name":"look_up","parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}]}"#;

#[test]
fn a_request_reaches_every_protocol_and_comes_back() {
    for to in Protocol::ALL {
        let there = translate(CHAT.as_bytes(), Protocol::OpenAiChat, to, BodyKind::Request).unwrap();
        let back = translate(&there.body, to, Protocol::OpenAiChat, BodyKind::Request).unwrap();
        let body: Value = serde_json::from_slice(&back.body).unwrap();
        let turns = body["messages"].as_array().unwrap();
        let calls: Vec<&Value> = turns.iter().filter_map(|turn| turn.get("tool_calls")).collect();
        assert_eq!(calls.len(), 1, "{to}: {body}");
        assert_eq!(calls[0][0]["function"]["arguments"], r#"{"q":"a"}"#, "{to}");
        assert_eq!(body["tools"][0]["function"]["name"], "look_up", "{to}");
        assert_eq!(turns.last().unwrap()["content"], "found", "{to}");
    }
}

#[test]
fn an_answer_and_a_stream_reach_every_protocol() {
    let answer = json!({"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [{"index": 0,
        "message": {"role": "assistant", "content": "Hello there"}, "finish_reason": "stop"}]})
    .to_string();
    let stream = "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"}}]}\n\n\
        data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" there\"},\"finish_reason\":\"stop\"}]}\n\n\
        data: [DONE]\n\n";
    for to in Protocol::ALL {
        let whole = translate(answer.as_bytes(), Protocol::OpenAiChat, to, BodyKind::Response).unwrap();
        let whole = decode(&whole.body, to).unwrap().value;
        let pieces = translate(stream.as_bytes(), Protocol::OpenAiChat, to, BodyKind::Stream).unwrap();
        let pieces = decode_stream(&pieces.body, to).unwrap().unwrap_or_else(|cut| panic!("{to}: {cut}"));
        assert_eq!((whole.text().as_str(), &whole.stop), ("Hello there", &StopReason::EndTurn), "{to}");
        assert_eq!((pieces.text().as_str(), &pieces.stop), ("Hello there", &StopReason::EndTurn), "{to}");
    }
}

#[test]
fn a_stream_that_was_cut_says_so() {
    let cut = "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let error = decode_stream(cut.as_bytes(), Protocol::OpenAiChat).unwrap().expect_err("a cut stream");
    assert_eq!(error.response.text(), "Hel");
}

#[test]
fn bad_bodies_are_errors_with_a_place() {
    let read = |body: &str| translate(body.as_bytes(), Protocol::OpenAiChat, Protocol::Gemini, BodyKind::Request);
    assert!(matches!(read("{"), Err(TranslateError::Json(_))));
    let error = read(r#"{"model":"m","messages":[{"role":"user","content":7}]}"#).expect_err("no content");
    assert!(error.to_string().contains("/messages/0"), "{error}");
}
