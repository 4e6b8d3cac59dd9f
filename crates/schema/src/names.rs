//! Names that must differ: of definitions, of the keys of one object, of the tools of one list.

use foldhash::HashMap;

/// The names in use, and how many others were made from each. The counter of a name goes on where it stopped, so that a thousand
/// that are spelled alike cost no more than a thousand that are not.
#[derive(Debug, Default)]
pub(crate) struct UniqueNames(HashMap<String, usize>);

impl UniqueNames {
    /// Names that are in use already.
    pub(crate) fn of(names: impl Iterator<Item = String>) -> Self {
        Self(names.map(|name| (name, 0)).collect())
    }

    /// Takes a name, unless it is in use.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        let is_new = !self.0.contains_key(name);
        if is_new {
            self.0.insert(name.to_owned(), 0);
        }
        is_new
    }

    /// A name that is not in use: the given one, or that with a number.
    pub(crate) fn unique(&mut self, name: String) -> String {
        self.unique_within(name, usize::MAX)
    }

    /// A name that is not in use: the given one, or that with a number, of which the name is cut so that the whole has at most so
    /// many characters.
    pub(crate) fn unique_within(&mut self, name: String, limit: usize) -> String {
        if self.take(&name) {
            return name;
        }
        let mut count = self.0.get(&name).copied().unwrap_or(0);
        loop {
            count += 1;
            let suffix = format!("_{}", count + 1);
            let stem = name.chars().take(limit.saturating_sub(suffix.len()));
            let unique: String = stem.chain(suffix.chars()).collect();
            if self.take(&unique) {
                self.0.insert(name, count);
                return unique;
            }
        }
    }

    /// Gives a name back.
    pub(crate) fn release(&mut self, name: &str) {
        self.0.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::UniqueNames;

    #[test]
    fn a_name_in_use_gets_the_next_number() {
        let mut names = UniqueNames::of(["a".to_owned(), "a_3".to_owned()].into_iter());
        assert_eq!(["a", "a", "b"].map(|name| names.unique(name.to_owned())), ["a_2", "a_4", "b"]);
    }

    #[test]
    fn a_numbered_name_is_no_longer_than_allowed() {
        let mut names = UniqueNames::default();
        let found = ["lookup", "lookup", "lookup"].map(|name| names.unique_within(name.to_owned(), 6));
        assert_eq!(found, ["lookup", "look_2", "look_3"]);
    }
}
