//! Reasoning and signatures of one turn, back in their places between the caller's texts and calls.

use std::collections::VecDeque;

use polywire_wire::{Block, Message, Protocol, Signature};

use super::echo::own;

/// A block of an answer, as far as it is kept.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Reasoning, or an empty text with a signature: blocks that the caller does not have.
    Hidden(Block),
    Text(Option<Signature>),
    Call {
        id: String,
        signature: Option<Signature>,
    },
}

impl Piece {
    pub(super) fn of(block: &Block, protocol: Protocol) -> Option<Self> {
        let signature = own(block.signature(), protocol).cloned();
        Some(match block {
            Block::Thinking(_) | Block::RedactedThinking(_) => {
                signature?;
                Self::Hidden(block.clone())
            }
            Block::Text(text) if text.text.is_empty() => {
                signature?;
                Self::Hidden(block.clone())
            }
            Block::Text(_) => Self::Text(signature),
            Block::ToolCall(call) => Self::Call { id: call.id.clone(), signature },
            Block::Image(_)
            | Block::Audio(_)
            | Block::Document(_)
            | Block::ToolResult(_)
            | Block::ToolResultReference(_)
            | Block::Other(_)
            | _ => return None,
        })
    }

    /// Whether there is something to put back.
    pub(super) fn has_content(&self) -> bool {
        match self {
            Self::Hidden(_) => true,
            Self::Text(signature) | Self::Call { signature, .. } => signature.is_some(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let of = |signature: Option<&Signature>| signature.map_or(0, |signature| signature.data.len());
        let content = match self {
            Self::Hidden(block) => {
                let text = if let Block::Thinking(thinking) = block { thinking.text.len() } else { 0 };
                text + of(block.signature())
            }
            Self::Text(signature) => of(signature.as_ref()),
            Self::Call { id, signature } => id.len() + of(signature.as_ref()),
        };
        content + size_of::<Self>()
    }
}

/// Puts the pieces of a turn into the message that the caller made of it. Returns whether anything was put back.
pub(super) fn merge(message: &mut Message, pieces: &[Piece]) -> bool {
    let mut rest: VecDeque<Block> = std::mem::take(&mut message.content).into();
    if pieces.iter().any(|piece| matches!(piece, Piece::Hidden(Block::Thinking(_) | Block::RedactedThinking(_)))) {
        // The caller's copies of this reasoning have no signatures.
        rest.retain(|block| !matches!(block, Block::Thinking(_) | Block::RedactedThinking(_)));
    }
    let mut content = Vec::with_capacity(rest.len() + pieces.len());
    let mut hidden: Vec<Block> = Vec::new();
    let mut is_changed = false;
    for piece in pieces {
        match piece {
            Piece::Hidden(block) => hidden.push(block.clone()),
            Piece::Text(signature) => {
                let next = rest.iter().position(|block| matches!(block, Block::Text(_) | Block::ToolCall(_)));
                let Some(next) = next.filter(|next| matches!(rest.get(*next), Some(Block::Text(_)))) else { continue };
                content.extend(rest.drain(..next));
                is_changed |= !hidden.is_empty();
                content.append(&mut hidden);
                if let Some(Block::Text(mut text)) = rest.pop_front() {
                    is_changed |= signature.is_some();
                    text.signature = signature.clone().or(text.signature);
                    content.push(Block::Text(text));
                }
            }
            Piece::Call { id, signature } => {
                let is_named = |block: &Block| block.as_call().is_some_and(|call| call.id == *id);
                let Some(next) = rest.iter().position(is_named) else { continue };
                content.extend(rest.drain(..next));
                is_changed |= !hidden.is_empty();
                content.append(&mut hidden);
                if let Some(Block::ToolCall(mut call)) = rest.pop_front() {
                    is_changed |= signature.is_some();
                    call.signature = signature.clone().or(call.signature);
                    content.push(Block::ToolCall(call));
                }
            }
        }
    }
    content.extend(rest);
    is_changed |= !hidden.is_empty();
    // The last block of a turn must not be reasoning; an empty text with a signature may be.
    let is_reasoning = hidden.iter().any(|block| !matches!(block, Block::Text(_)));
    let place = if is_reasoning { content.len().saturating_sub(1) } else { content.len() };
    content.splice(place..place, hidden);
    message.content = content;
    is_changed
}
