//! Streams of `openai-responses`.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::items::{Side, said};
use super::response::{answer, encode, read_head, refusal_item, refusal_of};
use super::shapes::PlainDelta;
use super::{OWN, read};
use crate::assemble::Assembler;
use crate::error::DecodeError;
use crate::fields::Fields;
use crate::frame::Frame;
use crate::neutral::{Block, Delta, Event, Extra, Response, Text, Thinking, ToolCall};
use crate::protocol::context::{At, Context, DROPPED};
use crate::protocol::stop::Ending;
use crate::protocol::{StreamReader, StreamWriter, sse};
use crate::report::Changes;
use crate::surface::Surface;

/// Where a part stands: items are further apart than an item has parts.
fn place(output: usize, part: usize) -> usize {
    output.saturating_mul(1 << 16).saturating_add(part.min((1 << 16) - 1))
}

/// The events that a stream consists of most of the time.
const DELTAS: [&str; 4] = [
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.reasoning_summary_text.delta",
    "response.refusal.delta",
];

/// Reads the events of an answer.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Blocks that are open, and whether anything of them came.
    open: BTreeMap<usize, bool>,
    ending: Ending,
}

impl StreamReader for Reader {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        if DELTAS.contains(&frame.event)
            && let Ok(plain) = serde_json::from_slice::<PlainDelta<'_>>(frame.data)
        {
            let text = plain.delta.into_owned();
            if self.delta(frame.event, plain.output_index, plain.content_index, &text, out) {
                return Ok(());
            }
        }
        let value: Value = serde_json::from_slice(frame.data).map_err(|error| DecodeError::json(&error))?;
        self.event(value, out)
    }
}

