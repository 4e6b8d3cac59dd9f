//! The list of changes that one encoding, decoding or history repair makes.

use std::borrow::Cow;

pub(crate) use polywire_report::{Action, Change, Effect};

/// The changes of one operation, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Changes(Vec<Change>);

impl Changes {
    pub(crate) fn push(
        &mut self,
        code: &'static str,
        at: impl Into<String>,
        what: (Action, Effect),
        detail: impl Into<Cow<'static, str>>,
    ) {
        self.0.push(Change::new(code, at, what, detail));
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    pub(crate) fn into_vec(self) -> Vec<Change> {
        self.0
    }

    pub(crate) fn as_slice(&self) -> &[Change] {
        &self.0
    }
}
