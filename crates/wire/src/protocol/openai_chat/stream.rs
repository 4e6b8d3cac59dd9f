//! Streams of `openai-chat`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::OWN;
use super::response::{NESTED, STOP_REASONS, USAGE, finish, id_or_placeholder, read_id, top, without_constants};
use super::shapes::{PlainCall, PlainChunk, PlainDelta, WriteCall, WriteChoice, WriteChunk, WriteDelta, WriteFunction};
use crate::error::DecodeError;
use crate::fields::Fields;
use crate::frame::Frame;
use crate::neutral::{
    Block, CUSTOM_CLOSE, CUSTOM_OPEN, Delta, Event, Extra, Response, StopReason, Text, Thinking, ToolCall, ToolOrigin,
    escaped,
};
use crate::protocol::context::{At, Context, DROPPED, DROPPED_NOTE, MERGED, foreign_signature, no_signature_field};
use crate::protocol::seen_fields::SeenFields;
use crate::protocol::stop::Ending;
use crate::protocol::writer_state::{own_fields, record_function_call, record_unstreamable};
use crate::protocol::{StreamReader, StreamWriter, json_merged, openai_usage, sse, stop};
use crate::report::Changes;
use crate::surface::Surface;

/// Block indexes: reasoning, text, then tool calls.
const REASONING: usize = 0;
const TEXT: usize = 1;
const CALLS: usize = 2;

/// Reads the chunks of a stream.
#[derive(Debug, Default)]
pub(super) struct Reader {
    progress: Progress,
    ending: Ending,
    /// The open blocks.
    open: BTreeSet<usize>,
    calls: Calls,
    /// The block indexes of custom tool calls.
    custom: BTreeSet<usize>,
    seen_fields: SeenFields,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Waiting,
    Started,
    Stopped,
}

/// Assigns chunks to calls. Compatible servers repeat ids, omit the index or use one index for all calls.
#[derive(Debug, Default)]
struct Calls {
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    ids: Vec<String>,
}

impl Calls {
    /// The call that a chunk belongs to, and true if the chunk starts it.
    fn place(&mut self, index: Option<u64>, id: &str) -> (usize, bool) {
        let known = match (index, id) {
            (Some(index), "") => self.by_index.get(&index),
            (Some(index), id) => self.by_index.get(&index).filter(|at| self.ids.get(**at).is_some_and(|own| own == id)),
            (None, "") => None,
            (None, id) => self.by_id.get(id),
        };
        let last = self.ids.len().checked_sub(1).filter(|_| index.is_none() && id.is_empty());
        if let Some(at) = known.copied().or(last) {
            return (at, false);
        }
        let at = self.ids.len();
        self.ids.push(id.to_owned());
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        self.by_id.insert(id.to_owned(), at);
        (at, true)
    }
}

impl StreamReader for Reader {
    fn frame(&mut self, frame: Frame<'_>, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        // The first chunk has fields that the others repeat, so it takes the general path.
        if self.progress != Progress::Waiting
            && let Some(PlainChunk { choices: [choice], system_fingerprint, service_tier, .. }) = frame.plain()
            && self.seen_fields.is_unchanged("system_fingerprint", system_fingerprint.as_deref())
            && self.seen_fields.is_unchanged("service_tier", service_tier.as_deref())
        {
            self.delta(choice.delta, out);
            return Ok(());
        }
        if frame.data.trim_ascii() == b"[DONE]" {
            self.stop("", out);
            out.push(Event::End);
            return Ok(());
        }
        let value = serde_json::from_slice(frame.data).map_err(|error| DecodeError::json(&error))?;
        self.chunk(value, out)
    }
}

impl Reader {
    fn chunk(&mut self, value: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        if value.get("error").is_some_and(|error| !error.is_null()) {
            out.extend(super::error::decode(0, value).map(Event::Error));
            return Ok(());
        }
        let mut fields = Fields::of(value)?;
        let choices = fields.list("choices");
        let usage = fields.object("usage");
        if choices.is_none() && usage.is_none() {
            let data = Value::Object(fields.rest());
            out.push(Event::Other { protocol: OWN, name: String::new(), data });
            return Ok(());
        }
        let (id, model) = (read_id(&mut fields), fields.text("model").unwrap_or_default());
        // Padding that hides the length of the chunk.
        fields.take("obfuscation");
        let rest = without_constants(fields);
        if self.progress == Progress::Waiting {
            self.progress = Progress::Started;
            self.seen_fields.start_response(&rest);
            out.push(Event::Start { id, model, extra: Extra::of(OWN, rest) });
        } else {
            self.seen_fields.emit_new(OWN, None, rest, out);
        }
        for choice in choices.into_iter().flatten() {
            self.choice(choice, out)?;
        }
        out.extend(usage.map(|usage| Event::Usage(openai_usage::read(OWN, &USAGE, usage))));
        Ok(())
    }

