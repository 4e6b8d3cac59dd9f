//! Streams of `openai-responses`: encoding.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::OWN;
use super::items::{Side, assistant_item};
use super::response::{encode, refusal_fields, refusal_item, response_body};
use super::shapes::{StreamEvent, WriteDelta};
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
    open: BTreeMap<usize, OpenItem>,
    /// The number of items sent.
    count: usize,
    sequence: u64,
    stopped: bool,
}

/// An item that is being sent.
#[derive(Debug)]
struct OpenItem {
    /// The `output_index`.
    place: usize,
    block: Block,
    /// The id that deltas repeat.
    id: Option<Value>,
}

impl Writer {
    pub(super) fn new(surface: &Surface) -> Self {
        Self {
            surface: surface.clone(),
            assembler: Assembler::default(),
            head: Response::default(),
            open: BTreeMap::new(),
            count: 0,
            sequence: 0,
            stopped: false,
        }
    }

    fn emit(&mut self, kind: &str, data: &impl Serialize, out: &mut Vec<u8>) {
        emit(&mut self.sequence, kind, data, out);
    }

    fn start(&mut self, id: &str, model: &str, extra: &Extra, out: &mut Vec<u8>) {
        self.head = Response { id: id.to_owned(), model: model.to_owned(), ..Response::default() };
        let own = extra.get(OWN).cloned().unwrap_or_default();
        for kind in ["response.created", "response.in_progress"] {
            let response = json!(response_body(&self.head, "in_progress", Vec::new(), None, own.clone()));
            self.emit(kind, &json!({"response": response}), out);
        }
    }

    fn open(&mut self, index: usize, block: &Block, out: &mut Vec<u8>, changes: &mut Changes) {
        let place = self.count;
        // Changes are recorded when the block is complete.
        let Some(mut item) = item(&self.surface, block, index, place, &mut Changes::default()) else {
            item(&self.surface, block, index, place, changes);
            return;
        };
        self.count += 1;
        self.open.insert(index, OpenItem { place, block: block.clone(), id: None });
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
        self.emit("response.output_item.added", &json!({"output_index": place, "item": item}), out);
        if let Block::Text(_) = block {
            let data = json!({"item_id": id, "output_index": place, "content_index": 0, "part": part});
            self.emit("response.content_part.added", &data, out);
        }
        if let Block::Thinking(_) = block {
            let part = json!({"type": "summary_text", "text": ""});
            let data = json!({"item_id": id, "output_index": place, "summary_index": 0, "part": part});
            self.emit("response.reasoning_summary_part.added", &data, out);
        }
    }

    fn delta(&mut self, index: usize, delta: &Delta, out: &mut Vec<u8>) {
        let Some(open) = self.open.get_mut(&index) else { return };
        let (kind, content_index, summary_index, text) = match (&mut open.block, delta) {
            (Block::Text(text), Delta::Text(more)) => {
                text.text.push_str(more);
                ("response.output_text.delta", Some(0), None, more)
            }
            (Block::Thinking(thinking), Delta::Thinking(more)) => {
                thinking.text.push_str(more);
                ("response.reasoning_summary_text.delta", None, Some(0), more)
            }
            (Block::ToolCall(call), Delta::Arguments(more)) => {
                call.arguments.push_str(more);
                // The text is sent when it is complete, because deltas are fragments of JSON.
                if is_custom(&self.surface, call) {
                    return;
                }
                ("response.function_call_arguments.delta", None, None, more)
            }
            (Block::Thinking(thinking), Delta::Signature(signature)) => {
                thinking.signature = Some(signature.clone());
                return;
            }
            (_, Delta::Text(_) | Delta::Thinking(_) | Delta::Arguments(_) | Delta::Signature(_)) => return,
        };
        let item_id = open.id.get_or_insert_with(|| item_id(&self.surface, &open.block, index, open.place));
        let logprobs = content_index.map(|_| []);
        let data =
            WriteDelta { item_id, output_index: open.place, delta: text, content_index, summary_index, logprobs };
        emit(&mut self.sequence, kind, &data, out);
    }

    fn close(&mut self, index: usize, out: &mut Vec<u8>, changes: &mut Changes) {
        let Some(OpenItem { place, block, .. }) = self.open.remove(&index) else { return };
        let Some(item) = item(&self.surface, &block, index, place, changes) else { return };
        let id = item.get("id").cloned().unwrap_or_default();
        match &block {
            Block::Text(text) => {
                let part = item.pointer("/content/0").cloned();
                let at = json!({"item_id": id, "output_index": place, "content_index": 0, "text": text.text, "logprobs": []});
                self.emit("response.output_text.done", &at, out);
                let at = json!({"item_id": id, "output_index": place, "content_index": 0, "part": part});
                self.emit("response.content_part.done", &at, out);
            }
            Block::Thinking(thinking) => {
                let at = json!({"item_id": id, "output_index": place, "summary_index": 0, "text": thinking.text});
                self.emit("response.reasoning_summary_text.done", &at, out);
            }
            Block::ToolCall(call) if is_custom(&self.surface, call) => {
                let input = call.custom_input();
                let at = json!({"item_id": id, "output_index": place, "delta": input});
                self.emit("response.custom_tool_call_input.delta", &at, out);
                let at = json!({"item_id": id, "output_index": place, "input": input});
                self.emit("response.custom_tool_call_input.done", &at, out);
            }
            Block::ToolCall(call) => {
                let at = json!({"item_id": id, "output_index": place, "name": call.name, "arguments": call.arguments});
                self.emit("response.function_call_arguments.done", &at, out);
            }
            Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::RedactedThinking(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_) => {}
        }
        self.emit("response.output_item.done", &json!({"output_index": place, "item": item}), out);
    }

