//! Repeatable random numbers: the `SplitMix64` generator.

/// Numbers that look random and follow from a seed.
pub(crate) struct Dice(u64);

const WORDS: &[&str] = &["alpha", "bravo", "delta", "echo", "golf", "hotel", "kilo", "lima", "oscar", "tango"];

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit, 0 where the limit is 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % limit).unwrap_or(0)
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// A number from 0 up to, but not including, 1.
    pub(crate) fn part(&mut self) -> f64 {
        let thousandths = u32::try_from(self.next() % 1_000).unwrap_or(0);
        f64::from(thousandths) / 1_000.0
    }

    pub(crate) fn pick<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        list.get(self.below(list.len()))
    }

    pub(crate) fn word(&mut self) -> String {
        self.pick(WORDS).copied().unwrap_or_default().to_owned()
    }
}
