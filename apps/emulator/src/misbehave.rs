//! Faults on demand: rows, each with a name, a meaning and what it changes.

use polywire::answer;
use polywire::wire::{Block, Request, Response, Role, StopReason};
use serde_json::{Map, Value, json};

/// A fault that can be requested.
#[derive(Debug)]
#[non_exhaustive]
pub struct Misbehaviour {
    /// The name by which it is requested; `name-2` limits it to the first two times.
    pub name: &'static str,
    /// What goes wrong.
    pub meaning: &'static str,
    pub(crate) injection: Injection,
}

/// What a fault changes.
#[derive(Debug)]
pub(crate) enum Injection {
    /// The made-up value, given its schema.
    Value(fn(Value, &Value) -> Value),
    /// The text that holds the value.
    Text(fn(&str) -> String),
    /// The whole response.
    Response(fn(&mut Response)),
    /// Every tool is called where one would be.
    CallAllTools,
    /// The provider answers with an error of this status.
    Status(u16),
    /// The bytes of the body.
    Body(BodyFault),
}

/// A fault in the bytes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyFault {
    /// The connection ends half way.
    Cut,
    /// The body comes in small chunks with pauses.
    Slow,
    /// The HTML page of a proxy.
    Page,
    /// Bytes that are not UTF-8.
    Garbled,
    /// A body without end.
    Endless,
}

macro_rules! rows {
    ($($name:literal, $injection:expr, $meaning:literal;)*) => {
        static ROWS: &[Misbehaviour] = &[$(Misbehaviour { name: $name, meaning: $meaning, injection: $injection }),*];
    };
}

rows! {
    "fenced", Injection::Text(fenced), "the value stands in a code fence";
    "prose", Injection::Text(prose), "words stand around the value";
    "thinking", Injection::Text(thinking), "the model thinks aloud before the value";
    "commas", Injection::Text(commas), "a comma too many, and text after it";
    "nulls", Injection::Value(nulls), "optional keys are there, as null";
    "types", Injection::Value(types), "numbers and booleans are texts";
    "wrong", Injection::Value(wrong), "the value is none that the schema accepts";
    "truncated", Injection::Response(truncated), "the limit of tokens is reached half way";
    "refusal", Injection::Response(refusal), "the model refuses";
    "empty", Injection::Response(empty), "the answer has no content";
    "twice", Injection::Response(twice), "every tool is called twice";
    "all", Injection::CallAllTools, "every tool is called at once";
    "401", Injection::Status(401), "the key is wrong";
    "429", Injection::Status(429), "too many requests, with the time to wait";
    "500", Injection::Status(500), "the provider fails";
    "503", Injection::Status(503), "the provider is overloaded";
    "529", Injection::Status(529), "the provider is overloaded, in the status of some";
    "cut", Injection::Body(BodyFault::Cut), "the connection ends half way";
    "slow", Injection::Body(BodyFault::Slow), "a little at a time";
    "page", Injection::Body(BodyFault::Page), "a page of HTML with status 200";
    "garbled", Injection::Body(BodyFault::Garbled), "bytes that are no UTF-8";
    "endless", Injection::Body(BodyFault::Endless), "a body without end";
}

impl Misbehaviour {
    /// The fault of a name such as `fenced` or `429-2`.
    pub fn named(name: &str) -> Option<&'static Self> {
        Requested::parse(name).map(|requested| requested.row)
    }
}

/// Every fault that can be requested.
pub fn misbehaviours() -> &'static [Misbehaviour] {
    ROWS
}

/// A requested fault, and how often it applies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requested {
    pub(crate) row: &'static Misbehaviour,
    /// `None` is always.
    pub(crate) times: Option<usize>,
}

impl Requested {
    /// Parses a name such as `fenced` or `429-2`.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let find = |name: &str| ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name));
        let name = name.trim();
        let whole = find(name).map(|row| Self { row, times: None });
        whole.or_else(|| {
            let (head, times) = name.rsplit_once('-')?;
            Some(Self { row: find(head)?, times: Some(times.parse().ok()?) })
        })
    }

    /// Whether it applies to this request, which came `before` times already. Faults in an answer are counted by the turns of the
    /// model, because a client that asks again sends a longer conversation.
    pub(crate) fn applies(&self, request: &Request, before: usize) -> bool {
        let Some(times) = self.times else { return true };
        let turns = || request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        match self.row.injection {
            Injection::Status(_) | Injection::Body(_) => before < times,
            Injection::Value(_) | Injection::Text(_) | Injection::Response(_) | Injection::CallAllTools => {
                turns() < times
            }
        }
    }
}

fn fenced(text: &str) -> String {
    format!("```json\n{text}\n```")
}

fn prose(text: &str) -> String {
    format!("Certainly! Here is what you asked for:\n\n{text}\n\nLet me know if you need anything else.")
}

fn thinking(text: &str) -> String {
    format!("<think>\nThe user wants JSON, maybe {{\"like\": \"this\"}}?\n</think>\n{text}")
}

fn commas(text: &str) -> String {
    match text.strip_suffix(['}', ']']) {
        Some(head) if head.len() > 1 => format!("{head},{}", text.get(head.len()..).unwrap_or_default()),
        Some(_) | None => text.to_owned(),
    }
}

fn nulls(mut value: Value, schema: &Value) -> Value {
    let model_list = schema.get("required").and_then(Value::as_array);
    let required = |key: &str| model_list.is_some_and(|keys| keys.iter().any(|known| known == key));
    let properties = schema.get("properties").and_then(Value::as_object);
    if let (Some(map), Some(properties)) = (value.as_object_mut(), properties) {
        for (key, schema) in properties {
            if !required(key) {
                map.insert(key.clone(), Value::Null);
            } else if let Some(inner) = map.get_mut(key) {
                *inner = nulls(inner.take(), schema);
            }
        }
    }
    value
}

fn types(value: Value, _schema: &Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        Value::Bool(bool) => Value::String(bool.to_string()),
        Value::Array(items) => items.into_iter().map(|item| types(item, &Value::Null)).collect(),
        Value::Object(map) => {
            let entries = map.into_iter().map(|(key, value)| (key, types(value, &Value::Null)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Null | Value::String(_) => value,
    }
}

/// A value that not even a lenient reader takes for one of the schema's.
fn wrong(value: Value, schema: &Value) -> Value {
    let others = [json!({}), json!({"unexpected": [[]]}), json!([[[]]]), json!("unexpected"), Value::Null];
    let refused = |other: &Value| answer::read(&other.to_string(), schema).is_ok_and(|read| read.valid().is_none());
    others.into_iter().find(refused).unwrap_or(value)
}

fn half(text: &str) -> String {
    text.chars().take(text.chars().count() / 2).collect()
}

fn truncated(response: &mut Response) {
    for block in &mut response.content {
        if let Block::Text(text) = block {
            text.text = half(&text.text);
        } else if let Block::ToolCall(call) = block {
            call.arguments = half(&call.arguments);
        }
    }
    response.stop = StopReason::MaxTokens;
}

fn refusal(response: &mut Response) {
    response.content.clear();
    response.refusal = Some("I cannot help with that.".to_owned());
    response.stop = StopReason::Refusal;
}

fn empty(response: &mut Response) {
    response.content.clear();
    response.stop = StopReason::EndTurn;
}

fn twice(response: &mut Response) {
    let calls: Vec<_> = response.calls().cloned().collect();
    for mut call in calls {
        call.id = call.id.chars().rev().collect();
        response.content.push(Block::ToolCall(call));
    }
}
