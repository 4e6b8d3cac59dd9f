//! Rewrites names until a provider accepts them. What its regular expression allows is found by trying.

/// No provider allows longer names than this.
const LONGEST: usize = 256;

/// Hexadecimal digits of the hash that replaces what was cut off.
const HASH_DIGITS: usize = 8;

/// The predicate for accepted names.
pub(crate) struct Spelling<'a>(pub(crate) &'a dyn Fn(&str) -> bool);

impl Spelling<'_> {
    /// How long a name may be.
    pub(crate) fn limit(&self) -> usize {
        (1..=LONGEST).rev().find(|length| (self.0)(&"a".repeat(*length))).unwrap_or(LONGEST)
    }

    /// An accepted name close to the given one; `word` replaces names of which nothing can stay.
    pub(crate) fn respelled(&self, name: &str, word: &str, limit: usize) -> String {
        let accepts = self.0;
        if accepts(name) {
            return name.to_owned();
        }
        let filler = if accepts("a_a") { '_' } else { 'x' };
        let mut respelled: String =
            name.chars().map(|letter| if accepts(&format!("a{letter}a")) { letter } else { filler }).collect();
        if !name.chars().zip(respelled.chars()).any(|(old, new)| old == new && new.is_alphanumeric()) {
            respelled = format!("{word}{filler}{}", hash(name));
        } else if !respelled.chars().next().is_some_and(|first| accepts(&first.to_string())) {
            respelled.insert(0, if accepts("_") { '_' } else { 't' });
        }
        if respelled.chars().count() > limit {
            let kept = limit.saturating_sub(HASH_DIGITS + 1);
            respelled = respelled.chars().take(kept).chain([filler]).chain(hash(name).chars()).take(limit).collect();
        }
        respelled
    }
}

/// FNV-1a: short, and the same on every machine and in every version.
fn hash(text: &str) -> String {
    let folded = text.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{folded:0HASH_DIGITS$x}")
}
