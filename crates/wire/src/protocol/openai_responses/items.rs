//! Items of `openai-responses`: encoding of the input of a request and the output of a response.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::OWN;
use super::shapes::{
    CallItem, Content, InputAudio, Item, KnownPart, MessageItem, OutputItem, Part, ReasoningItem, Summary,
};
use crate::neutral::{Audio, Block, Document, Extra, Image, ResultBlock, Source, Text, Thinking, ToolCall, ToolResult};
use crate::protocol::context::{At, Context, DROPPED, DROPPED_NOTE, REWRITTEN};
use crate::surface::Medium;

/// The id prefix of custom tool calls.
pub(super) const CUSTOM_ID: &str = "ctc";

/// The default `detail` of an image; the field is required.
pub(super) const DETAIL: &str = "auto";

/// The body that an item is part of. Items of a response have an id, generated from their index if necessary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Request,
    Response(usize),
}

impl Side {
    /// The generated id of a response item without one.
    fn id(self, prefix: &str, extra: &Map<String, Value>) -> Option<String> {
        match self {
            Self::Request => None,
            Self::Response(_) if extra.contains_key("id") => None,
            Self::Response(place) => Some(synthetic_id(prefix, place)),
        }
    }

    fn status(self) -> Option<&'static str> {
        (self != Self::Request).then_some("completed")
    }
}

/// The generated id of a response item.
pub(super) fn synthetic_id(prefix: &str, place: usize) -> String {
    format!("{prefix}_{place}")
}

/// Provider-specific fields of an item, without the id if the endpoint stores no items.
fn item_extra(ctx: &mut Context<'_>, at: &At<'_>, extra: &Extra, side: Side) -> Map<String, Value> {
    let mut fields = ctx.extra(at, extra).cloned().unwrap_or_default();
    if side == Side::Request && ctx.surface.is_stateless() && fields.shift_remove("id").is_some() {
        ctx.record("item-id", &at.field("extra"), DROPPED_NOTE, "item id dropped: this provider stores no items");
    }
    fields
}

/// The item of an assistant block. The caller may merge texts of a request into the previous item.
pub(super) fn assistant_item<'r>(ctx: &mut Context<'_>, at: &At<'_>, block: &'r Block, side: Side) -> Option<Item<'r>> {
    match block {
        Block::Text(text) => Some(Item::Message(message(ctx, at, text, side))),
        Block::Thinking(thinking) => reasoning(ctx, at, thinking, side),
        Block::RedactedThinking(redacted) => {
            let encrypted_content = ctx.signature(at, Some(&redacted.signature));
            if encrypted_content.is_none() {
                ctx.drop_block(at, block.kind(), "an assistant message");
                return None;
            }
            ctx.record(
                "sealed-thought",
                at,
                REWRITTEN,
                "redacted reasoning is sent as a reasoning item without a summary",
            );
            let (id, extra) = (side.id("rs", &Map::new()), Map::new());
            Some(Item::Reasoning(ReasoningItem {
                r#type: "reasoning",
                id,
                summary: Vec::new(),
                encrypted_content,
                extra,
            }))
        }
        Block::ToolCall(call) => Some(Item::Call(call_item(ctx, at, call, side))),
        Block::Other(other) => {
            let value = ctx.other(at, other)?;
            if value.get("type").and_then(Value::as_str) == Some("refusal") {
                let content = Content::Parts(vec![Part::Other(value)]);
                let id = side.id("msg", &Map::new());
                return Some(Item::Message(MessageItem {
                    r#type: "message",
                    id,
                    role: "assistant",
                    status: side.status(),
                    content,
                    extra: None,
                }));
            }
            Some(Item::Other(value))
        }
        Block::Image(_)
        | Block::Audio(_)
        | Block::Document(_)
        | Block::ToolResult(_)
        | Block::ToolResultReference(_) => {
            ctx.drop_block(at, block.kind(), "an assistant message");
            None
        }
    }
}

/// An assistant text as a message item. Fields of the item are stored in `item`.
fn message<'r>(ctx: &mut Context<'_>, at: &At<'_>, text: &'r Text, side: Side) -> MessageItem<'r> {
    ctx.drop_cache_hint(at, text.cache.as_ref());
    ctx.drop_signature(at, text.signature.as_ref());
    let mut part = ctx.extra(at, &text.extra).cloned().unwrap_or_default();
    part.shift_remove("item");
    let item = text.extra.field(OWN, "item").and_then(Value::as_object);
    let stateless = side == Side::Request && ctx.surface.is_stateless();
    if stateless && item.is_some() {
        ctx.record("item-id", &at.field("extra"), DROPPED_NOTE, "item id dropped: this provider stores no items");
    }
    let item = item.filter(|_| !stateless);
    let id = side.id("msg", item.unwrap_or(&Map::new()));
    // Only a message with an id needs parts; a plain text is sent as a string.
    let content = if side == Side::Request && item.is_none() && part.is_empty() {
        Content::Text(Cow::Borrowed(&text.text))
    } else {
        part.entry("annotations").or_insert_with(|| json!([]));
        Content::Parts(vec![Part::Known(KnownPart::OutputText { text: &text.text, extra: part })])
    };
    MessageItem { r#type: "message", id, role: "assistant", status: side.status(), content, extra: item }
}

