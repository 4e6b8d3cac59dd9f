//! Requests of `gemini`: decoding.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use super::request::Medium;
use super::{ENVELOPE, OWN};
use crate::error::{DecodeError, Within};
use crate::fields::{Fields, read_each};
use crate::history::synthetic_call_id;
use crate::neutral::{
    Audio, Block, Document, Effort, Extra, Function, Image, Message, Other, Output, OutputFormat, Reasoning, Request,
    ResultBlock, Role, Signature, Source, Text, Thinking, ThinkingMode, Tool, ToolCall, ToolChoice, ToolResult,
};
use crate::protocol::FORMAT_NAME;
use crate::report::{Action, Changes, Effect};

/// Field names that are accepted in `snake_case` too, by message.
const REQUEST: &[&str] = &["systemInstruction", "generationConfig", "toolConfig", "safetySettings", "cachedContent"];
const PART: &[&str] = &["inlineData", "fileData", "functionCall", "functionResponse", "thoughtSignature"];
const BLOB: &[&str] = &["mimeType", "fileUri", "displayName"];
const TOOL: &[&str] = &["functionDeclarations"];
const DECLARATION: &[&str] = &["parametersJsonSchema", "responseJsonSchema"];
const TOOL_CONFIG: &[&str] = &["functionCallingConfig"];
const CALLING: &[&str] = &["allowedFunctionNames"];
const GENERATION: &[&str] = &[
    "topP",
    "topK",
    "maxOutputTokens",
    "stopSequences",
    "frequencyPenalty",
    "presencePenalty",
    "thinkingConfig",
    "responseFormat",
    "responseMimeType",
    "responseJsonSchema",
    "responseSchema",
];
const THINKING: &[&str] = &["includeThoughts", "thinkingLevel", "thinkingBudget"];

pub(super) fn decode(body: Value, changes: &mut Changes) -> Result<Request, DecodeError> {
    let mut fields = Fields::of(body)?;
    let mut request = Request::default();
    let mut envelope = Fields::default();
    if !fields.has("contents")
        && let Some(inner) = fields.object("request")
    {
        request.model = fields.text("model").unwrap_or_default();
        envelope = std::mem::replace(&mut fields, inner);
    }
    let mut fields = fields.proto(REQUEST);
    read_system(&mut fields, &mut request)?;
    let mut open = OpenCalls::default();
    for (index, content) in contents(&mut fields)?.into_iter().enumerate() {
        let content = Fields::of(content).and_then(|content| turn(content, &mut request.messages, &mut open));
        content.within(index).within("contents")?;
    }
    for (index, tool) in fields.list_or_one("tools").unwrap_or_default().into_iter().enumerate() {
        read_tool(tool, index, &mut request.tools, changes);
    }
    if let Some(mut config) = fields.object("toolConfig").map(|config| config.proto(TOOL_CONFIG)) {
        request.tool_choice = read_choice(&mut config, changes);
        fields.put_rest("toolConfig", config);
    }
    if let Some(mut config) = fields.object("generationConfig").map(|config| config.proto(GENERATION)) {
        read_generation(&mut config, &mut request, changes);
        fields.put_rest("generationConfig", config);
    }
    if let Some(labels) = fields.object("labels") {
        let plain = |value| if let Value::String(text) = value { text } else { value.to_string() };
        request.metadata = labels.rest().into_iter().map(|(name, value)| (name, plain(value))).collect();
    }
    fields.put_rest(ENVELOPE, envelope);
    request.extra = Extra::of(OWN, fields.rest());
    Ok(request)
}

/// Removes `contents`. Some examples of Google have a single object instead of an array.
fn contents(fields: &mut Fields) -> Result<Vec<Value>, DecodeError> {
    fields.list_or_one("contents").map_or_else(|| fields.required_list("contents"), Ok)
}

fn read_system(fields: &mut Fields, request: &mut Request) -> Result<(), DecodeError> {
    let Some(mut system) = fields.object("systemInstruction") else { return Ok(()) };
    system.text("role");
    let parts = system.list_or_one("parts").unwrap_or_default();
    let blocks = read_each("parts", parts, |_, value| part(value)).within("systemInstruction")?;
    for block in blocks {
        if let Block::Text(text) = block {
            request.system.push(text);
        } else {
            request.messages.push(Message::new(Role::System, vec![block]));
        }
    }
    fields.put_rest("systemInstruction", system);
    Ok(())
}

/// Calls without a result so far, to pair results without ids.
#[derive(Default)]
struct OpenCalls {
    /// By tool name: ids and numbers of the calls, in order.
    waiting: HashMap<String, VecDeque<(String, usize)>>,
    /// The last call with each id.
    called: HashMap<String, Called>,
    count: usize,
}

