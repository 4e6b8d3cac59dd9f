//! A plan is plain data: written down, read by another process, it sends the same bytes and brings the same answer back.

use std::path::Path;
use std::process::Command;

use polywire::wire::{Block, Message, OutputFormat, Response, Role, ToolCall, ToolResult};
use polywire::{Catalog, Plan, plan, restore};
use serde_json::{Value, json};

use crate::{function, question};

/// Where a child finds the plan and leaves what it made of it.
const PLACE: &str = "POLYWIRE_TEST_REPLAY";

const OWN_NAME: &str = "replay::a_plan_is_replayed_in_another_process";

/// More tools than the provider takes, renamed ones, a shape of the answer, a history with a call.
fn planned() -> Plan {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}}});
    let mut request = question((0..150).map(|number| function(&format!("tool.{number}"), schema.clone())).collect());
    let call = ToolCall::new("call_1", "tool.149", r#"{"labels":{"a":"b"}}"#);
    request.messages.push(Message::new(Role::Assistant, vec![Block::ToolCall(call)]));
    request.messages.push(Message::tool([ToolResult::text("call_1", "done")]));
    let format = OutputFormat::strict("answer", schema).expect("a format");
    request.output = Some(polywire::wire::Output::Schema(format));
    plan(&request, &Catalog::built_in().resolve("openai:chat/gpt-4o").expect("a model"))
}

/// What comes of an answer: a call as the model would write it, read from the plan's own history.
fn replayed(plan: &Plan) -> Value {
    let body = serde_json::from_str(plan.body.get()).expect("JSON");
    let sent = plan.protocol.decode_request(body).expect("a request").value;
    let calls = sent.messages.iter().flat_map(Message::calls).cloned().map(Block::ToolCall);
    let restored = restore(Response { content: calls.collect(), ..Response::default() }, plan);
    let calls: Vec<_> = restored.response.calls().map(|call| json!([call.name, call.arguments])).collect();
    json!({"calls": calls, "body": plan.body.get(), "plan": plan})
}

#[test]
fn a_plan_is_replayed_in_another_process() {
    if let Some(place) = std::env::var_os(PLACE) {
        let text = std::fs::read_to_string(&place).expect("a plan");
        let plan: Plan = serde_json::from_str(&text).expect("a plan");
        std::fs::write(Path::new(&place).with_extension("replayed"), replayed(&plan).to_string()).expect("a place");
        return;
    }
    let plan = planned();
    let folder = std::env::temp_dir().join(format!("polywire-replay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let place = folder.join("plan.json");
    std::fs::write(&place, serde_json::to_string(&plan).expect("a plan is JSON")).expect("a place");
    let program = std::env::current_exe().expect("this program");
    let status =
        Command::new(program).args(["--exact", OWN_NAME]).env(PLACE, &place).output().expect("a process").status;
    let there = std::fs::read_to_string(place.with_extension("replayed")).expect("what the other process made");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    assert!(status.success());
    let there: Value = serde_json::from_str(&there).expect("JSON");
    assert_eq!(there["calls"], json!([["tool.149", r#"{"labels":{"a":"b"}}"#]]));
    assert_eq!(there, replayed(&plan));
}
