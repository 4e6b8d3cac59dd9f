//! Tool calls in the notations of models: tokens, tags, and objects with a name and arguments.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::options::Options;
use crate::repair::{Repair, RepairKind};
use crate::salvage::{Trial, content, find, salvage};
use crate::tree::push_step;
use crate::validate::Fault;

/// What stands before the arguments of a call, with the name of the tool. One row a notation.
const BEFORE_ARGUMENTS: &[&str] = &[
    // Harmony, whole or with its tokens stripped.
    r"to=(?:functions\.)?([\w.-]+)[^{}\[\]]*$",
    // Kimi.
    r"(?:functions\.)?([\w.-]+):\d+\s*<\|tool_call_argument_begin\|>\s*$",
    // DeepSeek.
    r"<｜tool▁sep｜>([\w.-]+)\s*(?:```json)?\s*$",
    // Mistral.
    r"\[TOOL_CALLS\]\s*([\w.-]+)\s*(?:\[CALL_ID\][\w-]*)?\s*(?:\[ARGS\])?\s*$",
    // Llama.
    r"<function=([\w.-]+)>\s*$",
    // Functionary and others.
    r"<\|recipient\|>\s*([\w.-]+)\s*<\|content\|>\s*$",
];

/// Around an object with a name and arguments.
const AROUND_CALL: &[&str] =
    &["<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<|tool_call|>", "<tool_calls>", "<function_call>"];

/// Keys that hold the arguments of a call.
pub(crate) const ARGUMENTS: &[&str] = &["arguments", "parameters", "input", "args"];
/// Keys that a call may have besides.
const BESIDES: &[&str] = &["name", "id", "type", "index", "call_id"];

fn patterns() -> &'static [Regex] {
    static PATTERNS: OnceLock<Vec<Regex>> = OnceLock::new();
    PATTERNS.get_or_init(|| BEFORE_ARGUMENTS.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect())
}

/// The calls of a text, if it is one of tool calls.
pub(crate) fn read(text: &str, options: &Options) -> Option<(Value, Vec<Repair>)> {
    let (calls, mut repairs) = match tagged_calls(text) {
        Some(calls) => (calls, Vec::new()),
        None => written_calls(text, options)?,
    };
    repairs.push(Repair::new(RepairKind::ToolCall, "/tool_calls", Some(0..text.len())));
    Some((json!({"tool_calls": calls}), repairs))
}

/// The call that a whole value is.
pub(crate) fn of_value(value: &Value) -> Option<(Value, Repair)> {
    let call = as_call(value)?;
    Some((json!({"tool_calls": [call]}), Repair::new(RepairKind::ToolCall, "/tool_calls/0", None)))
}

