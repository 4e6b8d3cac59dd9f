//! What each keyword contributes to a node, in every form that drafts and generators write it.

use std::borrow::Cow;

use super::resolve::Scope;
use super::{Draft, Reader};
use crate::error::ReadError;
use crate::graph::{Bound, Condition, Contains, Logic, Node, Note, NoteKey, Place, Side, Step, Union};
use crate::json::{Json, Member};
use crate::keyword::{Holds, Kw, KwSet};
use crate::report::{Action, Effect};
use crate::types::Types;

/// Names that generators write for a type that JSON Schema spells otherwise.
const OTHER_TYPE_NAMES: &[(&str, Types)] = &[
    ("int", Types::INTEGER),
    ("long", Types::INTEGER),
    ("float", Types::NUMBER),
    ("double", Types::NUMBER),
    ("bool", Types::BOOLEAN),
    ("str", Types::STRING),
    ("dict", Types::OBJECT),
    ("list", Types::ARRAY),
    ("any", Types::ANY),
];

/// Keywords and the draft that brought them. In a schema that says it is of an earlier one a validator passes them over, but
/// their writer meant them.
const LATER: &[(Kw, Draft)] = &[
    (Kw::Const, Draft::Draft06),
    (Kw::Contains, Draft::Draft06),
    (Kw::PropertyNames, Draft::Draft06),
    (Kw::If, Draft::Draft07),
    (Kw::DependentRequired, Draft::Draft2019),
    (Kw::DependentSchemas, Draft::Draft2019),
    (Kw::UnevaluatedItems, Draft::Draft2019),
    (Kw::UnevaluatedProperties, Draft::Draft2019),
    (Kw::PrefixItems, Draft::Draft2020),
];

/// The parts of a node that need each other before they mean anything.
#[derive(Default)]
struct Parts<'d> {
    items: Option<&'d Json<'d>>,
    additional_items: Option<&'d Json<'d>>,
    contains: Option<&'d Json<'d>>,
    min_contains: Option<u64>,
    max_contains: Option<u64>,
    minimum_excludes: Option<bool>,
    maximum_excludes: Option<bool>,
    nullable: Option<bool>,
    when: Option<&'d Json<'d>>,
    then: Option<&'d Json<'d>>,
    otherwise: Option<&'d Json<'d>>,
}

/// Whether a `ref` is meant as a reference: it is in no draft, and people use the word for other things.
fn is_open_reference(value: &Json<'_>) -> bool {
    value
        .as_str()
        .is_some_and(|pointer| pointer.strip_prefix("#/").is_some_and(|rest| rest.starts_with(Kw::OpenDefs.name())))
}

/// So many required names are searched one by one.
const FEW_NAMES: usize = 32;

