//! Whether a schema accepts a value, and where not.
//!
//! An error of the `jsonschema` crate carries, for a union, the errors of all its branches, and these carry theirs: where unions
//! refer to themselves, as many as there are ways through the value. What a fault says needs none of them. So a second
//! validator, made when a value is refused for the first time, asks of a union only whether it holds. What else may multiply,
//! as a member that two keywords lead to, is metered ([`crate::metered`]).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jsonschema::{Draft, Keyword, Registry, Retrieve, ValidationError, ValidationOptions, Validator, uri};
use serde_json::{Value, json};

use crate::keyword::{ANY_OF, ONE_OF, REF};
use crate::metered::{Meter, Metered, Part};
use crate::schema::SchemaError;
use crate::tree::push_step;
use crate::validate::Fault;

/// A schema made ready to judge values by.
///
/// ```
/// use polywire_answer::{Formats, Judge};
/// use serde_json::json;
///
/// let schema = json!({"items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]}});
/// let judge = Judge::new(&schema, Formats::Asserted).unwrap();
/// assert!(judge.is_valid(&json!(["a", [["b"]]])));
/// let faults: Vec<_> = judge.faults(&json!(["a", 2])).into_iter().map(|fault| (fault.at, fault.keyword)).collect();
/// assert_eq!(faults, [("/1".to_owned(), "anyOf".to_owned())]);
/// ```
#[derive(Debug)]
pub struct Judge {
    source: Source,
    validator: Validator<Metered>,
    /// Tells where a value fails; `None` where the schema has unions that cannot be asked apart from it.
    places: OnceLock<Option<Validator<Metered>>>,
}

/// Whether `format` refuses values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formats {
    /// As the draft of the schema has it.
    AsTheDraftSays,
    /// It does, in every draft.
    Asserted,
}

impl Judge {
    /// Makes a schema ready.
    pub fn new(schema: &Value, formats: Formats) -> Result<Self, SchemaError> {
        let validator = formats.options().build(schema).map_err(|error| SchemaError::of(&error))?;
        let source = Source { document: Arc::new(schema.clone()), draft: validator.draft(), formats };
        Ok(Self { source, validator, places: OnceLock::new() })
    }

    /// Whether the schema accepts a value.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.validator.is_valid(Part::whole(value))
    }

    /// Where and why the schema refuses a value: of very many faults the first ones, and where even these took too long to find
    /// one without a place. Nothing where it accepts the value. A union is one place, whatever its branches say.
    pub fn faults(&self, value: &Value) -> Vec<Fault> {
        self.faults_up_to(usize::MAX, value)
    }

    pub(crate) fn faults_up_to(&self, limit: usize, value: &Value) -> Vec<Fault> {
        if self.is_valid(value) {
            return Vec::new();
        }
        let places = self.places.get_or_init(|| self.source.without_branches());
        let listed = |validator: &Validator<Metered>| -> Vec<Fault> {
            let meter = Meter::of(value);
            let errors = validator.iter_errors(Part::metered(value, &meter)).filter(Part::is_of).take(limit);
            errors.map(|error| Fault::of(&error, &self.source.document)).collect()
        };
        let faults = places.as_ref().map(listed).unwrap_or_default();
        let faults = if faults.is_empty() { listed(&self.validator) } else { faults };
        if faults.is_empty() { vec![Fault::without_place(value)] } else { faults }
    }

    pub(crate) fn document(&self) -> &Value {
        &self.source.document
    }
}

type Options<'r> = ValidationOptions<'r, Arc<dyn Retrieve>, Metered>;

impl Formats {
    fn options<'r>(self) -> Options<'r> {
        match self {
            Self::AsTheDraftSays => jsonschema::options_for(),
            Self::Asserted => jsonschema::options_for().should_validate_formats(true),
        }
    }
}

/// What validators are made of.
#[derive(Clone, Debug)]
struct Source {
    document: Arc<Value>,
    draft: Draft,
    formats: Formats,
}

/// What a schema without a name is called where its unions are looked up in it.
const UNNAMED: &str = "polywire:///schema";

