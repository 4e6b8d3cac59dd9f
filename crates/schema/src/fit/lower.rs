//! The order of the rewrites at one node: references, `allOf`, negations, unions, values, types, and then each type's rules.

use std::sync::Arc;

use super::merge::spoken_types;
use super::{Lowered, Lowerer, Position, ReferenceMode, ShapeCount, annotations, budget};
use crate::dialect::Demand;
use crate::graph::{Annotation, AnnotationKey, Node, NodeId, RuleSet, Union};
use crate::json::Json;
use crate::keyword::Kw;
use crate::lens::{GuardVerdict, LensId, Shape};
use crate::types::Types;
use polywire_report::{Action, Effect};

/// Schemas within schemas beyond this depth travel as JSON text.
const MAX_DEPTH: usize = 64;

/// Unions within unions beyond this depth may hold values of any type.
const MAX_UNION_DEPTH: usize = 100;

/// The keys of an object that travels as text are listed up to this number.
const MAX_KEYS: usize = 12;

/// A rule with a longer text is not put into a description.
pub(super) const MAX_FACT_CHARS: usize = 240;

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// Lowers a node to the dialect.
    pub(super) fn lower(&mut self, id: NodeId, pos: Position) -> Lowered<'d> {
        self.steps_left = self.steps_left.saturating_sub(1);
        if self.is_abandoned() {
            return Lowered { json: Json::EMPTY, lens: LensId::SAME, null: false };
        }
        self.depth += 1;
        let around = self.here;
        self.here = self.graph[id].place.or(around);
        let exhausted = self.depth > MAX_DEPTH || self.steps_left == 0 || !self.work.spend(1);
        let lowered = if exhausted && !self.graph[id].is_any() {
            let code = self.demand_code(Demand::MaxDepth);
            self.lower_as_text(id, &code, "nested too deeply")
        } else {
            self.lower_node(id, pos)
        };
        self.depth -= 1;
        self.here = around;
        lowered
    }

    /// True where this attempt is discarded whatever else is emitted.
    pub(super) fn is_abandoned(&self) -> bool {
        self.assumptions.violated || self.exceeded_budget().is_some()
    }

    /// The exceeded budget that no rewrite can meet, where another rung is left, with the count so far.
    pub(super) fn exceeded_budget(&self) -> Option<(Demand, u64)> {
        self.budgets.iter().find_map(|(demand, limit)| {
            let count = budget::printed_count(*demand, self.printed);
            (count > *limit).then_some((*demand, count))
        })
    }

    fn lower_node(&mut self, id: NodeId, pos: Position) -> Lowered<'d> {
        let defined_here = self.defining.take() == Some(id);
        let node = self.graph[id];
        if node.target.is_some() {
            return self.lower_reference(id, node, pos);
        }
        if !defined_here && pos != Position::Root && self.is_referenced_in_place(id, node) {
            return self.refer(id, None);
        }
        let all = node.rules.logic().map_or(&[][..], |logic| logic.all);
        if all.is_empty() {
            return self.lower_merged(id, node, pos);
        }
        if self.can_emit(Kw::AllOf, pos)
            && !self.wants_type(pos)
            && node.rules.values().is_none()
            && !self.must_see_branches(all)
            && let Some(lowered) = self.try_one_shape(id, |own| own.lower_merged(id, node, pos))
        {
            return lowered;
        }
        if self.open_nodes.contains(&id) && !defined_here {
            return self.lower_loop(id);
        }
        let flat = self.flatten(id);
        self.note_merged(node, flat);
        let node = self.graph[flat];
        if defined_here {
            return self.lower_merged(flat, node, pos);
        }
        // A merged node can contain itself, by way of the references it was merged from.
        self.open_nodes.push(id);
        let lowered = self.lower_merged(flat, node, pos);
        self.open_nodes.pop();
        self.close_loop(id, lowered)
    }

    /// Whether a schema that stands among the properties is referred to from elsewhere (`#/properties/a`). It becomes a definition:
    /// otherwise it would be printed both in place and for the reference.
    fn is_referenced_in_place(&self, id: NodeId, node: &Node<'g, 'd>) -> bool {
        let is_definition = || node.place.is_none_or(|place| self.read.places.definition_name(place).is_some());
        let has_parts = || {
            node.rules.object().is_some_and(|rules| !rules.properties.is_empty())
                || node.rules.array().is_some_and(|rules| rules.items.is_some())
                || !node.unions().is_empty()
        };
        self.refs == ReferenceMode::Keep
            && self.read.shared.contains(&id)
            && !self.open_nodes.contains(&id)
            && !is_definition()
            && has_parts()
    }

    /// Records that the `allOf` of a node became one schema.
    pub(super) fn note_merged(&mut self, node: &'g Node<'g, 'd>, merged: NodeId) {
        let all = node.rules.logic().map_or(&[][..], |logic| logic.all);
        // What was made up of a union and what stands beside it is no `allOf` of the caller's.
        if !all.is_empty() && node.source.is_some() {
            let code = self.refusal_code(Kw::AllOf);
            self.change(&code, node.place, Kw::AllOf, Action::Merged, Effect::Same, "merged into one schema");
            self.record_lost_annotations(node, all, merged);
        }
    }

    /// Records the annotations of which only one is left where schemas are merged.
    pub(super) fn record_lost_annotations(&mut self, node: &'g Node<'g, 'd>, parts: &[NodeId], merged: NodeId) {
        let mut lost: Vec<Kw> = Vec::new();
        let merged = self.graph[merged];
        let mut compare = |annotations: &[Annotation<'d>]| {
            for note in annotations {
                if let AnnotationKey::Kw(kw) = note.key
                    && merged.note(kw).is_none_or(|own| !own.same(note.value))
                {
                    lost.push(kw);
                }
            }
        };
        compare(node.annotations);
        for part in parts {
            let flat = self.flatten(*part);
            compare(self.graph[flat].annotations);
        }
        let code = self.refusal_code(Kw::AllOf);
        for kw in lost {
            let detail = "another one is taken where schemas are merged";
            self.change(&code, node.place, kw, Action::Dropped, Effect::Note, detail);
        }
    }

    /// What is printed of a node, unless it holds parts that want the value in different shapes. That is found out once: a node
    /// within such a node is printed again with it.
    pub(super) fn try_one_shape(
        &mut self,
        id: NodeId,
        print: impl FnOnce(&mut Self) -> Lowered<'d>,
    ) -> Option<Lowered<'d>> {
        if self.multi_shape.contains(&id) {
            return None;
        }
        let around = std::mem::replace(&mut self.parts, ShapeCount::One);
        let checkpoint = self.checkpoint();
        let lowered = print(self);
        match std::mem::replace(&mut self.parts, around) {
            ShapeCount::One => Some(lowered),
            ShapeCount::Several => {
                self.rollback(checkpoint);
                self.multi_shape.insert(id);
                None
            }
        }
    }

    pub(super) fn can_emit(&self, kw: Kw, pos: Position) -> bool {
        self.caps.accepts(kw) && !(pos == Position::Root && self.caps.root_refused.has(kw))
    }

    /// Lowers a node without a reference and, unless the dialect accepts it, without `allOf`.
    pub(super) fn lower_merged(&mut self, id: NodeId, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        let node = self.without_negations(node, pos);
        if self.pending_facts.is_empty() {
            return self.lower_plain(id, node, pos);
        }
        let facts = std::mem::take(&mut self.pending_facts);
        let lowered = self.lower_plain(id, node, pos);
        self.with_facts(lowered, &facts)
    }

    fn lower_plain(&mut self, id: NodeId, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        let node = self.with_types(node, pos);
        if node.types().is_none() || node.rules.values().is_some_and(<[_]>::is_empty) {
            return self.lower_never(node);
        }
        if node.is_any() {
            return self.lower_any(id, node, pos);
        }
        if !node.unions().is_empty() {
            if self.caps.accepts(Kw::AnyOf) {
                return self.lower_unions(id, node, pos);
            }
            // Where unions are merged away, what is merged can contain the union again.
            if self.open_unions.contains(&id) {
                return self.lower_loop(id);
            }
            self.open_unions.push(id);
            let lowered = self.lower_unions(id, node, pos);
            self.open_unions.pop();
            return lowered;
        }
        if node.rules.values().is_some() {
            return self.lower_values(node, pos);
        }
        self.lower_types(node, pos)
    }

    /// Adds the types that a node's rules apply to, where the dialect requires a type.
    fn with_types(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> &'g Node<'g, 'd> {
        let wanted = self.wants_type(pos) || (pos == Position::Root && self.caps.has_demand(Demand::RootObject));
        let silent = node.types.is_none() && node.rules.values().is_none() && node.unions().is_empty();
        let at_root = pos == Position::Root && self.caps.has_demand(Demand::RootObject);
        let spoken = if at_root { Types::OBJECT } else { spoken_types(node) };
        if silent && wanted && spoken.is_none() && node.rules.logic().is_some() {
            // What is only said by exclusion is said of values of every type.
            let mut typed = *node;
            typed.types = Some(Types::ANY);
            return self.nodes.keep(typed);
        }
        if !silent || !wanted || spoken.is_none() {
            return node;
        }
        let demand = if pos == Position::Root { Demand::RootObject } else { Demand::Typed };
        let code = self.demand_code(demand);
        let names: Vec<&str> = spoken.names().map(|(name, _)| name).collect();
        let detail = format!("taken to be {}, which its keywords speak of", names.join(" or "));
        self.change(&code, node.place, Kw::Type, Action::Added, Effect::Narrower, detail);
        let mut typed = *node;
        typed.types = Some(spoken);
        self.nodes.keep(typed)
    }

    fn lower_types(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        let types = node.types();
        let single = types.name().is_some();
        if single && types != Types::NULL {
            return self.lower_single(node, pos);
        }
        let rest = types.without(Types::NULL);
        let lists = !self.caps.has_demand(Demand::OneType)
            && (!types.intersects(Types::NULL) || !self.caps.has_demand(Demand::NoNull));
        let scalars = !types.intersects(Types::ARRAY.or(Types::OBJECT));
        let demanding = self.caps.has_demand(Demand::Typed) || self.caps.has_demand(Demand::Closed);
        let natural = lists && (!demanding || (scalars && rest.count() <= 1));
        let null_only = rest.is_none();
        if (natural && !null_only) || (null_only && !self.caps.has_demand(Demand::NoNull)) || node.types.is_none() {
            return self.emit(node, pos);
        }
        if null_only {
            let null = RuleSet { values: Some(&[&Json::Null]), ..node.rules.all() };
            return self.lower_values(self.nodes.keep(node.with_rules(null, self.nodes)), pos);
        }
        // One variant for each type, each with its own keywords (R-A14).
        let annotations = node.annotations;
        let mut variants = Vec::new();
        for (_, one) in rest.names() {
            let mut variant = *node;
            variant.annotations = &[];
            variant.restrict(one, self.nodes);
            variants.push(self.graph.add(variant));
        }
        if types.intersects(Types::NULL) {
            // An exclusion may be one of `null`.
            let null = Node { place: node.place, types: Some(Types::NULL), ..Node::default() };
            let rules = RuleSet { logic: node.rules.logic(), ..RuleSet::default() };
            variants.push(self.graph.add(null.with_rules(rules, self.nodes)));
        }
        let demand = if self.caps.has_demand(Demand::OneType) { Demand::OneType } else { Demand::Typed };
        let code = self.demand_code(demand);
        self.change(&code, node.place, Kw::Type, Action::Rewritten, Effect::Same, "split into one schema a type");
        self.lower_branches(variants, Node { place: node.place, annotations, ..Node::default() }, pos)
    }

    fn lower_single(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        if node.types() != Types::OBJECT {
            return self.lower_leaf(node, pos);
        }
        if let Some(text) = self.too_deep(node) {
            return text;
        }
        self.lower_leaf(node, pos)
    }

    /// An object that may not stand this deep, as text. Without definitions there is no other way out.
    pub(super) fn too_deep(&mut self, node: &'g Node<'g, 'd>) -> Option<Lowered<'d>> {
        let deepest = self.caps.limit(Demand::MaxDepth).filter(|_| self.refs == ReferenceMode::Inline)?;
        if self.objects < deepest {
            return None;
        }
        let code = self.demand_code(Demand::MaxDepth);
        let id = self.graph.add(*node);
        Some(self.lower_as_text(id, &code, "nested too deeply"))
    }

    fn lower_leaf(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        let carried = match node.types() {
            Types::OBJECT => self.carried_object(node, pos),
            Types::ARRAY => self.carried_tuple(node, pos),
            _ => None,
        };
        let Some(carried) = carried else { return self.emit(node, pos) };
        self.drop_logic(node);
        carried
    }

    /// What is said of the caller's value cannot be said of one that travels in another shape.
    fn drop_logic(&mut self, node: &'g Node<'g, 'd>) {
        let Some(logic) = node.rules.logic() else { return };
        if !logic.all.is_empty() || !logic.unions.is_empty() {
            self.parts = ShapeCount::Several;
        }
        for (kw, parts) in [(Kw::Not, logic.nots.len()), (Kw::If, logic.conditions.len())] {
            if parts > 0 {
                self.drop_exclusion(node.place, kw, "the value travels in another shape");
            }
        }
    }

    /// A node that accepts anything.
    fn lower_any(&mut self, id: NodeId, node: &'g Node<'g, 'd>, pos: Position) -> Lowered<'d> {
        if !self.wants_type(pos) {
            return self.emit(node, pos);
        }
        let demand = if self.caps.has_demand(Demand::Typed) { Demand::Typed } else { Demand::UnionTyped };
        let code = self.demand_code(demand);
        if let Some(types) = annotations::hinted_types(node.annotations) {
            let name = types.name().unwrap_or_default();
            let detail = format!("taken to be {name}, as its description or examples say");
            self.change(&code, node.place, Kw::Type, Action::Added, Effect::Narrower, detail);
            return self.lower_merged_plain(self.nodes.keep(Node { types: Some(types), ..*node }), pos);
        }
        self.lower_as_text(id, &code, "any value")
    }

    pub(super) fn wants_type(&self, pos: Position) -> bool {
        self.caps.has_demand(Demand::Typed) || (pos == Position::Branch && self.caps.has_demand(Demand::UnionTyped))
    }

    /// A node that accepts nothing. No dialect has a word for it that all take.
    pub(super) fn lower_never(&mut self, node: &'g Node<'g, 'd>) -> Lowered<'d> {
        if self.caps.accepts(Kw::Not) && !self.caps.has_demand(Demand::Typed) {
            let not = (Kw::Not.name(), Json::EMPTY);
            return Lowered { json: self.arena.obj(&[not]), lens: LensId::SAME, null: false };
        }
        let code = self.demand_code(Demand::SchemaObject);
        let detail = "no value is valid here, which cannot be said";
        self.change(&code, node.place, Kw::Not, Action::Rewritten, Effect::Wider, detail);
        let members = vec![
            (Kw::Type.name(), Json::Str("string")),
            (Kw::Description.name(), Json::Str("(no value is valid here)")),
        ];
        Lowered { json: self.arena.obj(&members), lens: LensId::SAME, null: false }
    }

    /// Carries a value as JSON text in a string.
    pub(super) fn lower_as_text(&mut self, id: NodeId, code: &Arc<str>, why: &str) -> Lowered<'d> {
        let node = self.graph[id];
        let any = node.is_any();
        let effect = if any { Effect::Same } else { Effect::Wider };
        let detail = format!("{why}: carried as JSON text in a string");
        self.change(code, node.place, Kw::Type, Action::Carried, effect, detail);
        let mut builder = self.builder();
        builder.put(Kw::Type, Json::Str("string"));
        let fact = self.text_fact(id);
        builder.facts.push(fact);
        builder.lens = self.lens.add(Shape::Text);
        self.finish(node, builder)
    }

    /// What the model is to write where a value is carried as JSON text.
    fn text_fact(&mut self, id: NodeId) -> String {
        let flat = self.flatten(id);
        let node = self.graph[flat];
        if node.is_any() {
            return "(any JSON value, written as JSON text)".to_owned();
        }
        let types = self.types_of(flat).without(Types::NULL);
        let name = node.place.and_then(|place| self.read.places.definition_name(place));
        let like = name.map(|name| format!(" like {name}")).unwrap_or_default();
        let properties = node.rules.object().map_or(&[][..], |rules| rules.properties);
        let keys: Vec<&str> = properties.iter().map(|(key, _)| *key).take(MAX_KEYS + 1).collect();
        match types {
            Types::OBJECT if keys.is_empty() => {
                "(a JSON object with string keys, written as JSON text, for example {\"k\": 1})".to_owned()
            }
            Types::OBJECT if keys.len() > MAX_KEYS => format!("(a JSON object{like}, written as JSON text)"),
            Types::OBJECT => format!("(a JSON object{like} with the keys {}, written as JSON text)", keys.join(", ")),
            Types::ARRAY => format!("(a JSON array{like}, written as JSON text)"),
            _ => format!("(a JSON value{like}, written as JSON text)"),
        }
    }

    /// Removes `not` and `if` where the dialect does not take them: lowered where that is exact, else widened.
    pub(super) fn without_negations(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> &'g Node<'g, 'd> {
        let Some(logic) = node.rules.logic() else { return node };
        let drop_nots = !logic.nots.is_empty() && !self.can_emit(Kw::Not, pos);
        let drop_conditions = !logic.conditions.is_empty() && !self.can_emit(Kw::If, pos);
        if !drop_nots && !drop_conditions {
            return node;
        }
        let mut node = *node;
        let mut logic = *logic;
        if drop_nots {
            for not in std::mem::take(&mut logic.nots) {
                self.lower_not(&mut node, *not);
            }
        }
        if drop_conditions {
            let code = self.refusal_code(Kw::If);
            let conditions = std::mem::take(&mut logic.conditions);
            // Without a consequence it asks nothing.
            for condition in conditions.iter().filter(|own| own.then.is_some() || own.otherwise.is_some()) {
                let parts = [Kw::If, Kw::Then, Kw::Else].into_iter().zip(condition.written);
                let parts: Vec<_> = parts.filter_map(|(kw, written)| Some((kw, written?))).collect();
                let action = self.describe_constraint(&parts);
                self.change(&code, node.place, Kw::If, action, Effect::Wider, "the condition cannot be said");
            }
            self.declare_evaluated(&mut node, conditions);
        }
        self.nodes.keep(node.with_logic(logic, self.nodes))
    }

    /// Adds a short constraint to the description of the next emitted node: in words, or else as it was written.
    fn describe_constraint(&mut self, parts: &[(Kw, &'d Json<'d>)]) -> Action {
        let part = |kw: Kw| parts.iter().find(|(own, _)| *own == kw).map(|(_, written)| *written);
        let words = match (part(Kw::If), part(Kw::Not)) {
            (Some(when), _) => annotations::condition(when, part(Kw::Then), part(Kw::Else)),
            (None, Some(not)) => annotations::exclusion(not),
            (None, None) => None,
        };
        let written =
            || parts.iter().map(|(kw, written)| format!("{} {written}", kw.name())).collect::<Vec<_>>().join(" ");
        let fact = format!("({})", words.unwrap_or_else(written));
        if parts.is_empty() || !self.can_describe(&fact) {
            return Action::Dropped;
        }
        self.pending_facts.push(fact);
        Action::Described
    }

    pub(super) fn can_describe(&self, fact: &str) -> bool {
        fact.len() <= MAX_FACT_CHARS && self.spills()
    }

    fn lower_not(&mut self, node: &mut Node<'g, 'd>, not: NodeId) {
        let code = self.refusal_code(Kw::Not);
        let refused = self.flatten(not);
        let refused = self.graph[refused];
        if refused.types().is_none() {
            // What excludes nothing says nothing.
            return;
        }
        let only_types = refused.has_only_types();
        if only_types {
            let left = node.types().without(refused.types());
            // There is no type of numbers that are not whole.
            let effect = if widened(left) == left { Effect::Same } else { Effect::Wider };
            node.restrict(widened(left), self.nodes);
            self.change(&code, node.place, Kw::Not, Action::Rewritten, effect, "said by `type`");
            return;
        }
        if let (Some(values), Some(own)) = (refused.rules.values(), node.rules.values())
            && refused.types.is_none()
            && refused.rules.logic().is_none()
        {
            let left = self.nodes.filtered(own, |value| !values.iter().any(|other| other.same(value)));
            *node = node.with_rules(RuleSet { values: Some(left), ..node.rules.all() }, self.nodes);
            self.change(&code, node.place, Kw::Not, Action::Rewritten, Effect::Same, "said by `enum`");
            return;
        }
        let parts: Vec<_> = self.graph[not].source.into_iter().map(|written| (Kw::Not, written)).collect();
        let action = self.describe_constraint(&parts);
        self.change(&code, node.place, Kw::Not, action, Effect::Wider, "the exclusion cannot be said");
    }

    /// The types a value of this node can have, through references and unions.
    pub(super) fn types_of(&mut self, id: NodeId) -> Types {
        if let Some(types) = self.types.get(id) {
            return types;
        }
        // A node on the way to itself adds nothing, nor does one too far away.
        self.types.insert(id, Types::ANY);
        if self.union_depth > MAX_UNION_DEPTH {
            return Types::ANY;
        }
        self.union_depth += 1;
        let flat = self.flatten(id);
        let node = self.graph[flat];
        let mut types = node.types();
        if let Some(values) = node.rules.values() {
            let of_values = values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
            types = types.and(widened(of_values));
        }
        for union in node.unions() {
            let mut of_branches = Types::NONE;
            for branch in union.branches {
                of_branches = of_branches.or(self.types_of(*branch));
            }
            types = types.and(of_branches);
        }
        if types.intersects(Types::NULL) && self.may_exclude_null(node) {
            let guard = self.guard(flat);
            if self.lens.verdict_within(guard, &serde_json::Value::Null, self.work) == GuardVerdict::No {
                types = types.without(Types::NULL);
            }
        }
        self.union_depth -= 1;
        self.types.insert(id, types);
        types
    }
}

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// Whether `null` may be out although the types have it: by an exclusion, or because two branches of a `oneOf` take it.
    fn may_exclude_null(&mut self, node: &'g Node<'g, 'd>) -> bool {
        let Some(logic) = node.rules.logic() else { return false };
        let twice = |own: &mut Self, union: &Union| {
            let takes = |id: &&NodeId| own.types_of(**id).intersects(Types::NULL);
            union.exactly_one && union.branches.iter().filter(takes).count() > 1
        };
        !logic.nots.is_empty() || !logic.conditions.is_empty() || logic.unions.iter().any(|union| twice(self, union))
    }
}

/// Values of a fractional kind are written as numbers.
fn widened(types: Types) -> Types {
    types.names().fold(Types::NONE, |all, (_, one)| all.or(one))
}
