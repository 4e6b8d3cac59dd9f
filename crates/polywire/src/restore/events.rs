//! Restores streamed responses: events in the caller's tool names and schemas. They assemble to the response that
//! [`restore`](super::restore) returns.

use std::collections::{BTreeMap, BTreeSet};

use polywire_wire::{Assembler, Block, Delta, Event, Extra, OUTPUT_TOOL, Response, StopReason, ToolCall};

use super::Restored;
use super::call::{check_forwarded_call, restore_call};
use super::contract::{Contract, needs_decoding};
use crate::change::Change;

/// Restores the events of one response. Blocks that have to be decoded are held until they are complete; all others are forwarded
/// at once.
#[derive(Debug, Default)]
pub struct RestoreEvents {
    /// Incomplete blocks that are held, by index.
    held: BTreeMap<usize, Assembler>,
    /// The call of the output tool.
    output_call: Option<OutputCall>,
    /// Further calls of the output tool, which are dropped.
    repeated_output_calls: BTreeSet<usize>,
    /// The first call of any tool.
    first_call: Option<usize>,
    /// A tool of the caller was called.
    has_tool_calls: bool,
    /// Forwarded calls, which are validated when they are complete.
    forwarded_calls: BTreeMap<usize, ToolCall>,
    changes: Vec<Change>,
}

/// Forwarded calls with longer arguments are not validated, which limits memory.
const MAX_VALIDATED: usize = 1 << 20;

/// The index of the output tool's call, and the index of the text block that replaces it.
#[derive(Clone, Copy, Debug)]
struct OutputCall {
    index: usize,
    text_index: usize,
}

/// The handling of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockHandling {
    Forward,
    /// The block is held until it is complete.
    Hold,
    /// The arguments of the call are forwarded as text.
    ForwardAsText,
}

