//! Conversations as the rules see them, read from the body itself and not by the codecs that the emulator is there to test.

use polywire::wire::Protocol;
use serde_json::Value;

/// Who a turn is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Model,
    /// A message of tool results, where the protocol has a role for it.
    Tool,
    System,
}

/// One message, content or item.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) speaker: Speaker,
    /// Its index in the body.
    pub(super) index: usize,
    pub(super) parts: Vec<Part>,
}

/// What a rule may look at.
#[derive(Debug)]
pub(super) enum Part {
    Text(String),
    Call(Call),
    Result {
        id: String,
    },
    /// A thought, and whether the provider can verify it.
    Thought {
        is_signed: bool,
    },
    /// The result of a tool that the provider runs.
    ServerResult {
        id: String,
        kind: String,
    },
    ServerCall {
        id: String,
    },
    /// A result that is no object, where it must be one.
    WrongResult {
        is_list: bool,
    },
    /// A part without any content.
    Blank,
    Other,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) arguments: Arguments,
    pub(super) is_signed: bool,
}

/// What the arguments of a call are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    Fine,
    NotAnObject,
}

impl Turn {
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
    }

    pub(super) fn results(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| if let Part::Result { id } = part { Some(id.as_str()) } else { None })
    }
}

/// The conversation of a body.
pub(super) fn turns(body: &Value, protocol: Protocol) -> Vec<Turn> {
    let body = body.get("request").filter(|_| body.get("contents").is_none()).unwrap_or(body);
    let list = |key: &str| body.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (entries, read): (_, fn(usize, &Value) -> Turn) = match protocol {
        Protocol::OpenAiChat => (list("messages"), chat),
        Protocol::OpenAiResponses => (list("input"), item),
        Protocol::AnthropicMessages => (list("messages"), anthropic),
        Protocol::Gemini => (list("contents"), gemini),
        Protocol::BedrockConverse => (list("messages"), converse),
    };
    entries.iter().enumerate().map(|(index, entry)| read(index, entry)).collect()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn entries(value: &Value, key: &str) -> impl Iterator<Item = Value> {
    value.get(key).and_then(Value::as_array).cloned().unwrap_or_default().into_iter()
}

/// Arguments that must be an object, or a text that holds one.
fn arguments(value: Option<&Value>) -> Arguments {
    if value.is_none_or(Value::is_object) { Arguments::Fine } else { Arguments::NotAnObject }
}

fn speaker(value: &Value) -> Speaker {
    match value.get("role").and_then(Value::as_str).unwrap_or_default() {
        "assistant" | "model" => Speaker::Model,
        "tool" | "function" => Speaker::Tool,
        "system" | "developer" => Speaker::System,
        _ => Speaker::User,
    }
}

fn chat(index: usize, message: &Value) -> Turn {
    let mut parts = Vec::new();
    match message.get("content") {
        Some(Value::String(text)) => parts.push(Part::Text(text.clone())),
        Some(Value::Array(blocks)) => parts.extend(blocks.iter().map(|block| match block.get("text") {
            Some(Value::String(text)) => Part::Text(text.clone()),
            _ => Part::Other,
        })),
        _ => {}
    }
    for call in entries(message, "tool_calls") {
        // Only some servers parse the arguments of a conversation.
        parts.push(Part::Call(Call { id: text(&call, "id"), arguments: Arguments::Fine, is_signed: true }));
    }
    let kept = ["refusal", "audio", "function_call", "reasoning_content", "reasoning"];
    if kept.iter().any(|key| message.get(*key).is_some_and(|value| !value.is_null())) {
        parts.push(Part::Other);
    }
    let speaker = speaker(message);
    if message.get("role").and_then(Value::as_str) == Some("tool") {
        parts = vec![Part::Result { id: text(message, "tool_call_id") }];
    }
    Turn { speaker, index, parts }
}

fn item(index: usize, item: &Value) -> Turn {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
    let (speaker, part) = match kind {
        "message" => (speaker(item), Part::Other),
        "function_call" | "custom_tool_call" => {
            let call = Call { id: text(item, "call_id"), arguments: Arguments::Fine, is_signed: true };
            (Speaker::Model, Part::Call(call))
        }
        "function_call_output" | "custom_tool_call_output" => {
            (Speaker::Tool, Part::Result { id: text(item, "call_id") })
        }
        "reasoning" => {
            let is_signed = item.get("encrypted_content").is_some_and(Value::is_string) || item.get("id").is_none();
            (Speaker::Model, Part::Thought { is_signed })
        }
        kind if kind.ends_with("_output") => (Speaker::Tool, Part::Other),
        "additional_tools" | "configuration_update" | "compaction_trigger" => (Speaker::System, Part::Other),
        _ => (Speaker::Model, Part::Other),
    };
    Turn { speaker, index, parts: vec![part] }
}

fn anthropic(index: usize, message: &Value) -> Turn {
    let part = |block: Value| match block.get("type").and_then(Value::as_str).unwrap_or_default() {
        "text" => Part::Text(text(&block, "text")),
        "tool_use" => {
            Part::Call(Call { id: text(&block, "id"), arguments: arguments(block.get("input")), is_signed: true })
        }
        "tool_result" => Part::Result { id: text(&block, "tool_use_id") },
        "thinking" => Part::Thought { is_signed: !text(&block, "signature").is_empty() },
        "server_tool_use" | "mcp_tool_use" => Part::ServerCall { id: text(&block, "id") },
        kind if kind.ends_with("_tool_result") => {
            Part::ServerResult { id: text(&block, "tool_use_id"), kind: kind.to_owned() }
        }
        _ => Part::Other,
    };
    let parts = match message.get("content") {
        Some(Value::String(text)) => vec![Part::Text(text.clone())],
        _ => entries(message, "content").map(part).collect(),
    };
    Turn { speaker: speaker(message), index, parts }
}

fn converse(index: usize, message: &Value) -> Turn {
    let part = |block: Value| {
        if let Some(call) = block.get("toolUse") {
            return Part::Call(Call {
                id: text(call, "toolUseId"),
                arguments: arguments(call.get("input")),
                is_signed: true,
            });
        }
        if let Some(result) = block.get("toolResult") {
            return Part::Result { id: text(result, "toolUseId") };
        }
        if let Some(thought) = block.pointer("/reasoningContent/reasoningText") {
            return Part::Thought { is_signed: !text(thought, "signature").is_empty() };
        }
        block.get("text").and_then(Value::as_str).map_or(Part::Other, |text| Part::Text(text.to_owned()))
    };
    Turn { speaker: speaker(message), index, parts: entries(message, "content").map(part).collect() }
}

fn gemini(index: usize, content: &Value) -> Turn {
    let either = |part: &Value, camel: &str, snake: &str| part.get(camel).or_else(|| part.get(snake)).cloned();
    let part = |part: Value| {
        if let Some(call) = either(&part, "functionCall", "function_call") {
            let signature = either(&part, "thoughtSignature", "thought_signature");
            let is_signed = signature.is_some_and(|signature| signature.as_str().is_some_and(|text| !text.is_empty()));
            return Part::Call(Call { id: text(&call, "id"), arguments: arguments(call.get("args")), is_signed });
        }
        if let Some(result) = either(&part, "functionResponse", "function_response") {
            return match result.get("response") {
                None | Some(Value::Object(_)) => Part::Result { id: text(&result, "id") },
                Some(response) => Part::WrongResult { is_list: response.is_array() },
            };
        }
        let beside =
            ["thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "mediaResolution"];
        let has_data = part.as_object().is_some_and(|part| part.keys().any(|key| !beside.contains(&key.as_str())));
        if has_data { Part::Other } else { Part::Blank }
    };
    let speaker = if speaker(content) == Speaker::Model { Speaker::Model } else { Speaker::User };
    Turn { speaker, index, parts: entries(content, "parts").map(part).collect() }
}
