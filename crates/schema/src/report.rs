//! What is told of a fit: every change with its place and effect.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// One edit to a schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The code of the rule that asked for it, or `READ-…` for what reading itself changed.
    pub code: Arc<str>,
    /// JSON Pointer to the place in the caller's schema.
    pub at: String,
    /// The keyword concerned.
    pub keyword: Cow<'static, str>,
    /// What was done.
    pub action: Action,
    /// What it does to the values that are accepted.
    pub effect: Effect,
    /// The same in words.
    pub detail: Cow<'static, str>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, at, keyword, action, effect, detail } = self;
        write!(f, "{code} at `{at}`: `{keyword}` {action} ({effect}): {detail}")
    }
}

/// What a change does to the set of accepted values, seen through the lens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Effect {
    /// The same values, possibly in another shape that the lens brings back.
    Same,
    /// More values are accepted.
    Wider,
    /// Fewer values are accepted.
    Narrower,
    /// Annotations only.
    Note,
}

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Action {
    /// A keyword went.
    Dropped,
    /// A keyword went, and the description says what it said.
    Described,
    /// The same was said with other keywords.
    Rewritten,
    /// A reference was replaced by what it refers to.
    Inlined,
    /// Several schemas became one.
    Merged,
    /// An object was closed.
    Closed,
    /// An optional property became required and nullable.
    MadeNullable,
    /// The value travels in another shape.
    Carried,
    /// A key or name was replaced.
    Renamed,
    /// The root was put into an object.
    Wrapped,
    /// Something was added that the provider asks for.
    Added,
    /// The next rung of the ladder was taken.
    FellBack,
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
        Dropped "dropped", Described "described", Rewritten "rewritten", Inlined "inlined", Merged "merged",
        Closed "closed", MadeNullable "made-nullable", Carried "carried", Renamed "renamed", Wrapped "wrapped",
        Added "added", FellBack "fell-back"
    }
}
