//! What a stream says before its end and a protocol says at its end: writers keep it until then.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::Protocol;
use super::context::{At, Context, DROPPED};
use crate::neutral::{Block, Event, Extra, Response};
use crate::report::Changes;
use crate::surface::Surface;

/// What a writer remembers of an answer that it says block by block.
#[derive(Debug)]
pub(super) struct WriterState {
    pub(super) surface: Surface,
    pub(super) response: Response,
    /// The numbers of the blocks on the wire, and their kinds.
    pub(super) places: HashMap<usize, (usize, Kind)>,
    /// Fields without a neutral name that came with the end.
    pub(super) last: Extra,
    /// Fields without a neutral name that came at any other time after the beginning.
    pub(super) late: Extra,
    pub(super) stopped: bool,
}

/// Kinds of blocks, by how they are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thought,
    Call,
    /// Only its own protocol understands it.
    Foreign,
    /// Nothing is added to it.
    Whole,
}

impl Kind {
    fn of(block: &Block) -> Self {
        match block {
            Block::Text(_) => Self::Text,
            Block::Thinking(_) => Self::Thought,
            Block::ToolCall(_) => Self::Call,
            Block::Other(_) => Self::Foreign,
            Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::RedactedThinking(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_) => Self::Whole,
        }
    }
}

impl WriterState {
    pub(super) fn new(surface: &Surface) -> Self {
        Self {
            surface: surface.clone(),
            response: Response::default(),
            places: HashMap::new(),
            last: Extra::default(),
            late: Extra::default(),
            stopped: false,
        }
    }

    /// Gives a block its number on the wire.
    pub(super) fn number(&mut self, index: usize, block: &Block) -> usize {
        let place = self.places.len();
        self.places.insert(index, (place, Kind::of(block)));
        place
    }

    pub(super) fn place(&self, index: usize) -> Option<usize> {
        self.places.get(&index).map(|(place, _)| *place)
    }

    /// Whether a block is a thought: no others are signed.
    pub(super) fn is_thought(&self, index: usize) -> bool {
        self.places.get(&index).is_some_and(|(_, kind)| *kind == Kind::Thought)
    }

    /// Keeps what is said at the end.
    pub(super) fn note(&mut self, event: &Event) {
        self.stopped |= note_ending(&mut self.response, event);
        if let Event::Stop { extra, .. } = event {
            self.last = extra.clone();
        }
    }

    /// Fields that a block can say now, with its place and its kind. Others are kept until the end.
    pub(super) fn fields(
        &mut self,
        own: Protocol,
        index: Option<usize>,
        extra: &Extra,
        changes: &mut Changes,
    ) -> Option<(usize, Kind, Map<String, Value>)> {
        let fields = own_fields(own, &self.surface, index, extra, changes)?;
        let place = index.and_then(|index| self.places.get(&index)).filter(|(_, kind)| *kind != Kind::Whole);
        let Some((place, kind)) = place else {
            self.late.merge(Extra::of(own, fields));
            return None;
        };
        Some((*place, *kind, fields))
    }
}

/// The fields for this protocol, of the answer or of a block. Fields for other protocols are not response.
pub(super) fn own_fields(
    own: Protocol,
    surface: &Surface,
    index: Option<usize>,
    extra: &Extra,
    changes: &mut Changes,
) -> Option<Map<String, Value>> {
    let mut ctx = Context::new(own, surface);
    let content = At::ROOT.field("content");
    let fields = match index {
        Some(index) => ctx.extra(&content.entry(index), extra),
        None => ctx.extra(&At::ROOT, extra),
    };
    changes.append(ctx.changes);
    fields.cloned()
}

/// Records every field of a block that the streams of a protocol have no place for.
pub(super) fn record_unstreamable(own: Protocol, index: usize, fields: &Map<String, Value>, changes: &mut Changes) {
    let surface = Surface::default();
    let mut ctx = Context::new(own, &surface);
    let content = At::ROOT.field("content");
    for name in fields.keys() {
        let detail = format!("`{name}` dropped: {} streams have no place for it", own.title());
        ctx.record_field("no-place", &content.entry(index), own, name, DROPPED, detail);
    }
    changes.append(ctx.changes);
}

/// Keeps a refusal, a usage or why the answer stops; gives whether it does.
pub(super) fn note_ending(response: &mut Response, event: &Event) -> bool {
    match event {
        Event::Refusal { text } => response.refusal.get_or_insert_default().push_str(text),
        Event::Usage(usage) => response.usage = Some(usage.clone()),
        Event::Stop { reason, sequence, extra } => {
            response.stop = reason.clone();
            response.stop_sequence.clone_from(sequence);
            response.extra.merge(extra.clone());
            return true;
        }
        Event::Start { .. }
        | Event::Open { .. }
        | Event::Delta { .. }
        | Event::Close { .. }
        | Event::Fields { .. }
        | Event::End
        | Event::Error(_)
        | Event::Other { .. } => {}
    }
    false
}
