//! Reasoning and signatures that a caller's protocol has no place for. They are kept when an answer passes, and put back into the
//! conversation when it goes to the same provider again, even after other providers have answered in between.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{BuildHasher as _, Hash};
use std::sync::{Arc, Mutex, PoisonError};

use polywire_wire::{Assembler, Block, Delta, Event, Message, Protocol, Request, Role, Signature};
use serde_json::json;

use super::echo_merge::{Piece, merge};
use crate::catalog::Model;
use crate::change::{Action, Change, Effect, Kind, change};

/// The member of a Responses request that asks for reasoning which can be sent back.
const INCLUDE: &str = "include";
const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

/// Reasoning and signatures of earlier answers, within a bound on their bytes. The oldest are forgotten first.
///
/// ```
/// use std::sync::Arc;
/// use polywire::{EchoStore, TranslateOptions};
///
/// let store = Arc::new(EchoStore::new(32 << 20));
/// let options = TranslateOptions::default().with_echo(store.scoped("one caller"));
/// ```
pub struct EchoStore {
    max_bytes: usize,
    /// Callers choose texts and ids; without these keys they cannot choose hashes.
    keys: [RandomState; 2],
    turns: Mutex<Turns>,
}

#[derive(Default)]
struct Turns {
    by_anchor: HashMap<u128, Arc<Turn>>,
    order: VecDeque<Arc<Turn>>,
    bytes: usize,
}

/// What is kept of one answer.
struct Turn {
    anchors: Vec<u128>,
    pieces: Vec<Piece>,
    bytes: usize,
}

/// Bytes of a turn beside its content.
const TURN_BYTES: usize = 256;

impl EchoStore {
    /// Creates a store. 0 bytes keep nothing.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, keys: [RandomState::new(), RandomState::new()], turns: Mutex::default() }
    }

    /// The store for one caller. Callers never get what answers to others had.
    pub fn scoped(self: &Arc<Self>, scope: impl Into<Arc<str>>) -> Echo {
        Echo { store: Arc::clone(self), scope: scope.into() }
    }

    /// The number of answers of which something is kept, and their bytes.
    pub fn size(&self) -> (usize, usize) {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        (turns.order.len(), turns.bytes)
    }

    fn hash(&self, what: &impl Hash) -> u128 {
        let [high, low] = self.keys.each_ref().map(|keys| u128::from(keys.hash_one(what)));
        high << 64 | low
    }

    fn put(&self, turn: Turn) {
        if turn.bytes > self.max_bytes {
            return;
        }
        let turn = Arc::new(turn);
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        for anchor in &turn.anchors {
            turns.by_anchor.insert(*anchor, Arc::clone(&turn));
        }
        turns.bytes += turn.bytes;
        turns.order.push_back(turn);
        while turns.bytes > self.max_bytes {
            let Some(oldest) = turns.order.pop_front() else { break };
            turns.bytes = turns.bytes.saturating_sub(oldest.bytes);
            for anchor in &oldest.anchors {
                if turns.by_anchor.get(anchor).is_some_and(|turn| Arc::ptr_eq(turn, &oldest)) {
                    turns.by_anchor.remove(anchor);
                }
            }
        }
    }

    fn get(&self, anchor: u128) -> Option<Arc<Turn>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).by_anchor.get(&anchor).cloned()
    }
}

impl fmt::Debug for EchoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (turns, bytes) = self.size();
        f.debug_struct("EchoStore").field("turns", &turns).field("bytes", &bytes).finish_non_exhaustive()
    }
}

/// An [`EchoStore`] for one caller.
#[derive(Clone, Debug)]
pub struct Echo {
    store: Arc<EchoStore>,
    scope: Arc<str>,
}

/// The provider whose reasoning is kept.
#[derive(Clone, Copy)]
struct Origin<'a> {
    provider: &'a str,
    protocol: Protocol,
}

/// How a turn is recognized in a later request, best first.
#[derive(Hash)]
enum Anchor<'a> {
    Call(&'a str),
    /// Texts repeat, so what came before them counts too.
    Text {
        before: u128,
        text: &'a str,
    },
    Thinking {
        before: u128,
        text: &'a str,
    },
}

