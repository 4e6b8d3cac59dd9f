//! Streams of `anthropic-messages`, as server-sent events or in AWS frames.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::OWN;
use super::read::read_block;
use super::request::{Side, piece};
use super::response::{
    NESTED, STOP_REASONS, read_head, read_refusal, read_stop, read_usage, stop_details, usage_shape,
};
use super::shapes::{BlockDelta, BlockStart, MessageStart, PlainDelta, ResponseBody, UsageShape, WriteDelta};
use crate::error::DecodeError;
use crate::fields::Fields;
use crate::frame::{Frame, base64_decode, base64_encode, encode_event};
use crate::neutral::{Block, Delta, Event, Extra, MergeMode, Response, Signature, ToolCall, Usage};
use crate::protocol::context::{At, Context, DROPPED, DROPPED_NOTE, unsupported_signature};
use crate::protocol::seen_fields::SeenFields;
use crate::protocol::writer_state::{Kind, WriterState};
use crate::protocol::{StreamReader, StreamWriter, aws_error, sse, stop};
use crate::report::Changes;
use crate::surface::{Envelope, Surface};

/// Reads the events of a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    usage: Usage,
    /// Open tool calls, and whether they have arguments so far.
    calls: BTreeMap<usize, bool>,
    called: bool,
    /// Open provider-specific blocks, and the JSON text of their input.
    inputs: BTreeMap<usize, String>,
    seen_fields: SeenFields,
}

impl StreamReader for Reader {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        if frame.event == "content_block_delta"
            && let Some(plain) = frame.plain::<PlainDelta<'_>>()
        {
            let PlainDelta { index, delta, .. } = plain;
            let delta = match (delta.kind.as_ref(), delta.text, delta.partial_json, delta.thinking, delta.signature) {
                ("text_delta", Some(text), None, None, None) => Some(Delta::Text(text.into_owned())),
                ("input_json_delta", None, Some(text), None, None) => Some(Delta::Arguments(text.into_owned())),
                ("thinking_delta", None, None, Some(text), None) => Some(Delta::Thinking(text.into_owned())),
                ("signature_delta", None, None, None, Some(data)) => {
                    Some(Delta::Signature(Signature { from: OWN, data: data.into_owned() }))
                }
                _ => None,
            };
            if let Some(delta) = delta {
                out.extend(self.delta(index, delta));
                return Ok(());
            }
        }
        let value: Value = serde_json::from_slice(frame.data).map_err(|error| DecodeError::json(&error))?;
        if let Some(bytes) = value.get("bytes").and_then(Value::as_str) {
            let bytes = base64_decode(bytes).ok_or_else(|| DecodeError::shape("base64").within("bytes"))?;
            let inner: Value = serde_json::from_slice(&bytes).map_err(|error| DecodeError::json(&error))?;
            return self.event(inner, out);
        }
        if frame.event.ends_with("Exception") {
            out.push(Event::Error(aws_error::of_event(frame.event, value)));
            return Ok(());
        }
        self.event(value, out)
    }
}

