//! History repair: what providers rejected is accepted, and what they accept is not touched.

use std::collections::HashSet;

use polywire_wire::{Block, Message, Protocol, Quirk, Request, Role, Surface, ToolCall, ToolResult};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::corpus::{Kind, of_kind};
use crate::generate::{plain_request, wild_request};
use crate::laws::cases;

/// The protocol and the surface of a provider of the shared cases.
fn target(provider: &str) -> (Protocol, Surface) {
    let plain = Surface::default();
    match provider {
        "anthropic" | "vertex-anthropic" => (Protocol::AnthropicMessages, plain),
        "gemini" => (Protocol::Gemini, plain.with(Quirk::SignedCalls)),
        "bedrock" => (Protocol::BedrockConverse, plain),
        "openai-responses" => (Protocol::OpenAiResponses, plain.with(Quirk::Stateless)),
        "mistral" => (Protocol::OpenAiChat, plain.with(Quirk::NineCharacterIds)),
        "deepseek" => (Protocol::OpenAiChat, plain.with(Quirk::ReasoningReplay)),
        "llamacpp" => (Protocol::OpenAiChat, plain.with(Quirk::Alternate)),
        _ => (Protocol::OpenAiChat, plain),
    }
}

/// Every rule that a body breaks, judged on the body alone and not by the code that repaired it.
pub(crate) fn broken_rules(protocol: Protocol, surface: &Surface, body: &Value) -> Vec<String> {
    match protocol {
        Protocol::OpenAiChat => chat_rules(surface, body),
        Protocol::OpenAiResponses => responses_rules(body),
        Protocol::AnthropicMessages | Protocol::BedrockConverse => block_rules(protocol, body),
        Protocol::Gemini => gemini_rules(surface, body),
    }
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn chat_rules(surface: &Surface, body: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    let mut before = "";
    for (index, message) in list(body, "messages").iter().enumerate() {
        let role = text(message, "/role");
        if role == "tool" {
            let id = text(message, "/tool_call_id");
            match open.iter().position(|one| one == id) {
                Some(at) => drop(open.remove(at)),
                None => broken.push(format!("{index}: a result without a call: {id}")),
            }
        } else if !open.is_empty() {
            broken.push(format!("{index}: calls without results: {open:?}"));
            open.clear();
        }
        if message.get("tool_calls").is_some_and(|calls| calls == &serde_json::json!([])) {
            broken.push(format!("{index}: an empty list of calls"));
        }
        if message["content"].is_null() && list(message, "tool_calls").is_empty() {
            broken.push(format!("{index}: no content"));
        }
        let texts = list(message, "content").iter().filter(|part| part["type"] == "text").count();
        if texts > 1 {
            broken.push(format!("{index}: several texts"));
        }
        if role == "developer" {
            broken.push(format!("{index}: developer"));
        }
        if surface.has(Quirk::Alternate) && role == before && role != "tool" {
            broken.push(format!("{index}: {role} twice"));
        }
        for call in list(message, "tool_calls") {
            let id = text(call, "/id");
            let nine = surface.has(Quirk::NineCharacterIds);
            let fits = if nine {
                id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())
            } else {
                (1..=40).contains(&id.len())
            };
            if !fits || !seen.insert(id.to_owned()) {
                broken.push(format!("{index}: id {id}"));
            }
            let custom = text(call, "/type") == "custom" && call.pointer("/custom/input").is_some_and(Value::is_string);
            if !custom
                && !serde_json::from_str::<Value>(text(call, "/function/arguments"))
                    .is_ok_and(|value| value.is_object())
            {
                broken.push(format!("{index}: arguments"));
            }
            open.push(id.to_owned());
            if surface.has(Quirk::ReasoningReplay) && !message["reasoning_content"].is_string() {
                broken.push(format!("{index}: no reasoning_content"));
            }
        }
        before = role;
    }
    if !open.is_empty() {
        broken.push(format!("calls without results at the end: {open:?}"));
    }
    broken
}

