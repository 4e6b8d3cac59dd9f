//! Streams of `gemini`: every chunk is a response with the new parts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::request::part;
use super::response::{
    NESTED, each_part, finish, finish_message, read_head, read_refusal, read_stop, take_parts, unwrap, usage_fields,
    wrap,
};
use super::shapes::{Candidate, Content, Part, PlainCandidate, PlainChunk, PlainContent, PlainPart, ResponseBody};
use super::{ENVELOPE, OWN};
use crate::error::DecodeError;
use crate::fields::Fields;
use crate::frame::Frame;
use crate::history::synthetic_call_id;
use crate::neutral::{Block, Delta, Event, Extra, Response, Signature, Text, Thinking, ToolCall, Usage};
use crate::protocol::context::{At, Context, DROPPED, MERGED};
use crate::protocol::seen_fields::SeenFields;
use crate::protocol::{StreamReader, StreamWriter, writer_state};
use crate::report::Changes;
use crate::surface::Surface;

/// Reads the chunks of a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    progress: Progress,
    next: usize,
    calls: usize,
    open: Option<Kind>,
    usage: Option<Usage>,
    seen_fields: SeenFields,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Waiting,
    Started,
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

impl StreamReader for Reader {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        // The first chunk has fields that the others repeat, so it takes the general path.
        if self.progress != Progress::Waiting
            && let Some(PlainChunk { candidates: [candidate], create_time, .. }) = frame.plain()
            && candidate.index == 0
            && self.seen_fields.is_unchanged("createTime", create_time.as_deref())
        {
            let [plain] = candidate.content.parts;
            let kind = if plain.thought { Kind::Reasoning } else { Kind::Text };
            self.text(kind, plain.text.into_owned(), out);
            return Ok(());
        }
        let value: Value = serde_json::from_slice(frame.data).map_err(|error| DecodeError::json(&error))?;
        self.chunk(value, out)
    }
}

impl Reader {
    fn chunk(&mut self, value: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        if value.get("error").is_some() {
            out.extend(super::error::decode(0, value).map(Event::Error));
            return Ok(());
        }
        let (mut top, envelope) = unwrap(value)?;
        let head = read_head(&mut top);
        if self.progress == Progress::Waiting {
            self.progress = Progress::Started;
            out.push(Event::Start { id: head.id, model: head.model, extra: Extra::default() });
        }
        let late_usage = head.usage.is_some() && self.progress == Progress::Stopped;
        self.usage = head.usage.or(self.usage.take());
        let mut candidates = top.list("candidates").unwrap_or_default().into_iter();
        let mut candidate = match candidates.next() {
            Some(first) => Fields::of(first)?,
            None => Fields::default(),
        };
        for data in candidates {
            out.push(Event::Other { protocol: OWN, name: "candidates".to_owned(), data });
        }
        for block in each_part(take_parts(&mut candidate))? {
            self.block(block, out);
        }
        candidate.count("index");
        let word = candidate.text("finishReason").filter(|word| !word.is_empty());
        let blocked = top.has("promptFeedback").then(|| "SAFETY".to_owned());
        let mut stop = None;
        if let Some(word) = word.as_ref().or(blocked.as_ref()) {
            self.close(out);
            let (reason, kept) = read_stop(word, self.calls > 0);
            if let Some(text) = read_refusal(&mut candidate, &reason) {
                out.push(Event::Refusal { text });
            }
            if kept && blocked.is_none() {
                top.put("finishReason", json!(word));
            }
            stop = Some(reason);
        }
        top.put_rest("candidate", candidate);
        top.put_rest(ENVELOPE, envelope);
        let ends = stop.is_some();
        match stop.filter(|_| self.progress != Progress::Stopped) {
            Some(reason) => {
                self.progress = Progress::Stopped;
                out.push(Event::Stop { reason, sequence: None, extra: Extra::of(OWN, top.rest()) });
            }
            None => self.seen_fields.emit_new(OWN, None, top.rest(), out),
        }
        if ends || late_usage {
            out.extend(self.usage.clone().map(Event::Usage));
        }
        Ok(())
    }

    fn block(&mut self, block: Block, out: &mut Vec<Event>) {
        // A part with provider-specific fields starts a new block, and so does an empty part with a signature.
        let joins = |text: &str, signed: bool, extra: &Extra| extra.is_empty() && !(text.is_empty() && signed);
        let mut block = match block {
            Block::Text(text) if joins(&text.text, text.signature.is_some(), &text.extra) => {
                self.text(Kind::Text, text.text, out);
                return self.sign(text.signature, out);
            }
            Block::Thinking(thought) if joins(&thought.text, thought.signature.is_some(), &thought.extra) => {
                self.text(Kind::Reasoning, thought.text, out);
                return self.sign(thought.signature, out);
            }
            Block::Text(_)
            | Block::Thinking(_)
            | Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::RedactedThinking(_)
            | Block::ToolCall(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_) => block,
        };
        self.close(out);
        if let Block::ToolCall(call) = &mut block {
            if call.id.is_empty() {
                call.id = synthetic_call_id(0, self.calls);
            }
            self.calls += 1;
        }
        out.push(Event::Open { index: self.next, block });
        out.push(Event::Close { index: self.next });
        self.next += 1;
    }

