//! Answers that conform to what was asked: values made up by the schema from a seed, calls of tools, words.

use polywire::answer::validate;
use polywire::schema::{FitOptions, Fitted, dialect, fit, sample};
use polywire::wire::{
    Block, Function, Message, Output, Protocol, Request, Response, Role, StopReason, Text, Tool, ToolCall, ToolChoice,
    Usage,
};
use serde_json::{Value, json};

use crate::misbehave::Act;
use crate::obey::{distinct, heeded};

/// Seeds that are tried for a value that conforms.
const TRIES: u64 = 32;

/// The dialect that has the least to say about a schema.
const PLAIN: &str = "mcp";

/// Bytes that are taken for one token.
const TOKEN: usize = 4;

/// Makes the answer to a request.
pub(crate) fn reply(request: &Request, seed: u64, acts: &[&Act]) -> Response {
    let mut response = Response {
        id: format!("emulated-{seed:016x}"),
        model: request.model.clone(),
        stop: StopReason::EndTurn,
        ..Response::default()
    };
    match wanted(request) {
        Wanted::Call(function) => {
            let all = acts.iter().any(|act| matches!(act, Act::All));
            let called = request.tools.iter().filter_map(Tool::as_function);
            let called = called.filter(|other| all || std::ptr::eq(*other, function));
            let seeds = (0..).map(|step| seed.wrapping_add(step));
            response.content = seeds.zip(called).map(|(seed, one)| Block::ToolCall(call_of(one, seed, acts))).collect();
            response.stop = StopReason::ToolUse;
        }
        Wanted::Value(schema) => response.content = vec![Block::text(written(&value(&schema, seed, acts), acts))],
        Wanted::Word(schema) => {
            let value = value(&schema, seed, acts);
            response.content = vec![Block::text(value.as_str().map_or_else(|| value.to_string(), str::to_owned))];
        }
        Wanted::Words => {
            let words = sample(&json!({"type": "string", "minLength": 24}), seed);
            let words = words.as_ref().and_then(Value::as_str).unwrap_or("Yes.").to_owned();
            response.content = vec![Block::text(words)];
        }
    }
    let length: usize = response.content.iter().map(|block| block_length(block) / TOKEN + 1).sum();
    response.usage = Some(Usage {
        input_tokens: tokens(request.messages.iter().flat_map(|message| &message.content).map(block_length).sum()),
        output_tokens: u64::try_from(length).unwrap_or(u64::MAX),
        ..Usage::default()
    });
    for act in acts {
        if let Act::Answer(change) = act {
            change(&mut response);
        }
    }
    response
}

/// What the answer is to be.
enum Wanted<'r> {
    Call(&'r Function),
    Value(Value),
    /// A value of this schema without quotes.
    Word(Value),
    Words,
}

/// A tool that may be called is called once, one that must be is called in the order of the list, and one whose result was an
/// error is called again. Then comes the shape that was asked for, if only in the instructions.
fn wanted(request: &Request) -> Wanted<'_> {
    if let Some(function) = call(request) {
        return Wanted::Call(function);
    }
    let any = json!({"type": "object"});
    match &request.output {
        // A schema of any object says no more than free JSON does.
        Some(Output::Schema(format)) if *format.schema() != any => Wanted::Value(format.schema().clone()),
        Some(Output::Json | Output::Schema(_)) => Wanted::Value(in_words(request).unwrap_or(any)),
        None => bare_word(request).or_else(|| in_words(request).map(Wanted::Value)).unwrap_or(Wanted::Words),
    }
}

/// The schema of a bare word, which one protocol has a media type for.
fn bare_word(request: &Request) -> Option<Wanted<'_>> {
    let config = request.extra.field(Protocol::Gemini, "generationConfig")?;
    let bare = config.get("responseMimeType").and_then(Value::as_str) == Some("text/x.enum");
    config.get("responseSchema").filter(|_| bare).cloned().map(Wanted::Word)
}

fn call_of(function: &Function, seed: u64, acts: &[&Act]) -> ToolCall {
    let none = json!({"type": "object"});
    let arguments = value(function.parameters.as_ref().unwrap_or(&none), seed, acts);
    ToolCall::new(format!("c{:08x}", seed & 0xffff_ffff), function.name.clone(), arguments.to_string())
}