    /// Sends the message item of a refusal, at the end.
    fn refusal(&mut self, words: &str, out: &mut Vec<u8>) {
        let place = self.count;
        self.count += 1;
        let extra = self.assembler.partial().extra;
        let item = json!(refusal_item(words, place, refusal_fields(&extra)));
        let id = item.get("id").cloned().unwrap_or_default();
        let begun = json!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []});
        self.emit("response.output_item.added", &json!({"output_index": place, "item": begun}), out);
        let at = |field: &str, value: Value| {
            let mut data = json!({"item_id": id, "output_index": place, "content_index": 0});
            if let Some(fields) = data.as_object_mut() {
                fields.insert(field.to_owned(), value);
            }
            data
        };
        self.emit("response.content_part.added", &at("part", json!({"type": "refusal", "refusal": ""})), out);
        self.emit("response.refusal.delta", &at("delta", json!(words)), out);
        self.emit("response.refusal.done", &at("refusal", json!(words)), out);
        self.emit("response.content_part.done", &at("part", json!({"type": "refusal", "refusal": words})), out);
        self.emit("response.output_item.done", &json!({"output_index": place, "item": item}), out);
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
        self.emit(kind, &json!({"response": response}), out);
        changes.append(ctx.changes);
    }
}

fn emit(sequence: &mut u64, kind: &str, data: &impl Serialize, out: &mut Vec<u8>) {
    sse(kind, &StreamEvent { data, r#type: kind, sequence_number: *sequence }, out);
    *sequence += 1;
}

/// The item of a block at an `output_index`.
fn item(surface: &Surface, block: &Block, index: usize, place: usize, changes: &mut Changes) -> Option<Value> {
    let mut ctx = Context::new(OWN, surface);
    let at = At::ROOT.field("content");
    let item = assistant_item(&mut ctx, &at.entry(index), block, Side::Response(place)).map(|item| json!(item));
    changes.append(ctx.changes);
    item
}

/// The id of the item of a block.
fn item_id(surface: &Surface, block: &Block, index: usize, place: usize) -> Value {
    // Without the content, which the id does not depend on.
    let bare = match block {
        Block::Text(text) => Block::Text(Text { extra: text.extra.clone(), ..Text::default() }),
        Block::ToolCall(call) => {
            let (extra, origin) = (call.extra.clone(), call.origin.clone());
            Block::ToolCall(ToolCall { origin, extra, ..ToolCall::default() })
        }
        Block::Thinking(thinking) => Block::Thinking(Thinking { extra: thinking.extra.clone(), ..Thinking::default() }),
        Block::Image(_)
        | Block::Audio(_)
        | Block::Document(_)
        | Block::RedactedThinking(_)
        | Block::ToolResult(_)
        | Block::ToolResultReference(_)
        | Block::Other(_) => return Value::Null,
    };
    let item = item(surface, &bare, index, place, &mut Changes::default());
    item.and_then(|item| item.get("id").cloned()).unwrap_or_default()
}

/// True if a call is written as a custom tool call.
fn is_custom(surface: &Surface, call: &ToolCall) -> bool {
    Context::new(OWN, surface).origin(call.origin.as_ref()).is_some_and(|origin| origin.custom)
}

impl StreamWriter for Writer {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>, changes: &mut Changes) {
        if let Event::Delta { index, delta } = event {
            self.assembler.delta(*index, delta);
        } else {
            self.assembler.push(event.clone());
        }
        match event {
            Event::Start { id, model, extra } => self.start(id, model, extra, out),
            Event::Open { index, block } => self.open(*index, block, out, changes),
            Event::Delta { index, delta } => self.delta(*index, delta, out),
            Event::Close { index } => self.close(*index, out, changes),
            Event::Fields { index, extra } => {
                // Fields of the response are sent at its end.
                if let Some(open) = index.and_then(|index| self.open.get_mut(&index)) {
                    open.block.add_fields(extra.clone());
                }
            }
            Event::Stop { .. } => self.stopped = true,
            Event::End => {
                if self.stopped {
                    self.end(out, changes);
                }
            }
            Event::Error(error) => {
                self.emit("error", &super::error::event(error), out);
            }
            Event::Other { protocol, name, data } if *protocol == OWN => {
                let mut fields = data.as_object().cloned().unwrap_or_default();
                fields.retain(|name, _| !matches!(name.as_str(), "type" | "sequence_number"));
                self.emit(name, &fields, out);
            }
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
