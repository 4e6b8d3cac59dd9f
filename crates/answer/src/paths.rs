//! Places in a value while it is walked: each a step from its parent, written out as a JSON Pointer only where one is needed.
//!
//! A pointer for every part would take the square of the text where keys are long and deeply nested.

use crate::tree::push_step;

/// One step from a value to a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

/// The index of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathId(usize);

/// The places of one walk.
#[derive(Debug, Default)]
pub(crate) struct Paths<'v> {
    steps: Vec<(PathId, Step<'v>)>,
}

impl<'v> Paths<'v> {
    /// The value itself.
    pub(crate) const WHOLE: PathId = PathId(0);

    pub(crate) fn step(&mut self, parent: PathId, step: Step<'v>) -> PathId {
        self.steps.push((parent, step));
        PathId(self.steps.len())
    }

    pub(crate) fn pointer(&self, path: PathId) -> String {
        let mut steps = Vec::new();
        let mut at = path;
        while let Some((parent, step)) = at.0.checked_sub(1).and_then(|index| self.steps.get(index)) {
            steps.push(*step);
            at = *parent;
        }
        let mut pointer = String::new();
        for step in steps.into_iter().rev() {
            pointer.push('/');
            match step {
                Step::Key(key) => push_step(&mut pointer, key),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        pointer
    }
}
