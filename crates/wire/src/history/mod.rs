//! History repair.

/// The id of a call that came without one, from the place of its turn and its number there.
pub(crate) fn made_up_call_id(turn: usize, number: usize) -> String {
    format!("call_{turn}_{number}")
}
