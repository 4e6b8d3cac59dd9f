//! Changes of the façade: those of the crates below with the part of the request or answer that they are about.

use std::borrow::Cow;

pub use polywire_report::{Action, Change, Code, Effect, Kind};

/// The fields of a neutral request or answer that are more than parameters.
const FIELDS: [(&str, Kind); 6] = [
    ("messages", Kind::History),
    ("system", Kind::History),
    ("content", Kind::History),
    ("tools", Kind::Tools),
    ("output", Kind::Output),
    ("model", Kind::Model),
];

/// A change of the façade itself.
pub(crate) fn change(
    kind: Kind,
    code: impl Into<Code>,
    at: impl Into<String>,
    what: (Action, Effect),
    detail: impl Into<Cow<'static, str>>,
) -> Change {
    Change::new(code, at, what, detail).with_kind(kind)
}

/// A change of the wire, whose kind is the field that it is about.
pub(crate) fn of_wire(change: Change) -> Change {
    let field = change.at.split('/').nth(1).unwrap_or_default();
    let kind = FIELDS.iter().find(|(name, _)| *name == field).map_or(Kind::Parameters, |(_, kind)| *kind);
    change.with_kind(kind)
}

/// A change of the schema at a place of the request.
pub(crate) fn of_schema(kind: Kind, place: &str, change: &Change) -> Change {
    Change { kind: Some(kind), at: [place, &change.at].concat(), ..change.clone() }
}
