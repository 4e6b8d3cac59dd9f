//! Masks keys in streams: the end of a text is held back while it may be the beginning of a key, so that a key that is split between
//! two events is found too.

use polywire_wire::{Block, Delta, Event};

use super::mask::{Mask, MaskResult};

/// Text that is held back, with the field that it belongs to.
type Held = (TextField, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextField {
    Text(usize),
    Thinking(usize),
    Arguments(usize),
    Refusal,
}

impl TextField {
    fn event(self, text: String) -> Event {
        match self {
            Self::Text(index) => Event::Delta { index, delta: Delta::Text(text) },
            Self::Thinking(index) => Event::Delta { index, delta: Delta::Thinking(text) },
            Self::Arguments(index) => Event::Delta { index, delta: Delta::Arguments(text) },
            Self::Refusal => Event::Refusal { text },
        }
    }

    fn belongs_to(self, block: usize) -> bool {
        match self {
            Self::Text(index) | Self::Thinking(index) | Self::Arguments(index) => index == block,
            Self::Refusal => false,
        }
    }
}

/// Masks keys in the events of one stream.
#[derive(Debug, Default)]
pub(super) struct EventMask {
    pub(super) mask: Mask,
    held: Vec<Held>,
    /// The keys in all events.
    pub(super) found: MaskResult,
    /// The keys that were split between events; masking the raw bytes does not find them.
    pub(super) cut: MaskResult,
}

impl EventMask {
    pub(super) fn new(mask: Mask) -> Self {
        Self { mask, ..Self::default() }
    }

    /// Masks events and returns those that need not be held back.
    pub(super) fn push(&mut self, events: Vec<Event>) -> Vec<Event> {
        let mut out = Vec::with_capacity(events.len());
        for event in events {
            self.mask_event(event, &mut out);
        }
        out
    }

    /// The text that is still held back, at the end of the stream.
    pub(super) fn finish(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.held).into_iter().map(|(field, text)| field.event(text)).collect()
    }

    fn mask_event(&mut self, event: Event, out: &mut Vec<Event>) {
        match event {
            Event::Delta { index, delta: Delta::Text(text) } => self.mask_text(TextField::Text(index), text, out),
            Event::Delta { index, delta: Delta::Thinking(text) } => {
                self.mask_text(TextField::Thinking(index), text, out);
            }
            Event::Delta { index, delta: Delta::Arguments(text) } => {
                self.mask_text(TextField::Arguments(index), text, out);
            }
            Event::Refusal { text } => self.mask_text(TextField::Refusal, text, out),
            Event::Open { index, block: Block::Text(mut block) } if self.may_continue_as_key(&block.text) => {
                let text = std::mem::take(&mut block.text);
                self.mask_whole_event(Event::Open { index, block: Block::Text(block) }, out);
                self.mask_text(TextField::Text(index), text, out);
            }
            Event::Open { index, block: Block::ToolCall(mut call) } if self.may_continue_as_key(&call.arguments) => {
                let text = std::mem::take(&mut call.arguments);
                self.mask_whole_event(Event::Open { index, block: Block::ToolCall(call) }, out);
                self.mask_text(TextField::Arguments(index), text, out);
            }
            Event::Close { index } => {
                let (ended, held) =
                    std::mem::take(&mut self.held).into_iter().partition(|(field, _)| field.belongs_to(index));
                self.held = held;
                out.extend(Vec::into_iter(ended).map(|(field, text): Held| field.event(text)));
                out.push(event);
            }
            Event::Stop { .. } | Event::End | Event::Error(_) => {
                out.extend(self.finish());
                self.mask_whole_event(event, out);
            }
            Event::Start { .. }
            | Event::Open { .. }
            | Event::Delta { .. }
            | Event::Fields { .. }
            | Event::Usage(_)
            | Event::Other { .. }
            | _ => self.mask_whole_event(event, out),
        }
    }

    /// Returns `true` if a text ends with the beginning of a key.
    fn may_continue_as_key(&self, text: &str) -> bool {
        self.mask.open_end(text) < text.len()
    }

    fn mask_whole_event(&mut self, event: Event, out: &mut Vec<Event>) {
        // An event that cannot be deserialized after masking is dropped.
        if let Some((event, found)) = self.mask.value(event) {
            self.found = self.found.max(found);
            out.push(event);
        }
    }

    fn mask_text(&mut self, field: TextField, text: String, out: &mut Vec<Event>) {
        let held = self.held.iter().position(|(of, _)| *of == field).map(|at| self.held.swap_remove(at).1);
        let was_held = held.is_some();
        let text = match held {
            Some(held) => held + &text,
            None => text,
        };
        let hidden = self.mask.text(&text);
        if matches!(hidden, std::borrow::Cow::Owned(_)) {
            self.found = MaskResult::Masked;
            self.cut = self.cut.max(if was_held { MaskResult::Masked } else { MaskResult::Unchanged });
        }
        let (ready, rest) = hidden.split_at_checked(self.mask.open_end(&hidden)).unwrap_or((&hidden, ""));
        if !ready.is_empty() || text.is_empty() {
            out.push(field.event(ready.to_owned()));
        }
        if !rest.is_empty() {
            self.held.push((field, rest.to_owned()));
        }
    }
}