impl RestoreEvents {
    /// Every repair, and everything that could not be restored, so far.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Restores the next event of the response. Returns the events for the caller.
    pub fn push<'a>(&mut self, event: Event, contract: impl Into<Contract<'a>>) -> Vec<Event> {
        let mut out = Vec::new();
        self.push_into(event, contract, &mut out);
        out
    }

    /// Restores the next event of the response and appends the events for the caller to `out`.
    pub fn push_into<'a>(&mut self, event: Event, contract: impl Into<Contract<'a>>, out: &mut Vec<Event>) {
        let contract = contract.into();
        match event {
            Event::Open { index, block } => self.open(index, block, contract, out),
            Event::Delta { index, delta } => out.extend(self.delta(index, delta, contract)),
            Event::Close { index } => self.close(index, contract, out),
            Event::Fields { index: Some(index), extra } => out.extend(self.fields(index, extra)),
            Event::Stop { reason, sequence, extra } => {
                self.flush(&reason, contract, out);
                let answered = self.output_call.is_some() && !self.has_tool_calls && reason == StopReason::ToolUse;
                let reason = if answered { StopReason::EndTurn } else { reason };
                out.push(Event::Stop { reason, sequence, extra });
            }
            event @ (Event::Start { .. }
            | Event::Fields { index: None, .. }
            | Event::Refusal { .. }
            | Event::Usage(_)
            | Event::End
            | Event::Error(_)
            | Event::Other { .. }
            | _) => out.push(event),
        }
    }

    fn open(&mut self, index: usize, mut block: Block, contract: Contract<'_>, out: &mut Vec<Event>) {
        match self.choose_handling(index, &mut block, contract) {
            BlockHandling::Forward => out.push(Event::Open { index: forwarded_index(index), block }),
            BlockHandling::Hold => self.hold(index, Event::Open { index, block }),
            BlockHandling::ForwardAsText => {
                let arguments = block.as_call().map(|call| call.arguments.clone()).unwrap_or_default();
                let text_index = self.output_call.map_or(forwarded_index(index), |answer| answer.text_index);
                push_text(text_index, Block::text(arguments), out);
            }
        }
    }

    /// Chooses the handling of a new block and restores the tool name of a call.
    fn choose_handling(&mut self, index: usize, block: &mut Block, contract: Contract<'_>) -> BlockHandling {
        let (has_output_tool, has_output_lens) = (contract.has_output_tool(), contract.output_lens().is_some());
        let Block::ToolCall(call) = block else {
            let held = matches!(block, Block::Text(_)) && (has_output_tool || has_output_lens);
            return if held { BlockHandling::Hold } else { BlockHandling::Forward };
        };
        let first = *self.first_call.get_or_insert(index);
        if has_output_tool && call.name == OUTPUT_TOOL {
            if self.output_call.is_some() {
                self.repeated_output_calls.insert(index);
                return BlockHandling::Hold;
            }
            self.output_call = Some(OutputCall { index, text_index: forwarded_index(first) - 1 });
            return if has_output_lens { BlockHandling::Hold } else { BlockHandling::ForwardAsText };
        }
        self.has_tool_calls = true;
        if must_hold(&call.name, contract) {
            return BlockHandling::Hold;
        }
        if let Some(tool) = contract.plan.tool(&call.name) {
            tool.name.clone_into(&mut call.name);
            call.origin = tool.origin.clone().or(call.origin.take());
        }
        if contract.parameters(&call.name).is_some() {
            self.forwarded_calls.insert(index, call.clone());
        }
        BlockHandling::Forward
    }

    fn hold(&mut self, index: usize, event: Event) {
        self.held.entry(index).or_default().push(event);
    }

    fn delta(&mut self, index: usize, delta: Delta, contract: Contract<'_>) -> Option<Event> {
        // Text is the output only if the output tool is not called, which is known at the end.
        let is_output_text =
            matches!(delta, Delta::Text(_)) && (contract.has_output_tool() || contract.output_lens().is_some());
        if is_output_text || self.held.contains_key(&index) {
            self.hold(index, Event::Delta { index, delta });
            return None;
        }
        if let (Delta::Arguments(more), Some(call)) = (&delta, self.forwarded_calls.get_mut(&index)) {
            call.arguments.push_str(more);
            if call.arguments.len() > MAX_VALIDATED {
                self.forwarded_calls.remove(&index);
            }
        }
        match (self.output_call.filter(|answer| answer.index == index), delta) {
            (Some(answer), Delta::Arguments(more)) => {
                Some(Event::Delta { index: answer.text_index, delta: Delta::Text(more) })
            }
            // Other deltas of a call, such as signatures, do not exist for text.
            (Some(_), _) => None,
            (None, delta) => Some(Event::Delta { index: forwarded_index(index), delta }),
        }
    }

    /// Fields of a held block are held with it; those of the output tool's call are dropped.
    fn fields(&mut self, index: usize, extra: Extra) -> Option<Event> {
        if self.held.contains_key(&index) {
            self.hold(index, Event::Fields { index: Some(index), extra });
            return None;
        }
        let answer = self.output_call.is_some_and(|answer| answer.index == index);
        (!answer).then(|| Event::Fields { index: Some(forwarded_index(index)), extra })
    }

    fn close(&mut self, index: usize, contract: Contract<'_>, out: &mut Vec<Event>) {
        if let Some(call) = self.forwarded_calls.remove(&index) {
            check_forwarded_call(&call, contract, index, &mut self.changes);
        }
        if !self.held.contains_key(&index) {
            let answer = self.output_call.filter(|answer| answer.index == index);
            out.push(Event::Close { index: answer.map_or(forwarded_index(index), |answer| answer.text_index) });
            return;
        }
        // Output text is restored at the end of the response.
        let call = self.held.get(&index).and_then(held_call).filter(|call| must_hold(&call.name, contract));
        let Some(call) = call.filter(|_| self.output_call.is_none_or(|answer| answer.index != index)) else {
            return;
        };
        self.held.remove(&index);
        out.extend(self.restored_call_events(index, call, contract));
    }

    /// Restores all held blocks at the end of the response.
    fn flush(&mut self, reason: &StopReason, contract: Contract<'_>, out: &mut Vec<Event>) {
        let mut texts = Vec::new();
        for (index, held) in std::mem::take(&mut self.held) {
            let answer = self.output_call.filter(|answer| answer.index == index);
            match (held_call(&held), answer) {
                (Some(call), Some(answer)) => texts.push((answer.text_index, Block::text(call.arguments))),
                (Some(call), None) if !self.repeated_output_calls.contains(&index) => {
                    out.extend(self.restored_call_events(index, call, contract));
                }
                (None, None) if self.output_call.is_none() => {
                    texts.extend(held.partial().content.into_iter().map(|block| (forwarded_index(index), block)));
                }
                (Some(_) | None, _) => {}
            }
        }
        let (places, content): (Vec<usize>, Vec<Block>) = texts.into_iter().unzip();
        let response = Response { content, stop: reason.clone(), ..Response::default() };
        let mut restored = Restored { response, output: None, changes: Vec::new() };
        restored.restore_output(contract);
        self.changes.append(&mut restored.changes);
        for (index, block) in places.into_iter().zip(restored.response.content) {
            push_text(index, block, out);
            out.push(Event::Close { index });
        }
    }

    /// The events of a complete, restored call.
    fn restored_call_events(&mut self, index: usize, mut call: ToolCall, contract: Contract<'_>) -> [Event; 3] {
        restore_call(&mut call, contract, index, &mut self.changes);
        let arguments = std::mem::take(&mut call.arguments);
        let index = forwarded_index(index);
        [
            Event::Open { index, block: Block::ToolCall(call) },
            Event::Delta { index, delta: Delta::Arguments(arguments) },
            Event::Close { index },
        ]
    }
}

/// Appends the events of a text block. Clients read text from deltas, not from the start of a block.
fn push_text(index: usize, mut block: Block, out: &mut Vec<Event>) {
    let text = if let Block::Text(text) = &mut block { std::mem::take(&mut text.text) } else { String::new() };
    out.push(Event::Open { index, block });
    if !text.is_empty() {
        out.push(Event::Delta { index, delta: Delta::Text(text) });
    }
}

/// The index of a forwarded block. The index before it is free for the output text.
fn forwarded_index(index: usize) -> usize {
    index.saturating_mul(2).saturating_add(1)
}

fn held_call(held: &Assembler) -> Option<ToolCall> {
    held.partial().content.iter().find_map(Block::as_call).cloned()
}

/// Returns `true` if a call of this wire name can only be restored when it is complete.
fn must_hold(name: &str, contract: Contract<'_>) -> bool {
    contract.plan.tool(name).is_some_and(needs_decoding)
}
