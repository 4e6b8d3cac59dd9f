//! Streams of `bedrock-converse`, in AWS frames.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::OWN;
use super::read::empty_text;
use super::response::{STOP_REASONS, drop_metrics, read_stop, read_usage, record_unsupported, usage_fields};
use super::shapes::{BlockDelta, BlockEvent, PlainDelta, WriteDelta, WriteReasoning};
use crate::error::DecodeError;
use crate::fields::Fields;
use crate::frame::{Frame, encode_event, encode_exception};
use crate::neutral::{Block, Delta, Event, Extra, RedactedThinking, Signature, Thinking, ToolCall, Usage};
use crate::protocol::context::{Context, DROPPED, DROPPED_NOTE, unsupported_signature};
use crate::protocol::seen_fields::SeenFields;
use crate::protocol::writer_state::{Kind, WriterState, own_fields, record_function_call, record_unstreamable};
use crate::protocol::{StreamReader, StreamWriter, stop};
use crate::report::Changes;
use crate::surface::Surface;

/// Reads the events of a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Open blocks; true for tool calls without arguments so far.
    open: BTreeMap<usize, bool>,
    called: bool,
    seen_fields: SeenFields,
}

impl StreamReader for Reader {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        if frame.event == "contentBlockDelta"
            && let Some(plain) = frame.plain::<PlainDelta<'_>>()
        {
            let index = plain.content_block_index;
            if let Some(text) = plain.delta.text {
                self.text(index, empty_text, Delta::Text(text.into_owned()), out);
            } else if let Some(input) = plain.delta.tool_use {
                self.arguments(index, input.input.into_owned(), out);
            }
            return Ok(());
        }
        let value: Value = serde_json::from_slice(frame.data).map_err(|error| DecodeError::json(&error))?;
        self.event(frame.event, value, out)
    }
}

impl Reader {
    fn event(&mut self, name: &str, value: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        if name.ends_with("Exception") {
            out.push(Event::Error(super::error::of_event(name, value)));
            return Ok(());
        }
        let mut fields = Fields::of(value)?;
        let index = fields.count("contentBlockIndex").and_then(|index| usize::try_from(index).ok());
        // Padding that hides the length of the chunk.
        fields.take("p");
        match (name, index) {
            ("messageStart", _) => {
                fields.take("role");
                let (mut output, mut top) = (Fields::default(), Fields::default());
                output.put_rest("message", fields);
                top.put_rest("output", output);
                out.push(Event::Start { id: String::new(), model: String::new(), extra: Extra::of(OWN, top.rest()) });
            }
            ("contentBlockStart", Some(index)) => {
                let mut start = fields.object("start").unwrap_or_default();
                let Some(mut call) = start.object("toolUse") else {
                    fields.put_rest("start", start);
                    out.push(other_at(name, index, fields));
                    return Ok(());
                };
                self.called = true;
                self.open.insert(index, true);
                let (id, name) = (call.text("toolUseId").unwrap_or_default(), call.text("name").unwrap_or_default());
                let extra = Extra::of(OWN, call.rest());
                let block = Block::ToolCall(ToolCall { id, name, extra, ..ToolCall::default() });
                self.seen_fields.start_block(OWN, index, &block);
                out.push(Event::Open { index, block });
                self.seen_fields.emit_new(OWN, Some(index), start.rest(), out);
                self.seen_fields.emit_new(OWN, Some(index), fields.rest(), out);
            }
            ("contentBlockDelta", Some(index)) => self.delta(index, fields, out),
            ("contentBlockStop", Some(index)) => {
                if self.open.remove(&index) == Some(true) {
                    out.push(Event::Delta { index, delta: Delta::Arguments("{}".to_owned()) });
                }
                self.seen_fields.emit_new(OWN, Some(index), fields.rest(), out);
                self.seen_fields.end_block(index);
                out.push(Event::Close { index });
            }
            ("messageStop", _) => {
                let word = fields.text("stopReason").unwrap_or_default();
                let (reason, kept) = read_stop(&word, self.called);
                if kept {
                    fields.put("stopReason", json!(word));
                }
                out.push(Event::Stop { reason, sequence: None, extra: Extra::of(OWN, fields.rest()) });
            }
            ("metadata", _) => {
                let usage = fields.object("usage").map(read_usage).filter(|usage| *usage != Usage::default());
                out.extend(usage.map(Event::Usage));
                drop_metrics(&mut fields);
                self.seen_fields.emit_new(OWN, None, fields.rest(), out);
            }
            (_, Some(index)) => out.push(other_at(name, index, fields)),
            (_, None) => out.push(other(name, fields.rest())),
        }
        Ok(())
    }

