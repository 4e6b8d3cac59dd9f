//! Events into the answer that they are the pieces of, and an answer into events.

use std::collections::BTreeMap;
use std::fmt;

use crate::fault::WireError;
use crate::neutral::{Block, Delta, Event, Extra, Response, Text, Thinking, ToolCall};

/// Makes an answer of events. The answer is the one that the whole body would have given.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    response: Response,
    blocks: BTreeMap<usize, Piece>,
    stopped: bool,
    error: Option<WireError>,
}

#[derive(Clone, Debug)]
struct Piece {
    block: Block,
    closed: bool,
}

/// A stream ended before the answer did.
#[derive(Clone, Debug, PartialEq)]
pub struct IncompleteStream {
    /// What arrived, without the calls that were not complete.
    pub response: Response,
    /// The calls that were not complete. They must not be made.
    pub cut_calls: Vec<ToolCall>,
    /// The error that the provider ended the stream with, if it said one.
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
    /// Takes the next event.
    pub fn push(&mut self, event: Event) {
        match event {
            Event::Start { id, model, extra } => {
                self.response.id = id;
                self.response.model = model;
                self.response.extra.merge(extra);
            }
            Event::Open { index, block } => {
                self.blocks.insert(index, Piece { block, closed: false });
            }
            Event::Delta { index, delta } => self.delta(index, delta),
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

    fn delta(&mut self, index: usize, delta: Delta) {
        // A delta without a beginning begins its block.
        let piece = self.blocks.entry(index).or_insert_with(|| {
            let block = match &delta {
                Delta::Text(_) => Block::Text(Text::default()),
                Delta::Thinking(_) | Delta::Signature(_) => Block::Thinking(Thinking::default()),
                Delta::Arguments(_) => Block::ToolCall(ToolCall::default()),
            };
            Piece { block, closed: false }
        });
        match (&mut piece.block, delta) {
            (Block::Text(text), Delta::Text(more)) => text.text.push_str(&more),
            (Block::Thinking(thinking), Delta::Thinking(more)) => thinking.text.push_str(&more),
            (Block::Thinking(thinking), Delta::Signature(signature)) => thinking.signature = Some(signature),
            (Block::Text(text), Delta::Signature(signature)) => text.signature = Some(signature),
            (Block::ToolCall(call), Delta::Signature(signature)) => call.signature = Some(signature),
            (Block::ToolCall(call), Delta::Arguments(more)) => call.arguments.push_str(&more),
            // A delta of another kind than its block says nothing that could be added.
            (_, Delta::Text(_) | Delta::Thinking(_) | Delta::Arguments(_) | Delta::Signature(_)) => {}
        }
    }

    /// What has no fields of its own leaves them to the answer.
    fn fields(&mut self, index: Option<usize>, extra: Extra) {
        let piece = index.and_then(|index| self.blocks.get_mut(&index));
        let left = if let Some(piece) = piece { piece.block.add_fields(extra) } else { extra };
        self.response.extra.merge(left);
    }

    /// The answer so far: what a reader may be shown. Calls in it may be half.
    pub fn partial(&self) -> Response {
        let content = self.blocks.values().map(|piece| piece.block.clone()).collect();
        Response { content, ..self.response.clone() }
    }

    /// The answer, or what arrived of it if the stream was cut.
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

/// The events of an answer, its texts cut into pieces of at most so many characters.
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
        events.extend(pieces(&text, piece).map(|part| Event::Delta { index, delta: wrap(part.to_owned()) }));
        events.extend(signature.map(|signature| Event::Delta { index, delta: Delta::Signature(signature) }));
        events.push(Event::Close { index });
    }
    if let Some(refusal) = &response.refusal {
        events.extend(pieces(refusal, piece).map(|part| Event::Refusal { text: part.to_owned() }));
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

/// The text in pieces of at most so many characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(size.max(1)).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
