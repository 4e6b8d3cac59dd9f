//! What goes wrong on demand: rows, each with a name, a meaning and what it does at its place on the way of an answer.

use polywire::answer;
use polywire::wire::{Block, Request, Response, Role, StopReason};
use serde_json::{Map, Value, json};

/// Something that can go wrong.
#[derive(Debug)]
#[non_exhaustive]
pub struct Misbehaviour {
    /// The name by which it is asked for; `name-2` is for the first two times alone.
    pub name: &'static str,
    /// What goes wrong.
    pub meaning: &'static str,
    pub(crate) act: Act,
}

/// What is done, by its place on the way of an answer.
#[derive(Debug)]
pub(crate) enum Act {
    /// To the value, given its schema.
    Value(fn(Value, &Value) -> Value),
    /// To the text in which the value stands.
    Text(fn(&str) -> String),
    /// To the whole answer.
    Answer(fn(&mut Response)),
    /// All tools are called where one would be.
    All,
    /// An error of this status instead.
    Fault(u16),
    /// To the bytes.
    Bytes(Manner),
}

/// How bytes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The connection ends half way.
    Cut,
    /// A little at a time.
    Slow,
    /// The page of some proxy.
    Page,
    /// Bytes that are no UTF-8.
    Garbled,
    /// Without end.
    Endless,
}

macro_rules! rows {
    ($($name:literal, $act:expr, $meaning:literal;)*) => {
        static ROWS: &[Misbehaviour] = &[$(Misbehaviour { name: $name, meaning: $meaning, act: $act }),*];
    };
}

rows! {
    "fenced", Act::Text(fenced), "the value stands in a code fence";
    "prose", Act::Text(prose), "words stand around the value";
    "thinking", Act::Text(thinking), "the model thinks aloud before the value";
    "commas", Act::Text(commas), "a comma too many, and text after it";
    "nulls", Act::Value(nulls), "optional keys are there, as null";
    "types", Act::Value(types), "numbers and booleans are texts";
    "wrong", Act::Value(wrong), "the value is none that the schema accepts";
    "truncated", Act::Answer(truncated), "the limit of tokens is reached half way";
    "refusal", Act::Answer(refusal), "the model refuses";
    "empty", Act::Answer(empty), "the answer has no content";
    "twice", Act::Answer(twice), "every tool is called twice";
    "all", Act::All, "every tool is called at once";
    "401", Act::Fault(401), "the key is wrong";
    "429", Act::Fault(429), "too many requests, with the time to wait";
    "500", Act::Fault(500), "the provider fails";
    "503", Act::Fault(503), "the provider is overloaded";
    "529", Act::Fault(529), "the provider is overloaded, in the status of some";
    "cut", Act::Bytes(Manner::Cut), "the connection ends half way";
    "slow", Act::Bytes(Manner::Slow), "a little at a time";
    "page", Act::Bytes(Manner::Page), "a page of HTML with status 200";
    "garbled", Act::Bytes(Manner::Garbled), "bytes that are no UTF-8";
    "endless", Act::Bytes(Manner::Endless), "a body without end";
}

impl Misbehaviour {
    /// What a name such as `fenced` or `429-2` asks for.
    pub fn named(name: &str) -> Option<&'static Self> {
        Asked::read(name).map(|asked| asked.row)
    }
}

/// Everything that can go wrong.
pub fn misbehaviours() -> &'static [Misbehaviour] {
    ROWS
}

/// What was asked to go wrong, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) row: &'static Misbehaviour,
    /// None is always.
    pub(crate) times: Option<usize>,
}

impl Asked {
    /// Reads a name such as `fenced` or `429-2`.
    pub(crate) fn read(name: &str) -> Option<Self> {
        let find = |name: &str| ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name));
        let name = name.trim();
        let whole = find(name).map(|row| Self { row, times: None });
        whole.or_else(|| {
            let (head, times) = name.rsplit_once('-')?;
            Some(Self { row: find(head)?, times: Some(times.parse().ok()?) })
        })
    }

    /// Whether it happens to this request, which came so often before. What is wrong with an answer is counted by the turns of
    /// the model, because a client that asks again sends another conversation.
    pub(crate) fn happens(&self, request: &Request, before: usize) -> bool {
        let Some(times) = self.times else { return true };
        let turns = || request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        match self.row.act {
            Act::Fault(_) | Act::Bytes(_) => before < times,
            Act::Value(_) | Act::Text(_) | Act::Answer(_) | Act::All => turns() < times,
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
    let listed = schema.get("required").and_then(Value::as_array);
    let required = |key: &str| listed.is_some_and(|keys| keys.iter().any(|known| known == key));
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
