//! Decides whether a change accounts for a loss: by its effect, and by its place. Every runner of the
//! laws uses it.

use polywire_report::{Change, Effect};
use polywire_schema::internals::{Kw, unescaped};
use serde_json::Value;

/// The places of the changes with one effect, as paths into values.
#[derive(Clone, Debug)]
pub struct Cover(Vec<ValuePath>);

/// Where a schema refers to, as JSON Pointers: what stands there may govern a value anywhere.
#[derive(Clone, Debug, Default)]
pub struct References(Vec<String>);

impl References {
    /// The targets of all local references of a schema.
    pub fn of(schema: &Value) -> Self {
        let mut found = Self::default();
        found.collect(schema, schema.get(Kw::Id.name()).and_then(Value::as_str).unwrap_or("#"));
        found.0.sort_unstable();
        found.0.dedup();
        found
    }

    fn collect(&mut self, schema: &Value, base: &str) {
        let Value::Object(members) = schema else { return };
        for (key, value) in members {
            match (Kw::of(key), value) {
                (Some(Kw::Ref | Kw::BareRef | Kw::RecursiveRef | Kw::DynamicRef), Value::String(target)) => {
                    let local = target.strip_prefix(base.trim_end_matches('#')).unwrap_or(target);
                    self.0.extend(local.strip_prefix('#').or(local.is_empty().then_some("")).map(str::to_owned));
                }
                (Some(Kw::Enum | Kw::Const | Kw::Default | Kw::Examples), _) => {}
                (
                    Some(
                        Kw::Properties
                        | Kw::PatternProperties
                        | Kw::DependentSchemas
                        | Kw::Dependencies
                        | Kw::Defs
                        | Kw::Definitions,
                    ),
                    Value::Object(schemas),
                ) => schemas.values().for_each(|own| self.collect(own, base)),
                (_, Value::Array(schemas)) => schemas.iter().for_each(|own| self.collect(own, base)),
                (_, own) => self.collect(own, base),
            }
        }
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
    pub fn of(changes: &[Change], effect: Effect, references: &References) -> Self {
        let mut paths = Vec::new();
        for change in changes.iter().filter(|change| change.effect == effect) {
            paths.push(ValuePath::of(&change.at));
            let below = |target: &String| {
                let rest = change.at.strip_prefix(target.as_str())?;
                (rest.is_empty() || rest.starts_with('/'))
                    .then(|| ValuePath { from_root: false, ..ValuePath::of(rest) })
            };
            paths.extend(references.0.iter().filter_map(below));
        }
        Self(paths)
    }

    /// Whether a change stands at each of these places of a value, around it or within it. A loss without a place is covered by
    /// nothing.
    pub fn covers(&self, places: &[Place]) -> bool {
        !places.is_empty() && places.iter().all(|place| self.0.iter().any(|way| way.intersects(place)))
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
            of_caller: true,
        }
    }

    /// The place of a pointer into a value of the wire.
    pub fn on_the_wire(pointer: &str) -> Self {
        Self { of_caller: false, ..Self::of_caller(pointer) }
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
        (a, b) if a == b && !std::ptr::eq(a, &raw const ABSENT) && !std::ptr::eq(b, &raw const ABSENT) => {}
        _ => found.push(Place { tokens: at.clone(), of_caller: true }),
    }
}

/// Stands for a member that is not there.
static ABSENT: Value = Value::Null;

impl ValuePath {
    /// Reads a JSON Pointer into a schema as a way into its values.
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