struct Called {
    name: String,
    number: usize,
    answered: bool,
}

impl OpenCalls {
    fn add(&mut self, call: &ToolCall) {
        self.count += 1;
        let (name, number) = (call.name.clone(), self.count);
        self.waiting.entry(name.clone()).or_default().push_back((call.id.clone(), number));
        self.called.insert(call.id.clone(), Called { name, number, answered: false });
    }

    /// The id of the first call of the tool that has no result and whose id was not reused.
    fn next(&mut self, name: &str) -> Option<String> {
        let waiting = self.waiting.get_mut(name)?;
        let is_open =
            |id: &str, number| self.called.get(id).is_some_and(|call| call.number == number && !call.answered);
        std::iter::from_fn(|| waiting.pop_front()).find(|(id, number)| is_open(id, *number)).map(|(id, _)| id)
    }

    /// Marks a call as answered; returns true if the call has that tool name.
    fn answer(&mut self, id: &str, name: &str) -> bool {
        let Some(call) = self.called.get_mut(id) else { return false };
        call.answered = true;
        call.name == name
    }
}

/// Adds a `Content` to the conversation; function responses become a message of their own.
fn turn(mut content: Fields, messages: &mut Vec<Message>, open: &mut OpenCalls) -> Result<(), DecodeError> {
    let role = match content.text("role").as_deref() {
        Some("model") => Role::Assistant,
        Some("user" | "function" | "tool" | "") | None => Role::User,
        Some(_) => return Err(DecodeError::shape("a known role").within("role")),
    };
    let parts = content.list_or_one("parts").unwrap_or_default();
    let start = messages.len();
    let mut calls = 0;
    for (index, value) in parts.into_iter().enumerate() {
        let turn = messages.len().max(start + 1) - 1;
        let fields = Fields::of(value).within(index).within("parts")?.proto(PART);
        if fields.is_object("functionResponse") {
            let new = messages.len() == start || messages.last().is_some_and(|last| last.role != Role::Tool);
            let turn = if new { messages.len() } else { turn };
            let number = if new { 0 } else { messages.last().map_or(0, |last| last.content.len()) };
            let result = result(fields, turn, number, open).within(index).within("parts")?;
            push(messages, start, Role::Tool, result);
            continue;
        }
        let mut block = read_part_fields(fields);
        if let Block::ToolCall(call) = &mut block {
            if call.id.is_empty() {
                call.id = synthetic_call_id(turn, calls);
            }
            calls += 1;
            open.add(call);
        }
        push(messages, start, role, block);
    }
    if messages.len() == start {
        messages.push(Message::new(role, Vec::new()));
    }
    if let Some(last) = messages.last_mut() {
        last.extra = Extra::of(OWN, content.rest());
    }
    Ok(())
}

fn push(messages: &mut Vec<Message>, start: usize, role: Role, block: Block) {
    let begun = messages.len() > start;
    match messages.last_mut() {
        Some(last) if begun && last.role == role => last.content.push(block),
        _ => messages.push(Message::new(role, vec![block])),
    }
}

fn result(mut part: Fields, turn: usize, number: usize, open: &mut OpenCalls) -> Result<Block, DecodeError> {
    let mut fields = part.object("functionResponse").unwrap_or_default();
    let name = fields.text("name").unwrap_or_default();
    let call_id = match fields.text("id").filter(|id| !id.is_empty()) {
        Some(id) => id,
        None => open.next(&name).unwrap_or_else(|| synthetic_call_id(turn, number)),
    };
    if !open.answer(&call_id, &name) && !name.is_empty() {
        fields.put("name", json!(name));
    }
    let (is_error, answer) = unwrap_response(fields.take("response"));
    let mut content = match answer {
        None => Vec::new(),
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![ResultBlock::text(text)],
        Some(value) => vec![ResultBlock::Json { value }],
    };
    let parts = fields.list("parts").unwrap_or_default();
    content.extend(read_each("parts", parts, |_, value| {
        self::part(value)?.into_result().ok_or_else(|| DecodeError::shape("a content part of a tool result"))
    })?);
    let mut extra = fields.rest();
    extra.extend(part.rest());
    Ok(Block::ToolResult(ToolResult { call_id, content, is_error, cache: None, extra: Extra::of(OWN, extra) }))
}

