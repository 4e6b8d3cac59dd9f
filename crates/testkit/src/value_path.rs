//! Paths into values: where the values of a part of a schema stand, references followed.

use polywire_schema::internals::{Kw, unescaped};
use serde_json::Value;

/// A place that more paths reach is taken to be anywhere.
const MOST_PATHS: usize = 256;

/// The local references of a schema.
#[derive(Clone, Debug, Default)]
pub struct References {
    found: Vec<Reference>,
    /// Names other than pointers: what they refer to may be used anywhere.
    by_name: Vec<String>,
}

/// A reference by pointer.
#[derive(Clone, Debug)]
struct Reference {
    /// The pointer of the schema that refers.
    from: String,
    /// The pointer that it refers to.
    to: String,
}

/// A path from the root of a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValuePath(Vec<PathStep>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathStep {
    Key(String),
    /// Any key, any index.
    Any,
    /// Any number of steps, or none.
    Deep,
}

impl References {
    /// All local references of a schema.
    pub fn of(schema: &Value) -> Self {
        let mut found = Self::default();
        let base = schema.get(Kw::Id.name()).and_then(Value::as_str).unwrap_or("#");
        found.collect(schema, base.trim_end_matches('#'), "");
        found
    }

    fn collect(&mut self, schema: &Value, base: &str, at: &str) {
        let Value::Object(members) = schema else { return };
        for (key, value) in members {
            let below = |token: &str| format!("{at}/{}", token.replace('~', "~0").replace('/', "~1"));
            match (Kw::of(key), value) {
                (Some(Kw::Ref | Kw::BareRef | Kw::RecursiveRef | Kw::DynamicRef), Value::String(target)) => {
                    let local = target.strip_prefix(base).unwrap_or(target);
                    match local.strip_prefix('#').unwrap_or(local) {
                        to if to.is_empty() || to.starts_with('/') => {
                            self.found.push(Reference { from: at.to_owned(), to: to.to_owned() });
                        }
                        name => self.by_name.push(name.to_owned()),
                    }
                }
                (Some(Kw::Enum | Kw::Const | Kw::Default | Kw::Examples), _) => {}
                (Some(keyword), Value::Object(schemas)) if holds_named_schemas(keyword) => {
                    let at = below(key);
                    for (name, own) in schemas {
                        self.collect(own, base, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")));
                    }
                }
                (_, Value::Array(schemas)) => {
                    let at = below(key);
                    for (index, own) in schemas.iter().enumerate() {
                        self.collect(own, base, &format!("{at}/{index}"));
                    }
                }
                (_, own) => self.collect(own, base, &below(key)),
            }
        }
    }

    /// The paths of the values that a place of the schema speaks of.
    pub(crate) fn value_paths(&self, pointer: &str) -> Vec<ValuePath> {
        let found = self.paths(pointer, &mut Vec::new());
        let mut paths: Vec<ValuePath> = found.into_iter().map(|found| found.path).collect();
        let is_in_definition = ValuePath::of(pointer).is_none();
        let is_used_by_name = is_in_definition && (paths.is_empty() || !self.by_name.is_empty());
        if (is_used_by_name || paths.len() > MOST_PATHS)
            && let Some(anywhere) = ValuePath::anywhere(pointer)
        {
            paths = vec![anywhere];
        }
        paths
    }

    /// The same by pointers alone. `open` has the targets that are being followed.
    fn paths(&self, pointer: &str, open: &mut Vec<String>) -> Vec<FoundPath> {
        let mut paths: Vec<FoundPath> =
            ValuePath::of(pointer).map(|path| FoundPath { path, repeats: None }).into_iter().collect();
        let mut targets: Vec<&str> = self.found.iter().map(|reference| &*reference.to).collect();
        targets.sort_unstable();
        targets.dedup();
        for to in targets {
            let Some(rest) = pointer.strip_prefix(to).filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
                continue;
            };
            let Some(rest) = ValuePath::of(rest) else { continue };
            if open.iter().any(|target| target == to) {
                paths.push(FoundPath { path: rest, repeats: Some(to.to_owned()) });
                continue;
            }
            paths.extend(self.paths_to_target(to, open).into_iter().map(|found| found.followed_by(&rest)));
            if paths.len() > MOST_PATHS {
                break;
            }
        }
        paths
    }

    /// The paths to what references to `target` stand for: those from outside, and any number of rounds after each.
    fn paths_to_target(&self, target: &str, open: &mut Vec<String>) -> Vec<FoundPath> {
        open.push(target.to_owned());
        let users = self.found.iter().filter(|reference| reference.to == target);
        let found: Vec<FoundPath> =
            users.flat_map(|reference| self.paths(&reference.from, open)).take(MOST_PATHS + 1).collect();
        open.pop();
        let (rounds, mut paths): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| found.repeats.as_deref() == Some(target));
        let deep = ValuePath(vec![PathStep::Deep]);
        let repeated: Vec<FoundPath> = paths
            .iter()
            .flat_map(|path| rounds.iter().map(|round| path.clone().followed_by(&deep).followed_by(&round.path)))
            .take(MOST_PATHS + 1)
            .collect();
        paths.extend(repeated);
        paths
    }
}

/// A path, and the target of references from whose values it starts, where that is not the root.
#[derive(Clone, Debug)]
struct FoundPath {
    path: ValuePath,
    repeats: Option<String>,
}

