//! The record of one change or loss, shared by every stage: fitting a schema, planning, repairing a history, encoding, decoding,
//! restoring an answer. Nothing here knows how a change is made.

mod code;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use code::Code;

/// One change to a schema, a request or an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Change {
    /// The part of the request or answer; none where a schema or a body stands alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// A stable name: the code of a dialect's rule, or a word. `polywire explain` describes it.
    pub code: Code,
    /// JSON Pointer to the place in the caller's schema, request or answer.
    pub at: String,
    /// The keyword of the schema; empty where the change is not about a schema.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub keyword: Cow<'static, str>,
    /// What was done.
    pub action: Action,
    /// The effect on what is sent or accepted.
    pub effect: Effect,
    /// A sentence for people.
    pub detail: Cow<'static, str>,
}

impl Change {
    /// A change without a keyword.
    pub fn new(
        code: impl Into<Code>,
        at: impl Into<String>,
        (action, effect): (Action, Effect),
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            kind: None,
            code: code.into(),
            at: at.into(),
            keyword: Cow::Borrowed(""),
            action,
            effect,
            detail: detail.into(),
        }
    }

    /// Sets the part of the request or answer.
    #[must_use]
    pub fn with_kind(mut self, kind: Kind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Sets the keyword of the schema.
    #[must_use]
    pub fn with_keyword(mut self, keyword: impl Into<Cow<'static, str>>) -> Self {
        self.keyword = keyword.into();
        self
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, at, keyword, action, effect, detail, .. } = self;
        write!(f, "{code} at `{at}`: ")?;
        if !keyword.is_empty() {
            write!(f, "`{keyword}` ")?;
        }
        write!(f, "{action} ({effect}): {detail}")
    }
}

/// Declares an enum whose variants have a name in JSON and on the screen.
macro_rules! named {
    ($(#[$about:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum $type {
            $($(#[$doc])* $variant,)*
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $name),* })
            }
        }
    };
}

named! {
    /// The effect of a change on the values that are accepted, or on what is passed on.
    Effect {
        /// Equivalent, possibly through the lens.
        Same = "same",
        /// More is accepted, or a constraint or parameter is not passed on.
        Wider = "wider",
        /// Less is accepted, or content is not passed on.
        Narrower = "narrower",
        /// Annotations only; the answer does not depend on it.
        Note = "note",
    }
}

impl Effect {
    /// Whether something is lost.
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Wider | Self::Narrower)
    }
}

named! {
    /// The part of a request or answer that a change is about. A caller may refuse losses by kind.
    Kind {
        /// The model.
        Model = "model",
        /// The schemas and names of tools.
        Tools = "tools",
        /// Structured output.
        Output = "output",
        /// The conversation.
        History = "history",
        /// Sampling, limits, effort, metadata.
        #[serde(alias = "wishes")]
        Parameters = "parameters",
    }
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Model, Self::Tools, Self::Output, Self::History, Self::Parameters];
}

named! {
    /// What a change did.
    Action {
        /// Something was removed.
        Dropped = "dropped",
        /// A keyword was moved into the description.
        Described = "described",
        /// The same was written in another form.
        Rewritten = "rewritten",
        /// A reference was replaced by its target.
        Inlined = "inlined",
        /// Several became one.
        Merged = "merged",
        /// An object was closed.
        Closed = "closed",
        /// An optional property became required and nullable.
        MadeNullable = "made-nullable",
        /// The value travels in another shape.
        Carried = "carried",
        /// A key, name or id was replaced.
        Renamed = "renamed",
        /// It was put into an object.
        Wrapped = "wrapped",
        /// Something was added that the provider requires.
        Added = "added",
        /// The next rung of the ladder was used.
        FellBack = "fell-back",
        /// It was moved to another place.
        Moved = "moved",
        /// It was left as it is.
        Kept = "kept",
        /// Something unknown was assumed.
        Assumed = "assumed",
        /// Nothing was done.
        Noted = "noted",
        /// Broken text was repaired.
        Repaired = "repaired",
    }
}