fn call(name: &str, arguments: &Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// Objects that are calls, or that stand where the arguments of a call stand.
fn written_calls(text: &str, options: &Options) -> Option<(Vec<Value>, Vec<Repair>)> {
    let marked = AROUND_CALL.iter().any(|mark| text.contains(mark));
    let named = text.contains("to=")
        || text.contains("<|")
        || text.contains("<｜")
        || text.contains("[TOOL_CALLS]")
        || text.contains("<function=");
    if !marked && !named {
        return None;
    }
    let mut calls = Vec::new();
    let mut repairs = Vec::new();
    for candidate in find(text, options, Trial::Open).candidates {
        let start = candidate.span.start;
        let (value, inner) = content(candidate.content);
        let before = text.get(..start).map_or("", |before| tail(before, 256));
        let name = patterns().iter().find_map(|pattern| Some(pattern.captures(before)?.get(1)?.as_str()));
        match (name, value) {
            (Some(name), value @ Value::Object(_)) => calls.push(call(name, &value)),
            (_, Value::Array(items)) if marked => calls.extend(items.iter().filter_map(as_call)),
            (_, value) if marked => calls.extend(as_call(&value)),
            (_, _) => {}
        }
        repairs.extend(inner);
    }
    (!calls.is_empty()).then_some((calls, repairs))
}

fn tail(text: &str, length: usize) -> &str {
    let mut start = text.len().saturating_sub(length);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// An object that is a call and nothing else.
fn as_call(value: &Value) -> Option<Value> {
    let object = value.as_object()?;
    if let (Some(inner), true) = (object.get("function").filter(|inner| inner.is_object()), object.contains_key("type"))
    {
        return as_call(inner);
    }
    let name = object.get("name")?.as_str()?;
    let (key, arguments) = ARGUMENTS.iter().find_map(|key| object.get_key_value(*key))?;
    let other = object.keys().any(|other| other != key && !BESIDES.contains(&other.as_str()));
    let arguments = match arguments {
        Value::Object(_) => arguments.clone(),
        Value::String(text) => {
            salvage(text, &Options::default().of_known()).map(|inner| inner.value).filter(Value::is_object)?
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    (!other).then(|| call(name, &arguments))
}

/// Calls whose arguments are tags of their own.
fn tagged_calls(text: &str) -> Option<Vec<Value>> {
    static CALLS: OnceLock<Option<Regex>> = OnceLock::new();
    if !text.contains("<parameter") {
        return None;
    }
    let pattern = CALLS.get_or_init(|| {
        Regex::new(
            r#"(?s)<(?:function=([\w.-]+)|(?:\w+:)?invoke name="([^"]+)")>(.*?)(?:</function>|</(?:\w+:)?invoke>|$)"#,
        )
        .ok()
    });
    let calls: Vec<Value> = pattern
        .as_ref()?
        .captures_iter(text)
        .filter_map(|found| {
            let name = found.get(1).or_else(|| found.get(2))?.as_str();
            Some(call(name, &parameters(found.get(3)?.as_str())?))
        })
        .collect();
    (!calls.is_empty()).then_some(calls)
}

/// Arguments that are tags of their own.
pub(crate) fn parameters(text: &str) -> Option<Value> {
    static PARAMETERS: OnceLock<Option<Regex>> = OnceLock::new();
    if !text.contains("<parameter") && !text.contains(":parameter") {
        return None;
    }
    let pattern = PARAMETERS.get_or_init(|| {
        Regex::new(r#"(?s)<(?:\w+:)?parameter(?:=([\w.-]+)| name="([^"]+)")[^>]*>(.*?)</(?:\w+:)?parameter>"#).ok()
    });
    let mut object = Map::new();
    for found in pattern.as_ref()?.captures_iter(text) {
        let name = found.get(1).or_else(|| found.get(2))?.as_str();
        let text = found.get(3)?.as_str();
        let text = text.strip_prefix('\n').unwrap_or(text);
        let text = text.strip_suffix('\n').unwrap_or(text);
        let value = serde_json::from_str::<Value>(text).ok().filter(|value| !value.is_string());
        object.insert(name.to_owned(), value.unwrap_or_else(|| Value::String(text.to_owned())));
    }
    (!object.is_empty()).then_some(Value::Object(object))
}

/// Texts that are the tags of a call and not its arguments: the model or its parser lost its place.
pub(crate) fn leaked_markup(value: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((at, value)) = open.pop() {
        match value {
            Value::String(text) if is_markup(text) => faults.push(Fault {
                at,
                keyword: "markup".to_owned(),
                expected: Value::Null,
                got: text.chars().take(200).collect(),
                detail: "the text is tool-call markup, not a value".to_owned(),
            }),
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (format!("{at}/{index}"), item)));
            }
            Value::Object(members) => {
                open.extend(members.iter().map(|(key, member)| {
                    let mut inner = format!("{at}/");
                    push_step(&mut inner, key);
                    (inner, member)
                }));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    faults
}

fn is_markup(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix("</") else { return false };
    let tag = rest.split('>').next().unwrap_or_default();
    ["parameter", "invoke", "tool_call", "function_calls", "function"].iter().any(|name| tag.ends_with(name))
}