    fn sign(&mut self, signature: Option<Signature>, out: &mut Vec<Event>) {
        if let Some(signature) = signature {
            out.push(Event::Delta { index: self.next, delta: Delta::Signature(signature) });
            self.close(out);
        }
    }

    fn text(&mut self, kind: Kind, text: String, out: &mut Vec<Event>) {
        if self.open != Some(kind) {
            self.close(out);
            self.open = Some(kind);
            let block = match kind {
                Kind::Text => Block::Text(Text::default()),
                Kind::Reasoning => Block::Thinking(Thinking::default()),
            };
            out.push(Event::Open { index: self.next, block });
        }
        if text.is_empty() {
            return;
        }
        let delta = match kind {
            Kind::Text => Delta::Text(text),
            Kind::Reasoning => Delta::Thinking(text),
        };
        out.push(Event::Delta { index: self.next, delta });
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        if self.open.take().is_some() {
            out.push(Event::Close { index: self.next });
            self.next += 1;
        }
    }
}

/// Writes the chunks of a stream. A tool call is sent whole, and a signature with the last part of its text.
#[derive(Debug)]
pub(super) struct Writer {
    surface: Surface,
    response: Response,
    /// Open blocks, with the content that has not been sent.
    open: BTreeMap<usize, Block>,
    /// The kind of the previous block, which a reader would append to.
    before: Option<Kind>,
    calls: usize,
    stopped: bool,
}

impl Writer {
    pub(super) fn new(surface: &Surface) -> Self {
        Self {
            surface: surface.clone(),
            response: Response::default(),
            open: BTreeMap::new(),
            before: None,
            calls: 0,
            stopped: false,
        }
    }

    fn emit(&self, ctx: &Context<'_>, parts: Vec<Part<'_>>, out: &mut Vec<u8>) {
        let content = Content { role: Some("model"), parts, extra: None };
        let first = Candidate::First { content, finish_reason: None, finish_message: None, index: 0, extra: None };
        let answer = response_body(&self.response, vec![first], None, Map::new());
        data(&ctx.merge_keys(wrap(&self.surface, answer, None)), out);
    }

    /// Sends the pending content of a block.
    fn flush(&mut self, index: usize, block: &Block, out: &mut Vec<u8>, changes: &mut Changes) {
        let mut ctx = Context::new(OWN, &self.surface);
        let at = At::ROOT.field("content");
        let parts: Vec<_> = part(&mut ctx, &at.entry(index), block, (0, self.calls)).into_iter().collect();
        if !parts.is_empty() {
            self.emit(&ctx, parts, out);
        }
        changes.append(ctx.changes);
        self.calls += usize::from(block.as_call().is_some());
    }

    fn open(&mut self, index: usize, block: &Block, changes: &mut Changes) {
        let kind = match block {
            Block::Text(text) if text.extra.get(OWN).is_none() => Some(Kind::Text),
            Block::Thinking(thinking) if thinking.extra.get(OWN).is_none() => Some(Kind::Reasoning),
            Block::Text(_)
            | Block::Thinking(_)
            | Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::RedactedThinking(_)
            | Block::ToolCall(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_) => None,
        };
        if kind.is_some() && kind == self.before {
            changes.push("joined-texts", format!("/content/{index}"), MERGED, "consecutive texts joined into one");
        }
        self.before = kind;
        if block.as_call().is_some() {
            self.response.content = vec![Block::ToolCall(ToolCall::default())];
        }
        self.open.insert(index, block.clone());
    }