    fn delta(&mut self, index: usize, mut fields: Fields, out: &mut Vec<Event>) {
        let mut delta = fields.object("delta").unwrap_or_default();
        let rest = if let Some(text) = delta.text("text") {
            self.text(index, empty_text, Delta::Text(text), out);
            Fields::default()
        } else if let Some(mut call) = delta.object("toolUse") {
            self.arguments(index, call.text("input").unwrap_or_default(), out);
            call
        } else if let Some(thought) = delta.object("reasoningContent") {
            self.reasoning(index, thought, out)
        } else {
            fields.put("delta", Value::Object(delta.rest()));
            out.push(other_at("contentBlockDelta", index, fields));
            return;
        };
        for rest in [rest, delta, fields] {
            self.seen_fields.emit_new(OWN, Some(index), rest.rest(), out);
        }
    }

    /// Decodes a reasoning delta; returns its provider-specific fields, nested as in a whole body.
    fn reasoning(&mut self, index: usize, mut thought: Fields, out: &mut Vec<Event>) -> Fields {
        if let Some(data) = thought.text("redactedContent") {
            let signature = Signature { from: OWN, data };
            self.open.insert(index, false);
            out.push(Event::Open { index, block: Block::RedactedThinking(RedactedThinking { signature }) });
            return thought;
        }
        let thinking = || Block::Thinking(Thinking::default());
        let text = thought.text("text");
        let signature = thought.text("signature");
        if text.is_some() || signature.is_none() {
            self.text(index, thinking, Delta::Thinking(text.unwrap_or_default()), out);
        }
        if let Some(data) = signature {
            self.text(index, thinking, Delta::Signature(Signature { from: OWN, data }), out);
        }
        let mut rest = Fields::default();
        rest.put_rest("reasoningText", thought);
        rest
    }

    fn text(&mut self, index: usize, block: impl FnOnce() -> Block, delta: Delta, out: &mut Vec<Event>) {
        if self.open.insert(index, false).is_none() {
            out.push(Event::Open { index, block: block() });
        }
        let empty = matches!(&delta, Delta::Text(text) | Delta::Thinking(text) if text.is_empty());
        if !empty {
            out.push(Event::Delta { index, delta });
        }
    }

    fn arguments(&mut self, index: usize, text: String, out: &mut Vec<Event>) {
        if !text.is_empty() {
            self.open.insert(index, false);
            out.push(Event::Delta { index, delta: Delta::Arguments(text) });
        }
    }
}

fn other(name: &str, data: Map<String, Value>) -> Event {
    Event::Other { protocol: OWN, name: name.to_owned(), data: Value::Object(data) }
}

fn other_at(name: &str, index: usize, mut fields: Fields) -> Event {
    fields.put("contentBlockIndex", json!(index));
    other(name, fields.rest())
}

/// Writes the events of a stream.
#[derive(Debug)]
pub(super) struct Writer(WriterState);

impl Writer {
    pub(super) fn new(surface: &Surface) -> Self {
        Self(WriterState::new(surface))
    }

    fn open(&mut self, index: usize, block: &Block, out: &mut Vec<u8>, changes: &mut Changes) {
        let own = block.extra().and_then(|extra| own_fields(OWN, &self.0.surface, Some(index), extra, changes));
        if let Some(own) = own.as_ref().filter(|_| block.as_call().is_none()) {
            record_unstreamable(OWN, index, own, changes);
        }
        let mut start = None;
        let delta = match block {
            Block::Text(text) => WriteDelta::Text(&text.text),
            Block::Thinking(thinking) => WriteDelta::ReasoningContent(WriteReasoning::Text(&thinking.text)),
            Block::RedactedThinking(redacted) if redacted.signature.from == OWN => {
                WriteDelta::ReasoningContent(WriteReasoning::RedactedContent(&redacted.signature.data))
            }
            Block::ToolCall(call) => {
                self.0.response.content = vec![Block::ToolCall(ToolCall::default())];
                record_function_call(OWN, index, call.origin.as_ref(), changes);
                let mut call_start = json!({"toolUseId": call.id, "name": call.name});
                if let (Some(call_start), Some(own)) = (call_start.as_object_mut(), own) {
                    call_start.extend(own);
                }
                start = Some(json!({"start": {"toolUse": call_start}}));
                WriteDelta::ToolUse { input: &call.arguments }
            }
            Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::RedactedThinking(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_) => {
                let detail = format!("{} block dropped: {} streams cannot carry it", block.kind(), OWN.title());
                changes.push("no-place", format!("/content/{index}"), DROPPED, detail);
                return;
            }
        };
        if block.cache().is_some() {
            changes.push(
                "no-cache-hint",
                format!("/content/{index}/cache"),
                DROPPED,
                "cache hint dropped: Bedrock Converse streams have none",
            );
        }
        let place = self.0.number(index, block);
        if let Some(start) = &start {
            emit_at("contentBlockStart", place, start, out);
        }
        if start.is_none() || block.as_call().is_some_and(|call| !call.arguments.is_empty()) {
            emit_delta(place, delta, out);
        }
        if let Some(signature) = block.signature().filter(|_| !matches!(block, Block::RedactedThinking(_))) {
            self.sign(index, signature, out, changes);
        }
    }

