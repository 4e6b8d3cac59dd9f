//! Keys hidden in streams: the text of a block is held back while its end may be the beginning of a key, so that a key cut between
//! two events is found too.

use polywire_wire::{Block, Delta, Event};

use super::mask::{Found, Mask};

/// The text that is held back, of which kind and block.
type Held = (Slot, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Text(usize),
    Thinking(usize),
    Arguments(usize),
    Refusal,
}

impl Slot {
    fn event(self, text: String) -> Event {
        match self {
            Self::Text(index) => Event::Delta { index, delta: Delta::Text(text) },
            Self::Thinking(index) => Event::Delta { index, delta: Delta::Thinking(text) },
            Self::Arguments(index) => Event::Delta { index, delta: Delta::Arguments(text) },
            Self::Refusal => Event::Refusal { text },
        }
    }

    fn is_of(self, block: usize) -> bool {
        match self {
            Self::Text(index) | Self::Thinking(index) | Self::Arguments(index) => index == block,
            Self::Refusal => false,
        }
    }
}

/// Hides keys in the events of one stream.
#[derive(Debug, Default)]
pub(super) struct EventMask {
    pub(super) mask: Mask,
    held: Vec<Held>,
    /// Whether keys were found in events.
    pub(super) found: Found,
    /// Whether keys were found that were cut between events, so that the bytes hold their parts.
    pub(super) cut: Found,
}

impl EventMask {
    pub(super) fn new(mask: Mask) -> Self {
        Self { mask, ..Self::default() }
    }

    /// The events without the keys, as far as they can be given out.
    pub(super) fn push(&mut self, events: Vec<Event>) -> Vec<Event> {
        let mut out = Vec::with_capacity(events.len());
        for event in events {
            self.event(event, &mut out);
        }
        out
    }

    /// What is still held back, at the end.
    pub(super) fn finish(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.held).into_iter().map(|(slot, text)| slot.event(text)).collect()
    }

    fn event(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::Delta { index, delta: Delta::Text(text) } => self.text(Slot::Text(index), text, out),
            Event::Delta { index, delta: Delta::Thinking(text) } => self.text(Slot::Thinking(index), text, out),
            Event::Delta { index, delta: Delta::Arguments(text) } => self.text(Slot::Arguments(index), text, out),
            Event::Refusal { text } => self.text(Slot::Refusal, text, out),
            Event::Open { index, block: Block::Text(mut block) } if self.is_open(&block.text) => {
                let text = std::mem::take(&mut block.text);
                self.other(Event::Open { index, block: Block::Text(block) }, out);
                self.text(Slot::Text(index), text, out);
            }
            Event::Open { index, block: Block::ToolCall(mut call) } if self.is_open(&call.arguments) => {
                let text = std::mem::take(&mut call.arguments);
                self.other(Event::Open { index, block: Block::ToolCall(call) }, out);
                self.text(Slot::Arguments(index), text, out);
            }
            Event::Close { index } => {
                let (ended, held) = std::mem::take(&mut self.held).into_iter().partition(|(slot, _)| slot.is_of(index));
                self.held = held;
                out.extend(Vec::into_iter(ended).map(|(slot, text): Held| slot.event(text)));
                out.push(event);
            }
            Event::Stop { .. } | Event::End | Event::Error(_) => {
                out.extend(self.finish());
                self.other(event, out);
            }
            Event::Start { .. }
            | Event::Open { .. }
            | Event::Delta { .. }
            | Event::Fields { .. }
            | Event::Usage(_)
            | Event::Other { .. }
            | _ => self.other(event, out),
        }
    }

    /// Whether a text ends as a key begins.
    fn is_open(&self, text: &str) -> bool {
        self.mask.open_end(text) < text.len()
    }

    /// An event whose texts are whole.
    fn other(&mut self, event: Event, out: &mut Vec<Event>) {
        // An event that is none without a key is not given out.
        if let Some((event, found)) = self.mask.value(event) {
            self.found = self.found.max(found);
            out.push(event);
        }
    }

    fn text(&mut self, slot: Slot, text: String, out: &mut Vec<Event>) {
        let held = self.held.iter().position(|(of, _)| *of == slot).map(|at| self.held.swap_remove(at).1);
        let was_held = held.is_some();
        let text = match held {
            Some(held) => held + &text,
            None => text,
        };
        let hidden = self.mask.text(&text);
        if matches!(hidden, std::borrow::Cow::Owned(_)) {
            self.found = Found::Keys;
            self.cut = self.cut.max(if was_held { Found::Keys } else { Found::Nothing });
        }
        let (ready, rest) = hidden.split_at_checked(self.mask.open_end(&hidden)).unwrap_or((&hidden, ""));
        if !ready.is_empty() || text.is_empty() {
            out.push(slot.event(ready.to_owned()));
        }
        if !rest.is_empty() {
            self.held.push((slot, rest.to_owned()));
        }
    }
}