    fn delta(&mut self, index: usize, delta: &Delta, out: &mut Vec<u8>) {
        let Some(block) = self.open.get_mut(&index) else { return };
        let (waiting, more, thought) = match (block, delta) {
            (Block::Text(text), Delta::Text(more)) if text.extra.get(OWN).is_none() => (&mut text.text, more, false),
            (Block::Thinking(thinking), Delta::Thinking(more)) if thinking.extra.get(OWN).is_none() => {
                (&mut thinking.text, more, true)
            }
            // Provider-specific fields of a part must not be repeated, so that such a text is sent whole.
            (Block::Text(text), Delta::Text(more)) => return text.text.push_str(more),
            (Block::Thinking(thinking), Delta::Thinking(more)) => return thinking.text.push_str(more),
            (Block::ToolCall(call), Delta::Arguments(more)) => return call.arguments.push_str(more),
            (Block::ToolCall(call), Delta::Signature(signature)) => return call.signature = Some(signature.clone()),
            (
                Block::Text(Text { signature, .. }) | Block::Thinking(Thinking { signature, .. }),
                Delta::Signature(own),
            ) => {
                *signature = Some(own.clone());
                self.before = None;
                return;
            }
            (_, Delta::Text(_) | Delta::Thinking(_) | Delta::Arguments(_) | Delta::Signature(_)) => return,
        };
        if !waiting.is_empty() {
            let part = PlainPart { text: waiting.as_str().into(), thought };
            let content = PlainContent { role: "model".into(), parts: [part] };
            let answer = response_body(&self.response, [PlainCandidate { content, index: 0 }], None, Map::new());
            data(&wrap(&self.surface, answer, None), out);
        }
        waiting.clone_from(more);
    }

    /// Fields of a part are sent with it; fields of the response are a chunk of their own.
    fn fields(&mut self, index: Option<usize>, extra: &Extra, out: &mut Vec<u8>, changes: &mut Changes) {
        let extra = match index.and_then(|index| self.open.get_mut(&index)) {
            Some(block) => block.add_fields(extra.clone()),
            None => extra.clone(),
        };
        let surface = self.surface.clone();
        let mut ctx = Context::new(OWN, &surface);
        let (top, mut inner) = ctx.split_extra(&extra, &NESTED);
        let candidate = inner.shift_remove("candidate");
        let envelope = inner.shift_remove(ENVELOPE);
        if candidate.is_some() || envelope.is_some() || !top.is_empty() {
            let candidate = candidate.as_ref().and_then(Value::as_object);
            let answer = response_body(&self.response, vec![empty_candidate(candidate)], None, top);
            data(&ctx.merge_keys(wrap(&surface, answer, envelope)), out);
        }
        changes.append(ctx.changes);
    }

    fn end(&mut self, out: &mut Vec<u8>, changes: &mut Changes) {
        let surface = self.surface.clone();
        let mut ctx = Context::new(OWN, &surface);
        let (extra, mut inner) = ctx.split_extra(&self.response.extra, &NESTED);
        let word = finish(&mut ctx, &self.response);
        let finish_message = finish_message(&mut ctx, &self.response, word);
        let usage = self.response.usage.as_ref().map(|usage| usage_fields(&mut ctx, usage));
        let candidate = inner.shift_remove("candidate");
        let content = Content { role: Some("model"), parts: Vec::new(), extra: None };
        let blocked = extra.contains_key("promptFeedback");
        let first = Candidate::First {
            content,
            finish_reason: Some(word),
            finish_message,
            index: 0,
            extra: candidate.as_ref().and_then(Value::as_object),
        };
        let answer = response_body(&self.response, if blocked { Vec::new() } else { vec![first] }, usage, extra);
        data(&ctx.merge_keys(wrap(&surface, answer, inner.shift_remove(ENVELOPE))), out);
        changes.append(ctx.changes);
    }
}

fn response_body<C>(
    head: &Response,
    candidates: C,
    usage_metadata: Option<Map<String, Value>>,
    extra: Map<String, Value>,
) -> ResponseBody<'_, C> {
    ResponseBody { candidates, usage_metadata, model_version: &head.model, response_id: &head.id, extra }
}

/// A candidate without content.
fn empty_candidate(extra: Option<&Map<String, Value>>) -> Candidate<'_> {
    let content = Content { role: Some("model"), parts: Vec::new(), extra: None };
    Candidate::First { content, finish_reason: None, finish_message: None, index: 0, extra }
}

fn data(json: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(json);
    out.extend_from_slice(b"\r\n\r\n");
}

impl StreamWriter for Writer {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>, changes: &mut Changes) {
        match event {
            Event::Start { id, model, extra } => {
                self.response =
                    Response { id: id.clone(), model: model.clone(), extra: extra.clone(), ..Response::default() };
            }
            Event::Open { index, block } => self.open(*index, block, changes),
            Event::Delta { index, delta } => self.delta(*index, delta, out),
            Event::Fields { index, extra } => self.fields(*index, extra, out, changes),
            Event::Close { index } => {
                if let Some(block) = self.open.remove(index) {
                    self.flush(*index, &block, out, changes);
                }
            }
            Event::Refusal { .. } | Event::Stop { .. } | Event::Usage(_) => {
                self.stopped |= writer_state::note_ending(&mut self.response, event);
            }
            Event::End => {
                if self.stopped {
                    self.end(out, changes);
                }
            }
            Event::Error(error) => data(&super::error::encode(error).body, out),
            Event::Other { protocol, name, data: value } if *protocol == OWN && name == "candidates" => {
                data(&super::super::json(&json!({"candidates": [{}, value]})), out);
            }
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
