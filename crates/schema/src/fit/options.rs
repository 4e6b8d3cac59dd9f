//! What a caller may choose about a fit.

use std::fmt;
use std::sync::Arc;

use crate::dialect::Slot;
use crate::read::{Draft, Limits, Resolver, Unresolved};

/// What a caller may choose about a fit.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct FitOptions {
    /// The strict mode.
    pub strict: StrictMode,
    /// The treatment of open objects where the dialect requires closed ones.
    pub open: Open,
    /// The treatment of dropped constraints.
    pub spill: Spill,
    /// What `null` on the wire means for a property that may be absent and may be `null`.
    pub ambiguous_null: AmbiguousNull,
    /// Where the schema is going.
    pub slot: Slot,
    /// The draft, overriding `$schema`.
    pub draft: Option<Draft>,
    /// What a reference without a target means.
    pub unresolved: Unresolved,
    /// Fetches documents that the schema refers to by URI.
    pub resolver: Option<Arc<dyn Resolver>>,
    /// What reading may cost.
    pub limits: Limits,
}

/// The strict mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StrictMode {
    /// Strict where it can be met, else the next rung of the ladder.
    #[default]
    Auto,
    /// Strict, or as near to it as possible; no fallback.
    Require,
    /// Not strict.
    Off,
}

/// The treatment of open objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Open {
    /// They are closed.
    #[default]
    Close,
    /// Properties that are not declared travel as a list of entries.
    Carry,
}

/// The treatment of dropped constraints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spill {
    /// They do.
    #[default]
    On,
    /// They are dropped.
    Off,
}

/// What a property is decoded to that may be absent and may be `null`, where the wire cannot tell the two apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AmbiguousNull {
    /// `null` where the property's `default` is `null`, else absence.
    #[default]
    ByDefault,
    /// Absence.
    Absent,
    /// `null`.
    Null,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $with:ident $field:ident: $type:ty;)*) => {
        impl FitOptions { $(
            $(#[$doc])*
            #[must_use]
            pub fn $with(mut self, $field: $type) -> Self {
                self.$field = $field;
                self
            }
        )* }
    };
}

setters! {
    /// Sets the strict mode.
    with_strict strict: StrictMode;
    /// Sets what becomes of open objects.
    with_open open: Open;
    /// Sets the treatment of dropped constraints.
    with_spill spill: Spill;
    /// Sets what `null` on the wire means where it may stand for absence.
    with_ambiguous_null ambiguous_null: AmbiguousNull;
    /// Sets where the schema is going.
    with_slot slot: Slot;
    /// Sets the draft.
    with_draft draft: Option<Draft>;
    /// Sets what a reference without a target means.
    with_unresolved unresolved: Unresolved;
    /// Sets what fetches other documents.
    with_resolver resolver: Option<Arc<dyn Resolver>>;
    /// Sets what reading may cost.
    with_limits limits: Limits;
}

impl fmt::Debug for FitOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FitOptions")
            .field("strict", &self.strict)
            .field("open", &self.open)
            .field("spill", &self.spill)
            .field("ambiguous_null", &self.ambiguous_null)
            .field("slot", &self.slot)
            .field("draft", &self.draft)
            .field("unresolved", &self.unresolved)
            .field("resolver", &self.resolver.is_some())
            .field("limits", &self.limits)
            .finish()
    }
}