/// Unwraps `{"output": …}` and `{"error": …}`; returns true for an error.
fn unwrap_response(response: Option<Value>) -> (bool, Option<Value>) {
    match response {
        Some(Value::Object(mut object)) if object.len() == 1 => {
            if let Some(output) = object.shift_remove("output") {
                return (false, Some(output));
            }
            if let Some(error) = object.shift_remove("error") {
                return (true, Some(error));
            }
            (false, Some(Value::Object(object)))
        }
        response => (false, response),
    }
}

/// Reads a content part; an unknown one becomes `Block::Other`.
pub(super) fn part(value: Value) -> Result<Block, DecodeError> {
    Ok(read_part_fields(Fields::of(value)?.proto(PART)))
}

fn read_part_fields(mut fields: Fields) -> Block {
    let signature = fields.text("thoughtSignature").map(|data| Signature { from: OWN, data });
    let thought = fields.flag("thought").unwrap_or(false);
    if let Some(text) = fields.text("text") {
        let extra = Extra::of(OWN, fields.rest());
        return if thought {
            Block::Thinking(Thinking { text, signature, extra })
        } else {
            Block::Text(Text { text, signature, extra, cache: None })
        };
    }
    if !fields.has("functionCall") || fields.object_has("functionCall", "partialArgs") {
        return media(fields, signature, thought);
    }
    let mut call = fields.object("functionCall").unwrap_or_default();
    let (id, name) = (call.text("id").unwrap_or_default(), call.text("name").unwrap_or_default());
    let arguments = call.take("args").map_or_else(|| "{}".to_owned(), |args| args.to_string());
    fields.put_rest("functionCall", call);
    let extra = Extra::of(OWN, fields.rest());
    Block::ToolCall(ToolCall { id, name, arguments, signature, extra, ..ToolCall::default() })
}

fn media(mut fields: Fields, signature: Option<Signature>, thought: bool) -> Block {
    for slot in ["inlineData", "fileData"] {
        if signature.is_some() || thought || !fields.has(slot) {
            continue;
        }
        let mut data = fields.object(slot).unwrap_or_default().proto(BLOB);
        let medium = Medium::of(data.peek("mimeType").unwrap_or_default());
        let own = ["mimeType", "fileUri", "data", "displayName"];
        let known = data.only_texts(own.get(..if medium == Medium::Document { 4 } else { 3 }).unwrap_or(&own));
        if !known {
            fields.put_rest(slot, data);
            continue;
        }
        let (media_type, name) = (data.text("mimeType"), data.text("displayName"));
        let source = match data.text("fileUri") {
            Some(url) => Source::Url { url, media_type },
            None => Source::Base64 {
                media_type: media_type.unwrap_or_default(),
                data: data.text("data").unwrap_or_default(),
            },
        };
        let extra = Extra::of(OWN, fields.rest());
        return match medium {
            Medium::Audio => Block::Audio(Audio { source, extra }),
            Medium::Document => Block::Document(Document { source, name, cache: None, extra }),
            Medium::Image => Block::Image(Image { source, detail: None, cache: None, extra }),
        };
    }
    if let Some(signature) = signature {
        fields.put("thoughtSignature", json!(signature.data));
    }
    if thought {
        fields.put("thought", json!(true));
    }
    Block::Other(Other { protocol: OWN, value: Value::Object(fields.rest()) })
}

fn read_tool(value: Value, index: usize, tools: &mut Vec<Tool>, changes: &mut Changes) {
    let Ok(entry) = Fields::of(value) else { return };
    let mut entry = entry.proto(TOOL);
    for (number, declaration) in entry.list_or_one("functionDeclarations").unwrap_or_default().into_iter().enumerate() {
        let Ok(function) = Fields::of(declaration) else { continue };
        let mut function = function.proto(DECLARATION);
        let schema = function.take("parametersJsonSchema");
        let parameters = schema.or_else(|| {
            let parameters = function.take("parameters")?;
            let at = format!("/tools/{index}/functionDeclarations/{number}/parameters");
            let what = (Action::Moved, Effect::Same);
            changes.push("open-api-slot", at, what, "OpenAPI schema in `parameters` is read as a JSON Schema");
            Some(parameters)
        });
        tools.push(Tool::Function(Function {
            name: function.text("name").unwrap_or_default(),
            description: function.text("description"),
            parameters,
            written: None,
            origin: None,
            strict: None,
            cache: None,
            extra: Extra::of(OWN, function.rest()),
        }));
    }
    let rest = entry.rest();
    if !rest.is_empty() {
        tools.push(Tool::Other(Other { protocol: OWN, value: Value::Object(rest) }));
    }
}

