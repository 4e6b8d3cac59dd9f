//! Streams of `openai-responses`: decoding.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::response::{REFUSAL, read_head, refusal_of, refusal_rest};
use super::shapes::PlainDelta;
use super::{OWN, read};
use crate::error::DecodeError;
use crate::fields::Fields;
use crate::frame::Frame;
use crate::neutral::{Block, CUSTOM_CLOSE, CUSTOM_OPEN, Delta, Event, Extra, Signature, Text, Thinking, escaped};
use crate::protocol::StreamReader;
use crate::protocol::seen_fields::SeenFields;
use crate::protocol::stop::Ending;

/// The block index of a part: 65,536 indexes per item.
fn place(output: usize, part: usize) -> usize {
    output.saturating_mul(1 << 16).saturating_add(part.min((1 << 16) - 1))
}

/// The most frequent events.
const DELTAS: [&str; 5] = [
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
    "response.reasoning_summary_text.delta",
    "response.refusal.delta",
];

/// The target of an event.
#[derive(Clone, Copy)]
enum Target {
    Response,
    Item,
    Part,
}

/// Events with deltas or repeated content, their target, and the fields that are decoded or redundant.
const KNOWN: [(&str, Target, &[&str]); 13] = [
    ("response.output_text.delta", Target::Part, &["delta", "logprobs"]),
    ("response.output_text.done", Target::Part, &["text", "logprobs"]),
    ("response.function_call_arguments.delta", Target::Item, &["delta"]),
    ("response.function_call_arguments.done", Target::Item, &["arguments", "name"]),
    ("response.custom_tool_call_input.delta", Target::Item, &["delta"]),
    ("response.custom_tool_call_input.done", Target::Item, &["input"]),
    ("response.reasoning_summary_text.delta", Target::Item, &["delta"]),
    ("response.reasoning_summary_text.done", Target::Item, &["text"]),
    ("response.reasoning_text.delta", Target::Item, &["delta"]),
    ("response.reasoning_text.done", Target::Item, &["text"]),
    ("response.refusal.delta", Target::Response, &["delta"]),
    ("response.refusal.done", Target::Response, &["refusal"]),
    ("response.reasoning_summary_part.done", Target::Item, &["part"]),
];

/// Fields that locate an event, and padding.
const PLACE: [&str; 7] =
    ["type", "sequence_number", "output_index", "content_index", "summary_index", "item_id", "obfuscation"];

/// The provider-specific fields of an event.
fn rest(mut fields: Fields, read: &[&str]) -> Map<String, Value> {
    for name in PLACE.iter().chain(read) {
        fields.take(name);
    }
    fields.rest()
}

/// The provider-specific fields of a part.
fn part_rest(part: Value) -> Map<String, Value> {
    Fields::of(part).map(|part| rest(part, &["text", "refusal"])).unwrap_or_default()
}

/// The provider-specific fields of an unknown item, or of reasoning whose parts have more than text.
fn item_rest(value: &Value, output: usize) -> Map<String, Value> {
    if value.get("type").and_then(Value::as_str) != Some("reasoning") {
        return value.as_object().cloned().unwrap_or_default();
    }
    let Ok(mut item) = read::item(value.clone(), "rs", Some(output)) else { return Map::new() };
    item.take("encrypted_content");
    let parts: Vec<Value> = ["summary", "content"].into_iter().filter_map(|name| item.list(name)).flatten().collect();
    item.rest().into_iter().chain(parts.into_iter().flat_map(part_rest)).collect()
}

/// Reads the events of a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Open blocks, and whether they have deltas so far.
    open: BTreeMap<usize, bool>,
    ending: Ending,
    seen_fields: SeenFields,
    /// Fields of started items without a block so far.
    begun: HashMap<usize, Map<String, Value>>,
}

impl StreamReader for Reader {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        if DELTAS.contains(&frame.event)
            && let Some(plain) = frame.plain::<PlainDelta<'_>>()
        {
            let text = plain.delta.into_owned();
            if self.delta(frame.event, plain.output_index, plain.content_index, text, out) {
                return Ok(());
            }
        }
        let value: Value = serde_json::from_slice(frame.data).map_err(|error| DecodeError::json(&error))?;
        self.event(value, out)
    }
}

