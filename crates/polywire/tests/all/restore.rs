//! The way back: names, arguments, the value that was asked for.

use polywire::wire::{Block, Output, OutputFormat, Request, Response, StopReason, Strategy, Text, ToolCall};
use polywire::{OUTPUT_TOOL, Plan, plan, restore};
use serde_json::{Value, json};

use crate::{function, model, question};

fn person() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]})
}

fn planned(strategy: Strategy) -> Plan {
    let format = OutputFormat::strict("person", person()).unwrap().with_strategy(strategy);
    let request = Request { output: Some(Output::Schema(format)), ..question(vec![function("look.up", person())]) };
    plan(&request, &model("openai:chat/gpt-4o"))
}

fn answer(content: Vec<Block>, stop: StopReason) -> Response {
    Response { content, stop, ..Response::default() }
}

#[test]
fn calls_come_back_under_the_callers_names_and_in_the_callers_shape() {
    let call = ToolCall::new("c", "look_up", r#"{"name":"Ann","age":null}"#);
    let restored = restore(answer(vec![Block::ToolCall(call)], StopReason::ToolUse), &planned(Strategy::Native));
    let call = restored.response.calls().next().unwrap();
    assert_eq!((call.name.as_str(), call.value().unwrap()), ("look.up", json!({"name": "Ann"})));
    assert_eq!((restored.output, restored.changes.len()), (None, 0));
}

#[test]
fn a_native_answer_comes_back_through_the_lens() {
    let text = vec![Block::text(r#"{"name":"Ann","#), Block::text(r#""age":null}"#)];
    let restored = restore(answer(text, StopReason::EndTurn), &planned(Strategy::Native));
    assert_eq!(restored.output, Some(json!({"name": "Ann"})));
    assert_eq!(restored.response.text(), r#"{"name":"Ann"}"#);
}

/// R-C3: the tool's input replaces prose; other calls pass untouched; plain text still works.
#[test]
fn r_c3_an_answer_by_tool_replaces_prose() {
    let plan = planned(Strategy::Tool);
    let blocks = || {
        vec![
            Block::Text(Text { text: "Here you are.".to_owned(), ..Text::default() }),
            Block::ToolCall(ToolCall::new("a", OUTPUT_TOOL, r#"{"name":"Ann","age":3}"#)),
        ]
    };
    let restored = restore(answer(blocks(), StopReason::ToolUse), &plan);
    assert_eq!(restored.response.content, [Block::text(r#"{"name":"Ann","age":3}"#)]);
    assert_eq!(restored.response.stop, StopReason::EndTurn);
    assert_eq!(restored.output, Some(json!({"name": "Ann", "age": 3})));

    let mut with_call = blocks();
    with_call.push(Block::ToolCall(ToolCall::new("b", "look_up", r#"{"name":"Bob","age":null}"#)));
    let restored = restore(answer(with_call, StopReason::ToolUse), &plan);
    assert_eq!(restored.response.calls().next().unwrap().name, "look.up");
    assert_eq!(restored.response.stop, StopReason::ToolUse);

    let prose = restore(answer(vec![Block::text("I cannot.")], StopReason::EndTurn), &plan);
    assert_eq!((prose.output, prose.response.text().as_str()), (None, "I cannot."));
    assert_eq!(prose.changes[0].code, "not-json");
}

#[test]
fn arguments_that_are_no_json_stay_and_are_told() {
    let call = ToolCall::new("c", "look_up", r#"{"name":"An"#);
    let restored = restore(answer(vec![Block::ToolCall(call)], StopReason::MaxTokens), &planned(Strategy::Native));
    assert_eq!(restored.response.calls().next().unwrap().arguments, r#"{"name":"An"#);
    assert_eq!(restored.changes[0].code, "not-restored");
}
