//! Builds the guards by which the lens tells the branches of a union apart.

use smol_str::SmolStr;

use super::Lowerer;
use super::merge::MAX_CHAIN;
use crate::graph::{Node, NodeId, RuleSet};
use crate::lens::{Guard, GuardId, Pattern, RareConstraints, SizeKind};
use crate::types::Types;

/// Schemas within schemas beyond this depth are not asked.
const MAX_DEPTH: usize = 12;

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// The guard of a schema.
    pub(super) fn guard(&mut self, id: NodeId) -> GuardId {
        self.guard_below(id, MAX_DEPTH)
    }

    /// The guard of what a node asks besides its listed values.
    pub(super) fn rules_guard(&mut self, node: &'g Node<'g, 'd>) -> GuardId {
        let rules = node.with_rules(RuleSet { values: None, ..node.rules.all() }, self.nodes);
        let filled = self.fill(self.nodes.keep(rules), MAX_DEPTH);
        self.lens.add_guard(filled)
    }

    fn guard_below(&mut self, id: NodeId, depth: usize) -> GuardId {
        if let Some(guard) = self.guards.get(&id) {
            return *guard;
        }
        let flat = self.flatten(id);
        let node = self.graph[flat];
        if node.has_only_types() {
            return self.guard_of_types(node.types);
        }
        let Some(depth) = depth.checked_sub(1).filter(|_| self.work.spend(1)) else {
            let lens = &mut self.lens;
            let unasked = || lens.add_guard(Guard { unasked: Some(Types::ANY), ..Guard::default() });
            return *self.cut_guards.entry(flat).or_insert_with(unasked);
        };
        let guard = self.lens.add_guard(Guard::default());
        self.guards.insert(id, guard);
        let mut filled = self.fill(node, depth);
        if filled.unasked.is_some() {
            let said = self.said_by(id);
            if self.flatten(said) == said {
                self.ask_unevaluated(node, &mut filled, depth);
            }
        }
        self.lens.set_guard(guard, filled);
        guard
    }

    /// The guard of all schemas that ask for these types and nothing else.
    fn guard_of_types(&mut self, types: Option<Types>) -> GuardId {
        let lens = &mut self.lens;
        *self.type_guards.entry(types).or_insert_with(|| lens.add_guard(Guard { types, ..Guard::default() }))
    }

    /// The schema that a reference with nothing but annotations beside it leads to; the schema itself where it is none.
    fn said_by(&self, id: NodeId) -> NodeId {
        let next = |id: &NodeId| {
            let node = self.graph[*id];
            node.target.filter(|_| node.is_bare() && node.rules.logic().is_none())
        };
        std::iter::successors(Some(id), next).take(MAX_CHAIN).last().unwrap_or(id)
    }

    fn fill(&mut self, node: &'g Node<'g, 'd>, depth: usize) -> Guard {
        self.work.spend(node.weight());
        let mut guard = Guard {
            types: node.types,
            values: node.rules.values().map(|values| values.iter().map(|value| value.to_value()).collect()),
            unasked: unasked(node),
            ..Guard::default()
        };
        if let Some(rules) = node.rules.number() {
            let bound = |bound: &Option<crate::graph::Bound>| {
                bound.as_ref().map(|bound| (bound.value.as_f64(), bound.exclusive))
            };
            (guard.min, guard.max) = (bound(&rules.min), bound(&rules.max));
        }
        if let Some(rules) = node.rules.text() {
            guard.bound(SizeKind::Text, rules.min, rules.max);
            guard.patterns = rules.patterns.iter().map(|pattern| Pattern::new(pattern)).collect();
        }
        if let Some(rules) = node.rules.array() {
            guard.bound(SizeKind::Array, rules.min, rules.max);
            guard.prefix = rules.prefix.iter().map(|id| self.guard_below(*id, depth)).collect();
            guard.items = rules.items.map(|id| self.guard_below(id, depth));
        }
        if let Some(rules) = node.rules.object() {
            guard.bound(SizeKind::Object, rules.rare.min, rules.rare.max);
            guard.required = rules.required.iter().map(SmolStr::new).collect();
            let mut below = |id: &NodeId| self.guard_below(*id, depth);
            guard.properties = rules.properties.iter().map(|(key, id)| (SmolStr::new(key), below(id))).collect();
            guard.pattern_properties =
                rules.rare.patterns.iter().map(|(key, id)| (Pattern::new(key), below(id))).collect();
            guard.additional = rules.additional.map(|id| self.guard_below(id, depth));
        }
        if let Some(logic) = node.rules.logic() {
            for union in logic.unions {
                let branches = union.branches.iter().map(|id| self.guard_below(*id, depth)).collect();
                if union.exactly_one { &mut guard.one_of } else { &mut guard.unions }.push(branches);
            }
            guard.nots = logic.nots.iter().map(|id| self.guard_below(*id, depth)).collect();
        }
        guard.more = asks_more(node).then(|| Box::new(self.more(node, depth)));
        guard
    }

    /// What is not evaluated is what is not declared where nothing beside declares more. Of parts that were merged nobody knows.
    fn ask_unevaluated(&mut self, node: &Node<'g, 'd>, guard: &mut Guard, depth: usize) {
        if node.evaluates_beside() {
            return;
        }
        if let Some(rules) = node.rules.array().filter(|rules| rules.contains.is_empty()) {
            guard.items = rules.items.or(rules.unevaluated).map(|id| self.guard_below(id, depth));
            guard.unasked = guard.unasked.map(|types| types.without(Types::ARRAY));
        }
        if let Some(rules) = node.rules.object() {
            guard.additional = rules.of_others(node).map(|id| self.guard_below(id, depth));
            guard.unasked = guard.unasked.map(|types| types.without(Types::OBJECT));
        }
        guard.unasked = guard.unasked.filter(|types| !types.is_none());
    }

    fn more(&mut self, node: &'g Node<'g, 'd>, depth: usize) -> RareConstraints {
        let mut more = RareConstraints {
            formats: node.rules.formats().iter().map(|name| (*name).to_owned()).collect(),
            ..RareConstraints::default()
        };
        let mut below = |id: NodeId| self.guard_below(id, depth);
        if let Some(rules) = node.rules.number() {
            more.multiples = rules.multiples.iter().filter_map(|step| step.as_f64()).collect();
        }
        if let Some(rules) = node.rules.array() {
            let contains = rules.contains.iter();
            more.unique = rules.unique;
            more.contains = contains.map(|own| (below(own.node), own.min.unwrap_or(1), own.max)).collect();
        }
        if let Some(rules) = node.rules.object() {
            let owned = |names: &[&str]| names.iter().map(SmolStr::new).collect();
            more.names = rules.rare.names.iter().map(|id| below(*id)).collect();
            more.needs = rules.rare.needs.iter().map(|(key, names)| (SmolStr::new(key), owned(names))).collect();
            more.dependents = rules.rare.dependents.iter().map(|(key, id)| (SmolStr::new(key), below(*id))).collect();
        }
        for own in node.rules.logic().map_or(&[][..], |logic| logic.conditions) {
            more.conditions.push((below(own.when), own.then.map(&mut below), own.otherwise.map(&mut below)));
        }
        more
    }
}

fn asks_more(node: &Node<'_, '_>) -> bool {
    let list = node.rules.array().is_some_and(|rules| rules.unique || !rules.contains.is_empty());
    let object = node.rules.object().is_some_and(|rules| {
        !rules.rare.names.is_empty() || !rules.rare.needs.is_empty() || !rules.rare.dependents.is_empty()
    });
    let number = node.rules.number().is_some_and(|rules| !rules.multiples.is_empty());
    let logic = node.rules.logic().is_some_and(|logic| !logic.conditions.is_empty());
    list || object || number || logic || !node.rules.formats().is_empty()
}

/// The types of values of which a schema asks more than a guard can.
fn unasked(node: &Node<'_, '_>) -> Option<Types> {
    let says = node.unevaluated().into_iter().filter(|(_, says)| *says);
    let types = says.fold(Types::NONE, |all, (kw, _)| all.or(kw.info().applies_to));
    Some(types).filter(|types| !types.is_none())
}
