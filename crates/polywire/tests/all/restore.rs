//! The way back: names, arguments, the value that was asked for.

use polywire::wire::{
    Assembler, Block, Event, Output, OutputFormat, Request, Response, StopReason, Strategy, Text, ToolCall, events_of,
};
use polywire::{OUTPUT_TOOL, Plan, RestoreEvents, plan, restore};
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

/// Contents of answers in all orders: words, thoughts, calls of tools with a lens and without, the answer itself, once and twice.
fn contents() -> Vec<Vec<Block>> {
    let call = |id: &str, name: &str, text: &str| Block::ToolCall(ToolCall::new(id, name, text));
    let words = || Block::text("Let me see.");
    let thought = || Block::Thinking(polywire::wire::Thinking { text: "Hm.".to_owned(), ..Default::default() });
    let value = || Block::text(r#"{"name":"Ann","age":null}"#);
    let answer = || call("a", OUTPUT_TOOL, r#"{"name":"Ann","age":3}"#);
    let look = || call("b", "look_up", r#"{"name":"Bob","age":null}"#);
    let odd = || call("c", "unheard_of", "{}");
    vec![
        vec![words()],
        vec![value()],
        vec![thought(), value()],
        vec![Block::text(r#"{"name":"#), Block::text(r#""Ann","age":null}"#)],
        vec![words(), answer()],
        vec![answer(), answer()],
        vec![answer(), thought()],
        vec![thought(), words(), answer(), thought(), look()],
        vec![look()],
        vec![words(), look(), odd(), look()],
        vec![thought(), look(), answer()],
        vec![answer(), look()],
        vec![look(), words(), answer(), look()],
        vec![call("d", "look_up", r#"{"name": 3"#)],
        vec![],
    ]
}

/// Put together, restored events are the restored answer; however they are cut.
#[test]
fn events_come_back_as_the_answer_does() {
    for strategy in [Strategy::Native, Strategy::Tool, Strategy::Prompted] {
        let plan = planned(strategy);
        for content in contents() {
            for stop in [StopReason::ToolUse, StopReason::EndTurn, StopReason::MaxTokens] {
                let response = answer(content.clone(), stop);
                for piece in [1, 7, 1000] {
                    let mut restorer = RestoreEvents::default();
                    let mut assembler = Assembler::default();
                    for event in events_of(&response, piece) {
                        restorer.push(event, &plan).into_iter().for_each(|event| assembler.push(event));
                    }
                    let whole = restore(response.clone(), &plan).response;
                    assert_eq!(assembler.finish().unwrap(), whole, "{strategy:?} {content:?}");
                }
            }
        }
    }
}

/// R-E5: a stream that ends at any event has no call in it that was not complete.
#[test]
fn r_e5_calls_that_were_cut_are_no_calls() {
    let plan = planned(Strategy::Tool);
    for content in contents() {
        let response = answer(content, StopReason::ToolUse);
        let events = events_of(&response, 3);
        let whole = restore(response, &plan).response;
        let stop = events.iter().position(|event| matches!(event, Event::Stop { .. })).unwrap();
        for end in 0..stop {
            let mut restorer = RestoreEvents::default();
            let mut assembler = Assembler::default();
            for event in &events[..end] {
                restorer.push(event.clone(), &plan).into_iter().for_each(|event| assembler.push(event));
            }
            let cut = assembler.finish().unwrap_err();
            for call in cut.response.calls() {
                assert!(whole.calls().any(|known| known == call), "{call:?} at {end}");
            }
        }
    }
}