impl<'d> Reader<'d> {
    pub(super) fn read_members(
        &mut self,
        members: &'d [Member<'d>],
        place: Place,
        scope: Scope<'d>,
    ) -> Result<Node<'d>, ReadError> {
        let mut node = Node { place: Some(place), ..Node::default() };
        let scope = self.enter(members, place, scope);
        let mut parts = Parts::default();
        let mut in_snake_case = KwSet::default();
        for kw in members.iter().filter_map(|(key, _)| Kw::of_snake_case(key)) {
            in_snake_case.insert(kw);
        }
        for (key, value) in members {
            let own = Kw::of(key);
            let known = own.or_else(|| Kw::of_snake_case(key));
            let Some(kw) = known.filter(|kw| *kw != Kw::OpenRef || is_open_reference(value)) else {
                node.notes.push(Note { key: NoteKey::Unknown(key), value });
                continue;
            };
            let shadowed = own.is_some() && in_snake_case.has(kw);
            if own.is_none() {
                let effect = if kw.annotates() { Effect::Note } else { Effect::Narrower };
                let detail = format!("`{key}` is no keyword, but taken to be meant");
                self.change("READ-SPELLING", place, kw.name(), Action::Rewritten, effect, detail);
            }
            if let Some((_, draft)) = LATER.iter().find(|(own, draft)| *own == kw && self.is_before(*draft)) {
                let detail = format!("not a keyword before {draft:?}, but taken to be meant");
                self.change("READ-LATER", place, kw.name(), Action::Rewritten, Effect::Narrower, detail);
            }
            if !shadowed {
                self.keyword(kw, value, &mut node, &mut parts, scope)?;
            }
        }
        self.assemble(&mut node, &parts, scope)?;
        Ok(node)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each keyword is easier to read than a split by number")]
    fn keyword(
        &mut self,
        kw: Kw,
        value: &'d Json<'d>,
        node: &mut Node<'d>,
        parts: &mut Parts<'d>,
        scope: Scope<'d>,
    ) -> Result<(), ReadError> {
        let place = node.place.unwrap_or(crate::graph::ROOT);
        let nothing = matches!(value, Json::Null) && kw.row().holds != Holds::Data;
        let odd = match kw.row().holds {
            Holds::Text => value.as_str().is_none(),
            Holds::Flag => kw.annotates() && value.as_bool().is_none(),
            Holds::Values => kw.annotates() && value.as_arr().is_none(),
            Holds::Names => kw.annotates() && !value.as_arr().is_some_and(are_distinct_names),
            Holds::Schema
            | Holds::SchemaList
            | Holds::SchemaMap
            | Holds::SchemaOrNamesMap
            | Holds::TypeNames
            | Holds::NamesMap
            | Holds::Count
            | Holds::Number
            | Holds::Data => false,
        };
        if nothing || odd {
            self.malformed(kw, value, place);
            return Ok(());
        }
        let understood = match kw {
            Kw::Schema
            | Kw::Id
            | Kw::LegacyId
            | Kw::Vocabulary
            | Kw::Anchor
            | Kw::DynamicAnchor
            | Kw::RecursiveAnchor => {
                let detail = "it names what needs no name: references are resolved";
                self.change("READ-NAME", place, kw.name(), Action::Dropped, Effect::Note, detail);
                true
            }
            Kw::Defs | Kw::Definitions | Kw::OpenDefs => {
                let detail = "only what is referred to is printed";
                self.change("READ-DEFS", place, kw.name(), Action::Rewritten, Effect::Note, detail);
                true
            }
            Kw::Comment
            | Kw::PropertyOrdering
            | Kw::Title
            | Kw::Description
            | Kw::Discriminator
            | Kw::Default
            | Kw::Example
            | Kw::Examples
            | Kw::Deprecated
            | Kw::ReadOnly
            | Kw::WriteOnly
            | Kw::Xml
            | Kw::ExternalDocs
            | Kw::ContentEncoding
            | Kw::ContentMediaType => {
                node.notes.push(Note { key: NoteKey::Kw(kw), value });
                true
            }
            Kw::ContentSchema => {
                let detail = "the schema of what a string contains has references of its own";
                self.change("READ-CONTENT", place, kw.name(), Action::Dropped, Effect::Note, detail);
                true
            }
            Kw::Ref | Kw::DynamicRef | Kw::RecursiveRef | Kw::OpenRef => self.reference(kw, value, node, scope)?,
            Kw::Type => self.type_names(value, node, scope)?,
            Kw::Nullable => value.as_bool().inspect(|flag| parts.nullable = Some(*flag)).is_some(),
            Kw::Format => value.as_str().map(|format| node.formats.push(format)).is_some(),
            // An empty list is what generators write for "no list".
            Kw::Enum => {
                value.as_arr().filter(|values| !values.is_empty()).map(|values| keep(node, values.iter())).is_some()
            }
            Kw::Const => {
                keep(node, std::iter::once(value));
                node.constant = true;
                true
            }
            Kw::MultipleOf | Kw::DivisibleBy => {
                let positive = value.as_f64().is_some_and(|number| number > 0.0);
                if positive {
                    node.number.get_or_insert_default().multiples.push(value);
                }
                positive
            }
            Kw::Minimum | Kw::Maximum => bound(node, side(kw), value, Edge::Included),
            Kw::ExclusiveMinimum | Kw::ExclusiveMaximum => {
                let lower = kw == Kw::ExclusiveMinimum;
                if let Some(flag) = value.as_bool() {
                    *(if lower { &mut parts.minimum_excludes } else { &mut parts.maximum_excludes }) = Some(flag);
                    true
                } else {
                    bound(node, side(kw), value, Edge::Excluded)
                }
            }
            Kw::MinLength => count(value, &mut |count| node.text.get_or_insert_default().min = count),
            Kw::MaxLength => count(value, &mut |count| node.text.get_or_insert_default().max = Some(count)),
            Kw::Pattern => value.as_str().map(|text| node.text.get_or_insert_default().patterns.push(text)).is_some(),
            Kw::PrefixItems => {
                if let Some(items) = value.as_arr() {
                    let prefix = self.children(items, kw, place, scope)?;
                    node.array.get_or_insert_default().prefix = prefix;
                }
                value.as_arr().is_some()
            }
            Kw::Items => set(&mut parts.items, value),
            Kw::AdditionalItems => set(&mut parts.additional_items, value),
            Kw::UnevaluatedItems => {
                let id = self.child(value, kw, place, scope)?;
                node.array.get_or_insert_default().unevaluated = Some(id);
                true
            }
            Kw::Contains => set(&mut parts.contains, value),
            Kw::MinContains => count(value, &mut |count| parts.min_contains = Some(count)),
            Kw::MaxContains => count(value, &mut |count| parts.max_contains = Some(count)),
            Kw::MinItems => count(value, &mut |count| node.array.get_or_insert_default().min = count),
            Kw::MaxItems => count(value, &mut |count| node.array.get_or_insert_default().max = Some(count)),
            Kw::UniqueItems => match value.as_bool() {
                Some(true) => {
                    node.array.get_or_insert_default().unique = true;
                    true
                }
                Some(false) => true,
                None => false,
            },
            Kw::Properties => self.properties(value, node, scope)?,
            Kw::Required => match value {
                Json::Arr(names) => {
                    let rules = node.object.get_or_insert_default();
                    // A long list is not searched again for every name.
                    let mut many: foldhash::HashSet<&'d str> = foldhash::HashSet::default();
                    if names.len() > FEW_NAMES {
                        many.extend(rules.required.iter().copied());
                    }
                    for name in names.iter().filter_map(Json::as_str) {
                        let new = match names.len() {
                            0..=FEW_NAMES => !rules.required.contains(&name),
                            _ => many.insert(name),
                        };
                        if new {
                            rules.required.push(name);
                        }
                    }
                    if rules.required.len() < names.len() {
                        let detail = "names that stand twice are written once";
                        self.change("READ-REQUIRED", place, kw.name(), Action::Rewritten, Effect::Same, detail);
                    }
                    names.iter().all(|name| name.as_str().is_some())
                }
                // Draft 3 marks the property itself; the object that holds it has read the mark.
                Json::Bool(_) => true,
                Json::Null | Json::Num(_) | Json::Str(_) | Json::Obj(_) => false,
            },
            Kw::PatternProperties => {
                if let Some(map) = value.as_obj() {
                    let at = self.graph.step(place, Step::Word(kw.name().into()));
                    for (pattern, schema) in map {
                        let at = self.graph.step(at, Step::Word(Cow::Borrowed(pattern)));
                        let id = self.read(schema, at, scope)?;
                        node.object.get_or_insert_default().patterns.push((pattern, id));
                    }
                }
                value.as_obj().is_some()
            }
            Kw::AdditionalProperties | Kw::UnevaluatedProperties | Kw::PropertyNames => {
                let id = self.child(value, kw, place, scope)?;
                let rules = node.object.get_or_insert_default();
                if kw == Kw::AdditionalProperties {
                    rules.additional = Some(id);
                } else if kw == Kw::UnevaluatedProperties {
                    rules.unevaluated = Some(id);
                } else if *value != trivial_names() {
                    rules.names.push(id);
                }
                true
            }
            Kw::MinProperties => count(value, &mut |count| node.object.get_or_insert_default().min = count),
            Kw::MaxProperties => count(value, &mut |count| node.object.get_or_insert_default().max = Some(count)),
            Kw::DependentRequired | Kw::DependentSchemas | Kw::Dependencies => {
                self.dependencies(kw, value, node, scope)?
            }
            Kw::AllOf | Kw::AnyOf | Kw::OneOf => {
                if let Some(branches) = value.as_arr().filter(|branches| !branches.is_empty()) {
                    let branches = self.children(branches, kw, place, scope)?;
                    let logic = node.logic.get_or_insert_default();
                    if kw == Kw::AllOf {
                        logic.all.extend(branches);
                    } else {
                        logic.unions.push(Union { exactly_one: kw == Kw::OneOf, branches });
                    }
                    true
                } else {
                    false
                }
            }
            Kw::Extends => {
                // Only draft 3 knows it; elsewhere it is somebody's own annotation.
                if self.draft == Some(Draft::Draft03) {
                    let all = match value {
                        Json::Arr(bases) => self.children(bases, kw, place, scope)?,
                        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) | Json::Obj(_) => {
                            vec![self.child(value, kw, place, scope)?]
                        }
                    };
                    node.logic.get_or_insert_default().all.extend(all);
                }
                true
            }
            Kw::Disallow => {
                if self.draft == Some(Draft::Draft03) {
                    let mut refused = Node { place: node.place, ..Node::default() };
                    self.type_names(value, &mut refused, scope)?;
                    let id = self.graph.add(refused);
                    node.logic.get_or_insert_default().nots.push(id);
                }
                true
            }
            Kw::Not => {
                let id = self.child(value, kw, place, scope)?;
                node.logic.get_or_insert_default().nots.push(id);
                true
            }
            Kw::If => set(&mut parts.when, value),
            Kw::Then => set(&mut parts.then, value),
            Kw::Else => set(&mut parts.otherwise, value),
        };
        if !understood {
            self.malformed(kw, value, place);
        }
        Ok(())
    }

    /// Puts together what several keywords say in common.
    fn assemble(&mut self, node: &mut Node<'d>, parts: &Parts<'d>, scope: Scope<'d>) -> Result<(), ReadError> {
        let place = node.place.unwrap_or(crate::graph::ROOT);
        if let Some(rules) = &mut node.number {
            for (excludes, bound) in
                [(parts.minimum_excludes, &mut rules.min), (parts.maximum_excludes, &mut rules.max)]
            {
                if let Some(bound) = bound {
                    bound.exclusive |= excludes == Some(true);
                }
            }
        }
        match parts.items {
            // The tuple of drafts up to 2019-09.
            Some(Json::Arr(items)) if node.array.as_ref().is_none_or(|rules| rules.prefix.is_empty()) => {
                let prefix = self.children(items, Kw::Items, place, scope)?;
                let rest = match parts.additional_items {
                    Some(rest) => Some(self.child(rest, Kw::AdditionalItems, place, scope)?),
                    None => None,
                };
                let rules = node.array.get_or_insert_default();
                (rules.prefix, rules.items) = (prefix, rest);
            }
            Some(Json::Arr(items)) => self.malformed(Kw::Items, &Json::Arr(items.clone()), place),
            Some(items) => {
                let id = self.child(items, Kw::Items, place, scope)?;
                node.array.get_or_insert_default().items = Some(id);
            }
            None => {}
        }
        if let Some(contains) = parts.contains {
            let id = self.child(contains, Kw::Contains, place, scope)?;
            let contains = Contains { node: id, min: parts.min_contains, max: parts.max_contains };
            node.array.get_or_insert_default().contains.push(contains);
        }
        if let Some(when) = parts.when
            && (parts.then.is_some() || parts.otherwise.is_some())
        {
            let branch = |reader: &mut Self, json: Option<&'d Json<'d>>, kw| {
                json.map(|json| reader.child(json, kw, place, scope)).transpose()
            };
            let then = branch(self, parts.then, Kw::Then)?;
            let otherwise = branch(self, parts.otherwise, Kw::Else)?;
            let written = [Some(when), parts.then, parts.otherwise];
            let when = self.child(when, Kw::If, place, scope)?;
            node.logic.get_or_insert_default().conditions.push(Condition { when, then, otherwise, written });
        }
        if parts.nullable == Some(true) && self.draft.is_none_or(|draft| draft == Draft::OpenApi30) {
            self.allow_null(node, place);
        }
        self.forget_siblings(node, place);
        if let (Some(values), Some(types)) = (&mut node.values, node.types) {
            let count = values.len();
            values.retain(|value| types.meets(Types::of(value)));
            if values.len() < count {
                let detail = "values that the type refuses are left out";
                self.change("READ-ENUM", place, Kw::Enum.name(), Action::Dropped, Effect::Same, detail);
            }
        }
        Ok(())
    }

    /// Reads `nullable: true` as `OpenAPI` 3.0 means it.
    fn allow_null(&mut self, node: &mut Node<'d>, place: Place) {
        if self.draft.is_none() {
            let detail = "`nullable` is read as OpenAPI means it";
            self.change("READ-NULLABLE", place, Kw::Nullable.name(), Action::Rewritten, Effect::Wider, detail);
        }
        if node.is_bare() && (node.target.is_some() || node.logic.is_some()) {
            let null = self.graph.add(Node { place: node.place, types: Some(Types::NULL), ..Node::default() });
            let notes = std::mem::take(&mut node.notes);
            let inner = std::mem::take(node);
            let place = inner.place;
            let inner = self.graph.add(inner);
            let union = Union { exactly_one: false, branches: vec![inner, null] };
            let logic = Logic { unions: vec![union], ..Logic::default() };
            *node = Node { place, notes, logic: Some(Box::new(logic)), ..Node::default() };
        } else {
            node.types = node.types.map(|types| types.or(Types::NULL));
            if let Some(values) = &mut node.values
                && !values.iter().any(|value| matches!(value, Json::Null))
            {
                values.push(&Json::Null);
            }
        }
    }

    /// Up to draft 7 a reference stands alone: what is beside it says nothing, except to people.
    fn forget_siblings(&mut self, node: &mut Node<'d>, place: Place) {
        if node.target.is_none() || !self.is_before(Draft::Draft2019) || (node.is_bare() && node.logic.is_none()) {
            return;
        }
        let kept =
            Node { place: node.place, target: node.target, notes: std::mem::take(&mut node.notes), ..Node::default() };
        *node = kept;
        let detail = "keywords beside a reference mean nothing up to draft 7";
        self.change("READ-SIBLINGS", place, Kw::Ref.name(), Action::Dropped, Effect::Same, detail);
    }

    fn type_names(&mut self, value: &'d Json<'d>, node: &mut Node<'d>, scope: Scope<'d>) -> Result<bool, ReadError> {
        let place = node.place.unwrap_or(crate::graph::ROOT);
        let names = match value {
            Json::Str(_) => std::slice::from_ref(value),
            Json::Arr(names) if !names.is_empty() => names,
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Arr(_) | Json::Obj(_) => return Ok(false),
        };
        let mut types = Types::NONE;
        let mut schemas = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let Some(name) = name.as_str() else {
                // Draft 3 lets a schema stand among the type names.
                if matches!(name, Json::Obj(_)) {
                    let at = self.graph.step(place, Step::Word(Kw::Type.name().into()));
                    let at = self.graph.step(at, Step::Index(index));
                    schemas.push(self.read(name, at, scope)?);
                    continue;
                }
                return Ok(false);
            };
            let other = || OTHER_TYPE_NAMES.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|row| row.1);
            if let Some(own) = Types::named(name) {
                types = types.or(own);
            } else if let Some(own) = other() {
                let detail = format!("`{name}` is taken for the type it stands for");
                self.change("READ-TYPE", place, Kw::Type.name(), Action::Rewritten, Effect::Same, detail);
                types = types.or(own);
            } else {
                let detail = format!("`{name}` is not a type; any value is accepted");
                self.change("READ-TYPE", place, Kw::Type.name(), Action::Dropped, Effect::Wider, detail);
                types = Types::ANY;
            }
        }
        if schemas.is_empty() {
            node.types = Some(types).filter(|types| *types != Types::ANY);
        } else {
            if !types.is_none() {
                schemas.push(self.graph.add(Node { place: node.place, types: Some(types), ..Node::default() }));
            }
            let union = Union { exactly_one: false, branches: schemas };
            node.logic.get_or_insert_default().unions.push(union);
        }
        Ok(true)
    }

    fn properties(&mut self, value: &'d Json<'d>, node: &mut Node<'d>, scope: Scope<'d>) -> Result<bool, ReadError> {
        let Json::Obj(map) = value else {
            node.object.get_or_insert_default();
            return Ok(false);
        };
        let place = node.place.unwrap_or(crate::graph::ROOT);
        let at = self.graph.step(place, Step::Word(Kw::Properties.name().into()));
        let mut properties = Vec::with_capacity(map.len());
        for (key, schema) in map {
            let at = self.graph.step(at, Step::Word(Cow::Borrowed(key)));
            let id = self.read(schema, at, scope)?;
            // The mark of draft 3 on the property itself.
            if schema.get(Kw::Required.name()).and_then(Json::as_bool) == Some(true) {
                node.object.get_or_insert_default().required.push(key);
            }
            properties.push((*key, id));
        }
        node.object.get_or_insert_default().properties = properties;
        Ok(true)
    }

    fn dependencies(
        &mut self,
        kw: Kw,
        value: &'d Json<'d>,
        node: &mut Node<'d>,
        scope: Scope<'d>,
    ) -> Result<bool, ReadError> {
        let Json::Obj(map) = value else { return Ok(false) };
        let place = node.place.unwrap_or(crate::graph::ROOT);
        let at = self.graph.step(place, Step::Word(kw.name().into()));
        for (key, needed) in map {
            let names = match needed {
                Json::Arr(names) => Some(names.iter().filter_map(Json::as_str).collect()),
                // Draft 3 allows one bare name.
                Json::Str(name) => Some(vec![name.as_ref()]),
                Json::Null | Json::Bool(_) | Json::Num(_) | Json::Obj(_) => None,
            };
            if let Some(names) = names {
                node.object.get_or_insert_default().needs.push((key, names));
            } else {
                let at = self.graph.step(at, Step::Word(Cow::Borrowed(key)));
                let id = self.read(needed, at, scope)?;
                node.object.get_or_insert_default().dependents.push((key, id));
            }
        }
        Ok(true)
    }
}