impl Source {
    /// The schema with unions that say whether they hold, and nothing of their branches.
    fn without_branches(&self) -> Option<Validator<Metered>> {
        let name = uri::from_str(self.draft.create_resource_ref(&self.document).id().unwrap_or(UNNAMED)).ok()?;
        let name: Arc<str> = name.as_str().trim_end_matches('#').into();
        let registry = Registry::new().draft(self.draft).add(&name, self.document.clone()).ok()?.prepare().ok()?;
        let registry = Arc::new(registry);
        let pointers = Arc::new(pointers(&self.document));
        let mut options = self.formats.options().with_draft(self.draft);
        for keyword in [ANY_OF, ONE_OF] {
            let (source, name, registry, pointers) = (self.clone(), name.clone(), registry.clone(), pointers.clone());
            options = options.with_keyword(keyword, move |_, branches, _| {
                let pointer = pointers.get(&address(branches));
                let pointer = pointer.ok_or_else(|| ValidationError::schema("a union of another document"))?;
                let count = branches.as_array().map_or(0, Vec::len);
                let branch = |index| json!({ REF: format!("{name}#{pointer}/{index}") });
                let branches = (0..count).map(branch).collect();
                let (source, registry) = (source.clone(), registry.clone());
                let [holds, any] = [OnceLock::new(), OnceLock::new()];
                Ok(Box::new(Union { source, registry, keyword, branches, holds, any }))
            });
        }
        options.build(&self.document).ok()
    }
}

/// Where the unions of a schema stand, by the address of their branches: how validators name the places of schemas with a name
/// of their own is no pointer into the document.
fn pointers(document: &Value) -> BTreeMap<usize, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![(document, String::new())];
    while let Some((value, at)) = open.pop() {
        match value {
            Value::Object(members) => open.extend(members.iter().map(|(key, member)| {
                let mut step = String::new();
                push_step(&mut step, key);
                (member, format!("{at}/{}", in_fragment(&step)))
            })),
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (item, format!("{at}/{index}"))));
                found.insert(address(value), at);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// A union that is judged as a whole.
struct Union {
    source: Source,
    registry: Arc<Registry<'static>>,
    keyword: &'static str,
    /// References to the branches.
    branches: Vec<Value>,
    /// Whether it holds; made when a value first gets there.
    holds: OnceLock<Option<Validator<Metered>>>,
    /// Whether any branch does; made when it first does not hold.
    any: OnceLock<Option<Validator<Metered>>>,
}

impl Union {
    fn build(&self, keyword: &str) -> Option<Validator<Metered>> {
        let options = self.source.formats.options().with_draft(self.source.draft).with_registry(&self.registry);
        options.build(&json!({ keyword: self.branches })).ok()
    }

    fn any_holds(&self, value: &Value) -> bool {
        let any = self.any.get_or_init(|| self.build(ANY_OF));
        any.as_ref().is_some_and(|any| any.is_valid(Part::whole(value)))
    }
}

impl<'v> Keyword<'v, Metered> for Union {
    fn validate(&self, part: Part<'v>) -> Result<(), ValidationError<'v>> {
        if self.is_valid(part) {
            return Ok(());
        }
        let several = self.keyword == ONE_OF && part.seen().is_some_and(|value| self.any_holds(value));
        let held = if several { "valid under more than one" } else { "not valid under any" };
        Err(ValidationError::custom(format!(
            "the value is {held} of the schemas listed in the '{}' keyword",
            self.keyword
        )))
    }

    /// A union that cannot be made ready is left to the schema as a whole.
    fn is_valid(&self, part: Part<'v>) -> bool {
        let Some(value) = part.seen() else { return true };
        let holds = self.holds.get_or_init(|| self.build(self.keyword));
        holds.as_ref().is_none_or(|holds| holds.is_valid(Part::whole(value)))
    }
}

/// A token of a JSON Pointer in the fragment of a URI.
fn in_fragment(token: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    token.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Fault, Formats, Judge, Part};