fn read_choice(config: &mut Fields, changes: &mut Changes) -> Option<ToolChoice> {
    let mut calling = config.object("functionCallingConfig")?.proto(CALLING);
    let mut names = calling.texts("allowedFunctionNames").unwrap_or_default();
    let mode = calling.text("mode").unwrap_or_else(|| "AUTO".to_owned());
    config.put_rest("functionCallingConfig", calling);
    Some(match (mode.as_str(), names.len()) {
        ("NONE", _) => ToolChoice::None,
        ("ANY", 0) => ToolChoice::Required,
        ("ANY", 1) => ToolChoice::Tool(names.pop().unwrap_or_default()),
        ("ANY", _) => ToolChoice::OneOf(names),
        ("VALIDATED", 1..) => ToolChoice::AnyOf(names),
        (word, _) => {
            if word != "AUTO" {
                let what = (Action::Rewritten, Effect::Wider);
                changes.push(
                    "validated",
                    "/toolConfig/functionCallingConfig/mode",
                    what,
                    "function calling mode is read as `AUTO`: validation of calls is not kept",
                );
            }
            ToolChoice::Auto
        }
    })
}

fn read_generation(config: &mut Fields, request: &mut Request, changes: &mut Changes) {
    request.temperature = config.number("temperature");
    request.top_p = config.number("topP");
    // Some clients send whole numbers as `40.0`.
    request.top_k = config.count("topK").or_else(|| take_whole_number(config, "topK"));
    request.max_tokens = config.count("maxOutputTokens");
    request.stop = config.texts("stopSequences").unwrap_or_default();
    request.frequency_penalty = config.number("frequencyPenalty");
    request.presence_penalty = config.number("presencePenalty");
    request.seed = config.integer("seed");
    request.output = read_format(config, changes);
    let Some(mut thinking) = config.object("thinkingConfig").map(|thinking| thinking.proto(THINKING)) else { return };
    let mut reasoning = Reasoning { visible: thinking.flag("includeThoughts"), ..Reasoning::default() };
    reasoning.effort = thinking.text("thinkingLevel").map(|level| Effort::from(level.to_ascii_lowercase()));
    match thinking.integer("thinkingBudget") {
        Some(-1) => reasoning.mode = Some(ThinkingMode::Adaptive),
        Some(budget) => match u64::try_from(budget) {
            Ok(budget) => reasoning.budget_tokens = Some(budget),
            Err(_) => thinking.put("thinkingBudget", json!(budget)),
        },
        None => {}
    }
    request.reasoning = Some(reasoning).filter(|reasoning| *reasoning != Reasoning::default());
    config.put_rest("thinkingConfig", thinking);
}

fn take_whole_number(config: &mut Fields, name: &str) -> Option<u64> {
    let number = config.number(name)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
    let whole = (number.fract() == 0.0 && (0.0..1e9).contains(&number)).then_some(number as u64);
    if whole.is_none() {
        config.put(name, json!(number));
    }
    whole
}

fn read_format(config: &mut Fields, changes: &mut Changes) -> Option<Output> {
    if let Some(list) = config.list("responseFormat") {
        if let [entry] = list.as_slice()
            && let Some(mut text) = Fields::of(entry.clone()).ok().and_then(|mut entry| entry.object("text"))
            && text.peek_proto("mimeType") == Some("APPLICATION_JSON")
        {
            return Some(take_schema(&mut text, &["schema"]).map_or(Output::Json, Output::Schema));
        }
        config.put("responseFormat", Value::Array(list));
    }
    let kind = config.peek("responseMimeType");
    if kind.is_some_and(|kind| kind != JSON) {
        return None;
    }
    let named = kind.is_some();
    let schema = take_schema(config, &SCHEMA_SLOTS);
    if named {
        config.take("responseMimeType");
    } else if schema.is_some() {
        let detail = format!("`responseMimeType` is read as `{JSON}`: the request has a response schema and no type");
        let at = "/generationConfig/responseMimeType";
        changes.push("response-mime-type", at, (Action::Added, Effect::Same), detail);
    }
    schema.map(Output::Schema).or_else(|| named.then_some(Output::Json))
}

/// The media type of structured output.
const JSON: &str = "application/json";

/// The fields of the output schema. The last one is an early name that some clients still send.
const SCHEMA_SLOTS: [&str; 3] = ["responseJsonSchema", "responseSchema", "_responseJsonSchema"];

/// Removes the first output schema; a value that is not an object stays.
fn take_schema(fields: &mut Fields, slots: &[&str]) -> Option<OutputFormat> {
    let schema = slots.iter().find_map(|slot| fields.object(slot))?.rest_with_nulls();
    OutputFormat::strict(FORMAT_NAME, Value::Object(schema)).ok()
}