impl Reader {
    /// Decodes a delta; returns false if its kind is unknown.
    fn delta(&mut self, kind: &str, output: usize, part: usize, text: String, out: &mut Vec<Event>) -> bool {
        let (index, delta) = match kind {
            "response.output_text.delta" => (place(output, part), Delta::Text(text)),
            "response.function_call_arguments.delta" => (place(output, 0), Delta::Arguments(text)),
            "response.custom_tool_call_input.delta" => {
                let index = place(output, 0);
                // The text becomes the argument `input`.
                let start = if self.open.get(&index) == Some(&true) { "" } else { CUSTOM_OPEN };
                (index, Delta::Arguments([start, &escaped(&text)].concat()))
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                (place(output, 0), Delta::Thinking(text))
            }
            "response.refusal.delta" => {
                self.ending.update(Ending::Refusal);
                out.push(Event::Refusal { text });
                return true;
            }
            _ => return false,
        };
        if let Some(came) = self.open.get_mut(&index) {
            *came = true;
        } else {
            match &delta {
                Delta::Text(_) => self.begin(output, index, Block::Text(Text::default()), out),
                Delta::Thinking(_) => self.begin(output, index, Block::Thinking(Thinking::default()), out),
                Delta::Arguments(_) | Delta::Signature(_) => {}
            }
            self.open.insert(index, true);
        }
        out.push(Event::Delta { index, delta });
        true
    }

    /// Emits provider-specific fields of a block or, without an index, of the refusal.
    fn record(&mut self, index: Option<usize>, fields: Map<String, Value>, out: &mut Vec<Event>) {
        let refuses = index.is_none() && !fields.is_empty();
        let named = |fields| Map::from_iter([(REFUSAL.to_owned(), Value::Object(fields))]);
        self.seen_fields.emit_new(OWN, index, if refuses { named(fields) } else { fields }, out);
    }

    /// Opens a block, if it is not open; the first text of a message gets the fields of the item.
    fn begin(&mut self, output: usize, index: usize, mut block: Block, out: &mut Vec<Event>) {
        if self.open.contains_key(&index) {
            self.emit_block_fields(output, index, &block, out);
            return;
        }
        self.open.insert(index, false);
        if let (Block::Text(text), true) = (&mut block, index == place(output, 0))
            && let Some(item) = self.begun.remove(&output).filter(|item| !item.is_empty())
        {
            text.extra.insert(OWN, read::ITEM, Value::Object(item));
        }
        self.seen_fields.start_block(OWN, index, &block);
        out.push(Event::Open { index, block });
    }