    /// The place, the keyword and the words of every error must be those of the plain validator.
    #[track_caller]
    fn check(schema: &Value, value: &Value) {
        let judge = Judge::new(schema, Formats::Asserted).expect("a schema");
        let told = |errors: Vec<jsonschema::ValidationError<'_>>| {
            let mut told: Vec<_> = errors
                .iter()
                .map(|error| {
                    let words = error.masked_with("the value").to_string();
                    (error.instance_path().to_string(), error.schema_path().to_string(), words)
                })
                .collect();
            told.sort();
            told
        };
        let places = judge.source.without_branches().expect("unions that can be asked");
        assert!(!judge.is_valid(value), "{value} is no example of a refused value");
        assert_eq!(
            told(places.iter_errors(Part::whole(value)).collect()),
            told(judge.validator.iter_errors(Part::whole(value)).collect())
        );
    }

    #[test]
    fn a_union_fails_where_it_stands_and_in_the_same_words() {
        let leaf = json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]});
        check(&leaf, &json!(1));
        check(&json!({"properties": {"a": leaf}, "required": ["b"]}), &json!({"a": {}}));
        check(&json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), &json!(3));
        check(&json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), &json!(0));
        check(&json!({"anyOf": [{"format": "date"}, {"maxLength": 1}]}), &json!("no date"));
        check(&json!({"if": {"anyOf": [true]}, "then": {"not": {"oneOf": [true]}}}), &json!(0));
    }

    #[test]
    fn branches_are_found_by_any_name_and_through_any_reference() {
        let odd = json!({"properties": {"a b/~%é": {"anyOf": [{"type": "string"}]}}});
        check(&odd, &json!({"a b/~%é": 1}));
        let into = json!({"items": [{"anyOf": [{"$ref": "#/definitions/x"}, {"type": "null"}]}, {"$ref": "#/items/0/anyOf/0"}],
            "definitions": {"x": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]}},
            "$schema": "http://json-schema.org/draft-07/schema#"});
        check(&into, &json!([1, 2]));
        let named = json!({"$id": "https://example.com/a", "$ref": "b",
            "$defs": {"b": {"$id": "b", "type": "object", "properties": {"c": {"anyOf": [{"$ref": "#/$defs/d"}, {"$ref": "a"}]}}, "$defs": {"d": {"type": "null"}}}}});
        check(&named, &json!({"c": {"c": 1}}));
        let evaluated = json!({"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}], "unevaluatedProperties": false});
        check(&evaluated, &json!({"b": 1, "c": 2}));
        let dynamic = json!({"$dynamicAnchor": "node", "anyOf": [{"type": "null"}, {"type": "array", "items": {"$dynamicRef": "#node"}}]});
        check(&dynamic, &json!([[1]]));
    }

    #[test]
    fn nested_unions_do_not_multiply() {
        let node = json!({"$ref": "#/$defs/node"});
        let branch = |key: &str| json!({"type": "object", "properties": {"next": node, key: {"type": "null"}}, "required": [key]});
        let branches: Vec<Value> = ["a", "b", "c", "d"].into_iter().map(branch).collect();
        let schema = json!({"items": node, "$defs": {"node": {"anyOf": branches}}});
        let judge = Judge::new(&schema, Formats::AsTheDraftSays).expect("a schema");
        let deep = (0..60).fold(json!({}), |inner, _| json!({"next": inner}));
        let faults: Vec<_> = judge.faults(&json!([{"a": null}, deep])).into_iter().map(|fault| fault.at).collect();
        assert_eq!(faults, ["/1"]);
    }

    #[test]
    fn members_that_two_keywords_lead_to_do_not_multiply() {
        let node = json!({"$ref": "#"});
        let schema =
            json!({"properties": {"next": node}, "patternProperties": {"^n": node}, "additionalProperties": false});
        let judge = Judge::new(&schema, Formats::AsTheDraftSays).expect("a schema");
        let deep = (0..60).fold(json!({"other": 1}), |inner, _| json!({"next": inner}));
        let faults = judge.faults(&deep);
        let place = "/next".repeat(60);
        assert!(!faults.is_empty() && faults.iter().all(|fault| fault.at == place), "{faults:?}");
    }

    #[test]
    fn a_refused_value_has_a_fault_even_where_no_place_is_found() {
        let node = json!({"$ref": "#/$defs/node"});
        let twice =
            json!({"properties": {"next": node}, "patternProperties": {"^n": node}, "additionalProperties": true});
        let schema = json!({"prefixItems": [node, false], "$defs": {"node": twice}});
        let judge = Judge::new(&schema, Formats::AsTheDraftSays).expect("a schema");
        let deep = (0..60).fold(json!({}), |inner, _| json!({"next": inner}));
        let faults = judge.faults(&json!([deep, 1]));
        assert_eq!(faults.iter().map(Fault::has_place).collect::<Vec<_>>(), [false], "{faults:?}");
    }
}
