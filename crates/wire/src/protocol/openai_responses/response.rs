//! Responses of `openai-responses`.

use serde_json::{Map, Value, json};

use super::items::{Side, assistant_item, synthetic_id};
use super::shapes::{Content, Incomplete, Item, KnownPart, MessageItem, Part, ResponseBody};
use super::{OWN, read};
use crate::error::{DecodeError, Within};
use crate::fields::Fields;
use crate::neutral::{Block, Extra, Response, StopReason};
use crate::protocol::context::{At, Context, DROPPED_NOTE};
use crate::protocol::{openai_usage, stop};

/// Values of `status` and `incomplete_details.reason`.
pub(super) const STOP_REASONS: &stop::Table = &[
    ("completed", StopReason::EndTurn),
    ("max_output_tokens", StopReason::MaxTokens),
    ("content_filter", StopReason::ContentFilter),
];

/// Values of `status`; other values are reasons of the status `incomplete`.
const STATUSES: [&str; 5] = ["completed", "failed", "in_progress", "cancelled", "queued"];

pub(super) const USAGE: openai_usage::Names = openai_usage::Names {
    input: "input_tokens",
    output: "output_tokens",
    input_details: "input_tokens_details",
    output_details: "output_tokens_details",
};

/// Fields that every response has, and their defaults.
fn constants() -> [(&'static str, Value); 4] {
    [
        ("created_at", json!(0)),
        ("parallel_tool_calls", json!(true)),
        ("tool_choice", json!("auto")),
        ("tools", json!([])),
    ]
}

pub(super) fn encode<'r>(ctx: &mut Context<'_>, response: &'r Response) -> ResponseBody<'r> {
    let word = word(ctx, response);
    let mut output = Vec::with_capacity(response.content.len() + 1);
    let at = At::ROOT.field("content");
    for (index, block) in response.content.iter().enumerate() {
        let place = Side::Response(output.len());
        output.extend(assistant_item(ctx, &at.entry(index), block, place));
    }
    if let Some(refusal) = &response.refusal {
        output.push(refusal_item(refusal, output.len(), refusal_fields(&response.extra)));
    }
    if response.stop_sequence.is_some() {
        ctx.record(
            "no-word",
            &At::ROOT.field("stop_sequence"),
            DROPPED_NOTE,
            format!("`stop_sequence` dropped: {} has no such field", OWN.title()),
        );
    }
    let usage = response.usage.as_ref().map(|usage| openai_usage::write(ctx, &USAGE, usage));
    let extra = ctx.extra(&At::ROOT, &response.extra);
    response_body(response, word, output, usage, extra.cloned().unwrap_or_default())
}

/// The status or incomplete reason. A response with a refusal text is `completed`.
fn word<'r>(ctx: &mut Context<'_>, response: &'r Response) -> &'r str {
    if response.stop == StopReason::Refusal && response.refusal.is_some() {
        return "completed";
    }
    if response.stop == StopReason::ToolUse && response.refusal.is_none() && response.calls().next().is_some() {
        return "completed";
    }
    stop::write(ctx, STOP_REASONS, "stop", response)
}

/// The message item of a refusal.
pub(super) fn refusal_item<'r>(refusal: &'r str, place: usize, extra: Option<&'r Map<String, Value>>) -> Item<'r> {
    Item::Message(MessageItem {
        r#type: "message",
        id: Some(synthetic_id("msg", place)),
        role: "assistant",
        status: Some("completed"),
        content: Content::Parts(vec![Part::Known(KnownPart::Refusal { refusal })]),
        extra,
    })
}

/// The field of `extra` that stores the provider-specific fields of the refusal message.
pub(super) const REFUSAL: &str = "refusal";

pub(super) fn refusal_fields(extra: &Extra) -> Option<&Map<String, Value>> {
    extra.field(OWN, REFUSAL).and_then(Value::as_object)
}

/// The response object around its items.
pub(super) fn response_body<'r>(
    response: &'r Response,
    word: &'r str,
    output: Vec<Item<'r>>,
    usage: Option<Map<String, Value>>,
    mut extra: Map<String, Value>,
) -> ResponseBody<'r> {
    extra.shift_remove(REFUSAL);
    let status = if STATUSES.contains(&word) { word } else { "incomplete" };
    let [created_at, parallel_tool_calls, tool_choice, tools] =
        constants().map(|(name, default)| extra.shift_remove(name).unwrap_or(default));
    ResponseBody {
        id: &response.id,
        object: "response",
        created_at,
        status,
        error: extra.shift_remove("error").unwrap_or_default(),
        incomplete_details: (status == "incomplete").then_some(Incomplete { reason: word }),
        model: &response.model,
        output,
        parallel_tool_calls,
        tool_choice,
        tools,
        usage,
        extra,
    }
}

pub(super) fn decode(body: Value) -> Result<Response, DecodeError> {
    let mut fields = Fields::of(body)?;
    let mut response = Response::default();
    for (index, item) in fields.required_list("output")?.into_iter().enumerate() {
        let rest = refusal_rest(&item);
        if !rest.is_empty() {
            response.extra.insert(OWN, REFUSAL, Value::Object(rest));
        }
        let blocks = read::assistant_blocks(item, Some(index)).within(index).within("output")?;
        for block in blocks {
            match refusal_of(&block) {
                Some(words) => response.refusal.get_or_insert_default().push_str(words),
                None => response.content.push(block),
            }
        }
    }
    let head = read_head(&mut fields, stop::Ending::of(&response));
    response.extra.merge(Extra::of(OWN, fields.rest()));
    Ok(Response { content: response.content, refusal: response.refusal, extra: response.extra, ..head })
}

/// The provider-specific fields of a refusal message. If a text precedes the refusal, the text has the fields of the item.
pub(super) fn refusal_rest(item: &Value) -> Map<String, Value> {
    let parts = item.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut refusals = parts.iter().filter(|part| part.get("refusal").is_some()).peekable();
    if refusals.peek().is_none() {
        return Map::new();
    }
    let whole = Some(item).filter(|_| parts.first().is_some_and(|first| first.get("refusal").is_some()));
    let objects = whole.into_iter().chain(refusals).filter_map(Value::as_object).flatten();
    let known = ["type", "id", "role", "status", "content", REFUSAL];
    let rest = objects.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null());
    rest.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The text of a refusal part.
pub(super) fn refusal_of(block: &Block) -> Option<&str> {
    let Block::Other(other) = block else { return None };
    let refuses = other.value.get("type").and_then(Value::as_str) == Some("refusal");
    refuses.then(|| other.value.get("refusal").and_then(Value::as_str)).flatten()
}

/// Decodes everything but the items.
pub(super) fn read_head(fields: &mut Fields, ending: stop::Ending) -> Response {
    fields.text("object");
    for (name, default) in constants() {
        if let Some(value) = fields.take(name).filter(|value| *value != default) {
            fields.put(name, value);
        }
    }
    let status = fields.text("status").unwrap_or_else(|| "completed".to_owned());
    let mut details = fields.object("incomplete_details").unwrap_or_default();
    let word = if status == "incomplete" { details.text("reason").unwrap_or(status) } else { status };
    fields.put_rest("incomplete_details", details);
    Response {
        id: fields.text("id").unwrap_or_default(),
        model: fields.text("model").unwrap_or_default(),
        stop: stop::resolve(stop::read(STOP_REASONS, &word), ending),
        usage: fields.object("usage").map(|usage| openai_usage::read(OWN, &USAGE, usage)),
        ..Response::default()
    }
}
