//! Names that must differ: of definitions, and of the keys of one object.

use foldhash::HashMap;

/// The names in use, and how many others were made from each. The counter of a name goes on where it stopped, so that a thousand
/// that are spelled alike cost no more than a thousand that are not.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    /// Names that are in use already.
    pub(super) fn of(names: impl Iterator<Item = String>) -> Self {
        Self(names.map(|name| (name, 0)).collect())
    }

    /// A name that is not in use: the one that is wished for, or that with a number.
    pub(super) fn unique(&mut self, name: String) -> String {
        let mut count = self.0.get(&name).copied().unwrap_or(0);
        let mut unique = name.clone();
        while self.0.contains_key(&unique) {
            count += 1;
            unique = format!("{name}_{}", count + 1);
        }
        self.0.insert(name, count);
        self.0.entry(unique.clone()).or_insert(0);
        unique
    }

    /// Gives a name back.
    pub(super) fn release(&mut self, name: &str) {
        self.0.remove(name);
    }
}
