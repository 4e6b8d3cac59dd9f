//! What the lens needs to tell the branches of a union apart: the caller's schema, as far as a guard can ask it.

use super::Lowerer;
use crate::graph::{Node, NodeId};
use crate::json::Json;
use crate::lens::{Guard, GuardId, Pattern, Sized};

/// Schemas within schemas beyond this depth are not asked.
const MAX_DEPTH: usize = 12;

impl<'d> Lowerer<'d, '_> {
    /// The guard of a schema.
    pub(super) fn guard(&mut self, id: NodeId) -> GuardId {
        self.guard_below(id, MAX_DEPTH)
    }

    fn guard_below(&mut self, id: NodeId, depth: usize) -> GuardId {
        if let Some(guard) = self.guards.get(&id) {
            return *guard;
        }
        let guard = self.lens.add_guard(Guard::default());
        let Some(depth) = depth.checked_sub(1) else { return guard };
        self.guards.insert(id, guard);
        let flat = self.flatten(id);
        let node = self.graph[flat];
        let filled = self.fill(node, depth);
        self.lens.set_guard(guard, filled);
        guard
    }

    fn fill(&mut self, node: &Node<'d>, depth: usize) -> Guard {
        let mut guard = Guard {
            types: node.types,
            values: node.values.map(|values| values.iter().map(|value| Json::to_value(value)).collect()),
            unsure: asks_more(node),
            ..Guard::default()
        };
        if let Some(rules) = node.number {
            let bound = |bound: &Option<crate::graph::Bound>| {
                bound.as_ref().map(|bound| (bound.value.as_f64().unwrap_or(0.0), bound.exclusive))
            };
            (guard.min, guard.max) = (bound(&rules.min), bound(&rules.max));
        }
        if let Some(rules) = node.text {
            guard.bound(Sized::Text, rules.min, rules.max);
            guard.patterns = rules.patterns.iter().map(|pattern| Pattern::new(pattern)).collect();
        }
        if let Some(rules) = node.array {
            guard.bound(Sized::Array, rules.min, rules.max);
            guard.prefix = rules.prefix.iter().map(|id| self.guard_below(*id, depth)).collect();
            guard.items = rules.items.map(|id| self.guard_below(id, depth));
        }
        if let Some(rules) = node.object {
            guard.bound(Sized::Object, rules.min, rules.max);
            guard.required = rules.required.iter().map(|name| (*name).to_owned()).collect();
            let mut below = |id: &NodeId| self.guard_below(*id, depth);
            guard.properties = rules.properties.iter().map(|(key, id)| ((*key).to_owned(), below(id))).collect();
            guard.pattern_properties = rules.patterns.iter().map(|(key, id)| (Pattern::new(key), below(id))).collect();
            guard.additional = rules.additional.map(|id| self.guard_below(id, depth));
        }
        if let Some(logic) = node.logic {
            guard.unions = logic
                .unions
                .iter()
                .map(|union| union.branches.iter().map(|id| self.guard_below(*id, depth)).collect())
                .collect();
            guard.nots = logic.nots.iter().map(|id| self.guard_below(*id, depth)).collect();
        }
        guard
    }
}

/// Whether a schema asks more of a value than a guard can.
fn asks_more(node: &Node<'_>) -> bool {
    let list = node.array.is_some_and(|rules| rules.unique || !rules.contains.is_empty());
    let object = node.object.is_some_and(|rules| {
        !rules.names.is_empty()
            || !rules.needs.is_empty()
            || !rules.dependents.is_empty()
            || rules.unevaluated.is_some()
    });
    let number = node.number.is_some_and(|rules| !rules.multiples.is_empty());
    let logic = node.logic.is_some_and(|logic| !logic.conditions.is_empty());
    list || object || number || logic || !node.formats.is_empty()
}
