//! The JSON types that values of a shape can have on the wire. Unions may be recursive, so the answer is a greatest
//! fixpoint, computed once for each shape and each guard.

use foldhash::HashMap;

use super::guard::{Guard, GuardId};
use super::overlap::{Comparer, GuardedShape};
use super::{Lens, Shape};
use crate::types::Types;

/// The limit of refinements. Inner unions come first, so nested unions take one round.
const MAX_ROUNDS: usize = 16;

#[derive(Default)]
pub(super) struct WireTypes {
    shapes: HashMap<GuardedShape, Types>,
    /// By the index of the guard; empty until needed.
    guards: Vec<Types>,
}

impl Comparer<'_> {
    pub(super) fn types(&mut self, guarded: GuardedShape) -> Types {
        let guarded = self.resolve_link(guarded);
        if let Some(known) = self.wire_types.shapes.get(&guarded) {
            return *known;
        }
        let mut reached = Vec::new();
        let mut open = vec![guarded];
        while let Some(guarded) = open.pop() {
            if self.wire_types.shapes.contains_key(&guarded) {
                continue;
            }
            self.wire_types.shapes.insert(guarded, Types::ANY);
            reached.push(guarded);
            if let Some(parts) = self.alternatives(guarded) {
                open.extend(parts.into_iter().map(|part| self.resolve_link(part)));
            }
        }
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for guarded in reached.iter().rev() {
                let types = self.refine_types(*guarded);
                changed |= self.wire_types.shapes.insert(*guarded, types) != Some(types);
            }
            if !changed {
                break;
            }
        }
        self.wire_types.shapes.get(&guarded).copied().unwrap_or(Types::ANY)
    }

    fn refine_types(&mut self, guarded: GuardedShape) -> Types {
        let (id, guard) = match guarded {
            GuardedShape::Null => return Types::NULL,
            GuardedShape::Entries(..) => return Types::ARRAY,
            GuardedShape::Of(id, guard) => (id, guard),
        };
        if let Some(parts) = self.alternatives(guarded) {
            let known = |part: GuardedShape| {
                self.wire_types.shapes.get(&self.resolve_link(part)).copied().unwrap_or(Types::ANY)
            };
            return parts.into_iter().fold(Types::NONE, |all, part| all.or(known(part)));
        }
        match self.lens.shape(id) {
            // What is no object, or no list, travels as it is.
            Shape::Object(_) => self.admitted_types(guard).unwrap_or(Types::OBJECT),
            Shape::Array { .. } => self.admitted_types(guard).unwrap_or(Types::ARRAY),
            Shape::Tuple { .. } | Shape::Wrapped(..) | Shape::Choice { .. } => Types::OBJECT,
            Shape::Entries(_) | Shape::AtMostOne(_) => Types::ARRAY,
            Shape::Text | Shape::Labels(_) => Types::STRING,
            Shape::Same | Shape::Link(_) | Shape::Nullable(_) | Shape::NullIsAbsent(_) | Shape::Union(_) => {
                self.admitted_types(guard).unwrap_or(Types::ANY)
            }
        }
    }

    fn admitted_types(&mut self, guard: Option<GuardId>) -> Option<Types> {
        if self.wire_types.guards.is_empty() {
            self.wire_types.guards = guard_types(self.lens);
        }
        Some(self.wire_types.guards.get(guard?.index()).copied().unwrap_or(Types::ANY))
    }
}

fn guard_types(lens: &Lens) -> Vec<Types> {
    let mut known: Vec<Types> = lens.guards.iter().map(Guard::stated_types).collect();
    let unions: Vec<_> =
        lens.guards.iter().enumerate().filter(|(_, guard)| guard.all_unions().next().is_some()).collect();
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for (index, guard) in unions.iter().rev() {
            let of = |own: &GuardId| known.get(own.index()).copied().unwrap_or(Types::ANY);
            let of_branches = |union: &Vec<GuardId>| union.iter().fold(Types::NONE, |all, own| all.or(of(own)));
            let types = guard.all_unions().fold(of(&GuardId::at(*index)), |types, union| types.and(of_branches(union)));
            if let Some(own) = known.get_mut(*index) {
                changed |= std::mem::replace(own, types) != types;
            }
        }
        if !changed {
            break;
        }
    }
    known
}
