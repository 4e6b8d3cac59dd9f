//! Reads each keyword into a node, in every form that drafts and generators write.

use super::resolve::Scope;
use super::{Draft, SchemaReader, drain_to_arena};
use crate::arena::Arena;
use crate::error::ReadError;
use crate::graph::{
    Annotation, AnnotationKey, ArrayRules, Bound, BoundSide, Condition, Contains, Logic, Node, NodeId, NumberRules,
    ObjectRules, RareRules, RuleSet, TextRules, Union,
};
use crate::json::{Json, Member, are_distinct_texts};
use crate::keyword::{KeywordValue, Kw, KwSet};
use crate::place::{Place, PlaceStep, ROOT};
use crate::types::Types;
use polywire_report::{Action, Effect};

/// Keywords and the draft that introduced them. In a schema of an earlier draft a validator ignores them, but its author meant
/// them.
const INTRODUCED_IN: &[(Kw, Draft)] = &[
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

/// A node under construction, with what is complete only after the last keyword.
#[derive(Default)]
pub(super) struct NodeBuilder<'g, 'd> {
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

impl<'g, 'd> NodeBuilder<'g, 'd> {
    fn at(place: Place) -> Self {
        Self { node: Node { place: Some(place), ..Node::default() }, ..Self::default() }
    }

    /// The node, with its rules in the arena.
    fn build(&self, arena: &'g Arena) -> Node<'g, 'd> {
        let mut object = self.object;
        if let Some(rare) = self.rare {
            object.get_or_insert_default().rare = rare.store_in(arena);
        }
        let rules = RuleSet {
            values: self.values,
            formats: self.formats,
            number: self.number.as_ref().map(|rules| arena.keep(*rules)),
            text: self.text.map(|rules| arena.keep(rules)),
            array: self.array.map(|rules| arena.keep(rules)),
            object: object.map(|rules| arena.keep(rules)),
            logic: self.logic.map(|rules| arena.keep(rules)),
        };
        self.node.with_rules(rules, arena)
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

/// `ref` is a keyword of no draft, and authors use the key for other things.
fn is_bare_reference(value: &Json<'_>) -> bool {
    value
        .as_str()
        .is_some_and(|pointer| pointer.strip_prefix("#/").is_some_and(|rest| rest.starts_with(Kw::BareDefs.name())))
}

/// Why a keyword that only draft 3 knows is left out of others.
const ONLY_IN_DRAFT_3: &str = "only draft 3 knows it; elsewhere it annotates";

/// So many required names are searched one by one.
const MAX_LINEAR_NAMES: usize = 32;

impl<'g, 'd> SchemaReader<'g, 'd> {
    pub(super) fn read_members(
        &mut self,
        json: &'d Json<'d>,
        members: &'d [Member<'d>],
        place: Place,
        scope: Scope<'d>,
    ) -> Result<Node<'g, 'd>, ReadError> {
        let mut builder = NodeBuilder::at(place);
        let scope = self.enter_scope(json, place, scope);
        let annotations = self.annotations.len();
        let mut in_snake_case = KwSet::default();
        let mut asked = KwSet::default();
        // A key that is a keyword as it stands has no underscore.
        for (key, _) in members.iter().filter(|(key, _)| Kw::of(key).is_none()) {
            in_snake_case = Kw::of_snake_case(key).map_or(in_snake_case, |kw| in_snake_case.with(kw));
        }
        for (key, value) in members {
            let own = Kw::of(key);
            let known = own.or_else(|| Kw::of_snake_case(key));
            let Some(kw) = known.filter(|kw| *kw != Kw::BareRef || is_bare_reference(value)) else {
                self.annotations.push(Annotation { key: AnnotationKey::Unknown(key), value });
                continue;
            };
            let shadowed = own.is_some() && in_snake_case.has(kw);
            if own.is_none() {
                let effect = if kw.is_annotation() { Effect::Note } else { Effect::Narrower };
                let detail = format!("`{key}` is no keyword, but taken to be meant");
                self.record_change("READ-SPELLING", place, kw.name(), Action::Rewritten, effect, detail);
            }
            if self.is_before(Draft::Draft2020)
                && let Some((_, draft)) = INTRODUCED_IN.iter().find(|(own, draft)| *own == kw && self.is_before(*draft))
            {
                let detail = format!("not a keyword before {draft:?}, but taken to be meant");
                self.record_change("READ-LATER", place, kw.name(), Action::Rewritten, Effect::Narrower, detail);
            }
            if !shadowed {
                self.read_keyword(kw, value, &mut builder, scope)?;
                // The mark of draft 3 is said by the object around the property.
                if kw != Kw::Required || value.as_bool().is_none() {
                    asked.insert(kw);
                }
            }
        }
        builder.node.annotations = drain_to_arena(&mut self.annotations, annotations, self.arena);
        let node = self.assemble(&mut builder, scope)?;
        self.record_foreign_keywords(&node, asked, place);
        Ok(node)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each keyword is easier to read than a split by number")]
    fn read_keyword(
        &mut self,
        kw: Kw,
        value: &'d Json<'d>,
        builder: &mut NodeBuilder<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<(), ReadError> {
        let arena = self.arena;
        let node = &mut builder.node;
        let place = node.place.unwrap_or(ROOT);
        let nothing = matches!(value, Json::Null) && kw.info().holds != KeywordValue::Data;
        let odd = match kw.info().holds {
            KeywordValue::Text => value.as_str().is_none(),
            KeywordValue::Flag => kw.is_annotation() && value.as_bool().is_none(),
            KeywordValue::Values => kw.is_annotation() && value.as_arr().is_none(),
            KeywordValue::Names => kw.is_annotation() && !value.as_arr().is_some_and(are_distinct_names),
            // What is excluded, or asked about, cannot be anything.
            KeywordValue::Schema => matches!(kw, Kw::Not | Kw::If | Kw::Then | Kw::Else) && !self.is_schema(value),
            KeywordValue::SchemaList
            | KeywordValue::SchemaMap
            | KeywordValue::SchemaOrNamesMap
            | KeywordValue::TypeNames
            | KeywordValue::NamesMap
            | KeywordValue::Count
            | KeywordValue::Number
            | KeywordValue::Data => false,
        };
        if nothing || odd {
            self.record_malformed(kw, value, place);
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
                self.record_change("READ-NAME", place, kw.name(), Action::Dropped, Effect::Note, detail);
                true
            }
            Kw::Defs | Kw::Definitions | Kw::BareDefs => {
                let detail = "only what is referred to is printed";
                self.record_change("READ-DEFS", place, kw.name(), Action::Rewritten, Effect::Note, detail);
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
                self.annotations.push(Annotation { key: AnnotationKey::Kw(kw), value });
                true
            }
            Kw::ContentSchema => {
                let detail = "the schema of what a string contains has references of its own";
                self.record_change("READ-CONTENT", place, kw.name(), Action::Dropped, Effect::Note, detail);
                true
            }
            Kw::Ref | Kw::DynamicRef | Kw::RecursiveRef | Kw::BareRef => {
                self.read_reference(kw, value, builder, scope)?
            }
            Kw::Type => self.read_type(value, builder, scope)?,
            Kw::Nullable => {
                builder.nullable = value.as_bool();
                if value.as_bool() == Some(false) {
                    let detail = "it says nothing: `null` is refused unless something allows it";
                    self.record_change("READ-NULLABLE", place, kw.name(), Action::Dropped, Effect::Same, detail);
                }
                value.as_bool().is_some()
            }
            Kw::Format => {
                value.as_str().map(|format| builder.formats = arena.extended(builder.formats, &[format])).is_some()
            }
            // An empty list is what generators write for "no list".
            Kw::Enum => {
                let values = value.as_arr().unwrap_or_default();
                let others = builder.values.is_some();
                if !values.is_empty() {
                    keep(&mut builder.values, values.iter(), arena);
                    if !others && builder.values.is_some_and(|kept| kept.len() < values.len()) {
                        self.record_rewrite("READ-ENUM", place, kw, "values that stand twice are written once");
                    }
                }
                !values.is_empty()
            }
            Kw::Const => {
                keep(&mut builder.values, std::iter::once(value), arena);
                builder.node.is_const = true;
                true
            }
            Kw::MultipleOf | Kw::DivisibleBy => {
                let positive = value.as_f64().is_some_and(|number| number > 0.0);
                if positive {
                    if kw == Kw::DivisibleBy {
                        self.record_rewrite("READ-OLDER", place, kw, format!("said by `{}`", Kw::MultipleOf.name()));
                    }
                    let rules = builder.number.get_or_insert_default();
                    rules.multiples = arena.extended(rules.multiples, &[value]);
                }
                positive
            }
            Kw::Minimum | Kw::Maximum => bound(&mut builder.number, side(kw), value, BoundEdge::Inclusive),
            Kw::ExclusiveMinimum | Kw::ExclusiveMaximum => {
                let lower = kw == Kw::ExclusiveMinimum;
                if let Some(flag) = value.as_bool() {
                    *(if lower { &mut builder.minimum_excludes } else { &mut builder.maximum_excludes }) = Some(flag);
                    self.record_rewrite(
                        "READ-BOUND",
                        place,
                        kw,
                        "whether the bound is in the range is said by the bound itself",
                    );
                    true
                } else {
                    bound(&mut builder.number, side(kw), value, BoundEdge::Exclusive)
                }
            }
            Kw::MinLength => count(value, &mut |count| builder.text.get_or_insert_default().min = count),
            Kw::MaxLength => count(value, &mut |count| builder.text.get_or_insert_default().max = Some(count)),
            Kw::Pattern => {
                if let Some(pattern) = value.as_str() {
                    let rules = builder.text.get_or_insert_default();
                    rules.patterns = arena.extended(rules.patterns, &[pattern]);
                }
                value.as_str().is_some()
            }
            Kw::PrefixItems => {
                if let Some(items) = value.as_arr() {
                    let prefix = self.read_children(items, kw, place, scope)?;
                    builder.array.get_or_insert_default().prefix = prefix;
                }
                value.as_arr().is_some()
            }
            Kw::Items => set(&mut builder.items, value),
            Kw::AdditionalItems => set(&mut builder.additional_items, value),
            Kw::UnevaluatedItems => {
                let id = self.read_child(value, kw, place, scope)?;
                builder.array.get_or_insert_default().unevaluated = Some(id);
                true
            }
            Kw::Contains => set(&mut builder.contains, value),
            Kw::MinContains => count(value, &mut |count| builder.min_contains = Some(count)),
            Kw::MaxContains => count(value, &mut |count| builder.max_contains = Some(count)),
            Kw::MinItems => count(value, &mut |count| builder.array.get_or_insert_default().min = count),
            Kw::MaxItems => count(value, &mut |count| builder.array.get_or_insert_default().max = Some(count)),
            Kw::UniqueItems => match value.as_bool() {
                Some(true) => {
                    builder.array.get_or_insert_default().unique = true;
                    true
                }
                Some(false) => true,
                None => false,
            },
            Kw::Properties => self.read_properties(value, builder, scope)?,
            Kw::Required => match value {
                Json::Arr(names) => {
                    let rules = builder.object.get_or_insert_default();
                    rules.required = distinct(rules.required, names, arena);
                    if rules.required.len() < names.len() {
                        self.record_rewrite("READ-REQUIRED", place, kw, "names that stand twice are written once");
                    }
                    names.iter().all(|name| name.as_str().is_some())
                }
                // Draft 3 marks the property itself; the object that holds it has read the mark.
                Json::Bool(_) => {
                    self.record_rewrite("READ-REQUIRED", place, kw, "said by the object that declares the property");
                    true
                }
                Json::Null | Json::Num(_) | Json::Str(_) | Json::Obj(_) => false,
            },
            Kw::PatternProperties => {
                if let Some(map) = value.as_obj() {
                    let patterns = self.map(map, kw, place, scope)?;
                    let rules = builder.rare.get_or_insert_default();
                    rules.patterns = arena.extended(rules.patterns, patterns);
                }
                value.as_obj().is_some()
            }
            Kw::AdditionalProperties | Kw::UnevaluatedProperties | Kw::PropertyNames => {
                let id = self.read_child(value, kw, place, scope)?;
                let rules = builder.object.get_or_insert_default();
                if kw == Kw::AdditionalProperties {
                    rules.additional = Some(id);
                } else if kw == Kw::UnevaluatedProperties {
                    rules.unevaluated = Some(id);
                } else if *value != trivial_names() {
                    let rules = builder.rare.get_or_insert_default();
                    rules.names = arena.extended(rules.names, &[id]);
                }
                true
            }
            Kw::MinProperties => count(value, &mut |count| builder.rare.get_or_insert_default().min = count),
            Kw::MaxProperties => count(value, &mut |count| builder.rare.get_or_insert_default().max = Some(count)),
            Kw::DependentRequired | Kw::DependentSchemas | Kw::Dependencies => {
                if kw == Kw::Dependencies {
                    let (names, schemas) = (Kw::DependentRequired.name(), Kw::DependentSchemas.name());
                    self.record_rewrite("READ-OLDER", place, kw, format!("said by `{names}` and `{schemas}`"));
                }
                self.read_dependencies(kw, value, builder, scope)?
            }
            Kw::AllOf | Kw::AnyOf | Kw::OneOf => {
                if let Some(branches) = value.as_arr().filter(|branches| !branches.is_empty()) {
                    let branches = self.read_children(branches, kw, place, scope)?;
                    // Where no branch says anything, nothing is asked.
                    if branches.is_empty() {
                        return Ok(());
                    }
                    if kw == Kw::AllOf {
                        let logic = builder.logic.get_or_insert_default();
                        logic.all = arena.extended(logic.all, branches);
                    } else {
                        builder.add_union(kw == Kw::OneOf, branches, arena);
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
                        Json::Arr(bases) => self.read_children(bases, kw, place, scope)?,
                        Json::Null | Json::Bool(_) | Json::Num(_) | Json::Str(_) | Json::Obj(_) => {
                            arena.list(&[self.read_child(value, kw, place, scope)?])
                        }
                    };
                    let logic = builder.logic.get_or_insert_default();
                    logic.all = arena.extended(logic.all, all);
                    self.record_rewrite("READ-OLDER", place, kw, format!("said by `{}`", Kw::AllOf.name()));
                } else {
                    self.record_change("READ-OLDER", place, kw.name(), Action::Dropped, Effect::Note, ONLY_IN_DRAFT_3);
                }
                true
            }
            Kw::Disallow => {
                if self.draft == Some(Draft::Draft03) {
                    self.record_rewrite("READ-OLDER", place, kw, format!("said by `{}`", Kw::Not.name()));
                    let mut refused = NodeBuilder::at(place);
                    self.read_type(value, &mut refused, scope)?;
                    let id = self.graph.add(refused.build(arena));
                    builder.add_not(id, arena);
                } else {
                    self.record_change("READ-OLDER", place, kw.name(), Action::Dropped, Effect::Note, ONLY_IN_DRAFT_3);
                }
                true
            }
            Kw::Not => {
                let id = self.read_child(value, kw, place, scope)?;
                builder.add_not(id, arena);
                true
            }
            Kw::If => set(&mut builder.when, value),
            Kw::Then => set(&mut builder.then, value),
            Kw::Else => set(&mut builder.otherwise, value),
        };
        if !understood {
            self.record_malformed(kw, value, place);
        }
        Ok(())
    }

    /// Combines keywords that depend on each other.
    fn assemble(&mut self, builder: &mut NodeBuilder<'g, 'd>, scope: Scope<'d>) -> Result<Node<'g, 'd>, ReadError> {
        let arena = self.arena;
        let place = builder.node.place.unwrap_or(ROOT);
        if let Some(rules) = &mut builder.number {
            for (excludes, bound) in
                [(builder.minimum_excludes, &mut rules.min), (builder.maximum_excludes, &mut rules.max)]
            {
                if let Some(bound) = bound {
                    bound.exclusive |= excludes == Some(true);
                }
            }
        }
        match builder.items {
            // The tuple of drafts up to 2019-09.
            Some(Json::Arr(items)) if builder.array.is_none_or(|rules| rules.prefix.is_empty()) => {
                self.record_rewrite("READ-TUPLE", place, Kw::Items, format!("said by `{}`", Kw::PrefixItems.name()));
                if builder.additional_items.is_some() {
                    self.record_rewrite(
                        "READ-TUPLE",
                        place,
                        Kw::AdditionalItems,
                        format!("said by `{}`", Kw::Items.name()),
                    );
                }
                let prefix = self.read_children(items, Kw::Items, place, scope)?;
                let rest = match builder.additional_items {
                    Some(rest) => Some(self.read_child(rest, Kw::AdditionalItems, place, scope)?),
                    None => None,
                };
                let rules = builder.array.get_or_insert_default();
                (rules.prefix, rules.items) = (prefix, rest);
            }
            Some(Json::Arr(items)) => self.record_malformed(Kw::Items, &Json::Arr(items), place),
            Some(items) => {
                let id = self.read_child(items, Kw::Items, place, scope)?;
                builder.array.get_or_insert_default().items = Some(id);
            }
            None => {}
        }
        if let Some(contains) = builder.contains {
            let id = self.read_child(contains, Kw::Contains, place, scope)?;
            let contains = Contains { node: id, min: builder.min_contains, max: builder.max_contains };
            let rules = builder.array.get_or_insert_default();
            rules.contains = arena.extended(rules.contains, &[contains]);
        }
        // A condition without consequences asks nothing, but what it looks at is evaluated.
        if let Some(when) = builder.when
            && (builder.then.is_some() || builder.otherwise.is_some() || self.has_unevaluated_keyword())
        {
            let branch = |reader: &mut Self, json: Option<&'d Json<'d>>, kw| {
                json.map(|json| reader.read_child(json, kw, place, scope)).transpose()
            };
            let then = branch(self, builder.then, Kw::Then)?;
            let otherwise = branch(self, builder.otherwise, Kw::Else)?;
            let written = [Some(when), builder.then, builder.otherwise];
            let when = self.read_child(when, Kw::If, place, scope)?;
            let logic = builder.logic.get_or_insert_default();
            logic.conditions = arena.extended(logic.conditions, &[Condition { when, then, otherwise, written }]);
        }
        if let Some(rules) = &mut builder.array
            && rules.items.is_none()
            && rules.contains.is_empty()
            && builder.logic.is_none_or(|logic| Logic { nots: &[], ..logic }.is_empty())
            && builder.node.target.is_none()
            && let Some(rest) = rules.unevaluated.take()
        {
            // Nothing else evaluates items.
            rules.items = Some(rest);
            self.record_rewrite("READ-ITEMS", place, Kw::UnevaluatedItems, format!("said by `{}`", Kw::Items.name()));
        }
        let mut node = builder.build(arena);
        if builder.nullable == Some(true) && self.draft.is_none_or(|draft| draft == Draft::OpenApi30) {
            self.allow_null(&mut node, place);
        }
        self.drop_ref_siblings(&mut node, place);
        self.reconcile_values_with_types(&mut node, place);
        Ok(node)
    }

    /// Reads `nullable: true` as `OpenAPI` 3.0 means it.
    fn allow_null(&mut self, node: &mut Node<'g, 'd>, place: Place) {
        // Where the draft is not stated, a validator may pass the word over.
        let effect = if self.draft.is_none() { Effect::Wider } else { Effect::Same };
        let detail = "`nullable` is read as OpenAPI means it";
        self.record_change("READ-NULLABLE", place, Kw::Nullable.name(), Action::Rewritten, effect, detail);
        if node.is_bare() && (node.target.is_some() || node.rules.logic().is_some()) {
            let null = self.graph.add(Node { place: node.place, types: Some(Types::NULL), ..Node::default() });
            let inner = self.graph.add(Node { annotations: &[], ..*node });
            let union = Union { exactly_one: false, branches: self.arena.list(&[inner, null]) };
            let logic = Logic { unions: self.arena.list(&[union]), ..Logic::default() };
            *node = Node { place: node.place, annotations: node.annotations, ..Node::default() }
                .with_logic(logic, self.arena);
        } else {
            node.types = node.types.map(|types| types.or(Types::NULL));
            if let Some(values) = node.rules.values()
                && !values.iter().any(|value| matches!(value, Json::Null))
            {
                let values = Some(self.arena.extended(values, &[&Json::Null]));
                *node = node.with_rules(RuleSet { values, ..node.rules.all() }, self.arena);
            }
        }
    }

    /// Up to draft 7 only annotations count beside a reference.
    fn drop_ref_siblings(&mut self, node: &mut Node<'g, 'd>, place: Place) {
        if node.target.is_none()
            || !self.is_before(Draft::Draft2019)
            || (node.is_bare() && node.rules.logic().is_none())
        {
            return;
        }
        *node = Node { place: node.place, target: node.target, annotations: node.annotations, ..Node::default() };
        let detail = "keywords beside a reference mean nothing up to draft 7";
        self.record_change("READ-SIBLINGS", place, Kw::Ref.name(), Action::Dropped, Effect::Same, detail);
    }

    fn read_properties(
        &mut self,
        value: &'d Json<'d>,
        builder: &mut NodeBuilder<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<bool, ReadError> {
        let place = builder.node.place.unwrap_or(ROOT);
        let rules = builder.object.get_or_insert_default();
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

    fn read_dependencies(
        &mut self,
        kw: Kw,
        value: &'d Json<'d>,
        builder: &mut NodeBuilder<'g, 'd>,
        scope: Scope<'d>,
    ) -> Result<bool, ReadError> {
        let Json::Obj(map) = value else { return Ok(false) };
        let place = builder.node.place.unwrap_or(ROOT);
        let at = self.places.step(place, PlaceStep::Kw(kw));
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
                let at = self.places.step(at, PlaceStep::Key(key));
                dependents.push((*key, self.read(needed, at, scope)?));
            }
        }
        if !map.is_empty() {
            let rules = builder.rare.get_or_insert_default();
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
    let long = more.len() > MAX_LINEAR_NAMES;
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

/// Generators write `{"type": "string"}` for names, which is always true.
fn trivial_names() -> Json<'static> {
    Json::Obj(&[("type", Json::Str("string"))])
}

/// The listed values of a node.
type Values<'g, 'd> = Option<&'g [&'d Json<'d>]>;

/// Intersects the listed values with others.
fn keep<'g, 'd>(own: &mut Values<'g, 'd>, values: impl Iterator<Item = &'d Json<'d>>, arena: &'g Arena) {
    let mut distinct: Vec<&'d Json<'d>> = Vec::with_capacity(values.size_hint().0);
    let mut texts: foldhash::HashSet<&str> = foldhash::HashSet::default();
    let long = values.size_hint().0 > MAX_LINEAR_NAMES;
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
fn side(kw: Kw) -> BoundSide {
    if matches!(kw, Kw::Minimum | Kw::ExclusiveMinimum) { BoundSide::Lower } else { BoundSide::Upper }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundEdge {
    Inclusive,
    Exclusive,
}

fn bound<'d>(rules: &mut Option<NumberRules<'_, 'd>>, side: BoundSide, value: &'d Json<'d>, edge: BoundEdge) -> bool {
    let Json::Num(number) = value else { return false };
    let new = Bound { value: *number, exclusive: edge == BoundEdge::Exclusive };
    let rules = rules.get_or_insert_default();
    let own = match side {
        BoundSide::Lower => &mut rules.min,
        BoundSide::Upper => &mut rules.max,
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
