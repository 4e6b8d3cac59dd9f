//! A budget of steps for one fit, shared by everything whose cost can grow faster than the schema: merging, printing, comparing
//! branches. What is left undone when it is spent is recorded as a change.

use std::cell::Cell;

/// Steps for a schema of any size: enough for every schema that a person would write, and a second or two of processor time.
const BASE: u64 = 500_000;

/// Steps for each node of the schema, so that large schemas are fitted in time linear in their size.
const PER_NODE: u64 = 64;

/// The steps that are left.
#[derive(Debug)]
pub(crate) struct StepBudget {
    left: Cell<u64>,
}

impl StepBudget {
    /// The budget for a schema of so many nodes.
    pub(crate) fn for_nodes(nodes: usize) -> Self {
        let nodes = u64::try_from(nodes).unwrap_or(u64::MAX);
        Self { left: Cell::new(nodes.saturating_mul(PER_NODE).saturating_add(BASE)) }
    }

    /// Returns false once the budget is exhausted.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        let left = self.left.get().saturating_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.left.set(left);
        left > 0
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}
