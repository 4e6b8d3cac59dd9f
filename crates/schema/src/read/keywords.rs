//! What each keyword contributes to a node, in every form that drafts and generators write it.

use super::resolve::Scope;
use super::{Draft, Reader, close};
use crate::arena::Arena;
use crate::error::ReadError;
use crate::graph::{
    ArrayRules, Bound, Condition, Contains, Logic, Node, NodeId, Note, NoteKey, NumberRules, ObjectRules, RareRules,
    Rules, Side, TextRules, Union,
};
use crate::json::{Json, Member, are_distinct_texts};
use crate::keyword::{Holds, Kw, KwSet};
use crate::place::{Place, ROOT, Step};
use crate::types::Types;
use polywire_report::{Action, Effect};

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

/// A node that is being read, with what is not known to be whole before its last keyword.
#[derive(Default)]
pub(super) struct Sketch<'g, 'd> {
    pub(super) node: Node<'g, 'd>,
    values: Values<'g, 'd>,
    pub(super) formats: &'g [&'d str],
    number: Option<NumberRules<'g, 'd>>,
    text: Option<TextRules<'g, 'd>>,
    pub(super) array: Option<ArrayRules<'g>>,
    object: Option<ObjectRules<'g, 'd>>,
    rare: Option<RareRules<'g, 'd>>,
    pub(super) logic: Option<Logic<'g, 'd>>,
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

impl<'g, 'd> Sketch<'g, 'd> {
    fn at(place: Place) -> Self {
        Self { node: Node { place: Some(place), ..Node::default() }, ..Self::default() }
    }

    /// The node, with its rules in the arena.
    fn finished(&self, arena: &'g Arena) -> Node<'g, 'd> {
        let mut object = self.object;
        if let Some(rare) = self.rare {
            object.get_or_insert_default().rare = rare.kept(arena);
        }
        let rules = Rules {
            values: self.values,
            formats: self.formats,
            number: self.number.as_ref().map(|rules| arena.keep(*rules)),
            text: self.text.map(|rules| arena.keep(rules)),
            array: self.array.map(|rules| arena.keep(rules)),
            object: object.map(|rules| arena.keep(rules)),
            logic: self.logic.map(|rules| arena.keep(rules)),
        };
        self.node.asking(rules, arena)
    }

    pub(super) fn add_union(&mut self, exactly_one: bool, branches: &'g [NodeId], arena: &'g Arena) {
        let logic = self.logic.get_or_insert_default();
        logic.unions = arena.extended(logic.unions, &[Union { exactly_one, branches }]);
    }

    fn add_not(&mut self, id: NodeId, arena: &'g Arena) {
        let logic = self.logic.get_or_insert_default();
        logic.nots = arena.extended(logic.nots, &[id]);
    }
}

/// Whether a `ref` is meant as a reference: it is in no draft, and people use the word for other things.
fn is_open_reference(value: &Json<'_>) -> bool {
    value
        .as_str()
        .is_some_and(|pointer| pointer.strip_prefix("#/").is_some_and(|rest| rest.starts_with(Kw::OpenDefs.name())))
}

/// Why a keyword that only draft 3 knows is left out of others.
const NOT_OF_THIS_DRAFT: &str = "only draft 3 knows it; elsewhere it annotates";

/// So many required names are searched one by one.
const FEW_NAMES: usize = 32;

