//! Function responses of `gemini`: paired with their calls by id, or by name and order without ids.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::known;
use super::request::{Medium, image_part, media};
use super::shapes::{CallResult, FunctionOutput, KnownPart, Part, Payload};
use crate::history::synthetic_call_id;
use crate::neutral::{Block, Message, ResultBlock, ToolResult};
use crate::protocol::context::{ADDED, At, Context, MOVED, REWRITTEN};
use crate::surface::Quirk;

/// The text before images and documents that a function response cannot contain. The model sees it.
const MEDIA_MARKER: &str = "Attachments of the function response above:";

/// The calls so far, by id. A later call may reuse an id: some servers restart their ids in every message.
#[derive(Default)]
pub(super) struct Calls<'r>(HashMap<&'r str, Called<'r>>);

struct Called<'r> {
    name: &'r str,
    /// True if the id was generated here, so that it is not sent.
    is_synthetic: bool,
}

impl<'r> Calls<'r> {
    pub(super) fn add(&mut self, turn: usize, message: &'r Message) {
        for (number, call) in message.calls().enumerate() {
            let is_synthetic = call.id == synthetic_call_id(turn, number);
            self.0.insert(call.id.as_str(), Called { name: &call.name, is_synthetic });
        }
    }
}

/// The part of a tool result. Media that it cannot contain are added to `after`.
pub(super) fn result_part<'r>(
    ctx: &mut Context<'_>,
    at: &At<'_>,
    block: &'r Block,
    calls: &Calls<'r>,
    after: &mut Vec<Part<'r>>,
) -> Option<Part<'r>> {
    let call_id = block.answers()?;
    let mut extra = block.extra().and_then(|extra| ctx.extra(at, extra)).cloned().unwrap_or_default();
    let called = calls.0.get(call_id);
    let kept = block.extra().and_then(|extra| extra.field(ctx.protocol, "name")).and_then(Value::as_str);
    extra.shift_remove("name");
    let name = called.map(|called| called.name).or(kept).unwrap_or_else(|| {
        ctx.record("no-call", at, ADDED, "function name set to the call id: no earlier call has this id");
        call_id
    });
    let send_id = called.is_none_or(|called| !called.is_synthetic) && ctx.surface.has_call_ids();
    let mut parts = Vec::new();
    let response = if let Block::ToolResultReference(reference) = block {
        ctx.record_reference(at);
        FunctionOutput::Output(Payload::Text(Cow::Owned(reference.note())))
    } else {
        let result = block.as_result()?;
        ctx.drop_cache_hint(at, result.cache.as_ref());
        function_output(ctx, at, result, &mut parts, after)
    };
    let id = send_id.then_some(call_id);
    let result = CallResult { id, name, response, parts, extra };
    Some(Part::known(KnownPart { function_response: Some(result), ..KnownPart::default() }))
}

fn function_output<'r>(
    ctx: &mut Context<'_>,
    at: &At<'_>,
    result: &'r ToolResult,
    parts: &mut Vec<Part<'r>>,
    after: &mut Vec<Part<'r>>,
) -> FunctionOutput<'r> {
    let wrap = if result.is_error { FunctionOutput::Error } else { FunctionOutput::Output };
    if let [ResultBlock::Json { value }] = result.content.as_slice()
        && !contains_ref(value)
    {
        if value.is_string() {
            ctx.record("json-as-text", at, REWRITTEN, "JSON string is sent as text");
        }
        let plain = value.as_object().is_some_and(|object| !is_wrapped(object));
        return if plain && !result.is_error { FunctionOutput::Object(value) } else { wrap(Payload::Json(value)) };
    }
    let (text, attached) = ctx.result_text(at, result);
    let inside = ctx.has(Quirk::MediaInResults);
    for block in attached {
        let part = match block {
            ResultBlock::Image(image) => image_part(ctx, at, image),
            ResultBlock::Document(document) => {
                ctx.drop_cache_hint(at, document.cache.as_ref());
                ctx.drop_fields(at, &document.extra);
                media(ctx, at, &document.source, Medium::Document, document.name.as_deref()).map(Part::known)
            }
            ResultBlock::Text(_) | ResultBlock::Json { .. } | ResultBlock::Other(_) => None,
        };
        let Some(part) = part.and_then(|part| known::part(ctx, at, part)) else { continue };
        if inside {
            parts.push(part);
            continue;
        }
        ctx.record("media-after-result", at, MOVED, "attachment of a tool result moved to a user message after it");
        if after.is_empty() {
            let text = Some(Cow::Borrowed(MEDIA_MARKER));
            after.push(Part::known(KnownPart { text, ..KnownPart::default() }));
        }
        after.push(part);
    }
    wrap(Payload::Text(text))
}

/// True if the object would be decoded as a wrapped result.
fn is_wrapped(object: &Map<String, Value>) -> bool {
    object.len() == 1 && object.keys().all(|key| matches!(key.as_str(), "output" | "error"))
}

/// True if the value contains `$ref`, which the provider would try to resolve.
fn contains_ref(value: &Value) -> bool {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(object) if object.contains_key("$ref") => return true,
            Value::Object(object) => rest.extend(object.values()),
            Value::Array(list) => rest.extend(list),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}