impl Reader {
    fn event(&mut self, value: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut fields = Fields::of(value)?;
        let index = fields.count("index").and_then(|index| usize::try_from(index).ok());
        fields.take("type");
        match (kind.as_str(), index) {
            ("message_start", _) => {
                let mut message =
                    fields.object("message").ok_or_else(|| DecodeError::shape("an object").within("message"))?;
                let head = read_head(&mut message);
                self.usage = head.usage.unwrap_or_default();
                message.list("content");
                let rest = message.rest();
                self.seen_fields.start_response(&rest);
                out.push(Event::Start { id: head.id, model: head.model, extra: Extra::of(OWN, rest) });
                self.seen_fields.emit_new(OWN, None, fields.rest(), out);
            }
            ("content_block_start", Some(index)) => {
                let block = read_block(fields.take("content_block").unwrap_or_default())?;
                self.open(index, block, out);
                self.seen_fields.emit_new(OWN, Some(index), fields.rest(), out);
            }
            ("content_block_delta", Some(index)) => {
                if let Some((delta, rest)) = read_delta(&mut fields) {
                    out.extend(delta.and_then(|delta| self.delta(index, delta)));
                    self.seen_fields.emit_new(OWN, Some(index), rest, out);
                    self.seen_fields.emit_new(OWN, Some(index), fields.rest(), out);
                } else {
                    fields.put("index", json!(index));
                    out.push(other(kind, fields));
                }
            }
            ("content_block_stop", Some(index)) => {
                // A call without arguments may have no `input_json_delta`.
                if self.calls.remove(&index) == Some(false) {
                    out.push(Event::Delta { index, delta: Delta::Arguments("{}".to_owned()) });
                }
                self.input(index, out);
                self.seen_fields.emit_new(OWN, Some(index), fields.rest(), out);
                self.seen_fields.end_block(index);
                out.push(Event::Close { index });
            }
            ("message_delta", _) => self.stop(fields, out),
            ("message_stop", _) => {
                self.seen_fields.emit_new(OWN, None, fields.rest(), out);
                out.push(Event::End);
            }
            ("ping", _) if fields.is_empty() => {}
            ("error", _) => {
                fields.put("type", json!(kind));
                let value = Value::Object(fields.rest());
                out.extend(super::error::of_body(0, value).map(Event::Error));
            }
            _ => {
                if let Some(index) = index {
                    fields.put("index", json!(index));
                }
                out.push(other(kind, fields));
            }
        }
        Ok(())
    }

    fn open(&mut self, index: usize, mut block: Block, out: &mut Vec<Event>) {
        if let Block::ToolCall(call) = &mut block {
            self.called = true;
            // The input of `content_block_start` is a placeholder.
            if call.arguments == "{}" {
                call.arguments.clear();
            }
            self.calls.insert(index, !call.arguments.is_empty());
        }
        if let Block::Other(_) = &block {
            self.inputs.insert(index, String::new());
        }
        self.seen_fields.start_block(OWN, index, &block);
        out.push(Event::Open { index, block });
    }

    fn delta(&mut self, index: usize, delta: Delta) -> Option<Event> {
        if let Delta::Arguments(text) = &delta {
            if let Some(input) = self.inputs.get_mut(&index) {
                input.push_str(text);
                return None;
            }
            if text.is_empty() {
                return None;
            }
            self.calls.insert(index, true);
        }
        Some(Event::Delta { index, delta })
    }

    /// Emits the complete input of a provider-specific block.
    fn input(&mut self, index: usize, out: &mut Vec<Event>) {
        let input = self.inputs.remove(&index).unwrap_or_default();
        if !input.is_empty() {
            let value = serde_json::from_str(&input).unwrap_or(Value::String(input));
            self.seen_fields.emit_new(OWN, Some(index), Map::from_iter([("input".to_owned(), value)]), out);
        }
    }

    fn stop(&mut self, mut fields: Fields, out: &mut Vec<Event>) {
        let mut delta = fields.object("delta").unwrap_or_default();
        let refusal = read_refusal(&mut delta);
        out.extend(refusal.map(|text| Event::Refusal { text }));
        if let Some(usage) = fields.object("usage") {
            let usage = read_usage(usage);
            // Usage of `message_delta` replaces that of `message_start`; input tokens may be in the latter only.
            let input = if usage.input_tokens > 0 { &usage } else { &self.usage };
            let merged = Usage {
                input_tokens: input.input_tokens,
                cache_read_tokens: input.cache_read_tokens,
                cache_write_tokens: input.cache_write_tokens,
                output_tokens: usage.output_tokens,
                reasoning_tokens: usage.reasoning_tokens,
                extra: self.usage.extra.clone(),
            };
            self.usage = merged;
            self.usage.extra.merge(usage.extra);
        }
        if let Some(word) = delta.text("stop_reason") {
            let (reason, kept) = read_stop(&word, self.called);
            let kept = kept.map(|word| json!(word));
            let sequence = delta.text("stop_sequence");
            if let Some(word) = kept {
                delta.put("stop_reason", word);
            }
            out.push(Event::Stop { reason, sequence, extra: Extra::of(OWN, delta.rest()) });
        } else {
            self.seen_fields.emit_new(OWN, None, delta.rest(), out);
        }
        self.seen_fields.emit_new(OWN, None, fields.rest(), out);
        if self.usage != Usage::default() {
            out.push(Event::Usage(self.usage.clone()));
        }
    }
}