    fn choice(&mut self, value: Value, out: &mut Vec<Event>) -> Result<(), DecodeError> {
        if value.get("index").and_then(Value::as_u64).unwrap_or(0) != 0 {
            out.push(Event::Other { protocol: OWN, name: "choice".to_owned(), data: value });
            return Ok(());
        }
        let (mut choice, mut rest) = (Fields::of(value)?, Fields::default());
        choice.count("index");
        if let Some(mut delta) = choice.object("delta") {
            delta.text("role");
            let calls = delta.list("tool_calls").unwrap_or_default();
            let (calls, custom): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| call.get("custom").is_none());
            let read = |call: Value| -> Result<PlainCall<'static>, DecodeError> {
                let mut call = Fields::of(call)?;
                let mut function = call.object("function").unwrap_or(Fields::of(json!({}))?);
                let text = |text: Option<String>| text.map(Cow::Owned);
                let (name, arguments) = (text(function.text("name")), text(function.text("arguments")));
                let (index, id) = (call.count("index"), text(call.text("id")));
                call.take("type");
                call.put_rest("function", function);
                Ok(PlainCall::new(index, id, name, arguments, call.rest()))
            };
            let plain = PlainDelta::new(
                [
                    delta.text("content"),
                    delta.text("reasoning_content"),
                    delta.text("reasoning"),
                    delta.text("refusal"),
                ],
                calls.into_iter().map(read).collect::<Result<_, _>>()?,
            );
            self.delta(plain, out);
            for call in custom {
                self.custom(Fields::of(call)?, out);
            }
            rest.put_rest("message", delta);
        }
        let word = choice.text("finish_reason").filter(|word| !word.is_empty());
        rest.put_rest("choice", choice);
        self.seen_fields.emit_new(OWN, None, rest.rest(), out);
        if let Some(word) = word {
            self.stop(&word, out);
        }
        Ok(())
    }

    fn delta(&mut self, delta: PlainDelta<'_>, out: &mut Vec<Event>) {
        let thought = delta.reasoning_content.or(delta.reasoning);
        if let Some(text) = thought.filter(|text| !text.is_empty()) {
            self.open(REASONING, || Block::Thinking(Thinking::default()), out);
            out.push(Event::Delta { index: REASONING, delta: Delta::Thinking(text.into_owned()) });
        }
        if let Some(text) = delta.content.filter(|text| !text.is_empty()) {
            self.open(TEXT, || Block::Text(Text::default()), out);
            out.push(Event::Delta { index: TEXT, delta: Delta::Text(text.into_owned()) });
        }
        if let Some(text) = delta.refusal {
            self.ending.update(Ending::Refusal);
            out.push(Event::Refusal { text: text.into_owned() });
        }
        for call in delta.tool_calls.into_iter().flatten() {
            let id = call.id.unwrap_or_default();
            let (place, new) = self.calls.place(call.index, &id);
            let index = CALLS + place;
            if new {
                let name = call.function.name.unwrap_or_default().into_owned();
                let extra = Extra::of(OWN, call.extra);
                let block = ToolCall { id: id.into_owned(), name, extra, ..ToolCall::default() };
                self.open(index, || Block::ToolCall(block), out);
            } else {
                self.seen_fields.emit_new(OWN, Some(index), call.extra, out);
            }
            if let Some(text) = call.function.arguments.filter(|text| !text.is_empty()) {
                out.push(Event::Delta { index, delta: Delta::Arguments(text.into_owned()) });
            }
        }
    }

    /// A chunk of a custom tool call.
    fn custom(&mut self, mut call: Fields, out: &mut Vec<Event>) {
        call.take("type");
        let mut custom = call.object("custom").unwrap_or_default();
        let (name, input) = (custom.text("name"), custom.text("input").unwrap_or_default());
        let (number, id) = (call.count("index"), call.text("id").unwrap_or_default());
        call.put_rest("custom", custom);
        let (place, new) = self.calls.place(number, &id);
        let index = CALLS + place;
        let mut start = "";
        if new {
            let (origin, extra) = (Some(ToolOrigin::custom()), Extra::of(OWN, call.rest()));
            let block = ToolCall { id, name: name.unwrap_or_default(), origin, extra, ..ToolCall::default() };
            self.open(index, || Block::ToolCall(block), out);
            self.custom.insert(index);
            start = CUSTOM_OPEN;
        } else {
            self.seen_fields.emit_new(OWN, Some(index), call.rest(), out);
        }
        let text = [start, &escaped(&input)].concat();
        if !text.is_empty() {
            out.push(Event::Delta { index, delta: Delta::Arguments(text) });
        }
    }

    fn open(&mut self, index: usize, block: impl FnOnce() -> Block, out: &mut Vec<Event>) {
        if self.open.insert(index) {
            out.push(Event::Open { index, block: block() });
        }
    }

    fn stop(&mut self, word: &str, out: &mut Vec<Event>) {
        if self.progress == Progress::Stopped {
            return;
        }
        self.progress = Progress::Stopped;
        self.ending.update(Ending::calls(!self.calls.ids.is_empty()));
        let reason = stop::resolve(stop::read(STOP_REASONS, word), self.ending);
        let mut open = std::mem::take(&mut self.open);
        // A call that the token limit truncated is never closed.
        let last = open.last().copied().filter(|last| *last >= CALLS && reason == StopReason::MaxTokens);
        open.retain(|index| Some(*index) != last);
        for index in open {
            if self.custom.contains(&index) {
                out.push(Event::Delta { index, delta: Delta::Arguments(CUSTOM_CLOSE.to_owned()) });
            }
            out.push(Event::Close { index });
        }
        let is_implied = self.ending == Ending::Refusal || stop::wire_value(STOP_REASONS, &reason) == Some(word);
        let kept = if is_implied { Map::new() } else { Map::from_iter([("finish_reason".to_owned(), json!(word))]) };
        out.push(Event::Stop { reason, sequence: None, extra: Extra::of(OWN, kept) });
    }
}

