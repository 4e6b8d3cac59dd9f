//! The JSON types that values of a shape can have on the wire. Unions may lead back to themselves, so the answer is a greatest
//! fixpoint; it is found once for each shape and each guard, however many unions lead there.

use foldhash::HashMap;

use super::alike::{Comparer, Side};
use super::guard::{Guard, GuardId};
use super::{Lens, Shape};
use crate::types::Types;

/// How often the types of unions within unions are refined. Inner ones come first, so a nest of unions takes one round.
const MAX_ROUNDS: usize = 16;

/// The types that are known so far.
#[derive(Default)]
pub(super) struct WireTypes {
    sides: HashMap<Side, Types>,
    /// By the number of the guard; empty as long as nobody asked.
    guards: Vec<Types>,
}

impl Comparer<'_> {
    /// The types that values of a shape have on the wire.
    pub(super) fn types(&mut self, side: Side) -> Types {
        let side = self.settled(side);
        if let Some(known) = self.wire_types.sides.get(&side) {
            return *known;
        }
        let mut reached = Vec::new();
        let mut open = vec![side];
        while let Some(side) = open.pop() {
            if self.wire_types.sides.contains_key(&side) {
                continue;
            }
            self.wire_types.sides.insert(side, Types::ANY);
            reached.push(side);
            if let Some(parts) = self.parts(side) {
                open.extend(parts.into_iter().map(|part| self.settled(part)));
            }
        }
        for _ in 0..MAX_ROUNDS {
            let mut changed = false;
            for side in reached.iter().rev() {
                let types = self.refined(*side);
                changed |= self.wire_types.sides.insert(*side, types) != Some(types);
            }
            if !changed {
                break;
            }
        }
        self.wire_types.sides.get(&side).copied().unwrap_or(Types::ANY)
    }

    /// The types of a shape by what is known of its parts.
    fn refined(&mut self, side: Side) -> Types {
        let (id, guard) = match side {
            Side::Null => return Types::NULL,
            Side::Entries(..) => return Types::ARRAY,
            Side::Of(id, guard) => (id, guard),
        };
        if let Some(parts) = self.parts(side) {
            let known = |part: Side| self.wire_types.sides.get(&self.settled(part)).copied().unwrap_or(Types::ANY);
            return parts.into_iter().fold(Types::NONE, |all, part| all.or(known(part)));
        }
        match self.lens.shape(id) {
            // What is no object, or no list, travels as it is.
            Shape::Object(_) => self.asked_types(guard).unwrap_or(Types::OBJECT),
            Shape::Array { .. } => self.asked_types(guard).unwrap_or(Types::ARRAY),
            Shape::Tuple { .. } | Shape::Wrapped(..) | Shape::Choice { .. } => Types::OBJECT,
            Shape::Entries(_) | Shape::AtMostOne(_) => Types::ARRAY,
            Shape::Text | Shape::Labels(_) => Types::STRING,
            Shape::Same | Shape::Link(_) | Shape::Nullable(_) | Shape::NullIsAbsent(_) | Shape::Union(_) => {
                self.asked_types(guard).unwrap_or(Types::ANY)
            }
        }
    }

    /// The types that a guard takes.
    fn asked_types(&mut self, guard: Option<GuardId>) -> Option<Types> {
        if self.wire_types.guards.is_empty() {
            self.wire_types.guards = guard_types(self.lens);
        }
        Some(self.wire_types.guards.get(guard?.index()).copied().unwrap_or(Types::ANY))
    }
}

/// The types that each guard of a lens takes.
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
