//! State of stream writers: data that events provide early and the protocol sends at the end.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Protocol;
use super::context::{At, Context, DROPPED};
use crate::neutral::{Block, Event, Extra, Response, ToolOrigin};
use crate::report::Changes;
use crate::surface::Surface;

/// The state of a writer that sends a response block by block.
#[derive(Debug)]
pub(super) struct WriterState {
    pub(super) surface: Surface,
    pub(super) response: Response,
    /// Block index to index on the wire and kind.
    pub(super) places: BTreeMap<usize, (usize, Kind)>,
    /// Provider-specific fields of the stop event.
    pub(super) last: Extra,
    /// Provider-specific fields that arrived between start and stop.
    pub(super) late: Extra,
    pub(super) stopped: bool,
}

/// Kinds of blocks, by their deltas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
    Call,
    /// A block that only its own protocol supports.
    Foreign,
    /// A block without deltas.
    Whole,
}

impl Kind {
    fn of(block: &Block) -> Self {
        match block {
            Block::Text(_) => Self::Text,
            Block::Thinking(_) => Self::Reasoning,
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
            places: BTreeMap::new(),
            last: Extra::default(),
            late: Extra::default(),
            stopped: false,
        }
    }

    /// Assigns the next wire index to a block.
    pub(super) fn number(&mut self, index: usize, block: &Block) -> usize {
        let place = self.places.len();
        self.places.insert(index, (place, Kind::of(block)));
        place
    }

    pub(super) fn place(&self, index: usize) -> Option<usize> {
        self.places.get(&index).map(|(place, _)| *place)
    }

    /// True if the block is reasoning, the only kind that is signed.
    pub(super) fn is_reasoning(&self, index: usize) -> bool {
        self.places.get(&index).is_some_and(|(_, kind)| *kind == Kind::Reasoning)
    }

    /// Stores the data of an event that is sent at the end.
    pub(super) fn note(&mut self, event: &Event) {
        self.stopped |= note_ending(&mut self.response, event);
        if let Event::Stop { extra, .. } = event {
            self.last = extra.clone();
        }
    }

    /// The fields that can be sent now, with the wire index and kind of their block. Other fields are stored until the end.
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

/// The fields of this protocol, of the response or of a block. Fields of other protocols are recorded as dropped.
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

/// Records that a tool call is streamed as a call of a plain function.
pub(super) fn record_function_call(own: Protocol, index: usize, origin: Option<&ToolOrigin>, changes: &mut Changes) {
    let surface = Surface::default();
    let mut ctx = Context::new(own, &surface);
    ctx.record_as_function(&At::ROOT.field("content").entry(index), origin);
    changes.append(ctx.changes);
}

/// Records the fields of a block that streams of the protocol cannot carry.
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

/// Stores a refusal, usage or stop reason; returns true for a stop event.
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
