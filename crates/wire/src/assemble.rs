//! Conversion of events into a response, and of a response into events.

use std::collections::BTreeMap;
use std::fmt;

use crate::fault::WireError;
use crate::neutral::{Block, Delta, Event, Extra, Response, Text, Thinking, ToolCall};

/// Assembles events into a response, equal to the one that decoding the whole body gives.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    response: Response,
    blocks: BTreeMap<usize, PartialBlock>,
    stopped: bool,
    error: Option<WireError>,
}

#[derive(Clone, Debug)]
struct PartialBlock {
    block: Block,
    closed: bool,
}

/// A stream that ended before its response was complete.
#[derive(Clone, Debug, PartialEq)]
pub struct IncompleteStream {
    /// The partial response, without incomplete tool calls.
    pub response: Response,
    /// Incomplete tool calls. They must not be executed.
    pub cut_calls: Vec<ToolCall>,
    /// The error with which the provider ended the stream, if any.
    pub error: Option<WireError>,
}

impl fmt::Display for IncompleteStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(f, "the stream ended with an error: {error}"),
            None => f.write_str("the stream ended before the response was complete"),
        }
    }
}

impl std::error::Error for IncompleteStream {}

impl Assembler {
    /// Adds the next event.
    pub fn push(&mut self, event: Event) {
        match event {
            Event::Start { id, model, extra } => {
                self.response.id = id;
                self.response.model = model;
                self.response.extra.merge(extra);
            }
            Event::Open { index, block } => {
                self.blocks.insert(index, PartialBlock { block, closed: false });
            }
            Event::Delta { index, delta } => self.delta(index, &delta),
            Event::Close { index } => {
                if let Some(piece) = self.blocks.get_mut(&index) {
                    piece.closed = true;
                }
            }
            Event::Fields { index, extra } => self.fields(index, extra),
            Event::Refusal { text } => self.response.refusal.get_or_insert_default().push_str(&text),
            Event::Stop { reason, sequence, extra } => {
                self.stopped = true;
                self.response.stop = reason;
                self.response.stop_sequence = sequence;
                self.response.extra.merge(extra);
            }
            Event::Usage(usage) => self.response.usage = Some(usage),
            Event::Error(error) => self.error = Some(error),
            Event::End | Event::Other { .. } => {}
        }
    }

    /// Adds a delta, which is [`push`](Self::push) without ownership.
    pub(crate) fn delta(&mut self, index: usize, delta: &Delta) {
        // A delta without `Open` starts its block.
        let piece = self.blocks.entry(index).or_insert_with(|| {
            let block = match delta {
                Delta::Text(_) => Block::Text(Text::default()),
                Delta::Thinking(_) | Delta::Signature(_) => Block::Thinking(Thinking::default()),
                Delta::Arguments(_) => Block::ToolCall(ToolCall::default()),
            };
            PartialBlock { block, closed: false }
        });
        match (&mut piece.block, delta) {
            (Block::Text(text), Delta::Text(more)) => text.text.push_str(more),
            (Block::Thinking(thinking), Delta::Thinking(more)) => thinking.text.push_str(more),
            (Block::Thinking(thinking), Delta::Signature(signature)) => thinking.signature = Some(signature.clone()),
            (Block::Text(text), Delta::Signature(signature)) => text.signature = Some(signature.clone()),
            (Block::ToolCall(call), Delta::Signature(signature)) => call.signature = Some(signature.clone()),
            (Block::ToolCall(call), Delta::Arguments(more)) => call.arguments.push_str(more),
            // A delta of another kind than its block is ignored.
            (_, Delta::Text(_) | Delta::Thinking(_) | Delta::Arguments(_) | Delta::Signature(_)) => {}
        }
    }

    /// Adds provider-specific fields to their block, or to the response if the block cannot carry them.
    fn fields(&mut self, index: Option<usize>, extra: Extra) {
        let piece = index.and_then(|index| self.blocks.get_mut(&index));
        let left = if let Some(piece) = piece { piece.block.add_fields(extra) } else { extra };
        self.response.extra.merge(left);
    }

    /// The response so far. Its tool calls may be incomplete.
    pub fn partial(&self) -> Response {
        let content = self.blocks.values().map(|piece| piece.block.clone()).collect();
        Response { content, ..self.response.clone() }
    }

    /// The response, or the partial one if the stream ended early.
    pub fn finish(mut self) -> Result<Response, Box<IncompleteStream>> {
        let complete = self.stopped && self.error.is_none();
        let mut cut_calls = Vec::new();
        for piece in std::mem::take(&mut self.blocks).into_values() {
            let cut = !complete && !piece.closed;
            if let (Block::ToolCall(call), true) = (&piece.block, cut) {
                cut_calls.push(call.clone());
            } else {
                self.response.content.push(piece.block);
            }
        }
        if complete {
            return Ok(self.response);
        }
        Err(Box::new(IncompleteStream { response: self.response, cut_calls, error: self.error }))
    }
}

/// The events of a response; texts are split into deltas of at most `piece` characters.
pub fn events_of(response: &Response, piece: usize) -> Vec<Event> {
    let Response { id, model, extra, .. } = response;
    let mut events = vec![Event::Start { id: id.clone(), model: model.clone(), extra: extra.clone() }];
    for (index, block) in response.content.iter().enumerate() {
        let mut opened = block.clone();
        let (text, signature, wrap) = match &mut opened {
            Block::Text(text) => (std::mem::take(&mut text.text), text.signature.take(), Delta::Text as fn(_) -> _),
            Block::Thinking(thinking) => {
                (std::mem::take(&mut thinking.text), thinking.signature.take(), Delta::Thinking as fn(_) -> _)
            }
            Block::ToolCall(call) => (std::mem::take(&mut call.arguments), None, Delta::Arguments as fn(_) -> _),
            Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::RedactedThinking(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_) => (String::new(), None, Delta::Text as fn(_) -> _),
        };
        events.push(Event::Open { index, block: opened });
        events.extend(split_text(&text, piece).map(|part| Event::Delta { index, delta: wrap(part.to_owned()) }));
        events.extend(signature.map(|signature| Event::Delta { index, delta: Delta::Signature(signature) }));
        events.push(Event::Close { index });
    }
    if let Some(refusal) = &response.refusal {
        events.extend(split_text(refusal, piece).map(|part| Event::Refusal { text: part.to_owned() }));
    }
    events.push(Event::Stop {
        reason: response.stop.clone(),
        sequence: response.stop_sequence.clone(),
        extra: Extra::default(),
    });
    events.extend(response.usage.clone().map(Event::Usage));
    events.push(Event::End);
    events
}

fn split_text(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(size.max(1)).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