impl Reader {
    /// Takes a delta of a kind that is known.
    fn delta(&mut self, kind: &str, output: usize, part: usize, text: &str, out: &mut Vec<Event>) -> bool {
        let text = text.to_owned();
        let (index, delta) = match kind {
            "response.output_text.delta" => {
                let index = place(output, part);
                self.begin(index, || Block::Text(Text::default()), out);
                (index, Delta::Text(text))
            }
            "response.function_call_arguments.delta" => (place(output, 0), Delta::Arguments(text)),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let index = place(output, 0);
                self.begin(index, || Block::Thinking(Thinking::default()), out);
                (index, Delta::Thinking(text))
            }
            "response.refusal.delta" => {
                self.ending.see(Ending::Refuses);
                out.push(Event::Refusal { text });
                return true;
            }
            _ => return false,
        };
        self.open.insert(index, true);
        out.push(Event::Delta { index, delta });
        true
    }

    fn begin(&mut self, index: usize, block: impl FnOnce() -> Block, out: &mut Vec<Event>) {
        self.open.entry(index).or_insert_with(|| {
            out.push(Event::Open { index, block: block() });
            false
        });
    }

    fn event(&mut self, value: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let number =
            |name: &str| value.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok());
        let (output, part) = (number("output_index").unwrap_or(0), number("content_index").unwrap_or(0));
        if let Some(text) = value.get("delta").and_then(Value::as_str)
            && self.delta(&kind, output, part, text, out)
        {
            return Ok(());
        }
        if kind == "response.reasoning_summary_part.added" && number("summary_index").unwrap_or(0) > 0 {
            let index = place(output, 0);
            out.push(Event::Delta { index, delta: Delta::Thinking("\n\n".to_owned()) });
            return Ok(());
        }
        let mut fields = Fields::of(value)?;
        match kind.as_str() {
            "response.created" => {
                let mut response = fields.object("response").unwrap_or_default();
                let head = read_head(&mut response, Ending::Said);
                out.push(Event::Start { id: head.id, model: head.model, extra: Extra::default() });
            }
            "response.output_item.added" => {
                let item = fields.take("item").unwrap_or_default();
                self.added(output, item, out)?;
            }
            "response.content_part.added" => {
                let part_value = fields.take("part").unwrap_or_default();
                if part_value.get("type").and_then(Value::as_str) == Some("output_text") {
                    let block = read::part(part_value)?;
                    self.begin(place(output, part), || block, out);
                }
            }
            "response.output_item.done" => {
                let item = fields.take("item").unwrap_or_default();
                self.done(output, item, out)?;
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = fields.object("response").unwrap_or_default();
                self.stop(&kind, response, out);
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
            "response.in_progress"
            | "response.queued"
            | "response.output_text.done"
            | "response.content_part.done"
            | "response.refusal.done"
            | "response.function_call_arguments.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done"
            | "response.reasoning_summary_text.done"
            | "response.reasoning_text.done" => {}
            _ => out.push(Event::Other { protocol: OWN, name: kind, data: Value::Object(fields.rest()) }),
        }
        Ok(())
    }

    fn added(&mut self, output: usize, item: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        if !matches!(kind, "function_call" | "reasoning") {
            return Ok(());
        }
        for mut block in read::said(item, Some(output))? {
            if let Block::ToolCall(call) = &mut block {
                self.ending.see(Ending::Calls);
                call.arguments.clear();
            }
            if let Block::Thinking(thinking) = &mut block {
                thinking.signature = None;
            }
            self.begin(place(output, 0), || block, out);
        }
        Ok(())
    }

    /// A whole item: what did not come in pieces comes now.
    fn done(&mut self, output: usize, item: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        for (part, block) in read::said(item, Some(output))?.into_iter().enumerate() {
            let index = place(output, part);
            if let Some(words) = refusal_of(&block) {
                if self.ending != Ending::Refuses {
                    out.push(Event::Refusal { text: words.to_owned() });
                }
                self.ending.see(Ending::Refuses);
                continue;
            }
            let came = self.open.get(&index).copied();
            match (came, block) {
                (Some(true), Block::Text(text)) if !text.extra.is_empty() => {
                    // Fields of the finished part were not in its pieces.
                    out.push(Event::Open { index, block: Block::Text(text) });
                }
                (Some(false), Block::Text(text)) => out.push(Event::Open { index, block: Block::Text(text) }),
                (Some(came), Block::Thinking(thinking)) => {
                    if !came && !thinking.text.is_empty() {
                        out.push(Event::Delta { index, delta: Delta::Thinking(thinking.text) });
                    }
                    out.extend(
                        thinking.signature.map(|signature| Event::Delta { index, delta: Delta::Signature(signature) }),
                    );
                }
                (Some(false), Block::ToolCall(call)) if !call.arguments.is_empty() => {
                    out.push(Event::Delta { index, delta: Delta::Arguments(call.arguments) });
                }
                (Some(_), _) => {}
                (None, block) => {
                    self.ending.see(Ending::calls(block.as_call().is_some()));
                    out.push(Event::Open { index, block });
                }
            }
            self.open.remove(&index);
            out.push(Event::Close { index });
        }
        Ok(())
    }

    fn stop(&mut self, kind: &str, mut response: Fields, out: &mut Vec<Event>) {
        response.list("output");
        let head = read_head(&mut response, self.ending);
        if kind == "response.failed" {
            let error = response.take("error").unwrap_or_default();
            out.extend(super::error::decode(0, json!({"error": error})).map(Event::Error));
        }
        out.push(Event::Stop { reason: head.stop, sequence: None, extra: Extra::of(OWN, response.rest()) });
        out.extend(head.usage.map(Event::Usage));
        out.push(Event::End);
    }
}

/// Writes the events of an answer. Finished items are repeated whole, so that it keeps what it said.
#[derive(Debug)]
pub(super) struct Writer {
    surface: Surface,
    said: Assembler,
    head: Response,
    /// The places of the blocks in the output, and the blocks so far.
    places: HashMap<usize, usize>,
    blocks: HashMap<usize, Block>,
    /// Items that were said.
    count: usize,
    sequence: u64,
    stopped: bool,
}

impl Writer {
    pub(super) fn new(surface: &Surface) -> Self {
        Self {
            surface: surface.clone(),
            said: Assembler::default(),
            head: Response::default(),
            places: HashMap::new(),
            blocks: HashMap::new(),
            count: 0,
            sequence: 0,
            stopped: false,
        }
    }

    fn emit(&mut self, kind: &str, mut data: Value, out: &mut Vec<u8>) {
        if let Some(fields) = data.as_object_mut() {
            fields.insert("type".to_owned(), json!(kind));
            fields.insert("sequence_number".to_owned(), json!(self.sequence));
        }
        self.sequence += 1;
        sse(kind, &data, out);
    }

