//! The rules of each protocol for conversations.

use crate::protocol::Protocol;
use crate::surface::{Quirk, Surface};

/// The rules for a conversation.
pub(super) struct Rules {
    pub(super) protocol: Protocol,
    pub(super) ids: IdRule,
    pub(super) blank: Blank,
    pub(super) reasoning: AcceptedReasoning,
    pub(super) order: ResultOrder,
    pub(super) turns: Turns,
    pub(super) first: First,
    pub(super) last: Last,
    pub(super) tools: Declared,
    pub(super) signed: SignedCalls,
    pub(super) server_tools: ServerTools,
    pub(super) items: Items,
    pub(super) after_results: AfterResults,
}

/// The format of a call id.
#[derive(Clone, Copy)]
pub(super) struct IdRule {
    /// The allowed characters besides letters and digits.
    pub(super) extra_chars: &'static str,
    pub(super) max_length: usize,
    pub(super) exact_length: Option<usize>,
}

/// The texts that are rejected as empty.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    None,
    Empty,
    Whitespace,
}

/// The reasoning that is accepted in requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AcceptedReasoning {
    /// All, as plain text.
    Any,
    /// None.
    None,
    /// Reasoning without a signature of another protocol.
    NotForeign,
    /// Reasoning that the protocol signed.
    Signed,
    /// Reasoning that the protocol signed or stores.
    SignedOrKept,
}

/// The required order of results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultOrder {
    Any,
    OfCalls,
}

/// Consecutive messages of one role.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    Free,
    Alternate,
}

/// The role of the first message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Anyone,
    User,
}

/// The role of the last message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Anyone,
    /// Any role, but an assistant text may not end in white space.
    Trimmed,
    User,
}

/// Declaration of the tools that the conversation calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    Free,
    Needed,
}

/// The signature of the first call of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignedCalls {
    Free,
    Needed,
}

/// Pairing of calls and results of server tools.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerTools {
    Free,
    Paired,
}

/// Link between items with an id and the reasoning item before them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    Free,
    Linked,
}

/// The role of the message after tool results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterResults {
    Anyone,
    Assistant,
}

/// The rules of a protocol without quirks.
fn protocol_rules(protocol: Protocol) -> Rules {
    let free = Rules {
        protocol,
        ids: IdRule { extra_chars: "_-", max_length: 64, exact_length: None },
        blank: Blank::None,
        reasoning: AcceptedReasoning::Any,
        order: ResultOrder::Any,
        turns: Turns::Free,
        first: First::Anyone,
        last: Last::Anyone,
        tools: Declared::Free,
        signed: SignedCalls::Free,
        server_tools: ServerTools::Free,
        items: Items::Free,
        after_results: AfterResults::Anyone,
    };
    match protocol {
        Protocol::OpenAiChat => {
            Rules { ids: IdRule { extra_chars: "_-.:", max_length: 40, exact_length: None }, ..free }
        }
        Protocol::OpenAiResponses => {
            let ids = IdRule { extra_chars: "_-.:", ..free.ids };
            Rules { ids, reasoning: AcceptedReasoning::SignedOrKept, items: Items::Linked, ..free }
        }
        Protocol::AnthropicMessages => {
            let server_tools = ServerTools::Paired;
            Rules {
                blank: Blank::Whitespace,
                reasoning: AcceptedReasoning::Signed,
                last: Last::Trimmed,
                server_tools,
                ..free
            }
        }
        Protocol::Gemini => Rules {
            ids: IdRule { extra_chars: "_-.:/+=", max_length: 256, exact_length: None },
            blank: Blank::Empty,
            reasoning: AcceptedReasoning::NotForeign,
            order: ResultOrder::OfCalls,
            turns: Turns::Alternate,
            first: First::User,
            last: Last::User,
            ..free
        },
        Protocol::BedrockConverse => Rules {
            ids: IdRule { extra_chars: "_-.:", ..free.ids },
            blank: Blank::Whitespace,
            reasoning: AcceptedReasoning::Signed,
            turns: Turns::Alternate,
            first: First::User,
            last: Last::Trimmed,
            tools: Declared::Needed,
            ..free
        },
    }
}

impl Rules {
    /// The rules of a protocol on a surface.
    pub(super) fn of(protocol: Protocol, surface: &Surface) -> Self {
        let mut rules = protocol_rules(protocol);
        if surface.has(Quirk::NineCharacterIds) {
            rules.ids = IdRule { extra_chars: "", max_length: 9, exact_length: Some(9) };
        }
        if surface.has(Quirk::Alternate) {
            rules.turns = Turns::Alternate;
        }
        if surface.has(Quirk::NoPrefill) {
            rules.last = Last::User;
        }
        if surface.has(Quirk::NoUserAfterTool) {
            rules.after_results = AfterResults::Assistant;
        }
        if surface.has(Quirk::SignedCalls) {
            rules.signed = SignedCalls::Needed;
        }
        if surface.is_stateless() && rules.reasoning == AcceptedReasoning::SignedOrKept {
            rules.reasoning = AcceptedReasoning::Signed;
        }
        if surface.rejects_reasoning() {
            rules.reasoning = AcceptedReasoning::None;
        }
        rules
    }
}
