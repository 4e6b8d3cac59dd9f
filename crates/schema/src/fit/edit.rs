//! Changes before they are told: they may be taken back, and their places are spelled only once they stand.

use std::borrow::Cow;
use std::sync::Arc;

use crate::graph::AnnotationKey;
use crate::place::{Place, Places, PointerWriter};
use polywire_report::{Action, Change, Effect};

/// A change whose place is not spelled yet.
#[derive(Debug)]
pub(super) struct Edit<'d> {
    pub(super) place: Option<Place>,
    pub(super) code: Arc<str>,
    pub(super) keyword: AnnotationKey<'d>,
    pub(super) action: Action,
    pub(super) effect: Effect,
    pub(super) detail: Cow<'static, str>,
}

/// Everything that was changed: by reading, and then by printing.
pub(super) fn told(mut changes: Vec<Change>, edits: Vec<Edit<'_>>, places: &Places<'_>) -> Vec<Change> {
    let mut pointers = PointerWriter::with_capacity();
    changes.reserve_exact(edits.len());
    changes.extend(edits.into_iter().map(|edit| {
        let Edit { place, code, keyword, action, effect, detail } = edit;
        let at = place.map(|place| pointers.pointer(place, places)).unwrap_or_default();
        let keyword = match keyword {
            AnnotationKey::Kw(kw) => Cow::Borrowed(kw.name()),
            AnnotationKey::Unknown(name) => Cow::Owned(name.to_owned()),
        };
        Change { kind: None, code: code.into(), at, keyword, action, effect, detail }
    }));
    changes
}
