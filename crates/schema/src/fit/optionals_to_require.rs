//! Meets the budget of optional properties by making some required and nullable, within the budget of unions (ANT-STRICT-11).

use super::union::as_plain_union;
use super::{Lowered, Lowerer};
use crate::check::{Counts, count_json};
use crate::dialect::{Capabilities, Demand};
use crate::graph::NodeId;
use crate::json::Json;
use crate::types::Types;

/// Numbers of optional, never nullable properties, for which `null` can mean absence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OptionalsToRequire {
    /// Those that are unions already.
    pub(super) unions: u64,
    /// Those that become unions.
    pub(super) others: u64,
}

impl OptionalsToRequire {
    /// The number to require; `None` where that exceeds the budget of unions.
    pub(super) fn for_budget(json: &Json<'_>, can_be_required: Self, caps: &Capabilities) -> Option<Self> {
        let limit = caps.limit(Demand::MaxOptionals)?;
        let Counts { optionals, unions, .. } = count_json(json);
        let excess = optionals.checked_sub(limit).filter(|excess| *excess > 0)?;
        let room = max_unions(caps).saturating_sub(unions).min(can_be_required.others);
        let optionals_to_require =
            Self { unions: excess.min(can_be_required.unions), others: excess.saturating_sub(can_be_required.unions) };
        (optionals_to_require.others <= room).then_some(optionals_to_require)
    }
}

pub(super) fn max_unions(caps: &Capabilities) -> u64 {
    caps.limit(Demand::MaxUnions).unwrap_or(u64::MAX)
}

impl<'d> Lowerer<'_, 'd, '_> {
    /// Counts an optional property. The first ones are made required, so that emitting again gives the same.
    pub(super) fn must_be_required(&mut self, id: NodeId, lowered: &Lowered<'d>) -> bool {
        if !self.caps.has_demand(Demand::MaxOptionals)
            || !self.can_say_null()
            || self.types_of(id).intersects(Types::NULL)
        {
            return false;
        }
        let OptionalsToRequire { unions, others } = &mut self.printed.can_be_required;
        let (count, most) = match as_plain_union(&lowered.json) {
            Some(_) => (unions, self.optionals_to_require.unions),
            None => (others, self.optionals_to_require.others),
        };
        *count += 1;
        *count <= most
    }
}