    fn sign(&self, index: usize, signature: &Signature, out: &mut Vec<u8>, changes: &mut Changes) {
        let Some(place) = self.0.place(index) else { return };
        if let Some((code, detail)) = unsupported_signature(OWN, signature, self.0.is_reasoning(index)) {
            changes.push(code, format!("/content/{index}/signature"), DROPPED_NOTE, detail);
            return;
        }
        emit_delta(place, WriteDelta::ReasoningContent(WriteReasoning::Signature(&signature.data)), out);
    }

    fn end(&mut self, out: &mut Vec<u8>, changes: &mut Changes) {
        let surface = self.0.surface.clone();
        let mut ctx = Context::new(OWN, &surface);
        record_unsupported(&mut ctx, &self.0.response);
        if let Some(words) = self.0.response.refusal.clone() {
            let place = self.0.places.len();
            emit_delta(place, WriteDelta::Text(&words), out);
            emit_at("contentBlockStop", place, &json!({}), out);
        }
        let (mut extra, mut inner) = ctx.split_extra(&self.0.response.extra, &["stopReason", "output"]);
        // The fields of the message were sent in `messageStart`.
        if let Some(Value::Object(mut output)) = inner.shift_remove("output") {
            output.shift_remove("message");
            if !output.is_empty() {
                extra.insert("output".to_owned(), Value::Object(output));
            }
        }
        let mut late = self.0.late.get(OWN).cloned().unwrap_or_default();
        let metrics = extra.shift_remove("metrics").unwrap_or_else(|| json!({"latencyMs": 0}));
        late.entry("metrics").or_insert(metrics);
        let word = stop::write(&mut ctx, STOP_REASONS, "stopReason", &self.0.response);
        extra.insert("stopReason".to_owned(), json!(word));
        encode_event("messageStop", &Value::Object(extra), out);
        let usage = self.0.response.usage.clone().unwrap_or_default();
        let usage = usage_fields(&mut ctx, &usage);
        late.insert("usage".to_owned(), json!(usage));
        encode_event("metadata", &Value::Object(late), out);
        changes.append(ctx.changes);
    }
}

fn emit_at(name: &str, place: usize, data: &impl Serialize, out: &mut Vec<u8>) {
    encode_event(name, &BlockEvent { data, content_block_index: place }, out);
}

fn emit_delta(place: usize, delta: WriteDelta<'_>, out: &mut Vec<u8>) {
    emit_at("contentBlockDelta", place, &BlockDelta { delta }, out);
}

impl StreamWriter for Writer {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>, changes: &mut Changes) {
        match event {
            Event::Start { extra, .. } => {
                self.0.response.extra = extra.clone();
                let output = extra.field(OWN, "output");
                let message = output.and_then(|output| output.get("message")).and_then(Value::as_object);
                let mut start = message.cloned().unwrap_or_default();
                start.insert("role".to_owned(), json!("assistant"));
                encode_event("messageStart", &Value::Object(start), out);
            }
            Event::Open { index, block } => self.open(*index, block, out, changes),
            Event::Delta { index, delta } => {
                let Some(place) = self.0.place(*index) else { return };
                let delta = match delta {
                    Delta::Text(text) => WriteDelta::Text(text),
                    Delta::Thinking(text) => WriteDelta::ReasoningContent(WriteReasoning::Text(text)),
                    Delta::Arguments(input) => WriteDelta::ToolUse { input },
                    Delta::Signature(signature) => return self.sign(*index, signature, out, changes),
                };
                emit_delta(place, delta, out);
            }
            Event::Fields { index, extra } => {
                if let Some((place, kind, mut fields)) = self.0.fields(OWN, *index, extra, changes) {
                    let empty = match kind {
                        Kind::Reasoning => WriteDelta::ReasoningContent(WriteReasoning::Text("")),
                        Kind::Call => WriteDelta::ToolUse { input: "" },
                        Kind::Text | Kind::Foreign | Kind::Whole => WriteDelta::Text(""),
                    };
                    fields.insert("delta".to_owned(), json!(empty));
                    emit_at("contentBlockDelta", place, &fields, out);
                }
            }
            Event::Close { index } => {
                if let Some(place) = self.0.place(*index) {
                    emit_at("contentBlockStop", place, &json!({}), out);
                }
            }
            Event::Refusal { .. } | Event::Stop { .. } | Event::Usage(_) => {
                self.0.note(event);
            }
            Event::End => {
                if self.0.stopped {
                    self.end(out, changes);
                }
            }
            Event::Error(error) => {
                encode_exception(super::error::exception_type(error), &super::error::body(error), out);
            }
            Event::Other { protocol, name, data } if *protocol == OWN => encode_event(name, data, out),
            Event::Other { protocol, .. } => {
                changes.push(
                    "foreign-event",
                    "",
                    DROPPED,
                    format!("event dropped: only {} supports it", protocol.title()),
                );
            }
        }
    }
}
