//! Meets of dialects, for the laws: what holds of each dialect is to hold of what several accept together.

use std::hash::{BuildHasher, Hasher, RandomState};

use polywire_schema::{Dialect, dialects};
use proptest::test_runner::RngSeed;

use crate::chance::Chance;
use crate::judge::seed_of;

/// So many meets are taken in one run: the same ones in every run, others with each `POLYWIRE_SEED` and in the long form.
const DRAWN: usize = 12;

/// Meets of two or three dialects. Those that have no schema in common are left out.
pub(crate) fn drawn() -> Vec<Dialect> {
    let all: Vec<&Dialect> = dialects().collect();
    let meets = (0..).filter_map(|index| {
        let mut chance = Chance::new(number(seed_of(index, 0)));
        let count = if chance.one_in(3) { 3 } else { 2 };
        let members: Vec<&Dialect> = (0..count).map(|_| all[chance.below(all.len())]).collect();
        Dialect::meet(&members).ok()
    });
    meets.take(DRAWN).collect()
}

fn number(seed: RngSeed) -> u64 {
    match seed {
        RngSeed::Fixed(number) => number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        RngSeed::Random => RandomState::new().build_hasher().finish(),
    }
}
