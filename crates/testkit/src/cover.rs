//! Decides whether a change accounts for a loss: by its effect, and by its place. Every runner of the
//! laws uses it.

use polywire_report::{Change, Effect};
use polywire_schema::internals::{Kw, unescaped};
use serde_json::Value;

use crate::value_path::{References, ValuePath};
use crate::values::equal;

/// The places of the changes with one effect.
#[derive(Clone, Debug)]
pub struct Cover(Vec<CoveredPath>);

/// The place of one change.
#[derive(Clone, Debug)]
struct CoveredPath {
    path: ValuePath,
    /// The keyword of the change.
    keyword: Option<Kw>,
}

impl Cover {
    /// The changes with an effect.
    pub fn of(changes: &[Change], effect: Effect, references: &References) -> Self {
        let mut paths = Vec::new();
        for change in changes.iter().filter(|change| change.effect == effect) {
            let keyword = Kw::of(&change.keyword);
            paths.extend(references.value_paths(&change.at).into_iter().map(|path| CoveredPath { path, keyword }));
        }
        Self(paths)
    }

    /// One place of a schema.
    pub fn at(pointer: &str, references: &References) -> Self {
        Self(references.value_paths(pointer).into_iter().map(|path| CoveredPath { path, keyword: None }).collect())
    }

    /// Whether a place is one of the other places, around one or within one.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().any(|own| other.0.iter().any(|other| own.path.overlaps(&other.path)))
    }

    /// Whether a change stands at each of these places of a value or around it; or within it, where a part of the value may be the
    /// reason. A loss without a place is covered by nothing.
    pub fn covers(&self, places: &[Place]) -> bool {
        !places.is_empty() && places.iter().all(|place| self.0.iter().any(|covered| covered.accounts_for(place)))
    }
}

/// A place of a value at which something was lost.
#[derive(Clone, Debug)]
pub struct Place {
    tokens: Vec<String>,
    side: Side,
    reason: Reason,
}

/// Which value a place is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Caller,
    /// There the place may be nested in a carrier.
    Wire,
}

/// What a loss may be due to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// A keyword that looks at the value itself: no change within the value accounts for it.
    Value,
    /// A member that is not there: a change within the value accounts for it only if it made a member optional.
    MissingMember,
    /// Any part of the value.
    Parts,
}

/// Keywords whose verdict depends on schemas of parts of the value.
const DEEP: &[Kw] = &[
    Kw::AnyOf,
    Kw::OneOf,
    Kw::AllOf,
    Kw::Not,
    Kw::If,
    Kw::Then,
    Kw::Else,
    Kw::Contains,
    Kw::MinContains,
    Kw::MaxContains,
    Kw::PropertyNames,
    Kw::DependentSchemas,
    Kw::Dependencies,
    Kw::UnevaluatedProperties,
    Kw::UnevaluatedItems,
    Kw::Enum,
    Kw::Const,
    Kw::UniqueItems,
];

impl Place {
    /// The places at which two values of the caller differ.
    pub fn differences(a: &Value, b: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        differ(a, b, &mut Vec::new(), &mut found);
        found
    }

    /// The place of a pointer into the caller's value.
    pub fn of_caller(pointer: &str) -> Self {
        Self {
            tokens: pointer.split('/').skip(1).map(|token| unescaped(token).into_owned()).collect(),
            side: Side::Caller,
            reason: Reason::Parts,
        }
    }

    /// The place of a pointer into a value of the wire.
    pub fn on_the_wire(pointer: &str) -> Self {
        Self { side: Side::Wire, ..Self::of_caller(pointer) }
    }

    /// The same place, where a keyword refuses the value. On the wire a carrier may refuse what a part of the value is the reason for.
    #[must_use]
    pub fn refused_by(self, keyword: &str) -> Self {
        let reason = match Kw::of(keyword).filter(|_| self.side == Side::Caller) {
            Some(Kw::Required) => Reason::MissingMember,
            Some(keyword) if !DEEP.contains(&keyword) => Reason::Value,
            Some(_) | None => Reason::Parts,
        };
        Self { reason, ..self }
    }
}

fn differ(a: &Value, b: &Value, at: &mut Vec<String>, found: &mut Vec<Place>) {
    let mut below = |step: String, a: &Value, b: &Value| {
        at.push(step);
        differ(a, b, at, found);
        at.pop();
    };
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, own) in a {
                below(key.clone(), own, b.get(key).unwrap_or(&ABSENT));
            }
            for (key, other) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                below(key.clone(), &ABSENT, other);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                below(index.to_string(), a, b);
            }
        }
        // What is absent is not equal to anything, `null` least of all.
        (a, b) if equal(a, b) && !std::ptr::eq(a, &raw const ABSENT) && !std::ptr::eq(b, &raw const ABSENT) => {}
        _ => found.push(Place { tokens: at.clone(), side: Side::Caller, reason: Reason::Parts }),
    }
}

/// Stands for a member that is not there.
static ABSENT: Value = Value::Null;

impl CoveredPath {
    /// Whether the change stands at a place or around it, or as far within it as the reason of the loss may lie.
    fn accounts_for(&self, place: &Place) -> bool {
        let depth = match place.reason {
            Reason::Parts => usize::MAX,
            Reason::Value => 0,
            Reason::MissingMember => usize::from(self.keyword == Some(Kw::Required)),
        };
        match place.side {
            Side::Caller => self.path.meets(&place.tokens, depth),
            Side::Wire => {
                let mut starts = (0..=place.tokens.len()).filter_map(|start| place.tokens.get(start..));
                starts.any(|tokens| self.path.meets(tokens, depth))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use polywire_report::{Action, Change, Effect};
    use serde_json::json;

    use super::{Cover, Place, References};

    /// A change at a place of a schema, with its keyword.
    fn cover(at: &str, keyword: &'static str) -> Cover {
        let schema = json!({"properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}});
        let change = Change { keyword: keyword.into(), ..Change::new("R", at, (Action::Dropped, Effect::Wider), "") };
        Cover::of(&[change], Effect::Wider, &References::of(&schema))
    }

    #[test]
    fn a_change_within_a_value_accounts_only_for_what_parts_may_cause() {
        let rows = [
            ("/properties/a", "pattern", "", "anyOf", true),
            ("/properties/a", "pattern", "", "type", false),
            ("/properties/a", "pattern", "", "required", false),
            ("/properties/a", "required", "", "required", true),
            ("", "pattern", "/a", "type", true),
            ("/properties/a", "pattern", "/a", "minLength", true),
            ("/$defs/x", "pattern", "/x", "pattern", true),
            ("/$defs/x", "pattern", "/y", "pattern", false),
        ];
        for (at, keyword, place, refused_by, accounts) in rows {
            let place = Place::of_caller(place).refused_by(refused_by);
            assert_eq!(cover(at, keyword).covers(&[place]), accounts, "{at} {keyword} {refused_by}");
        }
    }
}
