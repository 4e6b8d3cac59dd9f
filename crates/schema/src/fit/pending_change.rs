//! Changes before they are reported: a rollback may discard them, so pointers are written only at the end.

use std::borrow::Cow;
use std::sync::Arc;

use crate::graph::AnnotationKey;
use crate::place::{Place, Places, PointerWriter};
use polywire_report::{Action, Change, Effect};

/// A change whose pointer is not written yet.
#[derive(Debug)]
pub(super) struct PendingChange<'d> {
    pub(super) place: Option<Place>,
    pub(super) code: Arc<str>,
    pub(super) keyword: AnnotationKey<'d>,
    pub(super) action: Action,
    pub(super) effect: Effect,
    pub(super) detail: Cow<'static, str>,
}

/// All changes: of reading, then of emitting.
pub(super) fn report_changes(
    mut changes: Vec<Change>,
    edits: Vec<PendingChange<'_>>,
    places: &Places<'_>,
) -> Vec<Change> {
    let mut pointers = PointerWriter::with_capacity();
    changes.reserve_exact(edits.len());
    changes.extend(edits.into_iter().map(|edit| {
        let PendingChange { place, code, keyword, action, effect, detail } = edit;
        let at = place.map(|place| pointers.pointer(place, places)).unwrap_or_default();
        let keyword = match keyword {
            AnnotationKey::Kw(kw) => Cow::Borrowed(kw.name()),
            AnnotationKey::Unknown(name) => Cow::Owned(name.to_owned()),
        };
        Change { kind: None, code: code.into(), at, keyword, action, effect, detail }
    }));
    changes
}
