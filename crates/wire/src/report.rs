//! What is told of an encoding, a decoding or a history repair: every change with its place and effect.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// One thing that had to give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Change {
    /// A stable name for the kind of change.
    pub code: Cow<'static, str>,
    /// JSON Pointer to the place in the neutral value (when encoding or repairing) or in the body (when decoding).
    pub at: String,
    /// What was done.
    pub action: Action,
    /// What it does to what is said.
    pub effect: Effect,
    /// The same in words.
    pub detail: Cow<'static, str>,
}

/// What a change does to what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Effect {
    /// The same is said in another way.
    Same,
    /// A wish or a limit is not passed on: the answer may be more than was asked for.
    Wider,
    /// Content is not passed on: the reader sees less than was given.
    Narrower,
    /// Nothing that the answer depends on.
    Note,
}

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// Something went.
    Dropped,
    /// The same was said otherwise.
    Rewritten,
    /// Several became one.
    Merged,
    /// It stands elsewhere.
    Moved,
    /// An id or a name was replaced.
    Renamed,
    /// It was put into an object.
    Wrapped,
    /// Something was added that the protocol asks for.
    Added,
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
    Action {
        Dropped "dropped", Rewritten "rewritten", Merged "merged", Moved "moved", Renamed "renamed",
        Wrapped "wrapped", Added "added"
    }
}

/// The changes of one operation, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Changes(Vec<Change>);

impl Changes {
    pub(crate) fn push(
        &mut self,
        code: &'static str,
        at: impl Into<String>,
        (action, effect): (Action, Effect),
        detail: impl Into<Cow<'static, str>>,
    ) {
        self.0.push(Change { code: Cow::Borrowed(code), at: at.into(), action, effect, detail: detail.into() });
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    pub(crate) fn into_vec(self) -> Vec<Change> {
        self.0
    }

    pub(crate) fn as_slice(&self) -> &[Change] {
        &self.0
    }
}
