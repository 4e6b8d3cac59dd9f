//! Emits arrays: items added where demanded, tuples kept, merged into one item schema, or carried as objects.

use super::emit::SchemaBuilder;
use super::{Lowered, Lowerer, Open, Position};
use crate::check::takes_objects;
use crate::dialect::Demand;
use crate::graph::{AnnotationKey, ArrayRules, Node, NodeId, ObjectRules, RuleSet};
use crate::json::{Json, Num};
use crate::keyword::Kw;
use crate::lens::{LensId, Shape};
use crate::types::Types;
use polywire_report::{Action, Effect};

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// Whether a list of such items may have a greatest length, as far as the items themselves tell. What they refer to is known
    /// when everything is printed.
    pub(super) fn may_bound(&self, items: &Json<'d>) -> bool {
        !self.caps.has_demand(Demand::ObjectListsUnbounded) || !takes_objects(items, &|_| None)
    }

    pub(super) fn put_array(&mut self, node: &'g Node<'g, 'd>, builder: &mut SchemaBuilder<'d>) {
        let silent = ArrayRules::default();
        let rules = node.rules.array().unwrap_or(&silent);
        let mut items = rules.items;
        let mut prefix = Vec::new();
        if !rules.prefix.is_empty() {
            if self.caps.accepts(Kw::PrefixItems) {
                let mut printed = Vec::with_capacity(rules.prefix.len());
                for id in rules.prefix {
                    let lowered = self.lower_within(*id, Position::Other);
                    let lowered = self.null_here(lowered);
                    prefix.push(lowered.lens);
                    printed.push(lowered.json);
                }
                builder.put(Kw::PrefixItems, self.arena.arr_like(&printed, node.written(Kw::PrefixItems)));
            } else {
                // What is nothing but a tuple was evened out or carried before it came here.
                let code = self.refusal_code(Kw::PrefixItems);
                let detail = "the places of a tuple that may be something else cannot be said";
                self.change(&code, node.place, Kw::PrefixItems, Action::Dropped, Effect::Wider, detail);
                items = None;
                self.dropped_evaluators += 1;
            }
        }
        let mut rest = LensId::SAME;
        let mut unevaluated = rules.unevaluated;
        match items {
            Some(id) if self.is_never(id) && !rules.prefix.is_empty() && self.caps.accepts(Kw::PrefixItems) => {
                self.put_no_more(node, rules, builder);
            }
            Some(id) => {
                let lowered = self.lower_within(id, Position::Other);
                let lowered = self.null_here(lowered);
                builder.put(Kw::Items, lowered.json);
                rest = lowered.lens;
            }
            None if self.caps.has_demand(Demand::HasItems) => {
                let any = self.any();
                let lowered = self.lower(any, Position::Other);
                let code = self.demand_code(Demand::HasItems);
                self.change(&code, node.place, Kw::Items, Action::Added, Effect::Same, "items of any kind");
                builder.put(Kw::Items, lowered.json);
                if unevaluated.take().is_some() {
                    self.drop_because(node, Kw::UnevaluatedItems, "items of any kind evaluate all of them");
                }
                rest = lowered.lens;
            }
            None => {}
        }
        builder.lens = self.lens.add(Shape::Array { prefix, rest });
        self.put_item_counts(node, rules, builder);
        if let Some(id) = unevaluated {
            let inner = if self.caps.accepts(Kw::UnevaluatedItems) { self.lower_beside(id) } else { None };
            match inner {
                Some(inner) => builder.put(Kw::UnevaluatedItems, inner),
                None => self.drop_rule(node, Kw::UnevaluatedItems),
            }
        }
    }

    /// Closes a tuple.
    fn put_no_more(&mut self, node: &'g Node<'g, 'd>, rules: &ArrayRules<'g>, builder: &mut SchemaBuilder<'d>) {
        if !self.caps.has_demand(Demand::SchemaObject) {
            builder.put(Kw::Items, Json::Bool(false));
            return;
        }
        let count = u64::try_from(rules.prefix.len()).unwrap_or(u64::MAX);
        if self.caps.has_demand(Demand::HasItems) {
            let any = self.any();
            let lowered = self.lower(any, Position::Other);
            builder.put(Kw::Items, lowered.json);
        }
        if rules.max.is_some_and(|max| max <= count) {
            return;
        }
        if self.caps.accepts_count(Kw::MaxItems, count) {
            builder.put(Kw::MaxItems, Json::Num(count.into()));
            let code = self.demand_code(Demand::SchemaObject);
            self.change(&code, node.place, Kw::Items, Action::Rewritten, Effect::Same, "said by `maxItems`");
        } else {
            self.spill(Kw::MaxItems, &Json::Num(count.into()), node.place, Effect::Wider, &mut builder.facts);
        }
    }

    fn put_item_counts(&mut self, node: &'g Node<'g, 'd>, rules: &ArrayRules<'g>, builder: &mut SchemaBuilder<'d>) {
        let min = (rules.min > 0).then_some(rules.min);
        for (kw, count) in [(Kw::MinItems, min), (Kw::MaxItems, rules.max)] {
            let Some(count) = count else { continue };
            if builder.members.iter().any(|(key, _)| *key == kw.name()) {
                continue;
            }
            let items = builder.members.iter().find(|(key, _)| *key == Kw::Items.name());
            if kw == Kw::MaxItems && !items.is_none_or(|(_, items)| self.may_bound(items)) {
                let code = self.demand_code(Demand::ObjectListsUnbounded);
                self.spill_as(&code, (kw, &Json::Num(count.into())), node.place, Effect::Wider, &mut builder.facts);
                continue;
            }
            if self.caps.accepts_count(kw, count) {
                builder.put(kw, Json::Num(count.into()));
                continue;
            }
            // A smaller lower bound still says that the list is not empty.
            if kw == Kw::MinItems && self.caps.accepts_count(kw, 1) {
                builder.put(kw, Json::Num(Num::Whole(1)));
            }
            self.spill(kw, &Json::Num(count.into()), node.place, Effect::Wider, &mut builder.facts);
        }
        if rules.unique {
            if self.caps.accepts(Kw::UniqueItems) {
                builder.put(Kw::UniqueItems, Json::Bool(true));
            } else {
                self.spill(Kw::UniqueItems, &Json::Bool(true), node.place, Effect::Wider, &mut builder.facts);
            }
        }
        for (index, contains) in rules.contains.iter().enumerate() {
            // Where nothing can say that none is needed, one would be.
            let needless = contains.min == Some(0) && !self.caps.accepts(Kw::MinContains);
            let said = index == 0 && self.caps.accepts(Kw::Contains) && !needless && self.keeps_values(builder.lens);
            // What is counted must be neither more nor less.
            let inner = match contains.max {
                _ if !said => None,
                Some(_) => self.lower_exactly(contains.node),
                None => self.lower_beside(contains.node),
            };
            let Some(inner) = inner else {
                self.dropped_evaluators += 1;
                // Without a least number nothing is asked.
                if contains.min == Some(0) && contains.max.is_none() {
                    continue;
                }
                self.tell_rule(node, Kw::Contains, self.graph[contains.node].source, &mut builder.facts);
                for (kw, count) in [(Kw::MinContains, contains.min), (Kw::MaxContains, contains.max)] {
                    if let Some(count) = count {
                        self.spill(kw, &Json::Num(count.into()), node.place, Effect::Wider, &mut builder.facts);
                    }
                }
                continue;
            };
            builder.put(Kw::Contains, inner);
            for (kw, count) in [(Kw::MinContains, contains.min), (Kw::MaxContains, contains.max)] {
                match count {
                    Some(count) if self.caps.accepts(kw) => builder.put(kw, Json::Num(count.into())),
                    Some(count) => {
                        self.spill(kw, &Json::Num(count.into()), node.place, Effect::Wider, &mut builder.facts);
                    }
                    None => {}
                }
            }
        }
    }

    /// A tuple in a dialect that has none: evened out where all places are alike, else an object with a key for each place.
    pub(super) fn carried_tuple(&mut self, node: &'g Node<'g, 'd>, pos: Position) -> Option<Lowered<'d>> {
        let rules = node.rules.array()?;
        if rules.prefix.is_empty() || self.caps.accepts(Kw::PrefixItems) {
            return None;
        }
        let code = self.refusal_code(Kw::PrefixItems);
        let mut rules = *rules;
        // A tuple evaluates its places: what is left are those that follow, unless something else evaluates them.
        let left = rules.unevaluated.take().filter(|_| rules.items.is_none());
        if left.is_some() && (!rules.contains.is_empty() || node.evaluates_beside()) {
            self.drop_because(node, Kw::UnevaluatedItems, "not sayable of a tuple");
        } else {
            rules.items = rules.items.or(left);
        }
        let count = u64::try_from(rules.prefix.len()).unwrap_or(u64::MAX);
        let ends = rules.items.is_some_and(|rest| self.is_never(rest)) || rules.max.is_some_and(|max| max <= count);
        if self.are_equal_shapes(rules.prefix) {
            let rest_alike = ends
                || rules
                    .items
                    .is_none_or(|rest| self.are_equal_shapes(&[rest, *rules.prefix.first().unwrap_or(&rest)]));
            if ends {
                rules.max = Some(rules.max.map_or(count, |max| max.min(count)));
            }
            if rest_alike {
                let open = !ends && rules.items.is_none();
                let effect = if open { Effect::Narrower } else { Effect::Same };
                rules.items = rules.prefix.first().copied();
                rules.prefix = &[];
                self.change(&code, node.place, Kw::PrefixItems, Action::Rewritten, effect, "every item is of one kind");
                let rules = RuleSet { array: Some(self.nodes.keep(rules)), ..node.rules.all() };
                return Some(self.emit(self.nodes.keep(node.with_rules(rules, self.nodes)), pos));
            }
        }
        if let Some(text) = self.too_deep(node) {
            return Some(text);
        }
        let (mut properties, mut required) = (Vec::new(), Vec::new());
        let mut fields = Vec::new();
        let places = rules.max.map_or(count, |max| max.min(count));
        for (index, id) in (0..places).zip(rules.prefix) {
            let name = self.arena.text(&format!("item_{}", index + 1));
            if index < rules.min {
                required.push(name);
            }
            fields.push(name.to_owned());
            properties.push((name, *id));
        }
        let mut rest = None;
        if !ends {
            if let Some(kind) = rules.items.or_else(|| (self.open == Open::Carry).then(|| self.any())) {
                let (min, max) = (rules.min.saturating_sub(count), rules.max.map(|max| max - count));
                let list = ArrayRules { items: Some(kind), min, max, ..ArrayRules::default() };
                let rules = RuleSet { array: Some(self.nodes.keep(list)), ..RuleSet::default() };
                let list = Node { types: Some(Types::ARRAY), ..Node::default() };
                let list = self.graph.add(list.with_rules(rules, self.nodes));
                properties.push(("rest", list));
                if min > 0 {
                    required.push("rest");
                }
                rest = Some("rest".to_owned());
            } else {
                self.change(&code, node.place, Kw::PrefixItems, Action::Closed, Effect::Narrower, "nothing may follow");
            }
        }
        self.change(
            &code,
            node.place,
            Kw::PrefixItems,
            Action::Carried,
            Effect::Same,
            "an object with one key for each place",
        );
        if rest.is_none() && rules.min > places {
            let detail = "a tuple ends sooner";
            self.change(&code, node.place, Kw::MinItems, Action::Dropped, Effect::Wider, detail);
        }
        for (kw, said) in [(Kw::UniqueItems, rules.unique), (Kw::Contains, !rules.contains.is_empty())] {
            if said {
                self.change(&code, node.place, kw, Action::Dropped, Effect::Wider, "not sayable of a tuple");
            }
        }
        let object = ObjectRules {
            properties: self.nodes.list(&properties),
            required: self.nodes.list(&required),
            additional: Some(self.nothing()),
            ..ObjectRules::default()
        };
        let lowered = self.emit(self.made_object(object, node), Position::Other);
        let lens = self.lens.add(Shape::Tuple { fields, rest, object: lowered.lens });
        Some(Lowered { lens, ..lowered })
    }

    /// Whether schemas say the same: they are printed alike, with the same losses, and their values travel alike.
    fn are_equal_shapes(&mut self, ids: &[NodeId]) -> bool {
        let Some((first, rest)) = ids.split_first() else { return true };
        if rest.iter().all(|id| id == first) {
            return true;
        }
        if let Some(known) = self.uniform_tuples.get(ids) {
            return *known;
        }
        let checkpoint = self.checkpoint();
        let model = self.lower(*first, Position::Other);
        let losses = self.losses_since(checkpoint.progress.changes);
        let is_uniform = rest.iter().all(|id| {
            let before = self.changes.len();
            // Only one of them is printed in the end.
            self.printed = checkpoint.printed;
            let other = self.lower(*id, Position::Other);
            other.json.same(&model.json)
                && other.null == model.null
                && self.lens.are_equal_shapes(other.lens, model.lens)
                && self.losses_since(before) == losses
        });
        self.rollback(checkpoint);
        self.uniform_tuples.insert(ids.to_vec(), is_uniform);
        is_uniform
    }

    /// What was lost since there were so many changes, wherever it was.
    fn losses_since(&self, changes: usize) -> Vec<(AnnotationKey<'d>, Effect)> {
        let since = self.changes.get(changes..).unwrap_or_default();
        let lost = since.iter().filter(|edit| matches!(edit.effect, Effect::Wider | Effect::Narrower));
        lost.map(|edit| (edit.keyword, edit.effect)).collect()
    }

    /// A node that accepts nothing.
    pub(super) fn nothing(&mut self) -> NodeId {
        self.graph.add(Node { types: Some(Types::NONE), ..Node::default() })
    }

    pub(super) fn is_never(&mut self, id: NodeId) -> bool {
        let node = &self.graph[id];
        if node.target.is_none() && node.rules.logic().is_none() {
            return node.types().is_none() || node.rules.values().is_some_and(<[_]>::is_empty);
        }
        // Definitions that accept nothing are not worth the search that would find them.
        node.target.is_none() && self.types_of(id).is_none()
    }
}