fn responses_rules(body: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (index, item) in list(body, "input").iter().enumerate() {
        let id = text(item, "/call_id");
        match text(item, "/type") {
            "function_call" | "custom_tool_call" => {
                open.push(id);
                if !(1..=64).contains(&id.len()) {
                    broken.push(format!("{index}: id {id}"));
                }
            }
            "function_call_output" | "custom_tool_call_output" => match open.iter().position(|one| *one == id) {
                Some(at) => drop(open.remove(at)),
                None => broken.push(format!("{index}: a result without a call")),
            },
            "reasoning" => {
                if item["encrypted_content"].is_null() {
                    broken.push(format!("{index}: a thought that nobody keeps"));
                }
            }
            _ => {
                if !open.is_empty() {
                    broken.push(format!("{index}: calls without results"));
                }
            }
        }
        if item.get("id").is_some() {
            broken.push(format!("{index}: an id of an item"));
        }
    }
    if !open.is_empty() {
        broken.push("calls without results at the end".to_owned());
    }
    broken
}

fn block_rules(protocol: Protocol, body: &Value) -> Vec<String> {
    let bedrock = protocol == Protocol::BedrockConverse;
    let (call, result, call_id, result_id) = if bedrock {
        ("/toolUse", "/toolResult", "/toolUse/toolUseId", "/toolResult/toolUseId")
    } else {
        ("/input", "/tool_use_id", "/id", "/tool_use_id")
    };
    let mut broken = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    let mut before = "";
    let mut tools_used = false;
    for (index, message) in list(body, "messages").iter().enumerate() {
        let role = text(message, "/role");
        if bedrock && role == before {
            broken.push(format!("{index}: {role} twice"));
        }
        before = role;
        let content = list(message, "content");
        if content.is_empty() && text(message, "/content").trim().is_empty() {
            broken.push(format!("{index}: no content"));
        }
        let results: Vec<String> = content
            .iter()
            .filter(|block| block.pointer(result).is_some())
            .map(|block| text(block, result_id).to_owned())
            .collect();
        let (mut wanted, mut got) = (std::mem::take(&mut open), results.clone());
        wanted.sort();
        got.sort();
        if wanted != got {
            broken.push(format!("{index}: wanted {wanted:?}, got {got:?}"));
        }
        if !content.iter().take(results.len()).all(|block| block.pointer(result).is_some()) {
            broken.push(format!("{index}: results do not stand first"));
        }
        for block in content {
            let said = if bedrock { block.get("text") } else { block.get("text").filter(|_| block["type"] == "text") };
            if said.and_then(Value::as_str).is_some_and(|text| text.trim().is_empty()) {
                broken.push(format!("{index}: a blank text"));
            }
            if block.pointer(call).is_some() && block["type"] != "server_tool_use" {
                tools_used = true;
                let id = text(block, call_id);
                let fits = !id.is_empty()
                    && id
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c) || (bedrock && ".:".contains(c)));
                if !fits || !seen.insert(id.to_owned()) {
                    broken.push(format!("{index}: id {id}"));
                }
                let input = block.pointer(if bedrock { "/toolUse/input" } else { "/input" });
                if !input.is_some_and(Value::is_object) {
                    broken.push(format!("{index}: input"));
                }
                open.push(id.to_owned());
            }
        }
    }
    if !open.is_empty() {
        broken.push(format!("calls without results at the end: {open:?}"));
    }
    if bedrock && tools_used && body.get("toolConfig").is_none() {
        broken.push("calls without tools".to_owned());
    }
    broken
}