impl FoundPath {
    fn followed_by(self, rest: &ValuePath) -> Self {
        Self { path: self.path.followed_by(rest), repeats: self.repeats }
    }
}

fn holds_named_schemas(keyword: Kw) -> bool {
    [Kw::Properties, Kw::PatternProperties, Kw::DependentSchemas, Kw::Dependencies, Kw::Defs, Kw::Definitions]
        .contains(&keyword)
}

impl ValuePath {
    /// Reads a JSON Pointer into a schema as a path into its values; `None` for one that leads into a definition, whose values are
    /// where it is referred to.
    fn of(pointer: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut tokens = pointer.split('/').skip(1).map(unescaped);
        while let Some(token) = tokens.next() {
            match Kw::of(&token) {
                Some(Kw::Properties) => steps.extend(tokens.next().map(|key| PathStep::Key(key.into_owned()))),
                Some(Kw::DependentSchemas | Kw::Dependencies) => _ = tokens.next(),
                Some(Kw::PatternProperties) => {
                    tokens.next();
                    steps.push(PathStep::Any);
                }
                Some(
                    Kw::Items
                    | Kw::PrefixItems
                    | Kw::AdditionalItems
                    | Kw::Contains
                    | Kw::AdditionalProperties
                    | Kw::UnevaluatedProperties
                    | Kw::UnevaluatedItems,
                ) => steps.push(PathStep::Any),
                // The indices of lists and the words of unions stay with the same value.
                Some(Kw::AnyOf | Kw::OneOf | Kw::AllOf | Kw::Not | Kw::If | Kw::Then | Kw::Else) => {}
                None if token.bytes().all(|byte| byte.is_ascii_digit()) => {}
                Some(_) | None => return None,
            }
        }
        Some(Self(steps))
    }

    /// The path below the innermost definition of a pointer, or below the root, wherever that is used.
    fn anywhere(pointer: &str) -> Option<Self> {
        let mut starts = pointer.match_indices('/').map(|(start, _)| start).chain([pointer.len()]);
        let rest = starts.find_map(|start| Self::of(pointer.get(start..)?))?;
        Some(Self(vec![PathStep::Deep]).followed_by(&rest))
    }

    fn followed_by(mut self, rest: &Self) -> Self {
        self.0.extend_from_slice(&rest.0);
        self
    }

    /// True where this path leads to the place of `tokens`, around it, or within it by at most `depth` steps.
    pub(crate) fn meets(&self, tokens: &[String], depth: usize) -> bool {
        meets(&self.0, tokens, depth)
    }

    /// True where the paths may lead to the same place, or one within the place of the other.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        overlap(&self.0, &other.0)
    }
}

fn meets(steps: &[PathStep], tokens: &[String], depth: usize) -> bool {
    match (steps, tokens) {
        ([], _) => true,
        (_, []) => steps.iter().filter(|step| **step != PathStep::Deep).count() <= depth,
        ([PathStep::Deep, rest @ ..], [_, below @ ..]) => meets(rest, tokens, depth) || meets(steps, below, depth),
        ([PathStep::Any, rest @ ..], [_, below @ ..]) => meets(rest, below, depth),
        ([PathStep::Key(key), rest @ ..], [token, below @ ..]) => key == token && meets(rest, below, depth),
    }
}

fn overlap(a: &[PathStep], b: &[PathStep]) -> bool {
    match (a, b) {
        ([], _) | (_, []) => true,
        ([PathStep::Deep, rest @ ..], [_, below @ ..]) => overlap(rest, b) || overlap(a, below),
        ([_, below @ ..], [PathStep::Deep, rest @ ..]) => overlap(a, rest) || overlap(below, b),
        ([PathStep::Key(one), a @ ..], [PathStep::Key(other), b @ ..]) => one == other && overlap(a, b),
        ([_, a @ ..], [_, b @ ..]) => overlap(a, b),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::References;

    #[test]
    fn a_place_is_where_its_values_are() {
        let schema = json!({
            "properties": {
                "a": {"properties": {"b": {}}},
                "properties": {"properties": {"a/b": {}, "c": {}}},
                "list": {"items": {"$ref": "#/$defs/node"}},
                "same": {"$ref": "#/properties/a"}
            },
            "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "id": {}}}}
        });
        let rows = [
            ("/properties/a/properties/b", "/a", true),
            ("/properties/a", "/a/b/0", true),
            ("/properties/list/items", "/list/3", true),
            ("/properties/a", "/c", false),
            ("/properties/a/properties/b", "/same/b", true),
            ("/anyOf/1/properties/a", "/a", true),
            ("/properties/properties/properties/a~1b", "/properties/a~1b", true),
            ("/properties/properties/properties/c", "/properties/d", false),
            ("/$defs/node/properties/id", "/list/0/id", true),
            ("/$defs/node/properties/id", "/list/0/next/next/id", true),
            ("/$defs/node/properties/id", "/a/id", false),
            ("/$defs/unused/properties/id", "/a/id", true),
        ];
        for (at, place, is_met) in rows {
            let tokens: Vec<String> = place.split('/').skip(1).map(|token| token.replace("~1", "/")).collect();
            let paths = References::of(&schema).value_paths(at);
            assert_eq!(paths.iter().any(|path| path.meets(&tokens, usize::MAX)), is_met, "{at} {place}: {paths:?}");
        }
    }
}