fn other(name: String, fields: Fields) -> Event {
    let mut data = fields.rest();
    data.entry("type").or_insert_with(|| json!(name));
    Event::Other { protocol: OWN, name, data: Value::Object(data) }
}

/// Decodes a delta, and returns its provider-specific fields.
fn read_delta(fields: &mut Fields) -> Option<(Option<Delta>, Map<String, Value>)> {
    let mut delta = fields.object("delta")?;
    let read = match delta.peek("type") {
        Some("text_delta") => delta.text("text").map(Delta::Text),
        Some("input_json_delta") => delta.text("partial_json").map(Delta::Arguments),
        Some("thinking_delta") => delta.text("thinking").map(Delta::Thinking),
        Some("signature_delta") => delta.text("signature").map(|data| Delta::Signature(Signature { from: OWN, data })),
        _ => None,
    };
    let cites = delta.peek("type") == Some("citations_delta") && delta.has("citation");
    if read.is_none() && !cites {
        fields.put_rest("delta", delta);
        return None;
    }
    delta.take("type");
    if let Some(citation) = delta.take("citation").filter(|_| cites) {
        delta.put(CITATIONS, json!([citation]));
    }
    Some((read, delta.rest()))
}

/// Citations of a text: an array in a whole body, one entry per event in a stream.
const CITATIONS: &str = "citations";

/// Provider-specific fields that arrive in pieces.
pub(super) const MERGEABLE_FIELDS: [(&str, MergeMode); 1] = [(CITATIONS, MergeMode::Lists)];

fn owned<T>((name, value): (&str, T)) -> (String, T) {
    (name.to_owned(), value)
}

/// Writes the events of a stream.
#[derive(Debug)]
pub(super) struct Writer(WriterState);

impl Writer {
    pub(super) fn new(surface: &Surface) -> Self {
        Self(WriterState::new(surface))
    }

    fn emit(&self, kind: &str, data: &impl serde::Serialize, out: &mut Vec<u8>) {
        if self.0.surface.envelope == Envelope::Invoke {
            encode_event("chunk", &json!({"bytes": base64_encode(&super::super::json(data))}), out);
        } else {
            sse(kind, data, out);
        }
    }

