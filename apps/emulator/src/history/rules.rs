//! The rules for conversations: one row a protocol, and what the rows of a model add.

use polywire::Model;
use polywire::wire::{Protocol, Quirk};

/// What a protocol asks of a conversation.
pub(super) struct Rules {
    pub(super) protocol: Protocol,
    /// What stands in an id of a call beside letters and digits, and how long it may be. `None` is anything.
    pub(super) ids: Option<Ids>,
    pub(super) blank: Blank,
    pub(super) pairing: Pairing,
    pub(super) order: Order,
    pub(super) last: Last,
    pub(super) thoughts: Thoughts,
    pub(super) calls: Calls,
}

#[derive(Clone, Copy)]
pub(super) struct Ids {
    pub(super) marks: &'static str,
    pub(super) longest: usize,
    /// The exact length, where there is one.
    pub(super) exact: Option<usize>,
}

/// Texts that are refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    Taken,
    /// Whitespace alone.
    Refused,
}

/// Where results stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairing {
    /// In messages of their own, directly after the calls.
    MessagesAfter,
    /// Anywhere after the call.
    AnywhereAfter,
    /// At the start of the next turn of the user, by id.
    NextTurn,
    /// In the next turn, as many as there are calls.
    NextTurnByCount,
}

/// Who speaks when.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Free,
    /// The user first, then in turns.
    Alternate,
}

/// Who may speak last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Anyone,
    /// The model too, but its text may not end in whitespace.
    Trimmed,
    NotModel,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Thoughts {
    Free,
    Signed,
}

/// What calls need beside themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Calls {
    Free,
    /// Tools that are declared in the request.
    Declared,
    /// A signature on the first call of each step.
    Signed,
}

/// Providers that measure the ids of Chat calls (recorded: C236). Compatible servers do not.
const LIMITS_CHAT_IDS: &[&str] = &["openai", "azure"];

/// Providers that verify the signatures of thoughts. Others that speak Anthropic's protocol are not known to.
const VERIFIES_THOUGHTS: &[&str] = &["anthropic", "vertex", "bedrock"];

impl Rules {
    fn of(protocol: Protocol, provider: &str) -> Self {
        let free = Self {
            protocol,
            ids: None,
            blank: Blank::Taken,
            pairing: Pairing::MessagesAfter,
            order: Order::Free,
            last: Last::Anyone,
            thoughts: Thoughts::Free,
            calls: Calls::Free,
        };
        let thoughts = if VERIFIES_THOUGHTS.contains(&provider) { Thoughts::Signed } else { Thoughts::Free };
        let any = |longest| Ids { marks: "*", longest, exact: None };
        match protocol {
            Protocol::OpenAiChat => Self { ids: LIMITS_CHAT_IDS.contains(&provider).then(|| any(40)), ..free },
            Protocol::OpenAiResponses => Self { ids: Some(any(64)), pairing: Pairing::AnywhereAfter, ..free },
            Protocol::AnthropicMessages => Self {
                ids: Some(Ids { marks: "_-", longest: usize::MAX, exact: None }),
                blank: Blank::Refused,
                pairing: Pairing::NextTurn,
                last: Last::Trimmed,
                thoughts,
                ..free
            },
            Protocol::Gemini => Self { pairing: Pairing::NextTurnByCount, last: Last::NotModel, ..free },
            Protocol::BedrockConverse => Self {
                ids: Some(Ids { marks: "_-.:", longest: 64, exact: None }),
                blank: Blank::Refused,
                pairing: Pairing::NextTurn,
                order: Order::Alternate,
                last: Last::Trimmed,
                calls: Calls::Declared,
                ..free
            },
        }
    }

    /// The rules of a model: those of its protocol, and what its rows add.
    pub(super) fn of_model(model: &Model) -> Self {
        let (wire, mut rules) = (model.wire(), Self::of(model.protocol(), &model.provider().id));
        if wire.has(Quirk::NineCharacterIds) {
            rules.ids = Some(Ids { marks: "", longest: 9, exact: Some(9) });
        }
        if wire.has(Quirk::Alternate) {
            rules.order = Order::Alternate;
        }
        if wire.has(Quirk::NoPrefill) {
            rules.last = Last::NotModel;
        }
        if wire.has(Quirk::SignedCalls) {
            rules.calls = Calls::Signed;
        }
        rules
    }
}