impl Echo {
    /// Puts the reasoning of the model's provider back into a conversation, and asks for reasoning that can be put back.
    pub(super) fn fill(&self, request: &mut Request, model: &Model) -> Vec<Change> {
        let origin = Origin { provider: &model.provider().id, protocol: model.protocol() };
        let mut changes = Vec::new();
        for turn in 0..request.messages.len() {
            let Some((before, [message, ..])) = request.messages.split_at_mut_checked(turn) else { continue };
            let is_signed = message.content.iter().filter_map(Block::signature).any(|own| own.from == origin.protocol);
            if message.role != Role::Assistant || is_signed {
                continue;
            }
            let Some(kept) = self.find(origin, before.last(), message) else { continue };
            if merge(message, &kept.pieces) {
                let detail = format!("reasoning and signatures of `{}` put back", origin.provider);
                let at = format!("/messages/{turn}");
                changes.push(change(Kind::History, "echo", at, (Action::Added, Effect::Note), detail));
            }
        }
        if origin.protocol == Protocol::OpenAiResponses && !model.row().efforts.is_empty() {
            request.extra.insert(origin.protocol, INCLUDE, json!([ENCRYPTED_REASONING]));
            let detail = format!("`{ENCRYPTED_REASONING}` requested, so that reasoning can be sent back");
            changes.push(change(Kind::Parameters, "echo", "/include", (Action::Added, Effect::Note), detail));
        }
        changes
    }

    fn find(&self, origin: Origin<'_>, before: Option<&Message>, message: &Message) -> Option<Arc<Turn>> {
        let texts = Texts::of(&message.content);
        let anchors = self.anchors(before, message.calls().map(|call| call.id.as_str()), &texts);
        anchors.iter().find_map(|anchor| self.store.get(self.anchor(origin, anchor)))
    }

    fn anchors<'a>(
        &self,
        before: Option<&Message>,
        calls: impl Iterator<Item = &'a str>,
        texts: &'a Texts,
    ) -> Vec<Anchor<'a>> {
        let before = self.store.hash(&before.map(context));
        let calls = calls.filter(|id| !id.is_empty()).map(Anchor::Call);
        let text = Some(Anchor::Text { before, text: texts.text.trim() }).filter(|_| !texts.text.trim().is_empty());
        let thinking = Anchor::Thinking { before, text: texts.thinking.trim() };
        let thinking = Some(thinking).filter(|_| !texts.thinking.trim().is_empty());
        calls.chain(text).chain(thinking).collect()
    }

    fn anchor(&self, origin: Origin<'_>, anchor: &Anchor<'_>) -> u128 {
        self.store.hash(&(&*self.scope, origin.provider, origin.protocol, anchor))
    }

    /// Keeps what the caller's protocol has no place for. The ids of calls are those that the caller gets.
    pub(super) fn keep(&self, provider: &str, protocol: Protocol, request: &Request, content: &[Block]) {
        let origin = Origin { provider, protocol };
        let pieces: Vec<Piece> = content.iter().filter_map(|block| Piece::of(block, protocol)).collect();
        if !pieces.iter().any(Piece::has_content) {
            return;
        }
        let texts = Texts::of(content);
        let calls = content.iter().filter_map(|block| Some(block.as_call()?.id.as_str()));
        let anchors = self.anchors(request.messages.last(), calls, &texts);
        let anchors: Vec<u128> = anchors.iter().map(|anchor| self.anchor(origin, anchor)).collect();
        if anchors.is_empty() {
            return;
        }
        let bytes = TURN_BYTES + anchors.len() * 64 + pieces.iter().map(Piece::bytes).sum::<usize>();
        self.store.put(Turn { anchors, pieces, bytes });
    }
}

/// The texts of a turn, however it is divided into blocks.
#[derive(Default)]
struct Texts {
    text: String,
    thinking: String,
}

impl Texts {
    fn of(content: &[Block]) -> Self {
        let mut texts = Self::default();
        for block in content {
            if let Block::Text(text) = block {
                texts.text.push_str(&text.text);
            } else if let Block::Thinking(thinking) = block {
                texts.thinking.push_str(&thinking.text);
            }
        }
        texts
    }
}

/// What a turn answers: the texts of the message before it, and the calls whose results it has.
fn context(message: &Message) -> (String, Vec<&str>) {
    (Texts::of(&message.content).text, message.content.iter().filter_map(Block::answers).collect())
}

/// Collects the blocks of a stream for [`Echo::keep`].
#[derive(Debug, Default)]
pub(super) struct EchoRecorder {
    assembler: Assembler,
}

impl EchoRecorder {
    pub(super) fn observe(&mut self, event: &Event) {
        let is_needed = match event {
            Event::Open { .. } | Event::Close { .. } | Event::Fields { .. } | Event::Stop { .. } => true,
            // Arguments are long, and not kept.
            Event::Delta { delta, .. } => !matches!(delta, Delta::Arguments(_)),
            Event::Start { .. }
            | Event::Refusal { .. }
            | Event::Usage(_)
            | Event::End
            | Event::Error(_)
            | Event::Other { .. }
            | _ => false,
        };
        if is_needed {
            self.assembler.push(event.clone());
        }
    }

    /// The blocks of a stream that is complete.
    pub(super) fn finish(self) -> Option<Vec<Block>> {
        self.assembler.finish().ok().map(|response| response.content)
    }
}

/// A signature of a protocol.
pub(super) fn own(signature: Option<&Signature>, protocol: Protocol) -> Option<&Signature> {
    signature.filter(|signature| signature.from == protocol)
}
