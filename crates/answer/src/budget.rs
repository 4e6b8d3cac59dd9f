//! The step budget: how much work one answer may cost, shared by salvage, coercion, enum comparison and validation.
//!
//! A step is about one visit of one value by one schema. Work is counted and not timed, so that the same input always ends at the
//! same place on every machine.

use std::cell::Cell;

/// Steps that any text may cost, and more for each of its bytes. An ordinary answer needs less than one step a byte.
const BASE_STEPS: u64 = 8_000_000;
const STEPS_PER_BYTE: u64 = 100;

/// The budget ran out before the work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// Steps that are left and steps that were used.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: Cell<u64>,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, used: Cell::new(0) }
    }

    /// The default for a text of so many bytes.
    pub(crate) fn for_bytes(bytes: usize) -> Self {
        Self::new(BASE_STEPS.saturating_add(STEPS_PER_BYTE.saturating_mul(bytes as u64)))
    }

    pub(crate) fn spend(&self, steps: usize) -> Result<(), Exhausted> {
        let used = self.used.get().saturating_add(steps as u64);
        self.used.set(used);
        if used > self.limit { Err(Exhausted) } else { Ok(()) }
    }

    /// Ends the work: something could not be done within its own limit.
    pub(crate) fn exhaust(&self) -> Exhausted {
        self.used.set(self.used.get().max(self.limit.saturating_add(1)));
        Exhausted
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.used.get() > self.limit
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.get().min(self.limit)
    }
}
