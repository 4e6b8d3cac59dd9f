//! Proves that the branches of a union are disjoint, so that `oneOf` and `anyOf` mean the same.

use super::Lowerer;
use crate::graph::{Node, NodeId};
use crate::types::Types;

/// What could be shown of branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disjointness {
    /// No value fits two of them.
    Proven,
    /// Some value might.
    Unknown,
}

/// How far nested properties are compared.
const MAX_DEPTH: usize = 3;
/// More branches than this are not compared pair by pair.
const MAX_BRANCHES: usize = 64;

impl Lowerer<'_, '_, '_> {
    pub(super) fn disjointness(&mut self, branches: &[NodeId]) -> Disjointness {
        if branches.len() > MAX_BRANCHES {
            return Disjointness::Unknown;
        }
        for (index, a) in branches.iter().enumerate() {
            for b in branches.iter().skip(index + 1) {
                if !self.excludes(*a, *b, MAX_DEPTH) {
                    return Disjointness::Unknown;
                }
            }
        }
        Disjointness::Proven
    }

    fn excludes(&mut self, a: NodeId, b: NodeId, depth: usize) -> bool {
        let shared = self.types_of(a).and(self.types_of(b));
        if shared.is_none() {
            return true;
        }
        let (a, b) = (self.flatten(a), self.flatten(b));
        let (a, b) = (self.graph[a], self.graph[b]);
        if let (Some(x), Some(y)) = (a.rules.values(), b.rules.values())
            && !x.iter().any(|value| y.iter().any(|other| other.same(value)))
        {
            return true;
        }
        // Objects exclude each other only where nothing but objects is shared.
        shared == Types::OBJECT && depth > 0 && self.objects_exclude(a, b, depth)
    }

    fn objects_exclude(&mut self, a: &Node<'_, '_>, b: &Node<'_, '_>, depth: usize) -> bool {
        let (Some(x), Some(y)) = (a.rules.object(), b.rules.object()) else { return false };
        for (own, other) in [(x, y), (y, x)] {
            for name in own.required {
                let declared = other.properties.iter().find(|(key, _)| key == name);
                let refused = declared.is_none()
                    && other.rare.patterns.is_empty()
                    && other.additional.is_some_and(|rest| self.is_never(rest));
                if refused || declared.is_some_and(|(_, id)| self.is_never(*id)) {
                    return true;
                }
                let ours = own.properties.iter().find(|(key, _)| key == name);
                // A key that one side requires and both declare: its values decide.
                if let (Some((_, ours)), Some((_, theirs))) = (ours, declared)
                    && self.excludes(*ours, *theirs, depth - 1)
                {
                    return true;
                }
            }
        }
        false
    }
}