/// Writes the chunks of a stream.
#[derive(Debug, Default)]
pub(super) struct Writer {
    /// The fields that every chunk repeats, and the data that the stop reason depends on.
    response: Response,
    created: u64,
    top: Map<String, Value>,
    /// Block index to position in `tool_calls`.
    calls: BTreeMap<usize, usize>,
    texts: BTreeMap<usize, Kind>,
    /// Open custom tool calls. Their text is sent when it is complete, because deltas are fragments of JSON.
    custom: BTreeMap<usize, ToolCall>,
    seen: [usize; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Reasoning,
    Text,
}

impl Writer {
    fn chunk(&self, delta: WriteDelta<'_>, finish_reason: Option<&str>, out: &mut Vec<u8>) {
        let choices = &[WriteChoice { index: 0, delta, finish_reason }];
        sse("", &WriteChunk { choices, ..self.frame() }, out);
    }

    fn frame(&self) -> WriteChunk<'_> {
        WriteChunk {
            id: id_or_placeholder(&self.response.id),
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.response.model,
            choices: &[],
            usage: None,
            extra: &self.top,
        }
    }

    /// A chunk of provider-specific fields of the response, the choice and the message.
    fn fields(&mut self, mut fields: Map<String, Value>, out: &mut Vec<u8>) {
        let mut object = |name: &str| match fields.shift_remove(name) {
            Some(Value::Object(object)) => object,
            Some(_) | None => Map::new(),
        };
        let (message, mut choice) = (object("message"), object("choice"));
        fields.retain(|name, _| !NESTED.contains(&name.as_str()));
        self.top.extend(fields);
        choice.extend([("index", json!(0)), ("delta", json!(message))].map(|(name, value)| (name.to_owned(), value)));
        choice.entry("finish_reason").or_insert(Value::Null);
        let mut chunk = json!(self.frame());
        if let Some(chunk) = chunk.as_object_mut() {
            chunk.insert("choices".to_owned(), json!([choice]));
        }
        sse("", &chunk, out);
    }

