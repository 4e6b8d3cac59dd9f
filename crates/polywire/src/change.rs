//! What had to give, in one shape for all stages: fitting schemas, choosing a strategy, repairing a history, writing a body.

use std::fmt;

use polywire_schema as schema;
use polywire_wire as wire;
use serde::{Deserialize, Serialize};

/// One thing that had to give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// What it is about.
    pub kind: Kind,
    /// A stable name for the change: the rule of a dialect, or a word.
    pub code: String,
    /// JSON Pointer to the place in the caller's request or answer.
    pub at: String,
    /// What was done.
    pub action: String,
    /// What it does to what is said.
    pub effect: Effect,
    /// The same in words.
    pub detail: String,
}

/// What a change is about. A caller may refuse losses by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// What is known of the model.
    Model,
    /// The schemas and names of tools.
    Tools,
    /// The shape that is asked of the answer.
    Output,
    /// The conversation.
    History,
    /// Everything else that was asked for: sampling, limits, effort, labels.
    #[serde(alias = "wishes")]
    Parameters,
}

/// What a change does to what is said or accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Effect {
    /// The same in another shape.
    Same,
    /// More is accepted, or a wish is not passed on.
    Wider,
    /// Less is accepted, or content is not passed on.
    Narrower,
    /// Nothing that the answer depends on.
    Note,
}

impl Effect {
    /// Whether something is lost.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Wider | Self::Narrower)
    }
}

macro_rules! words {
    ($($type:ident { $($variant:ident $word:literal),* })*) => { $(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $word),* })
            }
        }
    )* };
}

words! {
    Effect { Same "same", Wider "wider", Narrower "narrower", Note "note" }
    Kind { Model "model", Tools "tools", Output "output", History "history", Parameters "parameters" }
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Model, Self::Tools, Self::Output, Self::History, Self::Parameters];

    /// The kind of a place in a neutral request.
    fn of_place(at: &str) -> Self {
        let field = at.split('/').nth(1).unwrap_or_default();
        FIELDS.iter().find(|(name, _)| *name == field).map_or(Self::Parameters, |(_, kind)| *kind)
    }
}

/// The fields of a request that are more than parameters.
const FIELDS: [(&str, Kind); 6] = [
    ("messages", Kind::History),
    ("system", Kind::History),
    ("content", Kind::History),
    ("tools", Kind::Tools),
    ("output", Kind::Output),
    ("model", Kind::Model),
];

impl Change {
    pub(crate) fn new(
        kind: Kind,
        code: &str,
        at: impl Into<String>,
        (action, effect): (&str, Effect),
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, code: code.to_owned(), at: at.into(), action: action.to_owned(), effect, detail: detail.into() }
    }

    /// A change to the schema that stands at a place.
    pub(crate) fn of_schema(kind: Kind, place: &str, change: &schema::Change) -> Self {
        Self {
            kind,
            code: change.code.as_ref().to_owned(),
            at: [place, &change.at].concat(),
            action: change.action.to_string(),
            effect: change.effect.into(),
            detail: change.detail.as_ref().to_owned(),
        }
    }
}

impl From<wire::Change> for Change {
    fn from(change: wire::Change) -> Self {
        let kind = Kind::of_place(&change.at);
        let action = change.action.to_string();
        Self::new(kind, &change.code, change.at, (&action, change.effect.into()), change.detail)
    }
}

impl From<schema::Effect> for Effect {
    fn from(effect: schema::Effect) -> Self {
        match effect {
            schema::Effect::Same => Self::Same,
            schema::Effect::Wider => Self::Wider,
            schema::Effect::Note => Self::Note,
            // An effect that is not known yet is taken for a loss.
            schema::Effect::Narrower | _ => Self::Narrower,
        }
    }
}

impl From<wire::Effect> for Effect {
    fn from(effect: wire::Effect) -> Self {
        match effect {
            wire::Effect::Same => Self::Same,
            wire::Effect::Wider => Self::Wider,
            wire::Effect::Note => Self::Note,
            wire::Effect::Narrower | _ => Self::Narrower,
        }
    }
}