fn gemini_rules(surface: &Surface, body: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let contents = list(body, "contents");
    let names = |content: &Value, kind: &str| -> Vec<String> {
        list(content, "parts")
            .iter()
            .filter_map(|part| part.get(kind))
            .map(|one| text(one, "/name").to_owned())
            .collect()
    };
    let mut before: Option<&Value> = None;
    for (index, content) in contents.iter().enumerate() {
        let (calls, results) = (names(content, "functionCall"), names(content, "functionResponse"));
        let open = before.map_or(Vec::new(), |before| names(before, "functionCall"));
        if open != results {
            broken.push(format!("{index}: calls {open:?}, results {results:?}"));
        }
        let parts = list(content, "parts");
        if parts.is_empty() || parts.iter().any(|part| part.as_object().is_none_or(serde_json::Map::is_empty)) {
            broken.push(format!("{index}: an empty part"));
        }
        if !results.is_empty() && results.len() != parts.len() {
            broken.push(format!("{index}: results and other parts in one turn"));
        }
        if !calls.is_empty() && !before.is_some_and(|before| before["role"] == "user") {
            broken.push(format!("{index}: calls do not follow a user's turn"));
        }
        if surface.has(Quirk::SignedCalls) {
            let first = parts.iter().find(|part| part.get("functionCall").is_some());
            if first.is_some_and(|part| part.get("thoughtSignature").is_none()) {
                broken.push(format!("{index}: an unsigned call"));
            }
        }
        for part in parts {
            let response = part.pointer("/functionResponse/response");
            if response.is_some_and(|one| !one.is_object() || one.to_string().contains("\"$ref\":")) {
                broken.push(format!("{index}: response {response:?}"));
            }
        }
        before = Some(content);
    }
    if contents.last().is_none_or(|last| last["role"] != "user") {
        broken.push("the last turn is not the user's".to_owned());
    }
    broken
}

fn repaired(protocol: Protocol, surface: &Surface, mut request: Request) -> (Value, Vec<polywire_wire::Change>) {
    let changes = protocol.repair_history(&mut request, surface);
    (protocol.encode_request(&request, surface).value(), changes)
}

/// R-B5, R-B6: histories that providers rejected in public are accepted after repair.
#[test]
fn rejected_histories_are_accepted_after_repair() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/cases.jsonl");
    let Ok(cases) = std::fs::read_to_string(&path) else {
        // A skip would look like a pass.
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
        println!("skipped: {} is missing", path.display());
        return;
    };
    let mut count = 0;
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["kind"] != "history" {
            continue;
        }
        count += 1;
        let id = text(&case, "/id");
        let (protocol, surface) = target(text(&case, "/provider"));
        let request =
            protocol.decode_request(case["input"].clone()).unwrap_or_else(|error| panic!("{id}: {error}")).value;
        let (body, changes) = repaired(protocol, &surface, request);
        let broken = broken_rules(protocol, &surface, &body);
        assert_eq!(broken, Vec::<String>::new(), "{id}: {changes:#?}\n{body:#}");
    }
    println!("{count} histories are accepted after repair");
    assert!(count > 0, "the cases have histories");
}

/// A conversation in its proper order is not touched.
#[test]
fn a_history_that_needs_no_repair_is_not_touched() {
    let mut runner = TestRunner::new(cases(200));
    for protocol in Protocol::ALL {
        runner
            .run(&plain_request(), |request| {
                let mut repaired = request.clone();
                let changes = protocol.repair_history(&mut repaired, &Surface::default());
                prop_assert_eq!(&changes, &[], "{}", protocol);
                prop_assert_eq!(repaired, request);
                Ok(())
            })
            .unwrap();
    }
}

/// A body of ours that breaks no rule is written, after repair, byte for byte as without.
#[test]
fn bodies_that_break_no_rule_pass_byte_for_byte() {
    for protocol in Protocol::ALL {
        let mut passed = 0;
        for (path, case) in of_kind(protocol, Kind::Request) {
            let surface = Surface::default();
            let request = protocol.decode_request(case.body).unwrap().value;
            let before = protocol.encode_request(&request, &surface);
            if !broken_rules(protocol, &surface, &before.value()).is_empty() {
                continue;
            }
            let mut after = request.clone();
            let changes = protocol.repair_history(&mut after, &surface);
            assert_eq!(changes, [], "{}", path.display());
            assert_eq!(protocol.encode_request(&after, &surface).body, before.body, "{}", path.display());
            passed += 1;
        }
        assert!(passed >= 4, "{protocol}: {passed} bodies need no repair");
    }
}