    fn start(&mut self, id: &str, model: &str, extra: &Extra, out: &mut Vec<u8>) {
        self.head = Response { id: id.to_owned(), model: model.to_owned(), ..Response::default() };
        let own = extra.get(OWN).cloned().unwrap_or_default();
        for kind in ["response.created", "response.in_progress"] {
            let response = json!(answer(&self.head, "in_progress", Vec::new(), None, own.clone()));
            self.emit(kind, json!({"response": response}), out);
        }
    }

    /// The item of a block at a place of the output.
    fn item(&self, block: &Block, index: usize, place: usize, changes: &mut Changes) -> Option<Value> {
        let mut ctx = Context::new(OWN, &self.surface);
        let at = At::ROOT.field("content");
        let item = said(&mut ctx, &at.entry(index), block, Side::Answer(place)).map(|item| json!(item));
        changes.append(ctx.changes);
        item
    }

    fn open(&mut self, index: usize, block: &Block, out: &mut Vec<u8>, changes: &mut Changes) {
        let place = self.count;
        // What cannot be said is told when the block is complete.
        let Some(mut item) = self.item(block, index, place, &mut Changes::default()) else {
            self.item(block, index, place, changes);
            return;
        };
        self.count += 1;
        self.places.insert(index, place);
        self.blocks.insert(index, block.clone());
        let id = item.get("id").cloned().unwrap_or_default();
        let part = item.pointer("/content/0").cloned();
        if let Some(fields) = item.as_object_mut() {
            if fields.contains_key("status") {
                fields.insert("status".to_owned(), json!("in_progress"));
            }
            if fields.contains_key("content") {
                fields.insert("content".to_owned(), json!([]));
            }
        }
        self.emit("response.output_item.added", json!({"output_index": place, "item": item}), out);
        if let Block::Text(_) = block {
            let data = json!({"item_id": id, "output_index": place, "content_index": 0, "part": part});
            self.emit("response.content_part.added", data, out);
        }
        if let Block::Thinking(_) = block {
            let part = json!({"type": "summary_text", "text": ""});
            let data = json!({"item_id": id, "output_index": place, "summary_index": 0, "part": part});
            self.emit("response.reasoning_summary_part.added", data, out);
        }
    }

    fn delta(&mut self, index: usize, delta: &Delta, out: &mut Vec<u8>) {
        let (Some(&place), Some(block)) = (self.places.get(&index), self.blocks.get_mut(&index)) else { return };
        let (kind, field, text) = match (block, delta) {
            (Block::Text(text), Delta::Text(more)) => {
                text.text.push_str(more);
                ("response.output_text.delta", "content_index", more)
            }
            (Block::Thinking(thinking), Delta::Thinking(more)) => {
                thinking.text.push_str(more);
                ("response.reasoning_summary_text.delta", "summary_index", more)
            }
            (Block::ToolCall(call), Delta::Arguments(more)) => {
                call.arguments.push_str(more);
                ("response.function_call_arguments.delta", "", more)
            }
            (Block::Thinking(thinking), Delta::Signature(signature)) => {
                thinking.signature = Some(signature.clone());
                return;
            }
            (_, Delta::Text(_) | Delta::Thinking(_) | Delta::Arguments(_) | Delta::Signature(_)) => return,
        };
        let mut data = json!({"item_id": self.item_id(index, place), "output_index": place, "delta": text});
        if let (Some(fields), false) = (data.as_object_mut(), field.is_empty()) {
            fields.insert(field.to_owned(), json!(0));
        }
        if let (Some(fields), Delta::Text(_)) = (data.as_object_mut(), delta) {
            fields.insert("logprobs".to_owned(), json!([]));
        }
        self.emit(kind, data, out);
    }

    fn item_id(&self, index: usize, place: usize) -> Value {
        let bare = match self.blocks.get(&index) {
            Some(Block::Text(text)) => {
                Block::Text(Text { text: String::new(), extra: text.extra.clone(), ..Text::default() })
            }
            Some(Block::ToolCall(call)) => {
                Block::ToolCall(ToolCall { extra: call.extra.clone(), ..ToolCall::default() })
            }
            Some(Block::Thinking(thinking)) => {
                Block::Thinking(Thinking { extra: thinking.extra.clone(), ..Thinking::default() })
            }
            Some(_) | None => return Value::Null,
        };
        let item = self.item(&bare, index, place, &mut Changes::default());
        item.and_then(|item| item.get("id").cloned()).unwrap_or_default()
    }