    fn event(&mut self, value: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let number =
            |name: &str| value.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        let (output, part) = (number("output_index").unwrap_or(0), number("content_index").unwrap_or(0));
        let summary = number("summary_index").unwrap_or(0);
        let mut fields = Fields::of(value)?;
        if let Some((_, target, read)) = KNOWN.iter().find(|(known, _, _)| *known == kind) {
            if let Some(text) = fields.text("delta") {
                self.delta(&kind, output, part, text, out);
            }
            let index = match target {
                Target::Response => None,
                Target::Item => Some(place(output, 0)),
                Target::Part => Some(place(output, part)),
            };
            let part = fields.take("part").map(part_rest).unwrap_or_default();
            for rest in [part, rest(fields, read)] {
                self.record(index, rest, out);
            }
            return Ok(());
        }
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" => {
                let mut response = fields.object("response").unwrap_or_default();
                response.list("output");
                let head = read_head(&mut response, Ending::Text);
                let head_rest = response.rest();
                if kind == "response.created" {
                    self.seen_fields.start_response(&head_rest);
                    out.push(Event::Start { id: head.id, model: head.model, extra: Extra::of(OWN, head_rest) });
                } else {
                    self.seen_fields.emit_new(OWN, None, head_rest, out);
                }
                self.seen_fields.emit_new(OWN, None, rest(fields, &[]), out);
            }
            "response.output_item.added" => {
                let item = fields.take("item").unwrap_or_default();
                self.added(output, item, rest(fields, &[]), out)?;
            }
            "response.content_part.added" | "response.content_part.done" | "response.reasoning_summary_part.added" => {
                if kind == "response.reasoning_summary_part.added" && summary > 0 {
                    let delta = Delta::Thinking("\n\n".to_owned());
                    out.push(Event::Delta { index: place(output, 0), delta });
                }
                let piece = fields.take("part").unwrap_or_default();
                self.part(output, part, piece, rest(fields, &[]), out)?;
            }
            "response.output_item.done" => {
                let item = fields.take("item").unwrap_or_default();
                self.done(output, item, out)?;
                self.seen_fields.emit_new(OWN, Some(place(output, 0)), rest(fields, &[]), out);
                self.close(output, out);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = fields.object("response").unwrap_or_default();
                self.stop(&kind, response, rest(fields, &[]), out);
            }
            "error" => {
                let kind = fields.text("error_type");
                fields.take("type");
                fields.take("sequence_number");
                if let Some(kind) = kind {
                    fields.put("type", Value::String(kind));
                }
                out.extend(super::error::decode(0, Value::Object(fields.rest())).map(Event::Error));
            }
            _ => out.push(Event::Other { protocol: OWN, name: kind, data: Value::Object(fields.rest()) }),
        }
        Ok(())
    }

    /// An item starts. Fields of an item without a block are stored for its first block.
    fn added(
        &mut self,
        output: usize,
        item: Value,
        beside: Map<String, Value>,
        out: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "function_call" | "custom_tool_call" | "reasoning") {
            let mut fields = if kind == "message" {
                read::item(item, "msg", Some(output))?
            } else {
                Fields::of(item).unwrap_or_default()
            };
            fields.take("content");
            let mut fields = fields.rest();
            fields.extend(beside);
            self.begun.insert(output, fields);
            return Ok(());
        }
        let index = place(output, 0);
        for mut block in read::assistant_blocks(item, Some(output))? {
            if let Block::ToolCall(call) = &mut block {
                self.ending.update(Ending::Calls);
                call.arguments.clear();
            }
            if let Block::Thinking(thinking) = &mut block {
                thinking.signature = None;
            }
            self.begin(output, index, block, out);
        }
        self.seen_fields.emit_new(OWN, Some(index), beside, out);
        Ok(())
    }

    /// A part starts or is complete.
    fn part(
        &mut self,
        output: usize,
        part: usize,
        value: Value,
        beside: Map<String, Value>,
        out: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        let index = match kind {
            "output_text" => {
                let index = place(output, part);
                let mut block = read::part(value)?;
                if let Block::Text(text) = &mut block {
                    text.text.clear();
                }
                self.begin(output, index, block, out);
                Some(index)
            }
            "refusal" => {
                self.record(None, part_rest(value), out);
                None
            }
            "summary_text" | "reasoning_text" => {
                self.seen_fields.emit_new(OWN, Some(place(output, 0)), part_rest(value), out);
                Some(place(output, 0))
            }
            // An unknown part is decoded with its whole item.
            _ => Some(place(output, part)),
        };
        self.record(index, beside, out);
        Ok(())
    }

    /// A complete item: emits the content that no delta had.
    fn done(&mut self, output: usize, item: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        self.record(None, refusal_rest(&item), out);
        for (part, block) in read::assistant_blocks(item, Some(output))?.into_iter().enumerate() {
            let index = place(output, part);
            if let Some(words) = refusal_of(&block) {
                if self.ending != Ending::Refusal {
                    out.push(Event::Refusal { text: words.to_owned() });
                }
                self.ending.update(Ending::Refusal);
                let mut begun = self.begun.remove(&output).unwrap_or_default();
                begun.shift_remove("id");
                self.record(None, begun, out);
                continue;
            }
            let Some(&came) = self.open.get(&index) else {
                self.ending.update(Ending::calls(block.as_call().is_some()));
                let mut begun = self.begun.remove(&output).unwrap_or_default();
                if let Block::Other(other) = &block {
                    begun.retain(|name, _| other.value.get(name).is_none());
                } else if !begun.is_empty() {
                    begun = Map::from_iter([(read::ITEM.to_owned(), Value::Object(begun))]);
                }
                self.seen_fields.start_block(OWN, index, &block);
                out.push(Event::Open { index, block });
                self.open.insert(index, true);
                self.seen_fields.emit_new(OWN, Some(index), begun, out);
                continue;
            };
            self.emit_block_fields(output, index, &block, out);
            let custom = block.as_call().and_then(|call| call.origin.as_ref()).is_some_and(|origin| origin.custom);
            if came && custom {
                out.push(Event::Delta { index, delta: Delta::Arguments(CUSTOM_CLOSE.to_owned()) });
            }
            let (delta, signature) = match block {
                Block::Text(text) => (Delta::Text(text.text), text.signature),
                Block::Thinking(thinking) => (Delta::Thinking(thinking.text), thinking.signature),
                Block::ToolCall(call) => (Delta::Arguments(call.arguments), call.signature),
                Block::Other(other) => {
                    let data = other.value.get("encrypted_content").and_then(Value::as_str).map(str::to_owned);
                    (Delta::Thinking(String::new()), data.map(|data| Signature { from: OWN, data }))
                }
                Block::Image(_)
                | Block::Audio(_)
                | Block::Document(_)
                | Block::RedactedThinking(_)
                | Block::ToolResult(_)
                | Block::ToolResultReference(_) => continue,
            };
            let empty =
                matches!(&delta, Delta::Text(text) | Delta::Thinking(text) | Delta::Arguments(text) if text.is_empty());
            if !came && !empty {
                out.push(Event::Delta { index, delta });
            }
            out.extend(signature.map(|signature| Event::Delta { index, delta: Delta::Signature(signature) }));
        }
        Ok(())
    }

    /// Emits provider-specific fields that a block did not have when it was opened.
    fn emit_block_fields(&mut self, output: usize, index: usize, block: &Block, out: &mut Vec<Event>) {
        let fields = if let Block::Other(other) = block {
            item_rest(&other.value, output)
        } else {
            block.extra().and_then(|extra| extra.get(OWN)).cloned().unwrap_or_default()
        };
        self.seen_fields.emit_new(OWN, Some(index), fields, out);
    }

    /// Closes the blocks of an item.
    fn close(&mut self, output: usize, out: &mut Vec<Event>) {
        let mut after = self.open.split_off(&place(output, 0));
        let mut others = after.split_off(&place(output.saturating_add(1), 0));
        self.open.append(&mut others);
        out.extend(after.into_keys().map(|index| Event::Close { index }));
    }

    fn stop(&mut self, kind: &str, mut response: Fields, beside: Map<String, Value>, out: &mut Vec<Event>) {
        // The final event repeats all items; only their new fields are emitted.
        for (output, item) in response.list("output").unwrap_or_default().into_iter().enumerate() {
            self.record(None, refusal_rest(&item), out);
            for (part, block) in read::assistant_blocks(item, Some(output)).unwrap_or_default().into_iter().enumerate()
            {
                let index = place(output, part);
                if refusal_of(&block).is_none() && self.seen_fields.has_block(index) {
                    self.emit_block_fields(output, index, &block, out);
                }
            }
        }
        let head = read_head(&mut response, self.ending);
        if kind == "response.failed" {
            let error = response.take("error").unwrap_or_default();
            out.extend(super::error::decode(0, json!({"error": error})).map(Event::Error));
        }
        self.seen_fields.emit_new(OWN, None, beside, out);
        out.push(Event::Stop { reason: head.stop, sequence: None, extra: Extra::of(OWN, response.rest()) });
        out.extend(head.usage.map(Event::Usage));
        out.push(Event::End);
    }
}