    /// A chunk of provider-specific fields of a call.
    fn call_fields(&mut self, index: usize, mut fields: Map<String, Value>, out: &mut Vec<u8>, changes: &mut Changes) {
        let Some(place) = self.calls.get(&index) else {
            record_unstreamable(OWN, index, &fields, changes);
            return;
        };
        fields.insert("index".to_owned(), json!(place));
        self.call_piece(&fields, out);
    }

    fn open(&mut self, index: usize, block: &Block, out: &mut Vec<u8>, changes: &mut Changes) {
        let own = block.extra().and_then(|extra| own_fields(OWN, &Surface::default(), Some(index), extra, changes));
        if let Some(own) = own.as_ref().filter(|_| block.as_call().is_none()) {
            record_unstreamable(OWN, index, own, changes);
        }
        if block.signature().is_some() {
            let detail = no_signature_field(OWN);
            changes.push("no-signature", format!("/content/{index}/signature"), DROPPED_NOTE, detail);
        }
        let (kind, text) = match block {
            Block::Text(text) => (Kind::Text, &text.text),
            Block::Thinking(thinking) => (Kind::Reasoning, &thinking.text),
            Block::ToolCall(call) => {
                // Chat Completions has custom tools, and no namespaces.
                let member = call.origin.as_ref().filter(|origin| origin.namespace.is_some());
                let member = member.map(|origin| ToolOrigin { custom: false, ..origin.clone() });
                record_function_call(OWN, index, member.as_ref(), changes);
                return self.call(index, call, out);
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
        self.texts.insert(index, kind);
        let seen = self.seen.get_mut(usize::from(kind == Kind::Text));
        let before = seen.map_or(0, |seen| std::mem::replace(seen, *seen + 1));
        if before > 0 {
            changes.push("joined-texts", format!("/content/{index}"), MERGED, "several texts joined into one");
            self.text(kind, "\n", out);
        }
        if !text.is_empty() {
            self.text(kind, text, out);
        }
    }

    fn text(&self, kind: Kind, text: &str, out: &mut Vec<u8>) {
        let delta = match kind {
            Kind::Text => WriteDelta { content: Some(text), ..WriteDelta::default() },
            Kind::Reasoning => WriteDelta { reasoning_content: Some(text), ..WriteDelta::default() },
        };
        self.chunk(delta, None, out);
    }

    fn call(&mut self, index: usize, call: &ToolCall, out: &mut Vec<u8>) {
        let place = self.calls.len();
        self.calls.insert(index, place);
        // The stop reason depends on the presence of calls.
        self.response.content = vec![Block::ToolCall(ToolCall::default())];
        if call.origin.as_ref().is_some_and(|origin| origin.custom) {
            let mut custom = Map::from_iter([("name".to_owned(), json!(call.name)), ("input".to_owned(), json!(""))]);
            let mut piece = call.extra.get(OWN).cloned().unwrap_or_default();
            if let Some(Value::Object(more)) = piece.shift_remove("custom") {
                custom.extend(more);
            }
            let begun = json!({"index": place, "id": call.id, "type": "custom", "custom": custom});
            piece.extend(begun.as_object().cloned().unwrap_or_default());
            self.custom.insert(index, call.clone());
            self.call_piece(&piece, out);
            return;
        }
        let function = WriteFunction { name: Some(&call.name), arguments: &call.arguments };
        let extra = call.extra.get(OWN);
        let shape = WriteCall { index: place, id: Some(&call.id), r#type: Some("function"), function, extra };
        let delta = WriteDelta { tool_calls: Some([shape]), ..WriteDelta::default() };
        let choices = &[WriteChoice { index: 0, delta, finish_reason: None }];
        let chunk = json_merged(&WriteChunk { choices, ..self.frame() }, extra.is_some());
        out.extend([b"data: ", chunk.as_slice(), b"\n\n"].concat());
    }

    /// Sends the text of a complete custom tool call.
    fn custom_call(&mut self, index: usize, out: &mut Vec<u8>) {
        let (Some(call), Some(place)) = (self.custom.remove(&index), self.calls.get(&index)) else { return };
        let piece = json!({"index": place, "custom": {"input": call.custom_input()}});
        self.call_piece(&piece.as_object().cloned().unwrap_or_default(), out);
    }

    /// A chunk of one call.
    fn call_piece(&mut self, piece: &Map<String, Value>, out: &mut Vec<u8>) {
        self.fields(Map::from_iter([("message".to_owned(), json!({"tool_calls": [piece]}))]), out);
    }

    fn arguments(&mut self, index: usize, text: &str, out: &mut Vec<u8>) {
        if let Some(call) = self.custom.get_mut(&index) {
            call.arguments.push_str(text);
            return;
        }
        let Some(&place) = self.calls.get(&index) else { return };
        let function = WriteFunction { name: None, arguments: text };
        let shape = WriteCall { index: place, id: None, r#type: None, function, extra: None };
        self.chunk(WriteDelta { tool_calls: Some([shape]), ..WriteDelta::default() }, None, out);
    }
}

impl StreamWriter for Writer {
    fn event(&mut self, event: &Event, out: &mut Vec<u8>, changes: &mut Changes) {
        match event {
            Event::Start { id, model, extra } => {
                self.response.id.clone_from(id);
                self.response.model.clone_from(model);
                self.response.extra = extra.clone();
                let own = own_fields(OWN, &Surface::default(), None, extra, changes);
                let own = own.as_ref();
                if own.is_some_and(|own| own.contains_key("choices")) {
                    changes.push("no-place", "/extra", DROPPED, "`choices` dropped: only the first choice is streamed");
                }
                (self.created, self.top) = top(own);
                let delta = WriteDelta { role: Some("assistant"), content: Some(""), ..WriteDelta::default() };
                self.chunk(delta, None, out);
                let nested = ["message", "choice"].map(|name| Some((name.to_owned(), own?.get(name)?.clone())));
                let nested: Map<_, _> = nested.into_iter().flatten().collect();
                if !nested.is_empty() {
                    self.fields(nested, out);
                }
            }
            Event::Fields { index, extra } => {
                let Some(fields) = own_fields(OWN, &Surface::default(), *index, extra, changes) else { return };
                match index {
                    Some(index) => self.call_fields(*index, fields, out, changes),
                    None => self.fields(fields, out),
                }
            }
            Event::Open { index, block } => self.open(*index, block, out, changes),
            Event::Delta { index, delta } => match delta {
                Delta::Text(text) | Delta::Thinking(text) => {
                    if let Some(kind) = self.texts.get(index) {
                        self.text(*kind, text, out);
                    }
                }
                Delta::Arguments(text) => self.arguments(*index, text, out),
                Delta::Signature(signature) => {
                    let detail = foreign_signature(OWN, signature);
                    let at = format!("/content/{index}/signature");
                    changes.push("foreign-signature", at, DROPPED_NOTE, detail);
                }
            },
            Event::Refusal { text } => {
                self.response.refusal = Some(String::new());
                self.chunk(WriteDelta { refusal: Some(text), ..WriteDelta::default() }, None, out);
            }
            Event::Stop { reason, extra, .. } => {
                self.response.stop = reason.clone();
                self.response.extra.merge(extra.clone());
                let surface = Surface::default();
                let mut ctx = Context::new(OWN, &surface);
                ctx.extra(&At::ROOT, extra);
                let word = finish(&mut ctx, &self.response);
                self.chunk(WriteDelta::default(), Some(word), out);
                changes.append(ctx.changes);
            }
            Event::Usage(usage) => {
                let surface = Surface::default();
                let mut ctx = Context::new(OWN, &surface);
                let usage = Some(openai_usage::write(&mut ctx, &USAGE, usage));
                sse("", &WriteChunk { usage, ..self.frame() }, out);
                changes.append(ctx.changes);
            }
            Event::End => out.extend_from_slice(b"data: [DONE]\n\n"),
            Event::Error(error) => {
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(&super::error::encode(error).body);
                out.extend_from_slice(b"\n\n");
            }
            Event::Other { protocol, data, name } if *protocol == OWN => {
                if name.is_empty() {
                    sse("", data, out);
                } else {
                    sse("", &json!({"choices": [data]}), out);
                }
            }
            Event::Other { protocol, .. } => {
                changes.push(
                    "foreign-event",
                    "",
                    DROPPED,
                    format!("event dropped: only {} supports it", protocol.title()),
                );
            }
            Event::Close { index } => self.custom_call(*index, out),
        }
    }
}