    fn close(&mut self, index: usize, out: &mut Vec<u8>, changes: &mut Changes) {
        let (Some(&place), Some(block)) = (self.places.get(&index), self.blocks.remove(&index)) else { return };
        let Some(item) = self.item(&block, index, place, changes) else { return };
        let id = item.get("id").cloned().unwrap_or_default();
        match &block {
            Block::Text(text) => {
                let part = item.pointer("/content/0").cloned();
                let at = json!({"item_id": id, "output_index": place, "content_index": 0, "text": text.text, "logprobs": []});
                self.emit("response.output_text.done", at, out);
                let at = json!({"item_id": id, "output_index": place, "content_index": 0, "part": part});
                self.emit("response.content_part.done", at, out);
            }
            Block::Thinking(thinking) => {
                let at = json!({"item_id": id, "output_index": place, "summary_index": 0, "text": thinking.text});
                self.emit("response.reasoning_summary_text.done", at, out);
            }
            Block::ToolCall(call) => {
                let at = json!({"item_id": id, "output_index": place, "name": call.name, "arguments": call.arguments});
                self.emit("response.function_call_arguments.done", at, out);
            }
            Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::RedactedThinking(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_) => {}
        }
        self.emit("response.output_item.done", json!({"output_index": place, "item": item}), out);
    }

    /// The words of a refusal are a message of their own at the end.
    fn refusal(&mut self, words: &str, out: &mut Vec<u8>) {
        let place = self.count;
        self.count += 1;
        let item = json!(refusal_item(words, place));
        let id = item.get("id").cloned().unwrap_or_default();
        let begun = json!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []});
        self.emit("response.output_item.added", json!({"output_index": place, "item": begun}), out);
        let at = |field: &str, value: Value| {
            let mut data = json!({"item_id": id, "output_index": place, "content_index": 0});
            if let Some(fields) = data.as_object_mut() {
                fields.insert(field.to_owned(), value);
            }
            data
        };
        self.emit("response.content_part.added", at("part", json!({"type": "refusal", "refusal": ""})), out);
        self.emit("response.refusal.delta", at("delta", json!(words)), out);
        self.emit("response.refusal.done", at("refusal", json!(words)), out);
        self.emit("response.content_part.done", at("part", json!({"type": "refusal", "refusal": words})), out);
        self.emit("response.output_item.done", json!({"output_index": place, "item": item}), out);
    }

    fn end(&mut self, out: &mut Vec<u8>, changes: &mut Changes) {
        let whole = self.said.partial();
        if let Some(words) = whole.refusal.clone() {
            self.refusal(&words, out);
        }
        let surface = self.surface.clone();
        let mut ctx = Context::new(OWN, &surface);
        let response = json!(encode(&mut ctx, &whole));
        let complete = response.get("status").and_then(Value::as_str) != Some("incomplete");
        let kind = if complete { "response.completed" } else { "response.incomplete" };
        self.emit(kind, json!({"response": response}), out);
        changes.append(ctx.changes);
    }
}

impl StreamWriter for Writer {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>, changes: &mut Changes) {
        self.said.push(event.clone());
        match event {
            Event::Start { id, model, extra } => self.start(id, model, extra, out),
            Event::Open { index, block } => self.open(*index, block, out, changes),
            Event::Delta { index, delta } => self.delta(*index, delta, out),
            Event::Close { index } => self.close(*index, out, changes),
            Event::Stop { .. } => self.stopped = true,
            Event::End => {
                if self.stopped {
                    self.end(out, changes);
                }
            }
            Event::Error(error) => {
                let data = super::error::event(error, self.sequence);
                self.emit("error", data, out);
            }
            Event::Other { protocol, name, data } if *protocol == OWN => self.emit(name, data.clone(), out),
            Event::Other { protocol, .. } => {
                changes.push("foreign-event", "", DROPPED, format!("an event of {protocol} is not said"));
            }
            Event::Refusal { .. } | Event::Usage(_) => {}
        }
    }
}