/// Any history whatever is accepted after repair, and repairing it again changes nothing.
#[test]
fn any_history_is_accepted_after_repair() {
    let mut runner = TestRunner::new(cases(300));
    for protocol in Protocol::ALL {
        let surface = Surface::default();
        let surface = if protocol == Protocol::OpenAiResponses { surface.with(Quirk::Stateless) } else { surface };
        runner
            .run(&wild_request(protocol), |mut request| {
                // Blocks that have no place in the protocol are the encoder's business.
                for message in &mut request.messages {
                    message
                        .content
                        .retain(|block| matches!(block, Block::Text(_) | Block::ToolCall(_) | Block::ToolResult(_)));
                    message.extra = polywire_wire::Extra::default();
                    for block in &mut message.content {
                        if let Block::Text(text) = block {
                            text.extra = polywire_wire::Extra::default();
                            text.signature = None;
                        }
                        if let Block::ToolResult(result) = block {
                            result.content.clear();
                        }
                    }
                }
                request.messages.retain(|message| message.role != Role::System);
                request.system.clear();
                request.messages.push(Message::user("go on"));
                let mut once = request.clone();
                protocol.repair_history(&mut once, &surface);
                let mut twice = once.clone();
                let changes = protocol.repair_history(&mut twice, &surface);
                prop_assert_eq!(&changes, &[], "{}: repaired twice", protocol);
                prop_assert_eq!(&twice, &once);
                let body = protocol.encode_request(&once, &surface).value();
                let broken = broken_rules(protocol, &surface, &body);
                prop_assert_eq!(broken, Vec::<String>::new(), "{}: {:#}", protocol, body);
                Ok(())
            })
            .unwrap();
    }
}

/// The texts of the results after repair, with the ids of the calls that they answer.
fn results(protocol: Protocol, body: Value) -> (Vec<(String, String)>, Vec<String>) {
    let mut request = protocol.decode_request(body).unwrap().value;
    let changes = protocol.repair_history(&mut request, &Surface::default());
    let blocks = request.messages.iter().flat_map(|message| &message.content).filter_map(Block::as_result);
    let called = |id: &str| {
        let mut calls = request.messages.iter().flat_map(Message::calls);
        calls.find(|call| call.id == id).map_or_else(String::new, |call| call.name.clone())
    };
    let said = blocks.map(|result| (called(&result.call_id), json!(result.content[0])["text"].to_string()));
    (said.collect(), changes.iter().map(|change| change.code.to_string()).collect())
}

/// A result without a name or with an id that no call has is the result of the call that waits for one.
#[test]
fn results_that_name_no_call_are_paired_by_name_and_position() {
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let answer = |fields: Value| {
        let mut response = json!({"response": {"output": "12"}});
        response.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"functionResponse": response})
    };
    let gemini = |calls: Vec<Value>, answers: Vec<Value>| {
        json!({"contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": calls},
            {"role": "user", "parts": answers},
        ]})
    };
    let expected = |names: &[&str]| -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), "\"12\"".to_owned())).collect()
    };
    let cases = [
        (gemini(vec![call("a")], vec![answer(json!({}))]), expected(&["a"])),
        (gemini(vec![call("a")], vec![answer(json!({"name": "", "id": ""}))]), expected(&["a"])),
        (gemini(vec![call("a")], vec![answer(json!({"name": "a", "id": "made-up"}))]), expected(&["a"])),
        (gemini(vec![call("a"), call("b")], vec![answer(json!({})), answer(json!({}))]), expected(&["a", "b"])),
        (
            gemini(vec![call("a"), call("b")], vec![answer(json!({})), answer(json!({"name": "a"}))]),
            expected(&["a", "b"]),
        ),
    ];
    for (body, expected) in cases {
        let (found, changes) = results(Protocol::Gemini, body.clone());
        assert_eq!(found, expected, "{body}");
        assert_eq!(changes[0], "unnamed-result", "{body}");
    }
    let (found, changes) = results(Protocol::Gemini, gemini(vec![call("a"), call("b")], vec![answer(json!({}))]));
    assert!(
        found.iter().all(|(_, text)| text.contains("No result")),
        "one result of two calls is ambiguous: {found:?}"
    );
    assert!(changes.contains(&"orphan-result".to_owned()));
}

