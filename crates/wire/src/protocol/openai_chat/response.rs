//! Responses of `openai-chat`.

use serde_json::{Map, Value, json};

use super::OWN;
use super::read::read_assistant;
use super::request::{Side, assistant};
use super::shapes::{ResponseBody, ResponseChoice};
use crate::error::{DecodeError, Within};
use crate::fields::Fields;
use crate::neutral::{Extra, Response, StopReason};
use crate::protocol::context::{At, Context, DROPPED_NOTE};
use crate::protocol::{openai_usage, stop};

pub(super) const STOP_REASONS: &stop::Table = &[
    ("stop", StopReason::EndTurn),
    ("length", StopReason::MaxTokens),
    ("tool_calls", StopReason::ToolUse),
    ("content_filter", StopReason::ContentFilter),
    ("function_call", StopReason::ToolUse),
    ("", StopReason::EndTurn),
];

pub(super) const USAGE: openai_usage::Names = openai_usage::Names {
    input: "prompt_tokens",
    output: "completion_tokens",
    input_details: "prompt_tokens_details",
    output_details: "completion_tokens_details",
};

/// Fields of `extra` that are written below the top level of the body.
pub(super) const NESTED: [&str; 4] = ["message", "choice", "choices", "finish_reason"];

pub(super) fn encode(ctx: &mut Context<'_>, response: &Response) -> Vec<u8> {
    let finish_reason = finish(ctx, response);
    if response.stop_sequence.is_some() {
        ctx.record(
            "no-word",
            &At::ROOT.field("stop_sequence"),
            DROPPED_NOTE,
            format!("`stop_sequence` dropped: {} has no such field", OWN.title()),
        );
    }
    let extra = ctx.extra(&At::ROOT, &response.extra);
    let nested = |name| extra.and_then(|extra| extra.get(name));
    let mut message = assistant(ctx, &At::ROOT, &response.content, Side::Response);
    message.refusal = response.refusal.as_deref();
    message.extra = nested("message").and_then(Value::as_object);
    let choice = nested("choice").and_then(Value::as_object);
    let mut choices = vec![ResponseChoice::First { index: 0, message, finish_reason, extra: choice }];
    choices.extend(nested("choices").and_then(Value::as_array).into_iter().flatten().map(ResponseChoice::Other));
    let (created, top) = top(extra);
    super::super::json(&ResponseBody {
        id: id_or_placeholder(&response.id),
        object: "chat.completion",
        created,
        model: &response.model,
        choices,
        usage: response.usage.as_ref().map(|usage| openai_usage::write(ctx, &USAGE, usage)),
        extra: top,
    })
}

/// The `finish_reason`. A response with a refusal text ends with `stop`.
pub(super) fn finish<'r>(ctx: &mut Context<'_>, response: &'r Response) -> &'r str {
    if response.stop == StopReason::Refusal && response.refusal.is_some() {
        return "stop";
    }
    stop::write(ctx, STOP_REASONS, "finish_reason", response)
}

/// `created` and the other top-level fields.
pub(super) fn top(extra: Option<&Map<String, Value>>) -> (u64, Map<String, Value>) {
    let mut top = extra.cloned().unwrap_or_default();
    for name in NESTED {
        top.shift_remove(name);
    }
    let created = top.shift_remove("created").and_then(|created| created.as_u64()).unwrap_or(0);
    (created, top)
}

/// The id of a response without one. Clients ignore chunks with an empty id.
const PLACEHOLDER_ID: &str = "chatcmpl-0";

pub(super) fn id_or_placeholder(id: &str) -> &str {
    if id.is_empty() { PLACEHOLDER_ID } else { id }
}

pub(super) fn read_id(fields: &mut Fields) -> String {
    fields.text("id").filter(|id| id != PLACEHOLDER_ID).unwrap_or_default()
}

pub(super) fn decode(body: Value) -> Result<Response, DecodeError> {
    let mut fields = Fields::of(body)?;
    let mut response = Response {
        id: read_id(&mut fields),
        model: fields.text("model").unwrap_or_default(),
        usage: fields.object("usage").map(|usage| openai_usage::read(OWN, &USAGE, usage)),
        ..Response::default()
    };
    let mut choices = fields.required_list("choices")?.into_iter();
    if let Some(first) = choices.next() {
        read_choice(first, &mut response, &mut fields).within(0).within("choices")?;
    }
    let others: Vec<Value> = choices.collect();
    if !others.is_empty() {
        fields.put("choices", Value::Array(others));
    }
    response.extra = Extra::of(OWN, without_constants(fields));
    Ok(response)
}

/// The remaining top-level fields, without constants.
pub(super) fn without_constants(mut fields: Fields) -> Map<String, Value> {
    fields.take("object");
    if let Some(created) = fields.count("created").filter(|created| *created > 0) {
        fields.put("created", json!(created));
    }
    fields.rest()
}

fn read_choice(choice: Value, response: &mut Response, top: &mut Fields) -> Result<(), DecodeError> {
    let mut choice = Fields::of(choice)?;
    choice.count("index");
    let mut message = choice.object("message").ok_or_else(|| DecodeError::shape("an object").within("message"))?;
    message.text("role");
    response.content = read_assistant(&mut message).within("message")?;
    response.refusal = message.text("refusal");
    let word = choice.text("finish_reason").unwrap_or_default();
    response.stop = stop::resolve(stop::read(STOP_REASONS, &word), stop::Ending::of(response));
    let is_implied = response.refusal.is_some() || stop::wire_value(STOP_REASONS, &response.stop) == Some(&word);
    if !is_implied {
        top.put("finish_reason", Value::String(word));
    }
    top.put_rest("message", message);
    top.put_rest("choice", choice);
    Ok(())
}
