//! What the answer to a request is: a tool call, a value, or words.

use polywire::wire::{Block, Function, Message, Output, Protocol, Request, Role, Text, Tool, ToolChoice};
use serde_json::{Value, json};

use crate::script::{Step, last_result, step};

/// Calls of a tool that fails before the model gives up and answers in words.
const MOST_FAILURES: usize = 3;

/// Places of a text that are tried for a schema.
const MOST_PLACES: usize = 64;

/// The answer to make.
pub(crate) enum Decision<'r> {
    Call(&'r Function),
    /// A call that the prompt spells out.
    GivenCall {
        name: String,
        arguments: Value,
    },
    Value(Value),
    /// A value of this schema without quotes.
    Word(Value),
    Text(String),
    Words,
}

/// Decides by the steps of the prompt, then by the tool choice, then by the output format, which may be in the instructions only.
pub(crate) fn decide(request: &Request) -> Decision<'_> {
    match step(request) {
        Some(Step::Call { name, arguments: Some(arguments) }) => Decision::GivenCall { name, arguments },
        Some(Step::Call { name, arguments: None }) => match function(request, &name) {
            Some(function) => Decision::Call(function),
            None => Decision::Text(format!("there is no tool `{name}`")),
        },
        Some(Step::Say(text)) => Decision::Text(text),
        Some(Step::Repeat) => Decision::Text(last_result(request)),
        Some(Step::Answer) => answer_tool(request).map_or_else(|| answer(request), Decision::Call),
        None => tool(request).map_or_else(|| answer(request), Decision::Call),
    }
}

/// The tool that stands for the answer where one must be called: the last of those, because callers that ask for structured output by
/// a tool add it to a list that is there.
fn answer_tool(request: &Request) -> Option<&Function> {
    match request.tool_choice.as_ref().filter(|_| request.output.is_none())? {
        ToolChoice::Required => functions(request).last(),
        ToolChoice::Tool(name) => function(request, name),
        ToolChoice::OneOf(names) => names.iter().rev().find_map(|name| function(request, name)),
        ToolChoice::None | ToolChoice::Auto | ToolChoice::AnyOf(_) => None,
    }
}

fn answer(request: &Request) -> Decision<'_> {
    let any = json!({"type": "object"});
    match &request.output {
        // A schema of any object says no more than free JSON does.
        Some(Output::Schema(format)) if *format.schema() != any => Decision::Value(format.schema().clone()),
        Some(Output::Json | Output::Schema(_)) => Decision::Value(schema_in_prompt(request).unwrap_or(any)),
        None => {
            bare_word(request).or_else(|| schema_in_prompt(request).map(Decision::Value)).unwrap_or(Decision::Words)
        }
    }
}

/// Gemini's media type for an enum value without quotes.
fn bare_word(request: &Request) -> Option<Decision<'_>> {
    let config = request.extra.field(Protocol::Gemini, "generationConfig")?;
    let is_enum = config.get("responseMimeType").and_then(Value::as_str) == Some("text/x.enum");
    config.get("responseSchema").filter(|_| is_enum).cloned().map(Decision::Word)
}

fn functions(request: &Request) -> impl Iterator<Item = &Function> {
    request.tools.iter().filter_map(Tool::as_function)
}

fn function<'r>(request: &'r Request, name: &str) -> Option<&'r Function> {
    functions(request).find(|function| function.name == name)
}

/// The tool to call. One that may be called is called once per question of the user, one that must be is called each time. Of
/// several, the one that was called least so far comes next, in the order of the list, so that each is reached. A tool whose
/// result is an error is called again, a bounded number of times.
fn tool(request: &Request) -> Option<&Function> {
    let all: Vec<&Function> = functions(request).collect();
    let among =
        |names: &[String]| all.iter().filter(|function| names.contains(&function.name)).copied().collect::<Vec<_>>();
    let (candidates, is_forced) = match &request.tool_choice {
        Some(ToolChoice::None) => return None,
        Some(ToolChoice::Tool(name)) => return function(request, name),
        Some(ToolChoice::Required) => (all, true),
        Some(ToolChoice::OneOf(names)) => (among(names), true),
        Some(ToolChoice::AnyOf(names)) => (among(names), false),
        Some(ToolChoice::Auto) | None => (all, false),
    };
    let failing = last_failure(request).filter(|name| failures(request, name) < MOST_FAILURES);
    let again = failing.and_then(|name| candidates.iter().find(|function| function.name == name)).copied();
    if again.is_some() {
        return again;
    }
    let calls = |function: &Function| {
        request.messages.iter().flat_map(Message::calls).filter(|call| call.name == function.name).count()
    };
    // The first of those that are equal counts.
    let next = candidates.into_iter().min_by_key(|function| calls(function));
    let is_answered = since_question(request).any(|block| block.answers().is_some());
    next.filter(|_| is_forced || !is_answered)
}