#[test]
fn results_without_a_usable_id_are_paired_in_every_protocol() {
    let chat = json!({"messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}},
            {"id": "c2", "type": "function", "function": {"name": "b", "arguments": "{}"}},
        ]},
        {"role": "tool", "name": "b", "content": "12"},
        {"role": "tool", "tool_call_id": "other", "content": "11"},
    ]});
    let responses = json!({"input": [
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "", "output": "11"},
    ]});
    let anthropic = json!({"messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "a", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "11"}]},
    ]});
    let bedrock = json!({"messages": [
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "a", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "x", "content": [{"text": "11"}]}}]},
    ]});
    let pair = |name: &str, text: &str| (name.to_owned(), format!("{text:?}"));
    let one = vec![pair("a", "11")];
    let both = vec![pair("b", "12"), pair("a", "11")];
    for (protocol, body, expected) in [
        (Protocol::OpenAiChat, chat, both),
        (Protocol::OpenAiResponses, responses, one.clone()),
        (Protocol::AnthropicMessages, anthropic, one.clone()),
        (Protocol::BedrockConverse, bedrock, one),
    ] {
        let (found, changes) = results(protocol, body);
        assert_eq!(found, expected, "{protocol}");
        assert_eq!(changes.first().map(String::as_str), Some("unnamed-result"), "{protocol}: {changes:?}");
        assert!(!changes.iter().any(|code| code == "missing-result"), "{protocol}: {changes:?}");
    }
}

#[test]
fn ids_are_replaced_the_same_way_on_both_sides() {
    let call = Block::ToolCall(ToolCall::new("call_PTLP8xhu3uwZk4l3", "grep", "{}"));
    let messages = vec![
        Message::user("find"),
        Message::new(Role::Assistant, vec![call]),
        Message::tool([ToolResult::text("call_PTLP8xhu3uwZk4l3", "none")]),
    ];
    let surface = Surface::default().with(Quirk::NineCharacterIds);
    let mut first = Request::new("m", messages.clone());
    let mut second = Request::new("m", messages);
    Protocol::OpenAiChat.repair_history(&mut first, &surface);
    Protocol::OpenAiChat.repair_history(&mut second, &surface);
    assert_eq!(first, second, "stable");
    let id = first.messages[1].calls().next().unwrap().id.clone();
    assert_eq!((id.len(), first.messages[2].content[0].answers()), (9, Some(id.as_str())));
}

/// The body after repair and the codes of all changes, those of the encoder too.
fn mended(protocol: Protocol, surface: &Surface, body: Value) -> (Value, Vec<String>) {
    let mut request = protocol.decode_request(body).unwrap().value;
    let mut changes = protocol.repair_history(&mut request, surface);
    let mut again = request.clone();
    assert_eq!(protocol.repair_history(&mut again, surface), [], "a second repair finds nothing");
    let encoded = protocol.encode_request(&request, surface);
    changes.extend(encoded.changes.clone());
    (encoded.value(), changes.iter().map(|change| change.code.to_string()).collect())
}

#[test]
fn a_server_tool_result_without_its_call_is_dropped_on_record() {
    let search = |id: &str| json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}});
    let found = |id: &str| json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []});
    let text = |text: &str| json!({"type": "text", "text": text});
    let body = json!({"max_tokens": 9, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [found("srvtoolu_1"), search("srvtoolu_2"), found("srvtoolu_2"), text("a")]},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": [search("srvtoolu_3"), text("b")]},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": [found("srvtoolu_9")]},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": [text("c"), search("srvtoolu_4")]},
    ]});
    let (body, codes) = mended(Protocol::AnthropicMessages, &Surface::default(), body);
    let expected = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [search("srvtoolu_2"), found("srvtoolu_2"), text("a")]},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "more"},
        {"role": "user", "content": "more"},
        {"role": "assistant", "content": [text("c"), search("srvtoolu_4")]},
    ]);
    assert_eq!(body["messages"], expected);
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    let dropped = ["orphan-server-result", "server-call-without-result", "orphan-server-result", "empty-turn"];
    assert_eq!(codes, dropped);
}