    fn start(&mut self, id: &str, model: &str, extra: &Extra, out: &mut Vec<u8>, changes: &mut Changes) {
        self.0.response =
            Response { id: id.to_owned(), model: model.to_owned(), extra: extra.clone(), ..Response::default() };
        let surface = self.0.surface.clone();
        let mut ctx = Context::new(OWN, &surface);
        let (extra, _) = ctx.split_extra(extra, &NESTED);
        let message = ResponseBody {
            id,
            r#type: "message",
            role: "assistant",
            model,
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            stop_details: None,
            usage: UsageShape::default(),
            extra,
        };
        self.emit("message_start", &MessageStart { r#type: "message_start", message }, out);
        changes.append(ctx.changes);
    }

    fn open(&mut self, index: usize, block: &Block, out: &mut Vec<u8>, changes: &mut Changes) {
        let surface = self.0.surface.clone();
        let mut ctx = Context::new(OWN, &surface);
        // Arguments are sent as deltas, not in the block itself.
        let bare;
        let (block, arguments) = if let Block::ToolCall(call) = block {
            self.0.response.content = vec![Block::ToolCall(ToolCall::default())];
            bare = Block::ToolCall(ToolCall { arguments: "{}".to_owned(), ..call.clone() });
            (&bare, call.arguments.as_str())
        } else {
            (block, "")
        };
        let at = At::ROOT.field("content");
        let Some(piece) = piece(&mut ctx, &at.entry(index), block, Side::Response) else {
            changes.append(ctx.changes);
            return;
        };
        let place = self.0.number(index, block);
        let kind = "content_block_start";
        self.emit(kind, &BlockStart { r#type: kind, index: place, content_block: &piece }, out);
        if !arguments.is_empty() {
            self.delta(place, &WriteDelta::InputJson { partial_json: arguments }, out);
        }
        changes.append(ctx.changes);
    }

    fn delta(&self, place: usize, delta: &impl serde::Serialize, out: &mut Vec<u8>) {
        let kind = "content_block_delta";
        self.emit(kind, &BlockDelta { r#type: kind, index: place, delta }, out);
    }

    /// Sends provider-specific fields of a block. Fields without a delta of their own are sent in an empty delta.
    fn fields(&self, place: usize, kind: Kind, mut fields: Map<String, Value>, out: &mut Vec<u8>) {
        for citation in fields.shift_remove(CITATIONS).as_ref().and_then(Value::as_array).into_iter().flatten() {
            self.delta(place, &json!({"type": "citations_delta", "citation": citation}), out);
        }
        if let Some(input) = fields.shift_remove("input").filter(|_| kind == Kind::Foreign) {
            let input = if let Value::String(text) = input { text } else { input.to_string() };
            self.delta(place, &WriteDelta::InputJson { partial_json: &input }, out);
        }
        if fields.is_empty() {
            return;
        }
        let (kind, name) = match kind {
            Kind::Reasoning => ("thinking_delta", "thinking"),
            Kind::Call => ("input_json_delta", "partial_json"),
            Kind::Text | Kind::Foreign | Kind::Whole => ("text_delta", "text"),
        };
        fields.insert("type".to_owned(), json!(kind));
        fields.insert(name.to_owned(), json!(""));
        self.delta(place, &Value::Object(fields), out);
    }

    fn end(&mut self, out: &mut Vec<u8>, changes: &mut Changes) {
        let surface = self.0.surface.clone();
        let mut ctx = Context::new(OWN, &surface);
        let kept = self.0.response.extra.field(OWN, "stop_details").cloned();
        let details = stop_details(&mut ctx, &self.0.response, kept.as_ref());
        let word = stop::write(&mut ctx, STOP_REASONS, "stop_reason", &self.0.response);
        let (mut delta, _) = ctx.split_extra(&self.0.last, &NESTED);
        delta.insert("stop_reason".to_owned(), json!(word));
        delta.insert("stop_sequence".to_owned(), json!(self.0.response.stop_sequence));
        if let Some(details) = details {
            delta.insert("stop_details".to_owned(), details);
        }
        let usage =
            self.0.response.usage.as_ref().map_or_else(UsageShape::default, |usage| usage_shape(&mut ctx, usage));
        let mut fields = self.0.late.get(OWN).cloned().unwrap_or_default();
        fields.extend([("type", json!("message_delta")), ("delta", json!(delta)), ("usage", json!(usage))].map(owned));
        self.emit("message_delta", &fields, out);
        self.emit("message_stop", &json!({"type": "message_stop"}), out);
        changes.append(ctx.changes);
    }
}

impl StreamWriter for Writer {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>, changes: &mut Changes) {
        match event {
            Event::Start { id, model, extra } => self.start(id, model, extra, out, changes),
            Event::Open { index, block } => self.open(*index, block, out, changes),
            Event::Delta { index, delta } => {
                let delta = match delta {
                    Delta::Text(text) => WriteDelta::Text { text },
                    Delta::Thinking(thinking) => WriteDelta::Thinking { thinking },
                    Delta::Arguments(partial_json) => WriteDelta::InputJson { partial_json },
                    Delta::Signature(signature) => {
                        if let Some((code, detail)) = unsupported_signature(OWN, signature, self.0.is_reasoning(*index))
                        {
                            changes.push(code, format!("/content/{index}/signature"), DROPPED_NOTE, detail);
                            return;
                        }
                        WriteDelta::Signature { signature: &signature.data }
                    }
                };
                if let Some(place) = self.0.place(*index) {
                    self.delta(place, &delta, out);
                }
            }
            Event::Fields { index, extra } => {
                if let Some((place, kind, fields)) = self.0.fields(OWN, *index, extra, changes) {
                    self.fields(place, kind, fields, out);
                }
            }
            Event::Close { index } => {
                if let Some(place) = self.0.place(*index) {
                    let kind = "content_block_stop";
                    self.emit(kind, &json!({"type": kind, "index": place}), out);
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
                let body = super::error::body(error);
                self.emit("error", &body, out);
            }
            Event::Other { protocol, name, data } if *protocol == OWN => self.emit(name, data, out),
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
