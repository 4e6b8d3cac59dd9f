//! What each protocol asks of a conversation.

use crate::protocol::Protocol;
use crate::surface::{Quirk, Surface};

/// What is asked of a conversation.
pub(super) struct Rules {
    pub(super) protocol: Protocol,
    pub(super) ids: IdRule,
    pub(super) blank: Blank,
    pub(super) thoughts: Thoughts,
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

/// What an id of a call may be.
#[derive(Clone, Copy)]
pub(super) struct IdRule {
    /// What may stand in it beside letters and digits.
    pub(super) marks: &'static str,
    pub(super) longest: usize,
    pub(super) exact: Option<usize>,
}

/// Which texts are as good as none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    None,
    Empty,
    Whitespace,
}

/// Which thoughts are taken back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Thoughts {
    /// All, as plain text.
    Any,
    /// None.
    None,
    /// Those without a signature of another protocol.
    NotForeign,
    /// Those that the protocol signed.
    Signed,
    /// Those that the protocol signed or keeps.
    SignedOrKept,
}

/// Whether the order of results matters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultOrder {
    Any,
    OfCalls,
}

/// Whether two turns of one role may follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    Free,
    Alternate,
}

/// Who may speak first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Anyone,
    User,
}

/// Who may speak last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Anyone,
    /// Anyone, but a text of the assistant may not end in white space.
    Trimmed,
    User,
}

/// Whether calls in the conversation ask for tools in the request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    Free,
    Needed,
}

/// Whether the first call of a step must be signed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SignedCalls {
    Free,
    Needed,
}

/// Whether calls of the provider's own tools need their results, and results their calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerTools {
    Free,
    Paired,
}

/// Whether items that the API gave an id belong to the reasoning item before them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    Free,
    Linked,
}

/// Who may speak after results.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterResults {
    Anyone,
    Assistant,
}

/// Rules as the owners of the protocols serve them.
fn protocol_rules(protocol: Protocol) -> Rules {
    let free = Rules {
        protocol,
        ids: IdRule { marks: "_-", longest: 64, exact: None },
        blank: Blank::None,
        thoughts: Thoughts::Any,
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
        Protocol::OpenAiChat => Rules { ids: IdRule { marks: "_-.:", longest: 40, exact: None }, ..free },
        Protocol::OpenAiResponses => {
            let ids = IdRule { marks: "_-.:", ..free.ids };
            Rules { ids, thoughts: Thoughts::SignedOrKept, items: Items::Linked, ..free }
        }
        Protocol::AnthropicMessages => {
            let server_tools = ServerTools::Paired;
            Rules { blank: Blank::Whitespace, thoughts: Thoughts::Signed, last: Last::Trimmed, server_tools, ..free }
        }
        Protocol::Gemini => Rules {
            ids: IdRule { marks: "_-.:/+=", longest: 256, exact: None },
            blank: Blank::Empty,
            thoughts: Thoughts::NotForeign,
            order: ResultOrder::OfCalls,
            turns: Turns::Alternate,
            first: First::User,
            last: Last::User,
            ..free
        },
        Protocol::BedrockConverse => Rules {
            ids: IdRule { marks: "_-.:", ..free.ids },
            blank: Blank::Whitespace,
            thoughts: Thoughts::Signed,
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
            rules.ids = IdRule { marks: "", longest: 9, exact: Some(9) };
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
        if surface.is_stateless() && rules.thoughts == Thoughts::SignedOrKept {
            rules.thoughts = Thoughts::Signed;
        }
        if surface.refuses_thoughts() {
            rules.thoughts = Thoughts::None;
        }
        rules
    }
}