fn are_distinct_names(names: &[Json<'_>]) -> bool {
    let mut seen = foldhash::HashSet::default();
    names.iter().all(|name| name.as_str().is_some_and(|name| seen.insert(name)))
}

/// What generators write for keys: they are strings, which they always are.
fn trivial_names() -> Json<'static> {
    Json::obj(vec![(Kw::Type.name(), Json::str("string"))])
}

/// Intersects the values a node may take with these.
fn keep<'d>(node: &mut Node<'d>, values: impl Iterator<Item = &'d Json<'d>>) {
    let mut distinct: Vec<&'d Json<'d>> = Vec::with_capacity(values.size_hint().0);
    let mut texts: foldhash::HashSet<&str> = foldhash::HashSet::default();
    for value in values {
        let new = match value {
            Json::Str(text) => texts.insert(text),
            // A long list of other values is taken as it stands: comparing every pair would be quadratic.
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Arr(_) | Json::Obj(_) => {
                distinct.len() > 256 || !distinct.iter().any(|own| own.same(value))
            }
        };
        if new {
            distinct.push(value);
        }
    }
    node.values = Some(match node.values.take() {
        Some(own) => own.into_iter().filter(|value| distinct.iter().any(|other| other.same(value))).collect(),
        None => distinct,
    });
}

/// Which side of a range a keyword bounds.
fn side(kw: Kw) -> Side {
    if matches!(kw, Kw::Minimum | Kw::ExclusiveMinimum) { Side::Lower } else { Side::Upper }
}

/// Whether a bound itself is in the range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Included,
    Excluded,
}

fn bound<'d>(node: &mut Node<'d>, side: Side, value: &'d Json<'d>, edge: Edge) -> bool {
    let Json::Num(number) = value else { return false };
    let new = Bound { value: number.clone(), exclusive: edge == Edge::Excluded };
    let rules = node.number.get_or_insert_default();
    let own = match side {
        Side::Lower => &mut rules.min,
        Side::Upper => &mut rules.max,
    };
    *own = Some(match own.take() {
        Some(own) => own.tighter(new, side),
        None => new,
    });
    true
}

fn count(value: &Json<'_>, put: &mut dyn FnMut(u64)) -> bool {
    // A negative lower bound and a bound in a string are written by generators; the first says nothing.
    let written = || value.as_str().and_then(|text| text.parse().ok());
    value.as_count().or_else(written).map(put).is_some()
}

fn set<'d>(part: &mut Option<&'d Json<'d>>, value: &'d Json<'d>) -> bool {
    *part = Some(value);
    true
}
