//! The way back for answers that arrive in pieces: events in the caller's names and shapes. Put together, they are the answer that
//! [`restore`](super::restore) gives.

use std::collections::{BTreeMap, BTreeSet};

use polywire_wire::{Assembler, Block, Delta, Event, Extra, OUTPUT_TOOL, Response, StopReason, ToolCall};

use super::Restored;
use super::call::{check_passed, restore_call};
use super::contract::{Contract, is_carried};
use crate::change::Change;

/// Brings the events of one answer back as they come. What travels in another shape is held until it is whole; everything else
/// passes at once.
#[derive(Debug, Default)]
pub struct RestoreEvents {
    /// The blocks that are held.
    held: BTreeMap<usize, Assembler>,
    /// What is answered by a tool, and where its text goes.
    answer: Option<Answer>,
    /// Calls that say the answer once more.
    again: BTreeSet<usize>,
    /// The first call of any tool.
    first_call: Option<usize>,
    /// Whether a tool of the caller's is called.
    calls: bool,
    /// Calls that passed on as they arrived, to be validated when they are complete.
    passed: BTreeMap<usize, ToolCall>,
    changes: Vec<Change>,
}

/// The most bytes of a call's arguments that are kept for validation.
const MAX_VALIDATED: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
struct Answer {
    index: usize,
    goes: usize,
}

/// What becomes of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It passes.
    Pass,
    /// It is held until it is whole.
    Hold,
    /// It passes as the text of the answer.
    Answer,
}

