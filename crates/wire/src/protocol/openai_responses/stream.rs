//! Streams of `openai-responses`: encoding.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::OWN;
use super::items::{Side, assistant_item};
use super::response::{encode, refusal_fields, refusal_item, response_body};
use crate::assemble::Assembler;
use crate::neutral::{Block, Delta, Event, Extra, Response, Text, Thinking, ToolCall};
use crate::protocol::context::{At, Context, DROPPED};
use crate::protocol::{StreamWriter, sse};
use crate::report::Changes;
use crate::surface::Surface;

/// Writes the events of a stream. Complete items are repeated, so that the writer stores what it sent.
#[derive(Debug)]
pub(super) struct Writer {
    surface: Surface,
    assembler: Assembler,
    head: Response,
    /// Block index to `output_index`, and the open blocks.
    places: HashMap<usize, usize>,
    blocks: HashMap<usize, Block>,
    /// The item ids that deltas repeat.
    ids: HashMap<usize, Value>,
    /// The number of items sent.
    count: usize,
    sequence: u64,
    stopped: bool,
}

impl Writer {
    pub(super) fn new(surface: &Surface) -> Self {
        Self {
            surface: surface.clone(),
            assembler: Assembler::default(),
            head: Response::default(),
            places: HashMap::new(),
            blocks: HashMap::new(),
            ids: HashMap::new(),
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
            let response = json!(response_body(&self.head, "in_progress", Vec::new(), None, own.clone()));
            self.emit(kind, json!({"response": response}), out);
        }
    }

    /// The item of a block at an `output_index`.
    fn item(&self, block: &Block, index: usize, place: usize, changes: &mut Changes) -> Option<Value> {
        let mut ctx = Context::new(OWN, &self.surface);
        let at = At::ROOT.field("content");
        let item = assistant_item(&mut ctx, &at.entry(index), block, Side::Response(place)).map(|item| json!(item));
        changes.append(ctx.changes);
        item
    }

    fn open(&mut self, index: usize, block: &Block, out: &mut Vec<u8>, changes: &mut Changes) {
        let place = self.count;
        // Changes are recorded when the block is complete.
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
                // The text is sent when it is complete, because deltas are fragments of JSON.
                if is_custom(&self.surface, call) {
                    return;
                }
                ("response.function_call_arguments.delta", "", more)
            }
            (Block::Thinking(thinking), Delta::Signature(signature)) => {
                thinking.signature = Some(signature.clone());
                return;
            }
            (_, Delta::Text(_) | Delta::Thinking(_) | Delta::Arguments(_) | Delta::Signature(_)) => return,
        };
        let id = self.ids.get(&index).cloned().unwrap_or_else(|| self.item_id(index, place));
        self.ids.entry(index).or_insert_with(|| id.clone());
        let mut data = json!({"item_id": id, "output_index": place, "delta": text});
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
                let (extra, origin) = (call.extra.clone(), call.origin.clone());
                Block::ToolCall(ToolCall { origin, extra, ..ToolCall::default() })
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
            Block::ToolCall(call) if is_custom(&self.surface, call) => {
                let input = call.custom_input();
                let at = json!({"item_id": id, "output_index": place, "delta": input});
                self.emit("response.custom_tool_call_input.delta", at, out);
                let at = json!({"item_id": id, "output_index": place, "input": input});
                self.emit("response.custom_tool_call_input.done", at, out);
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

    /// Sends the message item of a refusal, at the end.
    fn refusal(&mut self, words: &str, out: &mut Vec<u8>) {
        let place = self.count;
        self.count += 1;
        let extra = self.assembler.partial().extra;
        let item = json!(refusal_item(words, place, refusal_fields(&extra)));
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
        let whole = self.assembler.partial();
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

/// True if a call is written as a custom tool call.
fn is_custom(surface: &Surface, call: &ToolCall) -> bool {
    Context::new(OWN, surface).origin(call.origin.as_ref()).is_some_and(|origin| origin.custom)
}

impl StreamWriter for Writer {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>, changes: &mut Changes) {
        self.assembler.push(event.clone());
        match event {
            Event::Start { id, model, extra } => self.start(id, model, extra, out),
            Event::Open { index, block } => self.open(*index, block, out, changes),
            Event::Delta { index, delta } => self.delta(*index, delta, out),
            Event::Close { index } => self.close(*index, out, changes),
            Event::Fields { index, extra } => {
                // Fields of the response are sent at its end.
                if let Some(block) = index.and_then(|index| self.blocks.get_mut(&index)) {
                    block.add_fields(extra.clone());
                }
            }
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
                changes.push(
                    "foreign-event",
                    "",
                    DROPPED,
                    format!("event dropped: only {} supports it", protocol.title()),
                );
            }
            Event::Refusal { .. } | Event::Usage(_) => {}
        }
    }
}
