//! What a stream says before its end and a protocol says at its end: writers keep it until then.

use std::collections::{HashMap, HashSet};

use crate::neutral::{Event, Response};
use crate::surface::Surface;

/// What a writer remembers of an answer that it says block by block.
#[derive(Debug)]
pub(super) struct Telling {
    pub(super) surface: Surface,
    pub(super) said: Response,
    /// The numbers of the blocks on the wire.
    pub(super) places: HashMap<usize, usize>,
    /// The blocks that are thoughts: no others are signed.
    pub(super) thoughts: HashSet<usize>,
    pub(super) stopped: bool,
}

impl Telling {
    pub(super) fn new(surface: &Surface) -> Self {
        Self {
            surface: surface.clone(),
            said: Response::default(),
            places: HashMap::new(),
            thoughts: HashSet::new(),
            stopped: false,
        }
    }

    /// Gives a block its number on the wire.
    pub(super) fn number(&mut self, index: usize) -> usize {
        let place = self.places.len();
        self.places.insert(index, place);
        place
    }

    /// Keeps what is said at the end.
    pub(super) fn hear(&mut self, event: &Event) {
        self.stopped |= hear(&mut self.said, event);
    }
}

/// Keeps a refusal, a usage or why the answer stops; gives whether it does.
pub(super) fn hear(said: &mut Response, event: &Event) -> bool {
    match event {
        Event::Refusal { text } => said.refusal.get_or_insert_default().push_str(text),
        Event::Usage(usage) => said.usage = Some(usage.clone()),
        Event::Stop { reason, sequence, extra } => {
            said.stop = reason.clone();
            said.stop_sequence.clone_from(sequence);
            said.extra.merge(extra.clone());
            return true;
        }
        Event::Start { .. }
        | Event::Open { .. }
        | Event::Delta { .. }
        | Event::Close { .. }
        | Event::End
        | Event::Error(_)
        | Event::Other { .. } => {}
    }
    false
}
