//! Tool calls in the notations of models: tokens, tags, and objects with a name and arguments.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::options::Options;
use crate::paths::{Paths, Step};
use crate::repair::{Repair, RepairKind};
use crate::salvage::{Trial, Whence, content, find, salvage};
use crate::tags::{Tagged, tagged};
use crate::validate::{Fault, MAX_FAULTS};

/// What stands before the arguments of a call, with the name of the tool and the id of the call. One row a notation.
const BEFORE_ARGUMENTS: &[&str] = &[
    // Harmony, whole or with its tokens stripped.
    r"to=(?:functions\.)?(?<name>[\w.-]+)[^{}\[\]]*$",
    // Kimi, whose ids are the name and a number.
    r"(?<id>(?:functions\.)?(?<name>[\w.-]+):\d+)\s*<\|tool_call_argument_begin\|>\s*$",
    // DeepSeek.
    r"<｜tool▁sep｜>(?<name>[\w.-]+)\s*(?:```json)?\s*$",
    // Mistral.
    r"\[TOOL_CALLS\]\s*(?<name>[\w.-]+)\s*(?:\[CALL_ID\](?<id>[\w-]+)?)?\s*(?:\[ARGS\])?\s*$",
    // Llama.
    r"<function=(?<name>[\w.-]+)>\s*$",
    // Functionary and others.
    r"<\|recipient\|>\s*(?<name>[\w.-]+)\s*<\|content\|>\s*$",
];

/// Around an object with a name and arguments.
const AROUND_CALL: &[&str] =
    &["<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<|tool_call|>", "<tool_calls>", "<function_call>", "<tools>"];

/// A mark of a call.
const MARK: &str = concat!(
    r"(?:<\|[\w ]+\|>|<｜[^<>｜]+｜>|</?(?:tool_calls?|tools|function_calls?|function)(?:=[\w.-]+)?>",
    r"|\[/?(?:CALL_ID|ARGS)\]|\[/?TOOL_CALLS\]\s*[\w.-]*)"
);

/// Keys that hold the arguments of a call.
pub(crate) const ARGUMENTS: &[&str] = &["arguments", "parameters", "input", "args"];
/// Keys that hold the name of the tool beside its arguments.
pub(crate) const TOOL_NAMES: &[&str] = &["name", "function.name", "function_name", "tool_name", "tool", "function"];
/// Keys that hold the id of a call, first the one that its result will name.
const IDS: &[&str] = &["call_id", "id"];
/// Keys that a call may have besides.
const BESIDES: &[&str] = &["name", "id", "type", "index", "call_id"];

fn patterns() -> &'static [Regex] {
    static PATTERNS: OnceLock<Vec<Regex>> = OnceLock::new();
    PATTERNS.get_or_init(|| BEFORE_ARGUMENTS.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect())
}