impl<'g, 'd> Reader<'g, 'd> {
    pub(super) fn read_members(
        &mut self,
        json: &'d Json<'d>,
        members: &'d [Member<'d>],
        place: Place,
        scope: Scope<'d>,
    ) -> Result<Node<'g, 'd>, ReadError> {
        let mut sketch = Sketch::at(place);
        let scope = self.enter(json, place, scope);
        let notes = self.notes.len();
        let mut in_snake_case = KwSet::default();
        let mut asked = KwSet::default();
        // A key that is a keyword as it stands has no underscore.
        for (key, _) in members.iter().filter(|(key, _)| Kw::of(key).is_none()) {
            in_snake_case = Kw::of_snake_case(key).map_or(in_snake_case, |kw| in_snake_case.with(kw));
        }
        for (key, value) in members {
            let own = Kw::of(key);
            let known = own.or_else(|| Kw::of_snake_case(key));
            let Some(kw) = known.filter(|kw| *kw != Kw::OpenRef || is_open_reference(value)) else {
                self.notes.push(Note { key: NoteKey::Unknown(key), value });
                continue;
            };
            let shadowed = own.is_some() && in_snake_case.has(kw);
            if own.is_none() {
                let effect = if kw.annotates() { Effect::Note } else { Effect::Narrower };
                let detail = format!("`{key}` is no keyword, but taken to be meant");
                self.change("READ-SPELLING", place, kw.name(), Action::Rewritten, effect, detail);
            }
            if self.is_before(Draft::Draft2020)
                && let Some((_, draft)) = LATER.iter().find(|(own, draft)| *own == kw && self.is_before(*draft))
            {
                let detail = format!("not a keyword before {draft:?}, but taken to be meant");
                self.change("READ-LATER", place, kw.name(), Action::Rewritten, Effect::Narrower, detail);
            }
            if !shadowed {
                self.keyword(kw, value, &mut sketch, scope)?;
                // The mark of draft 3 is said by the object around the property.
                if kw != Kw::Required || value.as_bool().is_none() {
                    asked.insert(kw);
                }
            }
        }
        sketch.node.notes = close(&mut self.notes, notes, self.arena);
        let node = self.assemble(&mut sketch, scope)?;
        self.tell_of_others(&node, asked, place);
        Ok(node)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each keyword is easier to read than a split by number")]
    fn keyword(
        &mut self,
        kw: Kw,
        value: &'d Json<'d>,
        sketch: &mut Sketch<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<(), ReadError> {
        let arena = self.arena;
        let node = &mut sketch.node;
        let place = node.place.unwrap_or(ROOT);
        let nothing = matches!(value, Json::Null) && kw.row().holds != Holds::Data;
        let odd = match kw.row().holds {
            Holds::Text => value.as_str().is_none(),
            Holds::Flag => kw.annotates() && value.as_bool().is_none(),
            Holds::Values => kw.annotates() && value.as_arr().is_none(),
            Holds::Names => kw.annotates() && !value.as_arr().is_some_and(are_distinct_names),
            // What is excluded, or asked about, cannot be anything.
            Holds::Schema => matches!(kw, Kw::Not | Kw::If | Kw::Then | Kw::Else) && !self.is_schema(value),
            Holds::SchemaList
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
                self.notes.push(Note { key: NoteKey::Kw(kw), value });
                true
            }
            Kw::ContentSchema => {
                let detail = "the schema of what a string contains has references of its own";
                self.change("READ-CONTENT", place, kw.name(), Action::Dropped, Effect::Note, detail);
                true
            }
            Kw::Ref | Kw::DynamicRef | Kw::RecursiveRef | Kw::OpenRef => self.reference(kw, value, sketch, scope)?,
            Kw::Type => self.type_names(value, sketch, scope)?,
            Kw::Nullable => {
                sketch.nullable = value.as_bool();
                if value.as_bool() == Some(false) {
                    let detail = "it says nothing: `null` is refused unless something allows it";
                    self.change("READ-NULLABLE", place, kw.name(), Action::Dropped, Effect::Same, detail);
                }
                value.as_bool().is_some()
            }
            Kw::Format => {
                value.as_str().map(|format| sketch.formats = arena.extended(sketch.formats, &[format])).is_some()
            }
            // An empty list is what generators write for "no list".
            Kw::Enum => {
                let values = value.as_arr().unwrap_or_default();
                let others = sketch.values.is_some();
                if !values.is_empty() {
                    keep(&mut sketch.values, values.iter(), arena);
                    if !others && sketch.values.is_some_and(|kept| kept.len() < values.len()) {
                        self.rewritten("READ-ENUM", place, kw, "values that stand twice are written once");
                    }
                }
                !values.is_empty()
            }
            Kw::Const => {
                keep(&mut sketch.values, std::iter::once(value), arena);
                sketch.node.constant = true;
                true
            }
            Kw::MultipleOf | Kw::DivisibleBy => {
                let positive = value.as_f64().is_some_and(|number| number > 0.0);
                if positive {
                    if kw == Kw::DivisibleBy {
                        self.rewritten("READ-OLDER", place, kw, format!("said by `{}`", Kw::MultipleOf.name()));
                    }
                    let rules = sketch.number.get_or_insert_default();
                    rules.multiples = arena.extended(rules.multiples, &[value]);
                }
                positive
            }
            Kw::Minimum | Kw::Maximum => bound(&mut sketch.number, side(kw), value, Edge::Included),
            Kw::ExclusiveMinimum | Kw::ExclusiveMaximum => {
                let lower = kw == Kw::ExclusiveMinimum;
                if let Some(flag) = value.as_bool() {
                    *(if lower { &mut sketch.minimum_excludes } else { &mut sketch.maximum_excludes }) = Some(flag);
                    self.rewritten(
                        "READ-BOUND",
                        place,
                        kw,
                        "whether the bound is in the range is said by the bound itself",
                    );
                    true
                } else {
                    bound(&mut sketch.number, side(kw), value, Edge::Excluded)
                }
            }
            Kw::MinLength => count(value, &mut |count| sketch.text.get_or_insert_default().min = count),
            Kw::MaxLength => count(value, &mut |count| sketch.text.get_or_insert_default().max = Some(count)),
            Kw::Pattern => {
                if let Some(pattern) = value.as_str() {
                    let rules = sketch.text.get_or_insert_default();
                    rules.patterns = arena.extended(rules.patterns, &[pattern]);
                }
                value.as_str().is_some()
            }
            Kw::PrefixItems => {
                if let Some(items) = value.as_arr() {
                    let prefix = self.children(items, kw, place, scope)?;
                    sketch.array.get_or_insert_default().prefix = prefix;
                }
                value.as_arr().is_some()
            }
            Kw::Items => set(&mut sketch.items, value),
            Kw::AdditionalItems => set(&mut sketch.additional_items, value),
            Kw::UnevaluatedItems => {
                let id = self.child(value, kw, place, scope)?;
                sketch.array.get_or_insert_default().unevaluated = Some(id);
                true
            }
            Kw::Contains => set(&mut sketch.contains, value),
            Kw::MinContains => count(value, &mut |count| sketch.min_contains = Some(count)),
            Kw::MaxContains => count(value, &mut |count| sketch.max_contains = Some(count)),
            Kw::MinItems => count(value, &mut |count| sketch.array.get_or_insert_default().min = count),
            Kw::MaxItems => count(value, &mut |count| sketch.array.get_or_insert_default().max = Some(count)),
            Kw::UniqueItems => match value.as_bool() {
                Some(true) => {
                    sketch.array.get_or_insert_default().unique = true;
                    true
                }
                Some(false) => true,
                None => false,
            },
            Kw::Properties => self.properties(value, sketch, scope)?,
            Kw::Required => match value {
                Json::Arr(names) => {
                    let rules = sketch.object.get_or_insert_default();
                    rules.required = distinct(rules.required, names, arena);
                    if rules.required.len() < names.len() {
                        self.rewritten("READ-REQUIRED", place, kw, "names that stand twice are written once");
                    }
                    names.iter().all(|name| name.as_str().is_some())
                }
                // Draft 3 marks the property itself; the object that holds it has read the mark.
                Json::Bool(_) => {
                    self.rewritten("READ-REQUIRED", place, kw, "said by the object that declares the property");
                    true
                }
                Json::Null | Json::Num(_) | Json::Str(_) | Json::Obj(_) => false,
            },
            Kw::PatternProperties => {
                if let Some(map) = value.as_obj() {
                    let patterns = self.map(map, kw, place, scope)?;
                    let rules = sketch.rare.get_or_insert_default();
                    rules.patterns = arena.extended(rules.patterns, patterns);
                }
                value.as_obj().is_some()
            }
            Kw::AdditionalProperties | Kw::UnevaluatedProperties | Kw::PropertyNames => {
                let id = self.child(value, kw, place, scope)?;
                let rules = sketch.object.get_or_insert_default();
                if kw == Kw::AdditionalProperties {
                    rules.additional = Some(id);
                } else if kw == Kw::UnevaluatedProperties {
                    rules.unevaluated = Some(id);
                } else if *value != trivial_names() {
                    let rules = sketch.rare.get_or_insert_default();
                    rules.names = arena.extended(rules.names, &[id]);
                }
                true
            }
            Kw::MinProperties => count(value, &mut |count| sketch.rare.get_or_insert_default().min = count),
            Kw::MaxProperties => count(value, &mut |count| sketch.rare.get_or_insert_default().max = Some(count)),
            Kw::DependentRequired | Kw::DependentSchemas | Kw::Dependencies => {
                if kw == Kw::Dependencies {
                    let (names, schemas) = (Kw::DependentRequired.name(), Kw::DependentSchemas.name());
                    self.rewritten("READ-OLDER", place, kw, format!("said by `{names}` and `{schemas}`"));
                }
                self.dependencies(kw, value, sketch, scope)?
            }
            Kw::AllOf | Kw::AnyOf | Kw::OneOf => {
                if let Some(branches) = value.as_arr().filter(|branches| !branches.is_empty()) {
                    let branches = self.children(branches, kw, place, scope)?;
                    // Where no branch says anything, nothing is asked.
                    if branches.is_empty() {
                        return Ok(());
                    }
                    if kw == Kw::AllOf {
                        let logic = sketch.logic.get_or_insert_default();
                        logic.all = arena.extended(logic.all, branches);
                    } else {
                        sketch.add_union(kw == Kw::OneOf, branches, arena);
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
                            arena.list(&[self.child(value, kw, place, scope)?])
                        }
                    };
                    let logic = sketch.logic.get_or_insert_default();
                    logic.all = arena.extended(logic.all, all);
                    self.rewritten("READ-OLDER", place, kw, format!("said by `{}`", Kw::AllOf.name()));
                } else {
                    self.change("READ-OLDER", place, kw.name(), Action::Dropped, Effect::Note, NOT_OF_THIS_DRAFT);
                }
                true
            }
            Kw::Disallow => {
                if self.draft == Some(Draft::Draft03) {
                    self.rewritten("READ-OLDER", place, kw, format!("said by `{}`", Kw::Not.name()));
                    let mut refused = Sketch::at(place);
                    self.type_names(value, &mut refused, scope)?;
                    let id = self.graph.add(refused.finished(arena));
                    sketch.add_not(id, arena);
                } else {
                    self.change("READ-OLDER", place, kw.name(), Action::Dropped, Effect::Note, NOT_OF_THIS_DRAFT);
                }
                true
            }
            Kw::Not => {
                let id = self.child(value, kw, place, scope)?;
                sketch.add_not(id, arena);
                true
            }
            Kw::If => set(&mut sketch.when, value),
            Kw::Then => set(&mut sketch.then, value),
            Kw::Else => set(&mut sketch.otherwise, value),
        };
        if !understood {
            self.malformed(kw, value, place);
        }
        Ok(())
    }

    /// Puts together what several keywords say in common.
    fn assemble(&mut self, sketch: &mut Sketch<'g, 'd>, scope: Scope<'d>) -> Result<Node<'g, 'd>, ReadError> {
        let arena = self.arena;
        let place = sketch.node.place.unwrap_or(ROOT);
        if let Some(rules) = &mut sketch.number {
            for (excludes, bound) in
                [(sketch.minimum_excludes, &mut rules.min), (sketch.maximum_excludes, &mut rules.max)]
            {
                if let Some(bound) = bound {
                    bound.exclusive |= excludes == Some(true);
                }
            }
        }
        match sketch.items {
            // The tuple of drafts up to 2019-09.
            Some(Json::Arr(items)) if sketch.array.is_none_or(|rules| rules.prefix.is_empty()) => {
                self.rewritten("READ-TUPLE", place, Kw::Items, format!("said by `{}`", Kw::PrefixItems.name()));
                if sketch.additional_items.is_some() {
                    self.rewritten("READ-TUPLE", place, Kw::AdditionalItems, format!("said by `{}`", Kw::Items.name()));
                }
                let prefix = self.children(items, Kw::Items, place, scope)?;
                let rest = match sketch.additional_items {
                    Some(rest) => Some(self.child(rest, Kw::AdditionalItems, place, scope)?),
                    None => None,
                };
                let rules = sketch.array.get_or_insert_default();
                (rules.prefix, rules.items) = (prefix, rest);
            }
            Some(Json::Arr(items)) => self.malformed(Kw::Items, &Json::Arr(items), place),
            Some(items) => {
                let id = self.child(items, Kw::Items, place, scope)?;
                sketch.array.get_or_insert_default().items = Some(id);
            }
            None => {}
        }
        if let Some(contains) = sketch.contains {
            let id = self.child(contains, Kw::Contains, place, scope)?;
            let contains = Contains { node: id, min: sketch.min_contains, max: sketch.max_contains };
            let rules = sketch.array.get_or_insert_default();
            rules.contains = arena.extended(rules.contains, &[contains]);
        }
        // A condition without consequences asks nothing, but what it looks at is evaluated.
        if let Some(when) = sketch.when
            && (sketch.then.is_some() || sketch.otherwise.is_some() || self.asks_of_unevaluated())
        {
            let branch = |reader: &mut Self, json: Option<&'d Json<'d>>, kw| {
                json.map(|json| reader.child(json, kw, place, scope)).transpose()
            };
            let then = branch(self, sketch.then, Kw::Then)?;
            let otherwise = branch(self, sketch.otherwise, Kw::Else)?;
            let written = [Some(when), sketch.then, sketch.otherwise];
            let when = self.child(when, Kw::If, place, scope)?;
            let logic = sketch.logic.get_or_insert_default();
            logic.conditions = arena.extended(logic.conditions, &[Condition { when, then, otherwise, written }]);
        }
        if let Some(rules) = &mut sketch.array
            && rules.items.is_none()
            && rules.contains.is_empty()
            && sketch.logic.is_none_or(|logic| Logic { nots: &[], ..logic }.is_silent())
            && sketch.node.target.is_none()
            && let Some(rest) = rules.unevaluated.take()
        {
            // Nothing else evaluates items.
            rules.items = Some(rest);
            self.rewritten("READ-ITEMS", place, Kw::UnevaluatedItems, format!("said by `{}`", Kw::Items.name()));
        }
        let mut node = sketch.finished(arena);
        if sketch.nullable == Some(true) && self.draft.is_none_or(|draft| draft == Draft::OpenApi30) {
            self.allow_null(&mut node, place);
        }
        self.forget_siblings(&mut node, place);
        self.settle_values(&mut node, place);
        Ok(node)
    }

    /// Reads `nullable: true` as `OpenAPI` 3.0 means it.
    fn allow_null(&mut self, node: &mut Node<'g, 'd>, place: Place) {
        // Where the draft is not stated, a validator may pass the word over.
        let effect = if self.draft.is_none() { Effect::Wider } else { Effect::Same };
        let detail = "`nullable` is read as OpenAPI means it";
        self.change("READ-NULLABLE", place, Kw::Nullable.name(), Action::Rewritten, effect, detail);
        if node.is_bare() && (node.target.is_some() || node.rules.logic().is_some()) {
            let null = self.graph.add(Node { place: node.place, types: Some(Types::NULL), ..Node::default() });
            let inner = self.graph.add(Node { notes: &[], ..*node });
            let union = Union { exactly_one: false, branches: self.arena.list(&[inner, null]) };
            let logic = Logic { unions: self.arena.list(&[union]), ..Logic::default() };
            *node = Node { place: node.place, notes: node.notes, ..Node::default() }.with_logic(logic, self.arena);
        } else {
            node.types = node.types.map(|types| types.or(Types::NULL));
            if let Some(values) = node.rules.values()
                && !values.iter().any(|value| matches!(value, Json::Null))
            {
                let values = Some(self.arena.extended(values, &[&Json::Null]));
                *node = node.asking(Rules { values, ..node.rules.all() }, self.arena);
            }
        }
    }

    /// Up to draft 7 a reference stands alone: what is beside it says nothing, except to people.
    fn forget_siblings(&mut self, node: &mut Node<'g, 'd>, place: Place) {
        if node.target.is_none()
            || !self.is_before(Draft::Draft2019)
            || (node.is_bare() && node.rules.logic().is_none())
        {
            return;
        }
        *node = Node { place: node.place, target: node.target, notes: node.notes, ..Node::default() };
        let detail = "keywords beside a reference mean nothing up to draft 7";
        self.change("READ-SIBLINGS", place, Kw::Ref.name(), Action::Dropped, Effect::Same, detail);
    }

    fn properties(
        &mut self,
        value: &'d Json<'d>,
        sketch: &mut Sketch<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<bool, ReadError> {
        let place = sketch.node.place.unwrap_or(ROOT);
        let rules = sketch.object.get_or_insert_default();
        let Json::Obj(map) = value else { return Ok(false) };
        rules.properties = self.map(map, Kw::Properties, place, scope)?;
        // The mark of draft 3 on the property itself.
        let marked = |schema: &Json<'_>| schema.get(Kw::Required.name()).and_then(Json::as_bool) == Some(true);
        let required: Vec<&'d str> = map.iter().filter(|(_, schema)| marked(schema)).map(|(key, _)| *key).collect();
        let own = rules.required;
        let required: Vec<&'d str> = required.into_iter().filter(|name| !own.contains(name)).collect();
        rules.required = self.arena.extended(own, &required);
        Ok(true)
    }

    fn dependencies(
        &mut self,
        kw: Kw,
        value: &'d Json<'d>,
        sketch: &mut Sketch<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<bool, ReadError> {
        let Json::Obj(map) = value else { return Ok(false) };
        let place = sketch.node.place.unwrap_or(ROOT);
        let at = self.places.step(place, Step::Kw(kw));
        let (mut needs, mut dependents) = (Vec::new(), Vec::new());
        for (key, needed) in *map {
            let names: Option<Vec<&'d str>> = match needed {
                Json::Arr(names) if kw != Kw::DependentSchemas => Some(names.iter().filter_map(Json::as_str).collect()),
                // Draft 3 allows one bare name.
                Json::Str(name) if kw != Kw::DependentSchemas => Some(vec![*name]),
                Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) | Json::Arr(_) | Json::Obj(_) => None,
            };
            if let Some(names) = names {
                needs.push((*key, self.arena.list(&names)));
            } else {
                let at = self.places.step(at, Step::Key(key));
                dependents.push((*key, self.read(needed, at, scope)?));
            }
        }
        if !map.is_empty() {
            let rules = sketch.rare.get_or_insert_default();
            rules.needs = self.arena.extended(rules.needs, &needs);
            rules.dependents = self.arena.extended(rules.dependents, &dependents);
        }
        Ok(true)
    }
}

