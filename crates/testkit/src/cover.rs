//! Decides whether a change accounts for a loss: by its effect, and by its place. Every runner of the
//! laws uses it.

use polywire_report::{Change, Effect};
use polywire_schema::internals::{Kw, unescaped};

/// The places of the changes with one effect, as paths into values.
#[derive(Clone, Debug)]
pub struct Cover(Vec<ValuePath>);

/// Where values of the whole schema occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Root {
    /// At the top of a value only.
    AtTheTop,
    /// Anywhere in a value, as the schema refers to itself.
    Anywhere,
}

impl Root {
    /// Recursion of the whole schema is read from its text.
    pub fn of(text: &str) -> Self {
        if text.contains("\"#\"") { Self::Anywhere } else { Self::AtTheTop }
    }
}

/// The path from the root of a value to what a change is about.
#[derive(Clone, Debug)]
struct ValuePath {
    steps: Vec<PathStep>,
    /// False for definitions, whose values may occur anywhere.
    from_root: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    /// Any key, any index.
    Any,
}

impl Cover {
    /// The changes with an effect.
    pub fn of(changes: &[Change], effect: Effect, root: Root) -> Self {
        let path = |change: &Change| {
            let path = ValuePath::of(&change.at);
            ValuePath { from_root: path.from_root && root == Root::AtTheTop, ..path }
        };
        Self(changes.iter().filter(|change| change.effect == effect).map(path).collect())
    }

    /// True where a change is at one of these places, around it or within it.
    pub fn any(&self, places: &[Place]) -> bool {
        !self.0.is_empty()
            && (places.is_empty() || places.iter().any(|place| self.0.iter().any(|path| path.intersects(place))))
    }
}

/// A place of a value at which something was lost.
#[derive(Clone, Debug)]
pub struct Place {
    tokens: Vec<String>,
    /// True for the caller's value; on the wire it may be nested in a carrier.
    of_caller: bool,
}

impl Place {
    /// The place of a pointer into the caller's value.
    pub fn of_caller(pointer: &str) -> Self {
        Self {
            tokens: pointer.split('/').skip(1).map(|token| unescaped(token).into_owned()).collect(),
            of_caller: true,
        }
    }

    /// The place of a pointer into a value of the wire.
    pub fn on_the_wire(pointer: &str) -> Self {
        Self { of_caller: false, ..Self::of_caller(pointer) }
    }
}

impl ValuePath {
    /// Converts a JSON Pointer into a schema to a path into its values.
    fn of(pointer: &str) -> Self {
        let mut path = Self { steps: Vec::new(), from_root: true };
        let mut tokens = pointer.split('/').skip(1).map(unescaped);
        while let Some(token) = tokens.next() {
            match Kw::of(&token) {
                Some(Kw::Properties) => path.steps.extend(tokens.next().map(|key| PathStep::Key(key.into_owned()))),
                Some(Kw::DependentSchemas | Kw::Dependencies) => _ = tokens.next(),
                Some(Kw::PatternProperties) => {
                    tokens.next();
                    path.steps.push(PathStep::Any);
                }
                Some(
                    Kw::Items
                    | Kw::PrefixItems
                    | Kw::AdditionalItems
                    | Kw::Contains
                    | Kw::AdditionalProperties
                    | Kw::UnevaluatedProperties
                    | Kw::UnevaluatedItems,
                ) => path.steps.push(PathStep::Any),
                Some(Kw::Defs | Kw::Definitions) => {
                    tokens.next();
                    path = Self { steps: Vec::new(), from_root: false };
                }
                // The indices of lists and the words of unions stay with the same value; other keys hold schemas that are
                // referred to by pointer, from anywhere.
                Some(Kw::AnyOf | Kw::OneOf | Kw::AllOf | Kw::Not | Kw::If | Kw::Then | Kw::Else) => {}
                None if token.bytes().all(|byte| byte.is_ascii_digit()) => {}
                Some(_) | None => path = Self { steps: Vec::new(), from_root: false },
            }
        }
        path
    }

    /// True where one path is a prefix of the other.
    fn intersects(&self, place: &Place) -> bool {
        let starts = if self.from_root && place.of_caller { 0..1 } else { 0..place.tokens.len() + 1 };
        starts.into_iter().any(|start| {
            let rest = place.tokens.get(start..).unwrap_or_default();
            self.steps.iter().zip(rest).all(|(step, token)| match step {
                PathStep::Key(key) => key == token,
                PathStep::Any => true,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, ValuePath};

    #[test]
    fn ways_meet_where_one_goes_on_from_the_other() {
        let rows = [
            ("/properties/a/properties/b", "/a", true),
            ("/properties/a", "/a/b/0", true),
            ("/properties/a/items", "/a/3", true),
            ("/properties/a", "/c", false),
            ("/anyOf/1/properties/a", "/a", true),
            ("/definitions/x/properties/b", "/a/b", true),
            ("/properties/properties/properties/a~1b", "/properties/a~1b", true),
            ("/properties/properties/properties/c", "/properties/d", false),
        ];
        for (at, place, met) in rows {
            assert_eq!(ValuePath::of(at).intersects(&Place::of_caller(place)), met, "{at} {place}");
        }
    }
}