/// Whether a text is nothing but marks of calls, and the few words that stand between them: a name, a role, a format.
pub(crate) fn is_around(text: &str) -> bool {
    static AROUND: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = || Regex::new(&format!(r"^\s*(?:{MARK}\s*(?:[\w.:=-]+\s*){{0,2}})*{MARK}\s*$")).ok();
    AROUND.get_or_init(pattern).as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// A call, and what reading its arguments took: places in the arguments, bytes of the text.
struct Call {
    id: Option<String>,
    name: String,
    arguments: Value,
    repairs: Vec<Repair>,
}

impl Call {
    fn new(name: &str, arguments: Value, repairs: Vec<Repair>) -> Self {
        Self { id: None, name: name.to_owned(), arguments, repairs }
    }

    fn with_id(mut self, id: Option<&str>) -> Self {
        self.id = id.map(str::to_owned).or(self.id);
        self
    }
}

/// The calls of a text, if it is one of tool calls.
pub(crate) fn read(text: &str, options: &Options) -> Option<(Value, Vec<Repair>)> {
    let (calls, mut others) = match tagged_calls(text) {
        calls if calls.is_empty() => written_calls(text, options)?,
        calls => (calls, Vec::new()),
    };
    let (value, mut repairs) = listed(calls);
    repairs.append(&mut others);
    repairs.push(Repair::new(RepairKind::ToolCall, "/tool_calls", Some(0..text.len())));
    Some((value, repairs))
}

/// The call that a whole value is.
pub(crate) fn of_value(value: &Value) -> Option<(Value, Vec<Repair>)> {
    let (value, mut repairs) = listed(vec![as_call(value)?]);
    repairs.push(Repair::new(RepairKind::ToolCall, "/tool_calls/0", None));
    Some((value, repairs))
}

/// Calls as the value that they are read as.
fn listed(calls: Vec<Call>) -> (Value, Vec<Repair>) {
    let mut repairs = Vec::new();
    let mut list = Vec::with_capacity(calls.len());
    for (index, call) in calls.into_iter().enumerate() {
        let at = |repair: &Repair| format!("/tool_calls/{index}/arguments{}", repair.at);
        repairs.extend(call.repairs.into_iter().map(|repair| Repair { at: at(&repair), ..repair }));
        let mut listed = json!({"name": call.name, "arguments": call.arguments});
        if let (Some(id), Some(members)) = (call.id, listed.as_object_mut()) {
            members.insert("id".to_owned(), id.into());
        }
        list.push(listed);
    }
    (json!({"tool_calls": list}), repairs)
}

/// Calls whose arguments are tags of their own.
fn tagged_calls(text: &str) -> Vec<Call> {
    let named = |tagged: Tagged| Some(Call::new(&tagged.name?, tagged.arguments, tagged.repairs));
    tagged(text).into_iter().filter_map(named).collect()
}

/// Objects that are calls, or that stand where the arguments of a call stand; and the values that are none.
fn written_calls(text: &str, options: &Options) -> Option<(Vec<Call>, Vec<Repair>)> {
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
    let found = find(text, options, Trial::Open, None);
    let mut others: Vec<Range<usize>> = found.unread.into_iter().collect();
    for candidate in found.candidates {
        let span = candidate.span.clone();
        let missed = candidate.is_structured() && candidate.whence != Whence::Draft;
        let (value, repairs) = content(candidate.content);
        let before = text.get(..span.start).map_or("", |before| tail(before, 256));
        let marks = patterns().iter().find_map(|pattern| pattern.captures(before));
        let mark = |name: &str| marks.as_ref().and_then(|marks| Some(marks.name(name)?.as_str()));
        let known = calls.len();
        let wanted = match (mark("name"), value) {
            (Some(name), value @ Value::Object(_)) => {
                calls.push(Call::new(name, value, repairs).with_id(mark("id")));
                1
            }
            (_, Value::Array(items)) if marked => {
                calls.extend(items.iter().filter_map(as_call));
                items.len()
            }
            (_, value) => {
                calls.extend(as_call(&value).filter(|_| marked));
                1
            }
        };
        if calls.len() < known + wanted && missed {
            others.push(span);
        }
    }
    let others = others.into_iter().map(|other| Repair::new(RepairKind::OtherValue, "", Some(other)));
    (!calls.is_empty()).then(|| (calls, others.collect()))
}

fn tail(text: &str, length: usize) -> &str {
    let mut start = text.len().saturating_sub(length);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// An object that is a call and nothing else.
fn as_call(value: &Value) -> Option<Call> {
    let object = value.as_object()?;
    let id = IDS.iter().find_map(|key| object.get(*key)?.as_str());
    if let (Some(inner), true) = (object.get("function").filter(|inner| inner.is_object()), object.contains_key("type"))
    {
        return Some(as_call(inner)?.with_id(id));
    }
    let name = object.get("name")?.as_str()?;
    let (key, arguments) = ARGUMENTS.iter().find_map(|key| object.get_key_value(*key))?;
    if object.keys().any(|other| other != key && !BESIDES.contains(&other.as_str())) {
        return None;
    }
    let call = match arguments {
        Value::Object(_) => Call::new(name, arguments.clone(), Vec::new()),
        Value::String(text) => {
            let inner = salvage(text, &Options::default().of_known()).filter(|inner| inner.value.is_object())?;
            // The bytes are those of a text inside of the value.
            let repairs = inner.repairs.into_iter().map(|repair| Repair { span: None, ..repair }).collect();
            Call::new(name, inner.value, repairs)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    Some(call.with_id(id))
}

/// Texts that are the tags of a call and not its arguments: the model or its parser lost its place.
pub(crate) fn leaked_markup(value: &Value) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut paths = Paths::default();
    let mut open = vec![(Paths::WHOLE, value)];
    while let Some((at, value)) = open.pop().filter(|_| faults.len() < MAX_FAULTS) {
        match value {
            Value::String(text) if is_markup(text) => faults.push(Fault {
                at: paths.pointer(at),
                keyword: "markup".to_owned(),
                expected: Value::Null,
                got: text.chars().take(200).collect(),
                detail: "the text is tool-call markup, not a value".to_owned(),
            }),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate().filter(|(_, item)| may_hold_text(item)) {
                    open.push((paths.step(at, Step::Index(index)), item));
                }
            }
            Value::Object(members) => {
                for (key, member) in members.iter().filter(|(_, member)| may_hold_text(member)) {
                    open.push((paths.step(at, Step::Key(key)), member));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    faults
}

fn may_hold_text(value: &Value) -> bool {
    match value {
        Value::String(text) => is_markup(text),
        Value::Array(_) | Value::Object(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_markup(text: &str) -> bool {
    let Some(rest) = text.trim_start().strip_prefix("</") else { return false };
    let tag = rest.split('>').next().unwrap_or_default();
    ["parameter", "invoke", "tool_call", "function_calls", "function"].iter().any(|name| tag.ends_with(name))
}
