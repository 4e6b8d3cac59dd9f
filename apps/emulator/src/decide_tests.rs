//! Which tool is called when, and which schema of a prompt counts.

use polywire::wire::{Block, Function, Message, Request, Role, Text, Tool, ToolCall, ToolChoice, ToolResult};
use serde_json::json;

use super::{Decision, decide, schema_in};

fn request(names: &[&str], choice: Option<ToolChoice>) -> Request {
    let mut request = Request::new("", vec![Message::user("Do it.")]);
    let tool = |name: &&str| Tool::Function(Function { name: (*name).to_owned(), ..Function::default() });
    request.tools = names.iter().map(tool).collect();
    request.tool_choice = choice;
    request
}

fn called(request: &Request) -> Option<String> {
    match decide(request) {
        Decision::Call(function) => Some(function.name.clone()),
        Decision::GivenCall { .. } | Decision::Value(_) | Decision::Word(_) | Decision::Text(_) | Decision::Words => {
            None
        }
    }
}

/// Adds a call and its result.
fn run(request: &mut Request, name: &str, is_error: bool) {
    let id = format!("c{}", request.messages.len());
    request.messages.push(Message::new(Role::Assistant, vec![Block::ToolCall(ToolCall::new(id.clone(), name, "{}"))]));
    request.messages.push(Message::tool([ToolResult { is_error, ..ToolResult::text(id, "done") }]));
}

#[test]
fn a_tool_that_may_be_called_is_called_once_per_question() {
    let mut request = request(&["a", "b"], None);
    assert_eq!(called(&request).as_deref(), Some("a"));
    run(&mut request, "a", false);
    assert_eq!(called(&request), None);
    request.messages.extend([Message::assistant("Well."), Message::user("Call the other one.")]);
    assert_eq!(called(&request).as_deref(), Some("b"), "it is reached");
}

/// A client that asks on after each result must still see its last tool called: many frameworks end on it.
#[test]
fn tools_that_must_be_called_are_all_reached() {
    let mut request = request(&["search", "read", "final"], Some(ToolChoice::Required));
    for name in ["search", "read", "final"] {
        assert_eq!(called(&request).as_deref(), Some(name));
        run(&mut request, name, false);
        request.messages.push(Message::user("Go on."));
    }
}

#[test]
fn a_tool_that_fails_is_given_up() {
    let mut request = request(&["a"], None);
    for _ in 0..3 {
        assert_eq!(called(&request).as_deref(), Some("a"));
        run(&mut request, "a", true);
    }
    assert_eq!(called(&request), None, "it answers in words");
    let mut request = self::request(&["a", "b"], Some(ToolChoice::Required));
    for _ in 0..3 {
        run(&mut request, "a", true);
    }
    assert_eq!(called(&request).as_deref(), Some("b"));
}

#[test]
fn a_schema_in_the_instructions_may_be_indented_and_follow_other_json() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let shown = serde_json::to_string_pretty(&schema).expect("JSON").replace('\n', "\n    ");
    for text in [
        format!("Answer by this schema:\n\n    {shown}\n"),
        format!("An example is\n{{\"type\": \"message\"}}\nand the schema is\n\t{shown}"),
        format!("```json\n{shown}\n```"),
        schema.to_string(),
        format!("The schema is {schema}, please."),
        format!("For the schema {{\"type\": \"string\"}} write \"x\".\n  {schema}"),
    ] {
        assert_eq!(schema_in(&Text { text: text.clone(), ..Text::default() }), Some(schema.clone()), "{text}");
    }
    assert_eq!(schema_in(&Text { text: "{\"type\": \"text\"}".to_owned(), ..Text::default() }), None);
}

/// Structured output by a tool leaves a model no other way to answer.
#[test]
fn an_answer_where_a_tool_must_be_called_is_the_last_tool() {
    let mut request = request(&["shell", "final"], Some(ToolChoice::Required));
    request.messages = vec![Message::user("A town.\nemulate: answer")];
    assert_eq!(called(&request).as_deref(), Some("final"));
    request.tool_choice = None;
    assert_eq!(called(&request), None, "it answers in words");
}