impl RestoreEvents {
    /// What could not be brought back, and every repair, so far.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Takes the next event of the answer, and gives those that the caller may see.
    pub fn push<'a>(&mut self, event: Event, contract: impl Into<Contract<'a>>) -> Vec<Event> {
        let contract = contract.into();
        match event {
            Event::Open { index, block } => self.open(index, block, contract),
            Event::Delta { index, delta } => self.delta(index, delta, contract),
            Event::Close { index } => self.close(index, contract),
            Event::Fields { index: Some(index), extra } => self.fields(index, extra),
            Event::Stop { reason, sequence, extra } => {
                let mut events = self.flush(&reason, contract);
                let answered = self.answer.is_some() && !self.calls && reason == StopReason::ToolUse;
                let reason = if answered { StopReason::EndTurn } else { reason };
                events.push(Event::Stop { reason, sequence, extra });
                events
            }
            event @ (Event::Start { .. }
            | Event::Fields { index: None, .. }
            | Event::Refusal { .. }
            | Event::Usage(_)
            | Event::End
            | Event::Error(_)
            | Event::Other { .. }
            | _) => vec![event],
        }
    }

    fn open(&mut self, index: usize, mut block: Block, contract: Contract<'_>) -> Vec<Event> {
        match self.fate(index, &mut block, contract) {
            Fate::Pass => vec![Event::Open { index: place(index), block }],
            Fate::Hold => {
                self.hold(index, Event::Open { index, block });
                Vec::new()
            }
            Fate::Answer => {
                let said = block.as_call().map(|call| call.arguments.clone()).unwrap_or_default();
                let goes = self.answer.map_or(place(index), |answer| answer.goes);
                whole_text(goes, Block::text(said))
            }
        }
    }

    /// What becomes of a block that begins; a call gets the caller's name.
    fn fate(&mut self, index: usize, block: &mut Block, contract: Contract<'_>) -> Fate {
        let (by_tool, by_lens) = (contract.answers_by_tool(), contract.output_lens().is_some());
        let Block::ToolCall(call) = block else {
            let held = matches!(block, Block::Text(_)) && (by_tool || by_lens);
            return if held { Fate::Hold } else { Fate::Pass };
        };
        let first = *self.first_call.get_or_insert(index);
        if by_tool && call.name == OUTPUT_TOOL {
            if self.answer.is_some() {
                self.again.insert(index);
                return Fate::Hold;
            }
            self.answer = Some(Answer { index, goes: place(first) - 1 });
            return if by_lens { Fate::Hold } else { Fate::Answer };
        }
        self.calls = true;
        if waits(&call.name, contract) {
            return Fate::Hold;
        }
        if let Some(tool) = contract.plan.tool(&call.name) {
            tool.name.clone_into(&mut call.name);
            call.origin = tool.origin.clone().or(call.origin.take());
        }
        if contract.parameters(&call.name).is_some() {
            self.passed.insert(index, call.clone());
        }
        Fate::Pass
    }

    fn hold(&mut self, index: usize, event: Event) {
        self.held.entry(index).or_default().push(event);
    }

    fn delta(&mut self, index: usize, delta: Delta, contract: Contract<'_>) -> Vec<Event> {
        // Words beside the tool are the answer only if the tool is not called.
        let words = matches!(delta, Delta::Text(_)) && (contract.answers_by_tool() || contract.output_lens().is_some());
        if words || self.held.contains_key(&index) {
            self.hold(index, Event::Delta { index, delta });
            return Vec::new();
        }
        if let (Delta::Arguments(more), Some(call)) = (&delta, self.passed.get_mut(&index)) {
            call.arguments.push_str(more);
            if call.arguments.len() > MAX_VALIDATED {
                self.passed.remove(&index);
            }
        }
        match (self.answer.filter(|answer| answer.index == index), delta) {
            (Some(answer), Delta::Arguments(more)) => {
                vec![Event::Delta { index: answer.goes, delta: Delta::Text(more) }]
            }
            // A text has no signature of a call.
            (Some(_), _) => Vec::new(),
            (None, delta) => vec![Event::Delta { index: place(index), delta }],
        }
    }

    /// Fields of a block that is held are held with it; a call that is the answer takes its fields along.
    fn fields(&mut self, index: usize, extra: Extra) -> Vec<Event> {
        if self.held.contains_key(&index) {
            self.hold(index, Event::Fields { index: Some(index), extra });
            return Vec::new();
        }
        let answer = self.answer.is_some_and(|answer| answer.index == index);
        if answer { Vec::new() } else { vec![Event::Fields { index: Some(place(index)), extra }] }
    }

    fn close(&mut self, index: usize, contract: Contract<'_>) -> Vec<Event> {
        if let Some(call) = self.passed.remove(&index) {
            check_passed(&call, contract, index, &mut self.changes);
        }
        if !self.held.contains_key(&index) {
            let answer = self.answer.filter(|answer| answer.index == index);
            return vec![Event::Close { index: answer.map_or(place(index), |answer| answer.goes) }];
        }
        // What may be the answer is known at the end.
        let call = self.held.get(&index).and_then(call_in).filter(|call| waits(&call.name, contract));
        let Some(call) = call.filter(|_| self.answer.is_none_or(|answer| answer.index != index)) else {
            return Vec::new();
        };
        self.held.remove(&index);
        self.whole_call(index, call, contract).into()
    }

    /// Everything that is still held, at the end.
    fn flush(&mut self, reason: &StopReason, contract: Contract<'_>) -> Vec<Event> {
        let mut events = Vec::new();
        let mut texts = Vec::new();
        for (index, held) in std::mem::take(&mut self.held) {
            let answer = self.answer.filter(|answer| answer.index == index);
            match (call_in(&held), answer) {
                (Some(call), Some(answer)) => texts.push((answer.goes, Block::text(call.arguments))),
                (Some(call), None) if !self.again.contains(&index) => {
                    events.extend(self.whole_call(index, call, contract));
                }
                (None, None) if self.answer.is_none() => {
                    texts.extend(held.partial().content.into_iter().map(|block| (place(index), block)));
                }
                (Some(_) | None, _) => {}
            }
        }
        let (places, content): (Vec<usize>, Vec<Block>) = texts.into_iter().unzip();
        let response = Response { content, stop: reason.clone(), ..Response::default() };
        let mut restored = Restored { response, output: None, changes: Vec::new() };
        restored.take_output(contract);
        self.changes.append(&mut restored.changes);
        for (index, block) in places.into_iter().zip(restored.response.content) {
            events.extend(whole_text(index, block));
            events.push(Event::Close { index });
        }
        events
    }

    /// A call of the caller's, whole, in the caller's names and shapes.
    fn whole_call(&mut self, index: usize, mut call: ToolCall, contract: Contract<'_>) -> [Event; 3] {
        restore_call(&mut call, contract, index, &mut self.changes);
        let arguments = std::mem::take(&mut call.arguments);
        let index = place(index);
        [
            Event::Open { index, block: Block::ToolCall(call) },
            Event::Delta { index, delta: Delta::Arguments(arguments) },
            Event::Close { index },
        ]
    }
}

/// A text that begins and is there at once. Clients read text from deltas, not from the beginning of a block.
fn whole_text(index: usize, mut block: Block) -> Vec<Event> {
    let text = if let Block::Text(text) = &mut block { std::mem::take(&mut text.text) } else { String::new() };
    let delta = (!text.is_empty()).then_some(Event::Delta { index, delta: Delta::Text(text) });
    [Event::Open { index, block }].into_iter().chain(delta).collect()
}

/// Where a block goes; between two there is room for the answer.
fn place(index: usize) -> usize {
    index.saturating_mul(2).saturating_add(1)
}

/// The call that was held.
fn call_in(held: &Assembler) -> Option<ToolCall> {
    held.partial().content.iter().find_map(Block::as_call).cloned()
}

/// Whether a call of this name on the wire is known only when it is whole.
fn waits(name: &str, contract: Contract<'_>) -> bool {
    contract.plan.tool(name).is_some_and(is_carried)
}