fn call(request: &Request) -> Option<&Function> {
    let functions: Vec<&Function> = request.tools.iter().filter_map(Tool::as_function).collect();
    let of_name = |name: &str| functions.iter().find(|function| function.name == name).copied();
    let results = request.messages.iter().rev().take_while(|message| !is_words_of_user(message));
    let done = results.flat_map(|message| &message.content).filter(|block| block.answers().is_some()).count();
    let next = || functions.get(done.min(functions.len().saturating_sub(1))).copied();
    let among = |names: &[String]| names.get(done.min(names.len().saturating_sub(1))).and_then(|name| of_name(name));
    match &request.tool_choice {
        Some(ToolChoice::None) => None,
        Some(ToolChoice::Tool(name)) => of_name(name),
        Some(ToolChoice::Required) => next(),
        Some(ToolChoice::OneOf(names)) => among(names),
        Some(ToolChoice::AnyOf(names)) => {
            failed(request).and_then(of_name).or_else(|| among(names).filter(|_| done == 0))
        }
        Some(ToolChoice::Auto) | None => failed(request).and_then(of_name).or_else(|| next().filter(|_| done == 0)),
    }
}

fn is_words_of_user(message: &Message) -> bool {
    message.role == Role::User && message.content.iter().all(|block| block.answers().is_none())
}

/// The tool whose last result was an error.
fn failed(request: &Request) -> Option<&str> {
    let result = request.messages.last()?.content.iter().filter_map(Block::as_result).find(|result| result.is_error)?;
    let mut calls = request.messages.iter().flat_map(Message::calls);
    calls.find(|call| call.id == result.call_id).map(|call| call.name.as_str())
}

/// A JSON Schema that stands in the instructions or in what the user said.
fn in_words(request: &Request) -> Option<Value> {
    let said = request.messages.iter().filter(|message| message.role != Role::Assistant);
    let said = said
        .flat_map(|message| &message.content)
        .filter_map(|block| if let Block::Text(text) = block { Some(text) } else { None });
    request.system.iter().chain(said).find_map(schema_in)
}

fn schema_in(text: &Text) -> Option<Value> {
    let start = text.text.find("\n{").map_or(0, |place| place + 1);
    let mut values = serde_json::Deserializer::from_str(text.text.get(start..)?).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let telling = ["type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "$schema"];
    telling.iter().any(|key| value.get(key).is_some()).then_some(value)
}

/// A value that conforms, and then what is to be wrong with it. A schema that is none as it stands, such as one with the types of
/// `OpenAPI` in capitals, is read as the library reads any.
fn value(schema: &Value, seed: u64, acts: &[&Act]) -> Value {
    let Some(fitted) = plain(schema) else { return plain_value(schema, seed, acts) };
    let value = plain_value(&fitted.schema, seed, acts);
    fitted.decode(value.clone()).unwrap_or(value)
}

/// The schema in plain words, where it is not in such.
fn plain(schema: &Value) -> Option<Fitted> {
    if validate(&Value::Null, schema).is_ok() {
        return None;
    }
    fit(schema, dialect(PLAIN)?, &FitOptions::default()).ok()
}

fn plain_value(schema: &Value, seed: u64, acts: &[&Act]) -> Value {
    let heeded = heeded(schema);
    let samples = |schema: &Value| (0..TRIES).find_map(|step| conforming(schema, seed.wrapping_add(step)));
    let found = samples(&heeded).filter(|value| conforms(value, schema)).or_else(|| samples(schema));
    let found =
        found.map(|value| Some(distinct(value.clone())).filter(|value| conforms(value, schema)).unwrap_or(value));
    let found = found.or_else(|| sample(schema, seed)).unwrap_or_else(|| json!({}));
    acts.iter().fold(found, |value, act| if let Act::Value(change) = act { change(value, schema) } else { value })
}

fn conforming(schema: &Value, seed: u64) -> Option<Value> {
    sample(schema, seed).filter(|value| conforms(value, schema))
}

fn conforms(value: &Value, schema: &Value) -> bool {
    validate(value, schema).is_ok_and(|faults| faults.is_empty())
}

fn written(value: &Value, acts: &[&Act]) -> String {
    acts.iter().fold(value.to_string(), |text, act| if let Act::Text(change) = act { change(&text) } else { text })
}

fn block_length(block: &Block) -> usize {
    let text = if let Block::Text(text) = block { text.text.len() } else { TOKEN };
    block.as_call().map_or(text, |call| call.arguments.len())
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(TOKEN)).unwrap_or(u64::MAX)
}
