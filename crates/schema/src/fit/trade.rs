//! Properties that may be left out, beyond the budget for them: some are required and nullable instead, as far as the budget
//! for unions goes.

use super::union::plain_union;
use super::{Lowered, Lowerer};
use crate::check::{Counts, count_json};
use crate::dialect::{Capabilities, Demand};
use crate::graph::NodeId;
use crate::json::Json;
use crate::types::Types;

/// A number of properties that may be left out and are never `null`, so that `null` can mean their absence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trade {
    /// Those that are unions as they are: `null` is one more branch.
    pub(super) unions: u64,
    /// Those that `null` makes unions of.
    pub(super) others: u64,
}

impl Trade {
    /// How many have to be required, so that what was printed meets the budget; none where that overdraws the one for unions.
    pub(super) fn for_budget(json: &Json<'_>, tradable: Self, caps: &Capabilities) -> Option<Self> {
        let limit = caps.limit(Demand::MaxOptionals)?;
        let Counts { optionals, unions, .. } = count_json(json);
        let excess = optionals.checked_sub(limit).filter(|excess| *excess > 0)?;
        let room = room_for_unions(caps).saturating_sub(unions).min(tradable.others);
        let trade = Self { unions: excess.min(tradable.unions), others: excess.saturating_sub(tradable.unions) };
        (trade.others <= room).then_some(trade)
    }
}

/// How many unions a schema may have.
pub(super) fn room_for_unions(caps: &Capabilities) -> u64 {
    caps.limit(Demand::MaxUnions).unwrap_or(u64::MAX)
}

impl<'d> Lowerer<'_, 'd, '_> {
    /// Counts a property that may be left out, and says whether it is one of those that have to be required and nullable. The
    /// first ones are, so that printing once more gives the same.
    pub(super) fn is_traded(&mut self, id: NodeId, lowered: &Lowered<'d>) -> bool {
        if !self.caps.has_demand(Demand::MaxOptionals)
            || !self.can_say_null()
            || self.types_of(id).intersects(Types::NULL)
        {
            return false;
        }
        let Trade { unions, others } = &mut self.printed.tradable;
        let (count, most) = match plain_union(&lowered.json) {
            Some(_) => (unions, self.trade.unions),
            None => (others, self.trade.others),
        };
        *count += 1;
        *count <= most
    }
}