/// Names, and those of more that are not among them yet. A long list is not searched again for every name.
fn distinct<'g, 'd>(own: &'g [&'d str], more: &'d [Json<'d>], arena: &'g Arena) -> &'g [&'d str] {
    let mut names = Vec::with_capacity(own.len() + more.len());
    names.extend_from_slice(own);
    let mut seen: foldhash::HashSet<&'d str> = foldhash::HashSet::default();
    let long = more.len() > FEW_NAMES;
    if long {
        seen.reserve(own.len() + more.len());
        seen.extend(own);
    }
    for name in more.iter().filter_map(Json::as_str) {
        if if long { seen.insert(name) } else { !names.contains(&name) } {
            names.push(name);
        }
    }
    arena.list(&names)
}

fn are_distinct_names(names: &[Json<'_>]) -> bool {
    names.iter().all(|name| name.as_str().is_some()) && are_distinct_texts(names)
}

/// What generators write for keys: they are strings, which they always are.
fn trivial_names() -> Json<'static> {
    Json::Obj(&[("type", Json::Str("string"))])
}

/// Values that may be taken.
type Values<'g, 'd> = Option<&'g [&'d Json<'d>]>;

/// Intersects the values that may be taken with these.
fn keep<'g, 'd>(own: &mut Values<'g, 'd>, values: impl Iterator<Item = &'d Json<'d>>, arena: &'g Arena) {
    let mut distinct: Vec<&'d Json<'d>> = Vec::with_capacity(values.size_hint().0);
    let mut texts: foldhash::HashSet<&str> = foldhash::HashSet::default();
    let long = values.size_hint().0 > FEW_NAMES;
    if long {
        texts.reserve(values.size_hint().0);
    }
    for value in values {
        let new = match value {
            Json::Str(text) if long => texts.insert(text),
            Json::Str(text) => !distinct.iter().any(|own| own.as_str() == Some(text)),
            // A long list of other values is taken as it stands: comparing every pair would be quadratic.
            Json::Null | Json::Bool(_) | Json::Num(_) | Json::Arr(_) | Json::Obj(_) => {
                distinct.len() > 256 || !distinct.iter().any(|own| own.same(value))
            }
        };
        if new {
            distinct.push(value);
        }
    }
    *own = Some(match *own {
        Some(own) => arena.filtered(own, |value| distinct.iter().any(|other| other.same(value))),
        None => arena.list(&distinct),
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

fn bound<'d>(rules: &mut Option<NumberRules<'_, 'd>>, side: Side, value: &'d Json<'d>, edge: Edge) -> bool {
    let Json::Num(number) = value else { return false };
    let new = Bound { value: *number, exclusive: edge == Edge::Excluded };
    let rules = rules.get_or_insert_default();
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
