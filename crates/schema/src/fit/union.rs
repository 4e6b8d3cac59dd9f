//! Unions: `oneOf` as `anyOf`, flattened, `null` folded, distributed over what stands beside them; and in dialects without
//! unions merged into one schema or carried as a choice.

use std::borrow::Cow;

use super::ambiguity::CarriedUnion;
use super::disjointness::Disjointness;
use super::emit::described;
use super::lower::MAX_FACT_CHARS;
use super::{Lowered, Lowerer, Position};
use crate::arena::Arena;
use crate::dialect::Demand;
use crate::graph::{AnnotationKey, ArrayRules, Logic, Node, NodeId, ObjectRules, RuleSet, Union};
use crate::json::{DistinctValues, Json};
use crate::keyword::Kw;
use crate::lens::{Branch, GuardVerdict, LensId, Shape, WireKind};
use crate::names::UniqueNames;
use crate::place::Place;
use crate::types::Types;
use polywire_report::{Action, Effect};

/// More branches than this are not multiplied out.
const MAX_PRODUCT: usize = 32;

/// Nor are branches that would have more properties than this together, counting what stands beside them.
const MAX_WEIGHT: usize = 600;

/// A union of values only, which become one list, has no more than this.
const MAX_LISTED: usize = 16_384;

/// A union has no more branches than this: they are compared with each other.
const MAX_BRANCHES: usize = 4096;

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    pub(super) fn lower_unions(&mut self, id: NodeId, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        // Values are no branches to be multiplied.
        let listed = self.must_merge_enum(node);
        if self.unions_are_free(node, pos)
            && !listed
            && let Some(lowered) = self.try_one_shape(id, |own| own.emit(node, pos))
        {
            return lowered;
        }
        let base = Node { annotations: &[], ..node.without_unions(self.nodes) };
        let (annotations, unions) = (node.annotations, node.unions());
        let silent = base.is_bare() && base.rules.logic().is_none();
        // A type beside a union is often what every branch says again.
        let only_types = base.types.filter(|_| base.has_only_types());
        let weight = base.rules.object().map_or(1, |rules| rules.properties.len().max(1));
        // The same base for the same node, so that what is merged with it is known when it comes round again.
        let base = match self.bases.get(&id) {
            Some(base) => *base,
            None => self.graph.add(base),
        };
        self.bases.insert(id, base);
        self.work.spend(unions.iter().map(|union| union.branches.len()).sum());
        let mut branches = vec![base];
        let mut left_out = 0;
        for union in unions {
            let product = branches.len() * union.branches.len();
            // A union with nothing beside it is not multiplied by anything.
            let alone = branches == [base] && silent;
            let too_heavy = if listed {
                product > MAX_LISTED
            } else if alone {
                product > MAX_BRANCHES
            } else {
                product * weight > MAX_WEIGHT
            };
            if product > MAX_PRODUCT.max(unions.first().map_or(0, |first| first.branches.len())) || too_heavy {
                left_out += 1;
                continue;
            }
            self.note_one_of(node, union);
            self.note_evaluated(node, union);
            let mut next = Vec::with_capacity(product);
            for progress in &branches {
                for branch in union.branches {
                    if self.follow(*branch) == Some(id) {
                        // A branch that is the union itself adds nothing.
                        continue;
                    }
                    let adds_nothing = *progress == base
                        && (silent || only_types.is_some_and(|types| types.has(self.types_of(*branch))));
                    next.push(if adds_nothing { *branch } else { self.intersection_of(*progress, *branch) });
                }
            }
            branches = next;
        }
        if left_out > 0 {
            let code = self.refusal_code(Kw::AllOf);
            let detail = match left_out {
                1 => Cow::Borrowed("too many combinations: one of the unions is left out"),
                count => Cow::Owned(format!("too many combinations: {count} of the unions are left out")),
            };
            self.change(&code, node.place, Kw::AnyOf, Action::Dropped, Effect::Wider, detail);
        }
        if !silent && branches != [base] {
            let code = self.demand_code(Demand::UnionAlone);
            let detail = "what stands beside it is merged into its branches";
            self.change(&code, node.place, Kw::AnyOf, Action::Merged, Effect::Same, detail);
        }
        if branches == [base] {
            let mut alone = *self.graph[base];
            alone.annotations = annotations;
            return self.lower_merged_plain(self.nodes.keep(alone), pos);
        }
        self.lower_branches(
            branches,
            Node { place: node.place, source: node.source, annotations, ..Node::default() },
            pos,
        )
    }

    pub(super) fn unions_are_free(&self, node: &'g Node<'g, 'd>, pos: Position) -> bool {
        let strict = [Demand::Typed, Demand::UnionTyped, Demand::UnionAlone, Demand::Closed, Demand::NoNull];
        let demanding = strict.into_iter().any(|demand| self.caps.has_demand(demand));
        let takes = |union: &Union| {
            self.can_emit(if union.exactly_one && self.caps.accepts(Kw::OneOf) { Kw::OneOf } else { Kw::AnyOf }, pos)
        };
        let several = node.unions().len() > 1;
        let listed = node.types.is_some_and(|types| types.count() > 1) && self.caps.has_demand(Demand::OneType);
        // A branch that is closed would shut out what stands beside it.
        let apart = self.closes_unsaid() && node.rules.object().is_some();
        !demanding
            && !listed
            && !apart
            && node.rules.values().is_none()
            && node.unions().iter().all(takes)
            && (!several || self.can_emit(Kw::AllOf, pos))
    }

    /// The keyword a union is printed with; `oneOf` where it is taken.
    pub(super) fn union_keyword(&mut self, node: &'g Node<'g, 'd>, union: &Union) -> Kw {
        if union.exactly_one && self.caps.accepts(Kw::OneOf) {
            return Kw::OneOf;
        }
        self.note_one_of(node, union);
        Kw::AnyOf
    }

    /// Records that a `oneOf` becomes an `anyOf`, and whether that lets more through.
    pub(super) fn note_one_of(&mut self, node: &'g Node<'g, 'd>, union: &Union) {
        if !union.exactly_one {
            return;
        }
        let (effect, detail) = match self.disjointness(union.branches) {
            Disjointness::Proven => (Effect::Same, "`anyOf`: its branches exclude each other"),
            Disjointness::Unknown => (Effect::Wider, "`anyOf`: a value that fits several branches passes"),
        };
        let code = self.refusal_code(Kw::OneOf);
        self.change(&code, node.place, Kw::OneOf, Action::Rewritten, effect, detail);
    }

    pub(super) fn lower_branches(&mut self, branches: Vec<NodeId>, about: Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        let mut null = false;
        let mut kinds = Vec::with_capacity(branches.len());
        for branch in self.opened_up(branches) {
            let flat = self.flatten(branch);
            if self.graph[flat].is_any() && self.wants_type(Position::Branch) {
                // Anything, or something: anything.
                let code = self.demand_code(Demand::UnionTyped);
                let detail = "one of the branches takes anything, and what the others say goes";
                self.change(&code, about.place, Kw::AnyOf, Action::Merged, Effect::Same, detail);
                let any = self.graph.add(about);
                return self.lower(any, pos);
            }
            let types = self.types_of(branch);
            if types == Types::NULL {
                null |= self.takes_null(flat);
            } else if types.is_none() {
                self.drop_never(about.place);
            } else if !kinds.contains(&branch) {
                kinds.push(branch);
            }
        }
        let about = self.nodes.keep(about);
        match kinds.as_slice() {
            [] => {
                let types = if null { Types::NULL } else { Types::NONE };
                let only = Node { types: Some(types), ..*about };
                self.lower_merged_plain(self.nodes.keep(only), pos)
            }
            [one] => {
                let one = *one;
                // What stands beside `null` is a branch.
                let lowered = self.lower_noted(one, about, if null { Position::Branch } else { pos });
                if null { self.with_null(lowered) } else { lowered }
            }
            several => {
                if let Some(values) = self.folded_values(several, null) {
                    let about = self.with_value_descriptions(about, several);
                    let types = values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
                    let rules = RuleSet { values: Some(self.nodes.list(&values)), ..about.rules.all() };
                    let folded = Node { types: Some(types), ..*about }.with_rules(rules, self.nodes);
                    return self.lower_values(self.nodes.keep(folded), pos);
                }
                if self.can_emit(Kw::AnyOf, pos) {
                    let several = several.to_vec();
                    self.lower_any_of(&several, null, about)
                } else {
                    let several = several.to_vec();
                    let lowered = self.lower_without_union(&several, about, pos);
                    if null { self.with_null(lowered) } else { lowered }
                }
            }
        }
    }

    /// Records that a branch which takes no value is left out of a union.
    pub(super) fn drop_never(&mut self, place: Option<Place>) {
        let detail = "a branch that takes no value is left out";
        self.change(&super::own_code(), place, Kw::AnyOf, Action::Dropped, Effect::Same, detail);
    }

    /// Whether a branch of nothing but `null` takes it: what else is said of the value may exclude it.
    fn takes_null(&mut self, id: NodeId) -> bool {
        let node = &self.graph[id];
        if node.rules.logic().is_none() {
            return true;
        }
        let (place, guard) = (node.place, self.guard(id));
        let verdict = self.lens.verdict_within(guard, &serde_json::Value::Null, self.work);
        if !matches!(verdict, GuardVerdict::Yes | GuardVerdict::No) {
            let detail = "whether `null` is excluded cannot be told";
            self.change(&super::own_code(), place, Kw::Type, Action::Rewritten, Effect::Wider, detail);
        }
        verdict != GuardVerdict::No
    }

    /// Branches, with those of a branch that is nothing but a union in its place: only then can all be told apart.
    fn opened_up(&self, branches: Vec<NodeId>) -> Vec<NodeId> {
        let inner = |id: NodeId| {
            let node = &self.graph[id];
            let plain = node.target.is_none() && node.is_bare() && node.annotations.is_empty();
            match node.rules.logic() {
                Some(Logic { all: [], unions: [Union { exactly_one: false, branches }], nots: [], conditions: [] })
                    if plain =>
                {
                    Some(*branches)
                }
                _ => None,
            }
        };
        if !branches.iter().any(|branch| inner(*branch).is_some()) {
            return branches;
        }
        let mut out = Vec::with_capacity(branches.len() * 2);
        for branch in branches {
            match inner(branch) {
                Some(more) => out.extend_from_slice(more),
                None => out.push(branch),
            }
        }
        out
    }

    /// A schema with another's annotations over its own.
    fn lower_noted(&mut self, id: NodeId, about: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        if about.annotations.is_empty() {
            return self.lower(id, pos);
        }
        let only = Node { place: about.place, target: Some(id), annotations: about.annotations, ..Node::default() };
        let only = self.graph.add(only);
        if self.graph[id].target.is_some() || self.open_nodes.contains(&id) {
            return self.lower(only, pos);
        }
        let flat = self.flatten(only);
        self.lower(flat, pos)
    }

    pub(super) fn lower_any_of(&mut self, branches: &[NodeId], null: bool, about: &'g Node<'g, 'd>) -> Lowered<'d> {
        let mut list = DistinctValues::default();
        self.find_tags(branches);
        let mut lenses = Vec::with_capacity(branches.len());
        let mut null = null;
        for (index, branch) in branches.iter().enumerate() {
            let lowered = self.lower_branch((index, *branch), branches, about.place);
            null |= lowered.null;
            lenses.push((*branch, lowered.lens));
            for json in self.spliced(lowered.json) {
                list.add(json);
            }
        }
        let mut list = list.into_values();
        let lens = self.union_lens(&lenses, about.place);
        if let Some(folded) = self.fold_printed(&list, about.place) {
            list = folded;
        }
        if let [_] = list.as_slice()
            && let Some(only) = list.pop()
        {
            let lowered = self.described(Lowered { json: only, lens, null: false }, about);
            return if null { self.with_null(lowered) } else { lowered };
        }
        let mut members = self.builder().members;
        let beside = self.caps.beside_union;
        let pushed = !beside.has(Kw::Description) && self.caps.accepts(Kw::Description);
        if !pushed {
            self.notes_beside(about, lens, beside, &mut members);
        } else if let Some(description) =
            self.notes_and_description(about, lens, beside.with(Kw::Description), &mut members)
        {
            for json in &mut list {
                *json = self.describe(*json, description);
            }
        }
        members.push((Kw::AnyOf.name(), self.arena.arr_like(&list, about.written(Kw::AnyOf))));
        let lowered = Lowered { json: self.build(members, about.source), lens, null: false };
        if null { self.with_null(lowered) } else { lowered }
    }

    /// How a value of one of several kinds travels. Nothing is asked of the value where all kinds travel as they are.
    pub(super) fn union_lens(&mut self, branches: &[(NodeId, LensId)], place: Option<Place>) -> LensId {
        if branches.iter().all(|(_, lens)| lens.is_same()) {
            return LensId::SAME;
        }
        let own = branches.iter().map(|(id, lens)| Branch { guard: self.guard(*id), lens: *lens }).collect();
        let lens = self.lens.add(Shape::Union(own));
        let branches = branches.iter().map(|(id, _)| *id).collect();
        self.unions.push(CarriedUnion { place, lens, branches });
        lens
    }

    /// The shape of values that are lists, objects or something else, of which lists and objects travel in shapes of their own.
    pub(super) fn by_type(&mut self, lists: LensId, objects: LensId, place: Option<Place>) -> LensId {
        if lists.is_same() || objects.is_same() {
            return if lists.is_same() { objects } else { lists };
        }
        let others = Types::ANY.without(Types::ARRAY).without(Types::OBJECT);
        let mut branches = Vec::with_capacity(3);
        for (types, lens) in [(Types::ARRAY, lists), (Types::OBJECT, objects), (others, LensId::SAME)] {
            let node = Node { place, types: Some(types), ..Node::default() };
            branches.push((self.graph.add(node), lens));
        }
        self.union_lens(&branches, place)
    }

    /// A branch of a union. What would look on the wire like another branch goes into an object of its own: JSON text and labels
    /// beside strings, a list of entries beside lists.
    pub(super) fn lower_branch(
        &mut self,
        (index, branch): (usize, NodeId),
        all: &[NodeId],
        union: Option<Place>,
    ) -> Lowered<'d> {
        if let Some(boxed) = self.lower_tagged(branch, (union, index)) {
            return boxed;
        }
        let lowered = self.lower(branch, Position::Branch);
        let object = self.types_of(branch).without(Types::NULL) == Types::OBJECT;
        let (key, kind) = match self.lens.kind_on_wire(lowered.lens) {
            Some(WireKind::Text) => ("json", Types::STRING),
            Some(WireKind::Label) => ("label", Types::STRING),
            Some(WireKind::Entries) => ("entries", Types::ARRAY),
            None if object && self.becomes_entries(branch) => ("entries", Types::ARRAY),
            None => return lowered,
        };
        let shares_type = all.iter().any(|other| *other != branch && self.types_of(*other).intersects(kind));
        if shares_type { self.wrap_in_key(lowered, key.to_owned()) } else { lowered }
    }

    /// A value in an object of its own.
    pub(super) fn wrap_in_key(&mut self, inner: Lowered<'d>, key: String) -> Lowered<'d> {
        let name = self.arena.text(&key);
        let json = self.closed_object(self.arena.obj(&[(name, inner.json)]), &[name]);
        let lens = self.lens.add(Shape::Wrapped(key, inner.lens));
        Lowered { json, lens, null: inner.null }
    }

    /// An object of nothing but these properties.
    pub(super) fn closed_object(&mut self, properties: Json<'d>, required: &[&'d str]) -> Json<'d> {
        let mut builder = self.builder();
        builder.put(Kw::Type, Json::Str("object"));
        builder.put(Kw::Properties, properties);
        builder.put(Kw::Required, self.arena.texts(required.iter().copied()));
        if self.caps.accepts(Kw::AdditionalProperties) {
            builder.put(Kw::AdditionalProperties, Json::Bool(false));
        }
        self.build(builder.members, None)
    }

    /// A dialect without unions: one schema for all branches where they are of one type, else a choice by key.
    fn lower_without_union(&mut self, branches: &[NodeId], about: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        let code = self.refusal_code(Kw::AnyOf);
        if let Some(mut joined) = self.join(branches) {
            let effect = if self.are_values(branches) { Effect::Same } else { Effect::Wider };
            self.change(&code, about.place, Kw::AnyOf, Action::Merged, effect, "the branches became one schema");
            let mut facts: Vec<String> = self.describe_tagged_branches(branches).into_iter().collect();
            if facts.is_empty() {
                facts = self.branch_descriptions(branches, &code, MAX_FACT_CHARS);
                facts.extend(self.describe_required_groups(branches));
            }
            joined.place = about.place;
            joined.annotations = about.annotations;
            let joined = self.graph.add(joined);
            if self.may_not_repeat() {
                return self.lower_as_text(joined, &code, "too large to repeat");
            }
            let lowered = self.repeat(|own| own.lower(joined, pos));
            let lowered = self.with_facts(lowered, &facts);
            let null = branches.iter().any(|branch| self.types_of(*branch).intersects(Types::NULL));
            return if null { self.with_null(lowered) } else { lowered };
        }
        if let Some(text) = self.too_deep(about) {
            return text;
        }
        // Nothing says that one key must be given: an object without any passes.
        self.change(&code, about.place, Kw::AnyOf, Action::Carried, Effect::Wider, "a choice: one key for each branch");
        let closed = self.nothing();
        let mut properties = Vec::with_capacity(branches.len());
        let mut names: Vec<String> = Vec::with_capacity(branches.len());
        let mut taken = UniqueNames::default();
        for branch in branches {
            let kind = self.types_of(*branch).name().unwrap_or("option");
            let name = taken.unique(format!("{kind}_value"));
            properties.push((self.arena.text(&name), *branch));
            names.push(name);
        }
        let properties = self.nodes.list(&properties);
        let object = ObjectRules { properties, additional: Some(closed), ..ObjectRules::default() };
        let lowered = self.emit(self.made_object(object, about), Position::Other);
        let told = branches.to_vec();
        let branches = names.into_iter().zip(branches).map(|(name, id)| (name, self.guard(*id))).collect();
        let lens = self.lens.add(Shape::Choice { branches, object: lowered.lens });
        self.unions.push(CarriedUnion { place: about.place, lens, branches: told });
        let lowered = Lowered { lens, ..lowered };
        self.with_facts(lowered, &["(exactly one of these)".to_owned()])
    }

    fn are_values(&mut self, branches: &[NodeId]) -> bool {
        branches.iter().all(|branch| {
            let flat = self.flatten(*branch);
            let rules = self.graph[flat].rules;
            rules.values().is_some() && rules.logic().is_none() && self.graph[flat].has_no_rules_beside_values()
        })
    }

    /// An object that stands for what a node asks, with its annotations.
    pub(super) fn made_object(&self, object: ObjectRules<'g, 'd>, about: &Node<'g, 'd>) -> &'g Node<'g, 'd> {
        let rules = RuleSet { object: Some(self.nodes.keep(object)), ..RuleSet::default() };
        let types = Some(Types::OBJECT);
        let made = Node { place: about.place, types, annotations: about.annotations, ..Node::default() };
        self.nodes.keep(made.with_rules(rules, self.nodes))
    }

    /// One node that accepts what any of these accepts, where all are of one type.
    fn join(&mut self, branches: &[NodeId]) -> Option<Node<'g, 'd>> {
        let mut types = Types::NONE;
        let mut nodes = Vec::with_capacity(branches.len());
        for branch in branches {
            types = types.or(self.types_of(*branch).without(Types::NULL));
            let flat = self.flatten(*branch);
            nodes.push(self.graph[flat]);
        }
        types.name()?;
        if nodes.iter().any(|node| !node.unions().is_empty()) {
            // What is united again is joined when its turn comes.
            let mut open = Vec::new();
            for (node, id) in nodes.iter().zip(branches) {
                match node.unions() {
                    [union] if node.is_bare() => open.extend(union.branches.iter().copied()),
                    _ => open.push(*id),
                }
            }
            if open != branches && open.len() < 200 {
                return self.join(&open);
            }
        }
        let mut rules = RuleSet::default();
        if nodes.iter().all(|node| node.rules.values().is_some()) {
            let mut distinct = DistinctValues::default();
            let all = nodes.iter().filter_map(|node| node.rules.values()).flatten().copied();
            let values: Vec<&'d Json<'d>> = all.filter(|value| distinct.add(**value)).collect();
            rules.values = Some(self.nodes.list(&values));
        } else if types == Types::OBJECT {
            rules.object = Some(self.nodes.keep(self.join_objects(&nodes)));
        } else if types == Types::ARRAY {
            let items = self.join_items(&nodes);
            let min = nodes.iter().map(|node| node.rules.array().map_or(0, |own| own.min)).min().unwrap_or(0);
            rules.array = Some(self.nodes.keep(ArrayRules { items, min, ..ArrayRules::default() }));
        }
        Some(Node { types: Some(types), ..Node::default() }.with_rules(rules, self.nodes))
    }

    /// What an item may be in any of these arrays; nothing where it may be anything in one.
    fn join_items(&mut self, nodes: &[&'g Node<'g, 'd>]) -> Option<NodeId> {
        let mut kinds: Vec<NodeId> = Vec::new();
        for node in nodes {
            let rules = node.rules.array()?;
            let rest = rules.items?;
            let rest = (!self.is_never(rest)).then_some(rest);
            for kind in rules.prefix.iter().copied().chain(rest) {
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
        }
        (!kinds.is_empty()).then(|| self.union_of_schemas(kinds))
    }

    fn join_objects(&mut self, nodes: &[&'g Node<'g, 'd>]) -> ObjectRules<'g, 'd> {
        let none = ObjectRules::default();
        let mut properties: Vec<(&'d str, NodeId)> = Vec::new();
        let mut kinds: Vec<Vec<NodeId>> = Vec::new();
        for node in nodes {
            for (key, id) in node.rules.object().unwrap_or(&none).properties {
                let known = properties.iter().position(|(own, _)| own == key);
                if let Some(list) = known.and_then(|index| kinds.get_mut(index)) {
                    list.push(*id);
                } else {
                    properties.push((*key, *id));
                    kinds.push(vec![*id]);
                }
            }
        }
        let mut open = None;
        for ((key, id), mut list) in properties.iter_mut().zip(kinds) {
            for node in nodes {
                let rules = node.rules.object().unwrap_or(&none);
                if rules.properties.iter().any(|(own, _)| own == key) {
                    continue;
                }
                let matched = self.matched(key, rules);
                match matched.or(rules.additional) {
                    Some(other) if self.is_never(other) => {}
                    Some(other) if !self.graph[other].is_any() => list.push(other),
                    Some(_) | None => open = open.or(Some(node.place)),
                }
                if rules.rare.patterns.iter().any(|(pattern, _)| self.matcher(pattern).is_none()) {
                    open = open.or(Some(node.place));
                }
            }
            *id = self.union_of_schemas(list);
        }
        if let Some(place) = open {
            let code = self.refusal_code(Kw::AnyOf);
            let detail = "what another branch says of a property holds here too";
            self.change(&code, place, Kw::AdditionalProperties, Action::Merged, Effect::Narrower, detail);
        }
        let all_require =
            |name: &&str| nodes.iter().all(|node| node.rules.object().unwrap_or(&none).required.contains(name));
        let required = nodes.first().and_then(|node| node.rules.object()).map_or(&[][..], |rules| rules.required);
        let mut joined = ObjectRules {
            properties: self.nodes.list(&properties),
            required: self.nodes.filtered(required, all_require),
            ..ObjectRules::default()
        };
        let rest: Vec<NodeId> = nodes.iter().filter_map(|node| node.rules.object()?.additional).collect();
        let bounded = rest.len() == nodes.len()
            && nodes.iter().all(|node| node.rules.object().is_none_or(|rules| rules.rare.patterns.is_empty()));
        if bounded {
            let open: Vec<NodeId> = rest.iter().copied().filter(|id| !self.is_never(*id)).collect();
            joined.additional = Some(if open.is_empty() { self.nothing() } else { self.union_of_schemas(open) });
        }
        joined
    }

    /// A node that is an `anyOf` and nothing else.
    pub(super) fn union_of(&self, branches: &'g [NodeId], place: Option<Place>) -> Node<'g, 'd> {
        let unions = self.nodes.list(&[Union { exactly_one: false, branches }]);
        Node { place, ..Node::default() }.with_logic(Logic { unions, ..Logic::default() }, self.nodes)
    }

    /// A node that accepts what any of these accepts.
    pub(super) fn union_of_schemas(&mut self, mut ids: Vec<NodeId>) -> NodeId {
        ids.dedup();
        if let [only] = ids.as_slice() {
            return *only;
        }
        if let Some(id) = self.unions_made.get(&ids) {
            return *id;
        }
        let place = ids.first().and_then(|id| self.graph[*id].place);
        let branches = self.nodes.list(&ids);
        let id = self.graph.add(self.union_of(branches, place));
        self.unions_made.insert(ids, id);
        id
    }

    /// Whether a printed schema is a reference, or a union with one among its branches.
    pub(super) fn refers(&self, json: &Json<'_>) -> bool {
        let word = self.reference_keywords.reference.name();
        let branches = json.get(Kw::AnyOf.name()).and_then(Json::as_arr).unwrap_or_default();
        json.get(word).is_some() || branches.iter().any(|branch| branch.get(word).is_some())
    }

    pub(super) fn can_say_null(&self) -> bool {
        self.caps.accepts(Kw::Nullable)
            || (!self.caps.has_demand(Demand::NoNull)
                && (self.caps.accepts(Kw::AnyOf) || !self.caps.has_demand(Demand::OneType)))
    }

    /// Adds facts to the description of what is already printed.
    pub(super) fn with_facts(&mut self, lowered: Lowered<'d>, facts: &[String]) -> Lowered<'d> {
        let json = lowered.json;
        let alone = (json.get(Kw::AnyOf.name()).is_some() && !self.caps.beside_union.has(Kw::Description))
            || (json.get(self.reference_keywords.reference.name()).is_some()
                && !self.caps.beside_ref.has(Kw::Description));
        if !self.caps.accepts(Kw::Description) || facts.is_empty() {
            return lowered;
        }
        let fact = facts.join(" ");
        let arena = self.arena;
        let Some(branches) = json.get(Kw::AnyOf.name()).and_then(Json::as_arr).filter(|_| alone) else {
            return if alone { lowered } else { Lowered { json: with_fact(json, &fact, arena), ..lowered } };
        };
        // Nothing may stand beside the union, so each branch says it.
        let told = |branch: &Json<'d>| Lowered { json: *branch, ..lowered };
        let branches: Vec<Json<'d>> = branches.iter().map(|branch| self.with_facts(told(branch), facts).json).collect();
        Lowered { json: arena.with(json, Kw::AnyOf.name(), arena.arr(&branches)), ..lowered }
    }

    /// Puts a union's description on the one schema that is left of it.
    fn described(&mut self, mut lowered: Lowered<'d>, about: &'g Node<'g, 'd>) -> Lowered<'d> {
        if let Some(description) = about.note(Kw::Description).filter(|_| self.caps.accepts(Kw::Description)) {
            lowered.json = self.describe(lowered.json, *description);
        }
        lowered
    }

    /// The branches of a printed schema that is a union and nothing else but annotations, of which the description goes to each
    /// branch: a union stands in no union.
    pub(super) fn spliced(&mut self, json: Json<'d>) -> Vec<Json<'d>> {
        let Some(branches) = as_plain_union(&json) else { return vec![json] };
        match json.get(Kw::Description.name()) {
            Some(description) => branches.iter().map(|branch| self.describe(*branch, *description)).collect(),
            None => branches.to_vec(),
        }
    }

    /// Gives a printed schema a description, before its own; each branch of a union gets it, a reference where that may have one.
    fn describe(&mut self, json: Json<'d>, description: Json<'d>) -> Json<'d> {
        let Json::Obj(members) = json else { return json };
        let refers = members.iter().any(|(key, _)| matches!(Kw::of(key), Some(Kw::Ref | Kw::BareRef)));
        if refers && !self.caps.beside_ref.has(Kw::Description) {
            self.drop_note(self.here, AnnotationKey::Kw(Kw::Description), "may not stand beside a reference");
            return json;
        }
        let arena = self.arena;
        if let Some(branches) = json.get(Kw::AnyOf.name()).and_then(Json::as_arr) {
            let branches: Vec<Json<'d>> = branches.iter().map(|branch| self.describe(*branch, description)).collect();
            return arena.with(json, Kw::AnyOf.name(), arena.arr(&branches));
        }
        let shared = description.as_str().unwrap_or_default();
        match json.get(Kw::Description.name()).and_then(Json::as_str) {
            Some(own) if own.contains(shared) => json,
            Some(own) => arena.with(json, Kw::Description.name(), arena.str(&format!("{shared} {own}"))),
            None => described(json, description, arena),
        }
    }
}

/// The branches of a printed schema that is a union and nothing else but annotations.
pub(super) fn as_plain_union<'d>(json: &Json<'d>) -> Option<&'d [Json<'d>]> {
    let Json::Obj(members) = json else { return None };
    let tells = |key: &str| Kw::of(key).is_none_or(|kw| kw == Kw::AnyOf || kw.is_annotation());
    let union = json.get(Kw::AnyOf.name()).and_then(Json::as_arr);
    union.filter(|_| members.iter().all(|(key, _)| tells(key)))
}

/// Adds a fact to the description of a printed schema.
pub(super) fn with_fact<'d>(json: Json<'d>, fact: &str, arena: &'d Arena) -> Json<'d> {
    let description = match json.get(Kw::Description.name()) {
        Some(own) => arena.str(&format!("{} {fact}", own.as_str().unwrap_or_default())),
        None => arena.str(fact),
    };
    arena.with(json, Kw::Description.name(), description)
}