fn reasoning<'r>(ctx: &mut Context<'_>, at: &At<'_>, thinking: &'r Thinking, side: Side) -> Option<Item<'r>> {
    let encrypted_content = ctx.signature(at, thinking.signature.as_ref());
    let extra = item_extra(ctx, at, &thinking.extra, side);
    let known = encrypted_content.is_some() || extra.contains_key("id");
    if side == Side::Request && !known {
        ctx.record(
            "unsigned-thinking",
            at,
            DROPPED,
            "reasoning dropped: it has neither encrypted content nor an item id",
        );
        return None;
    }
    let text = thinking.text.as_str();
    let summary = (!text.is_empty()).then_some(Summary { r#type: "summary_text", text }).into_iter().collect();
    let id = side.id("rs", &extra);
    Some(Item::Reasoning(ReasoningItem { r#type: "reasoning", id, summary, encrypted_content, extra }))
}

fn call_item<'r>(ctx: &mut Context<'_>, at: &At<'_>, call: &'r ToolCall, side: Side) -> CallItem<'r> {
    ctx.drop_cache_hint(at, call.cache.as_ref());
    ctx.drop_signature(at, call.signature.as_ref());
    let extra = item_extra(ctx, at, &call.extra, side);
    let origin = ctx.origin(call.origin.as_ref());
    if origin.is_none() {
        ctx.record_as_function(at, call.origin.as_ref());
    }
    let custom = origin.is_some_and(|origin| origin.custom);
    CallItem {
        r#type: if custom { "custom_tool_call" } else { "function_call" },
        id: side.id(if custom { CUSTOM_ID } else { "fc" }, &extra),
        call_id: &call.id,
        name: origin.and_then(|origin| origin.member.as_deref()).unwrap_or(&call.name),
        namespace: origin.and_then(|origin| origin.namespace.as_deref()),
        arguments: (!custom).then_some(call.arguments.as_str()),
        input: custom.then(|| call.custom_input()),
        status: side.status(),
        extra,
    }
}

/// The content of a user or system message.
pub(super) fn content<'r>(ctx: &mut Context<'_>, at: &At<'_>, blocks: &'r [Block], place: &'static str) -> Content<'r> {
    let at = at.field("content");
    let mut parts = Vec::with_capacity(blocks.len());
    for (index, block) in blocks.iter().enumerate() {
        let at = at.entry(index);
        match block {
            Block::Text(text) => parts.push(text_part(ctx, &at, text)),
            Block::Image(image) => parts.extend(image_part(ctx, &at, image)),
            Block::Audio(audio) => parts.extend(audio_part(ctx, &at, audio)),
            Block::Document(document) => parts.extend(document_part(ctx, &at, document)),
            Block::Other(other) => parts.extend(ctx.other(&at, other).map(Part::Other)),
            Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::ToolCall(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_) => ctx.drop_block(&at, block.kind(), place),
        }
    }
    shorten(parts)
}

/// A string if the content is one plain text, or else an array.
fn shorten(mut parts: Vec<Part<'_>>) -> Content<'_> {
    if let [Part::Known(KnownPart::InputText { text, extra: None })] = parts.as_mut_slice() {
        return Content::Text(std::mem::take(text));
    }
    Content::Parts(parts)
}

fn text_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, text: &'r Text) -> Part<'r> {
    ctx.drop_cache_hint(at, text.cache.as_ref());
    ctx.drop_signature(at, text.signature.as_ref());
    Part::Known(KnownPart::InputText { text: Cow::Borrowed(&text.text), extra: ctx.extra(at, &text.extra) })
}

fn image_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, image: &'r Image) -> Option<Part<'r>> {
    if !ctx.accepts(at, Medium::Image) {
        return None;
    }
    ctx.drop_cache_hint(at, image.cache.as_ref());
    let (image_url, file_id) = match &image.source {
        Source::Base64 { media_type, data } => (Some(Cow::Owned(format!("data:{media_type};base64,{data}"))), None),
        Source::Url { url, media_type } => {
            ctx.drop_media_type(at, media_type.as_ref());
            (Some(Cow::Borrowed(url.as_str())), None)
        }
        Source::File { id } => (None, Some(id.as_str())),
        Source::Text { .. } => {
            ctx.drop_source(at, Medium::Image, &image.source);
            return None;
        }
    };
    let (detail, extra) = (image.detail.as_deref().unwrap_or(DETAIL), ctx.extra(at, &image.extra));
    Some(Part::Known(KnownPart::InputImage { image_url, file_id, detail, extra }))
}

fn audio_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, audio: &'r Audio) -> Option<Part<'r>> {
    if !ctx.accepts(at, Medium::Audio) {
        return None;
    }
    let known = match &audio.source {
        Source::Base64 { media_type, data } => media_type.strip_prefix("audio/").map(|format| (format, data)),
        Source::Url { .. } | Source::File { .. } | Source::Text { .. } => None,
    };
    let Some((format, data)) = known else {
        ctx.drop_source(at, Medium::Audio, &audio.source);
        return None;
    };
    let input_audio = InputAudio { data, format };
    Some(Part::Known(KnownPart::InputAudio { input_audio, extra: ctx.extra(at, &audio.extra) }))
}

fn document_part<'r>(ctx: &mut Context<'_>, at: &At<'_>, document: &'r Document) -> Option<Part<'r>> {
    if !ctx.accepts(at, Medium::Document) {
        return None;
    }
    ctx.drop_cache_hint(at, document.cache.as_ref());
    let (mut file_id, mut file_url, mut file_data) = (None, None, None);
    match &document.source {
        Source::Base64 { media_type, data } => file_data = Some(format!("data:{media_type};base64,{data}")),
        Source::Url { url, media_type } => {
            ctx.drop_media_type(at, media_type.as_ref());
            file_url = Some(url.as_str());
        }
        Source::File { id } => file_id = Some(id.as_str()),
        Source::Text { text } => {
            ctx.record("document-as-text", at, REWRITTEN, "plain text document is sent as text");
            let extra = ctx.extra(at, &document.extra);
            return Some(Part::Known(KnownPart::InputText { text: Cow::Borrowed(text), extra }));
        }
    }
    let (filename, extra) = (document.name.as_deref(), ctx.extra(at, &document.extra));
    Some(Part::Known(KnownPart::InputFile { file_id, file_url, file_data, filename, extra }))
}

/// The items of tool results.
pub(super) fn results<'r>(
    ctx: &mut Context<'_>,
    at: &At<'_>,
    blocks: &'r [Block],
    custom: &HashSet<&str>,
    items: &mut Vec<Item<'r>>,
) {
    let kind = |id: &str| if custom.contains(id) { "custom_tool_call_output" } else { "function_call_output" };
    let at = at.field("content");
    for (index, block) in blocks.iter().enumerate() {
        let at = at.entry(index);
        match block {
            Block::ToolResult(result) => {
                let kind = kind(&result.call_id);
                items.push(Item::Output(OutputItem { r#type: kind, ..output(ctx, &at, result) }));
            }
            Block::ToolResultReference(reference) => {
                ctx.record_reference(&at);
                items.push(Item::Output(OutputItem {
                    r#type: kind(&reference.call_id),
                    call_id: &reference.call_id,
                    output: Content::Text(Cow::Owned(reference.note())),
                    extra: ctx.extra(&at, &reference.extra),
                }));
            }
            Block::Other(other) => items.extend(ctx.other(&at, other).map(Item::Other)),
            Block::Text(_)
            | Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::ToolCall(_) => ctx.drop_block(&at, block.kind(), "a tool message"),
        }
    }
}

fn output<'r>(ctx: &mut Context<'_>, at: &At<'_>, result: &'r ToolResult) -> OutputItem<'r> {
    ctx.drop_cache_hint(at, result.cache.as_ref());
    let extra = ctx.extra(at, &result.extra);
    let content = at.field("content");
    let mut parts = Vec::with_capacity(result.content.len());
    for (index, block) in result.content.iter().enumerate() {
        let at = content.entry(index);
        match block {
            ResultBlock::Text(text) => parts.push(text_part(ctx, &at, text)),
            ResultBlock::Image(image) => parts.extend(image_part(ctx, &at, image)),
            ResultBlock::Document(document) => parts.extend(document_part(ctx, &at, document)),
            ResultBlock::Json { value } => {
                ctx.record("json-as-text", &at, REWRITTEN, "JSON result is sent as text");
                parts.push(Part::Known(KnownPart::InputText { text: Cow::Owned(value.to_string()), extra: None }));
            }
            ResultBlock::Other(other) => parts.extend(ctx.other(&at, other).map(Part::Other)),
        }
    }
    if result.is_error {
        let first = parts.iter_mut().find_map(|part| match part {
            Part::Known(KnownPart::InputText { text, .. }) => Some(text),
            Part::Known(_) | Part::Other(_) => None,
        });
        if let Some(text) = first {
            *text = ctx.error_text(at, result, std::mem::take(text));
        } else {
            let text = ctx.error_text(at, result, Cow::Borrowed("the tool failed"));
            parts.insert(0, Part::Known(KnownPart::InputText { text, extra: None }));
        }
    }
    let output = match shorten(parts) {
        Content::Text(text) if text.is_empty() => {
            ctx.record("empty-text", at, DROPPED_NOTE, "empty text dropped");
            Content::Text(text)
        }
        Content::Parts(parts) if parts.is_empty() => Content::Text(Cow::Borrowed("")),
        content @ (Content::Text(_) | Content::Parts(_)) => content,
    };
    OutputItem { r#type: "function_call_output", call_id: &result.call_id, output, extra }
}
