//! Tracks the provider-specific fields of a stream. Chunks repeat such fields; only new or changed ones become events.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Protocol;
use crate::neutral::{Block, Event, Extra, MergeMode};

/// The fields seen so far, of the response and of its open blocks.
#[derive(Debug, Default)]
pub(super) struct SeenFields {
    answer: Map<String, Value>,
    blocks: BTreeMap<usize, Map<String, Value>>,
}

impl SeenFields {
    /// Stores the fields of the start event.
    pub(super) fn start_response(&mut self, fields: &Map<String, Value>) {
        self.answer.clone_from(fields);
    }

    /// Stores the fields of a new block.
    pub(super) fn start_block(&mut self, own: Protocol, index: usize, block: &Block) {
        let fields = if let Block::Other(other) = block {
            other.value.as_object()
        } else {
            block.extra().and_then(|extra| extra.get(own))
        };
        self.blocks.insert(index, fields.cloned().unwrap_or_default());
    }

    /// True if the block was started.
    pub(super) fn has_block(&self, index: usize) -> bool {
        self.blocks.contains_key(&index)
    }

    /// Emits the fields of the response or of a block that are new or changed.
    pub(super) fn emit_new(
        &mut self,
        own: Protocol,
        index: Option<usize>,
        mut fields: Map<String, Value>,
        out: &mut Vec<Event>,
    ) {
        if fields.is_empty() {
            return;
        }
        let seen = match index {
            Some(index) => self.blocks.entry(index).or_default(),
            None => &mut self.answer,
        };
        let grows = |name: &str| own.merge_mode(name) != MergeMode::Replace;
        fields.retain(|name, value| grows(name) || seen.get(name) != Some(value));
        let replaced = fields.iter().filter(|(name, _)| !grows(name));
        seen.extend(replaced.map(|(name, value)| (name.clone(), value.clone())));
        if !fields.is_empty() {
            out.push(Event::Fields { index, extra: Extra::of(own, fields) });
        }
    }

    /// Forgets the fields of a block.
    pub(super) fn end_block(&mut self, index: usize) {
        self.blocks.remove(&index);
    }

    /// True if a field of the response is absent or has the same value as before.
    pub(super) fn is_unchanged(&self, name: &str, text: Option<&str>) -> bool {
        text.is_none() || self.answer.get(name).and_then(Value::as_str) == text
    }
}
