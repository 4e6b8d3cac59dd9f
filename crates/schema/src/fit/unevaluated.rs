//! Evaluation: `unevaluatedProperties` and `unevaluatedItems` apply to what no sibling evaluates, so a dropped sibling must not
//! make them refuse more.

use super::disjointness::Disjointness;
use super::emit::SchemaBuilder;
use super::{Lowerer, Position};
use crate::graph::{ArrayRules, Condition, Node, NodeId, ObjectRules, Union};
use crate::keyword::Kw;
use polywire_report::{Action, Effect};

impl<'g, 'd> Lowerer<'g, 'd, '_> {
    /// Keeps what conditions that cannot be said would have evaluated from being refused: their properties are declared where
    /// all others are shut out, and where that is not all they evaluate, nothing is said of what is not evaluated.
    pub(super) fn declare_evaluated(&mut self, node: &mut Node<'g, 'd>, conditions: &[Condition<'d>]) {
        self.dropped_evaluators += 1;
        let alone = node.rules.logic().is_none_or(|logic| logic.all.is_empty() && logic.unions.is_empty());
        let mut rules = node.rules.all();
        if let Some(object) = rules.object.filter(|object| object.unevaluated.is_some()) {
            let shut = object.additional.is_none() && object.unevaluated.is_some_and(|id| self.is_never(id));
            let rare = object.rare.patterns.is_empty() && object.rare.dependents.is_empty();
            // What something else evaluates too could be anything there.
            let declared = if shut && rare && alone { self.declared_by(conditions) } else { None };
            let object = if let Some(declared) = declared {
                let mut properties = object.properties.to_vec();
                for (key, ids) in declared {
                    if !object.properties.iter().any(|(own, _)| *own == key) {
                        properties.push((key, self.union_of_schemas(ids)));
                    }
                }
                let kw = Kw::UnevaluatedProperties;
                let code = self.refusal_code(kw);
                let detail = "what a condition declares may be given whether or not it holds";
                self.change(&code, node.place, kw, Action::Rewritten, Effect::Wider, detail);
                ObjectRules { properties: self.nodes.list(&properties), ..*object }
            } else {
                self.drop_because(node, Kw::UnevaluatedProperties, EVALUATOR_DROPPED);
                ObjectRules { unevaluated: None, ..*object }
            };
            rules.object = Some(self.nodes.keep(object));
        }
        if let Some(array) = rules.array.filter(|array| array.unevaluated.is_some()) {
            self.drop_because(node, Kw::UnevaluatedItems, EVALUATOR_DROPPED);
            rules.array = Some(self.nodes.keep(ArrayRules { unevaluated: None, ..*array }));
        }
        *node = node.with_rules(rules, self.nodes);
    }

    /// The properties that the parts of conditions declare, each with all of its schemas; nothing where they evaluate more.
    fn declared_by(&mut self, conditions: &[Condition<'d>]) -> Option<Vec<(&'d str, Vec<NodeId>)>> {
        let mut declared: Vec<(&'d str, Vec<NodeId>)> = Vec::new();
        for condition in conditions {
            for part in [Some(condition.when), condition.then, condition.otherwise].into_iter().flatten() {
                let flat = self.flatten(part);
                let part = self.graph[flat];
                if part.evaluates_beside() {
                    return None;
                }
                let Some(rules) = part.rules.object() else { continue };
                if rules.additional.is_some() || rules.unevaluated.is_some() || !rules.rare.patterns.is_empty() {
                    return None;
                }
                for (key, id) in rules.properties {
                    match declared.iter_mut().find(|(own, _)| own == key) {
                        Some((_, ids)) => ids.push(*id),
                        None => declared.push((*key, vec![*id])),
                    }
                }
            }
        }
        Some(declared)
    }

    /// Records that what is not evaluated is judged in each branch by itself, though a value may fit several.
    pub(super) fn note_evaluated(&mut self, node: &'g Node<'g, 'd>, union: &Union) {
        if union.exactly_one || union.branches.len() < 2 || self.disjointness(union.branches) == Disjointness::Proven {
            return;
        }
        for (kw, says) in node.unevaluated() {
            if says {
                let code = self.refusal_code(kw);
                let detail = "what fits several branches may have what one of them declares";
                self.change(&code, node.place, kw, Action::Merged, Effect::Narrower, detail);
            }
        }
    }

    /// Takes out what is said of what is not evaluated, where something that would have evaluated more could not be said.
    pub(super) fn forget_unevaluated(&mut self, node: &'g Node<'g, 'd>, builder: &mut SchemaBuilder<'d>) {
        for kw in [Kw::UnevaluatedProperties, Kw::UnevaluatedItems] {
            let before = builder.members.len();
            builder.members.retain(|(key, _)| *key != kw.name());
            if builder.members.len() < before {
                self.drop_because(node, kw, EVALUATOR_DROPPED);
            }
        }
    }

    /// Says what the parts of a value are: what cannot be said within these evaluates nothing of the value itself.
    pub(super) fn within<T>(&mut self, print: impl FnOnce(&mut Self) -> T) -> T {
        let dropped_evaluators = self.dropped_evaluators;
        let printed = print(self);
        self.dropped_evaluators = dropped_evaluators;
        printed
    }

    /// Says a node that belongs to the value in hand but not to the value around it.
    pub(super) fn lower_within(&mut self, id: NodeId, pos: Position) -> super::Lowered<'d> {
        self.within(|own| own.lower(id, pos))
    }
}

/// Why nothing is said of what is not evaluated.
const EVALUATOR_DROPPED: &str = "something that evaluates more cannot be said";