#[test]
fn an_item_id_without_its_reasoning_item_is_dropped_on_record() {
    let call = |id: Option<&str>| {
        let mut call = json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        call
    };
    let answer = json!({"type": "function_call_output", "call_id": "c1", "output": "1"});
    let user = json!({"type": "message", "role": "user", "content": "go"});
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"});
    let surface = Surface::default();
    let own = Protocol::OpenAiResponses;
    let (body, codes) = mended(own, &surface, json!({"input": [user, call(Some("fc_1")), answer]}));
    assert_eq!((body["input"][1].clone(), codes), (call(None), vec!["item-id".to_owned()]));

    let whole = json!([user, thought, call(Some("fc_1")), answer]);
    let (body, codes) = mended(own, &surface, json!({"input": whole}));
    assert_eq!((&body["input"], codes.len()), (&whole, 0), "with its reasoning item nothing changes");

    for empty in [json!(""), json!([])] {
        let empty = json!({"type": "message", "role": "assistant", "content": empty});
        let (body, codes) = mended(own, &surface, json!({"input": [user, thought, empty, call(Some("fc_1")), answer]}));
        assert_eq!((&body["input"], codes), (&whole, vec!["blank-text".to_owned()]), "{empty}");
    }

    let (body, codes) = mended(own, &surface, json!({"input": [user, thought, user]}));
    assert_eq!((body["input"].clone(), codes), (json!([user, user]), vec!["lone-thinking".to_owned()]));
}

#[test]
fn surfaces_that_want_an_assistant_between_results_and_the_user_get_one() {
    let surface = Surface::default().with(Quirk::NoUserAfterTool).with(Quirk::NoNullContent);
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ]});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "1"});
    let user = json!({"role": "user", "content": "go"});
    let (body, codes) = mended(Protocol::OpenAiChat, &surface, json!({"messages": [user, call, result, user]}));
    let roles: Vec<&str> = list(&body, "messages").iter().map(|message| text(message, "/role")).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(body["messages"][1]["content"], json!(""), "no `null`");
    assert_eq!(codes, ["user-after-tool", "null-content"]);

    // An image of a result follows in a user message of its own.
    let mut image = Request::new(
        "m",
        vec![
            Message::user("go"),
            Message::new(Role::Assistant, vec![Block::ToolCall(ToolCall::new("c1", "f", "{}"))]),
            Message::tool([ToolResult {
                content: vec![polywire_wire::ResultBlock::Image(polywire_wire::Image {
                    source: polywire_wire::Source::url("https://x.test/a.png"),
                    ..polywire_wire::Image::default()
                })],
                ..ToolResult::text("c1", "")
            }]),
        ],
    );
    Protocol::OpenAiChat.repair_history(&mut image, &surface);
    let body = Protocol::OpenAiChat.encode_request(&image, &surface).value();
    let roles: Vec<&str> = list(&body, "messages").iter().map(|message| text(message, "/role")).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user"]);
}

/// ANT-REQ-09: a system message is passed on where the surface and its place allow it, and moved on record elsewhere.
#[test]
fn system_messages_inside_of_anthropic_messages_are_passed_on_or_moved_on_record() {
    let (user, system) = (json!({"role": "user", "content": "go"}), json!({"role": "system", "content": "be brief"}));
    let assistant = json!({"role": "assistant", "content": "ok"});
    let body = |messages: Vec<&Value>| json!({"max_tokens": 9, "messages": messages});
    let newer = Surface::default().with(Quirk::SystemMessages);
    let own = Protocol::AnthropicMessages;
    let placed = body(vec![&user, &system, &assistant, &user, &system]);
    let (written, codes) = mended(own, &newer, placed.clone());
    assert_eq!((&written["messages"], codes), (&placed["messages"], vec![]));
    let (written, codes) = mended(own, &Surface::default(), placed);
    assert_eq!(written["messages"][1], json!({"role": "user", "content": "<system>be brief</system>"}));
    assert_eq!(codes, ["instruction-as-user", "instruction-as-user"]);
    let (written, codes) = mended(own, &newer, body(vec![&user, &system, &user]));
    assert_eq!(written["messages"][1]["role"], "user", "a user message may not follow");
    assert_eq!(codes, ["instruction-as-user"]);
    let (written, codes) = mended(own, &newer, body(vec![&system, &user]));
    assert_eq!((&written["system"], codes), (&json!("be brief"), vec!["leading-instruction".to_owned()]));
}