/// Blocks since the user last said something, from the newest on.
fn since_question(request: &Request) -> impl Iterator<Item = &Block> {
    let is_question = |message: &&Message| {
        message.role == Role::User
            && !message.content.is_empty()
            && message.content.iter().all(|block| block.answers().is_none())
    };
    let since = request.messages.iter().rev().take_while(move |message| !is_question(message));
    since.flat_map(|message| message.content.iter().rev())
}

/// The tool whose result came last and is an error.
fn last_failure(request: &Request) -> Option<&str> {
    let last = request.messages.iter().rev().find(|message| message.role != Role::System)?;
    let result = last.content.iter().filter_map(Block::as_result).find(|result| result.is_error)?;
    called(request, &result.call_id)
}

fn failures(request: &Request, name: &str) -> usize {
    let results = since_question(request).filter_map(Block::as_result);
    results.filter(|result| result.is_error && called(request, &result.call_id) == Some(name)).count()
}

fn called<'r>(request: &'r Request, id: &str) -> Option<&'r str> {
    request.messages.iter().flat_map(Message::calls).find(|call| call.id == id).map(|call| call.name.as_str())
}

/// A JSON Schema in the instructions or in what the user says.
fn schema_in_prompt(request: &Request) -> Option<Value> {
    let messages = request.messages.iter().filter(|message| message.role != Role::Assistant);
    let texts = messages.flat_map(|message| &message.content);
    let texts = texts.filter_map(|block| if let Block::Text(text) = block { Some(text) } else { None });
    request.system.iter().chain(texts).find_map(schema_in)
}

/// The first schema that starts a line, however far it is indented; in a text that speaks of a schema also one within a line. Prompts
/// of frameworks have examples within lines before the schema itself.
fn schema_in(text: &Text) -> Option<Value> {
    let text = text.text.as_str();
    let is_line_start = |at: &usize| {
        let head = text.get(..*at).unwrap_or_default().trim_end_matches([' ', '\t']);
        head.is_empty() || head.ends_with(['\n', '\r'])
    };
    let (starting, inline): (Vec<usize>, Vec<usize>) =
        text.match_indices('{').map(|(at, _)| at).partition(is_line_start);
    let is_announced = text.to_lowercase().contains("schema");
    let inline = inline.into_iter().filter(|_| is_announced);
    let mut values =
        starting.into_iter().take(MOST_PLACES).chain(inline.take(MOST_PLACES)).filter_map(|start| {
            serde_json::Deserializer::from_str(text.get(start..)?).into_iter::<Value>().next()?.ok()
        });
    values.find(is_schema)
}

/// Whether a value is a schema and not an example: a type that JSON Schema knows, or a keyword with the right kind of value.
fn is_schema(value: &Value) -> bool {
    let types = ["object", "array", "string", "number", "integer", "boolean", "null"];
    let is_type = |name: &Value| name.as_str().is_some_and(|name| types.contains(&name.to_ascii_lowercase().as_str()));
    let has_list = |key: &str| value.get(key).is_some_and(Value::is_array);
    let has_text = |key: &str| value.get(key).is_some_and(Value::is_string);
    value
        .get("type")
        .is_some_and(|kind| is_type(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().all(is_type)))
        || value.get("properties").is_some_and(Value::is_object)
        || ["anyOf", "oneOf", "allOf", "enum"].into_iter().any(has_list)
        || ["$ref", "$schema"].into_iter().any(has_text)
        || value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key("const"))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
