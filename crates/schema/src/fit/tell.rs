//! Branches of unions that look alike on the wire: found when everything is printed, and put into objects of their own when it is
//! printed again.

use foldhash::HashSet;

use super::{Lowered, Lowerer, Pos, own_code};
use crate::graph::NodeId;
use crate::keyword::Kw;
use crate::lens::{Ambiguities, GuessedBranches, Lens, LensId};
use crate::place::Place;
use polywire_report::{Action, Effect};

/// How often a schema is printed again to tell branches apart.
const MOST_ROUNDS: usize = 8;

/// A branch of a union: where the union stands, and the branch's number. Nodes are made anew whenever a schema is printed, so they
/// would not do.
type BranchKey = (Option<Place>, usize);

/// Branches that travel in objects of their own, as their unions are printed again.
#[derive(Debug, Default)]
pub(super) struct Boxes {
    branches: HashSet<BranchKey>,
    rounds: usize,
}

/// A union whose branches travel in different shapes, or under different keys.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) place: Option<Place>,
    pub(super) lens: LensId,
    pub(super) branches: Vec<NodeId>,
}

impl<'d> Lowerer<'_, 'd, '_> {
    /// Whether no two branches of a union can be taken for each other on the wire; if some can, and that can be mended, which of
    /// them are to travel in objects of their own.
    pub(super) fn tells_apart(&mut self, lens: &Lens) -> bool {
        if self.unions.is_empty() || self.hopeless().is_some() {
            return true;
        }
        let unions: Vec<LensId> = self.unions.iter().map(|union| union.lens).collect();
        let Ambiguities { pairs, undecided } = lens.find_ambiguities(&unions, self.work);
        let mut stuck = Vec::new();
        let mut fresh = HashSet::default();
        for pair in pairs {
            let Some(union) = self.unions.get(pair.union) else { continue };
            let keys = pair.branches.map(|index| (union.place, index));
            if keys.iter().any(|key| fresh.contains(key)) {
                continue;
            }
            match keys.into_iter().find(|key| !self.boxes.branches.contains(key)) {
                Some(key) if self.boxes.rounds < MOST_ROUNDS => _ = fresh.insert(key),
                _ => stuck.extend(
                    pair.branches.first().and_then(|index| union.branches.get(*index)).map(|id| self.graph[*id].place),
                ),
            }
        }
        if !fresh.is_empty() {
            self.boxes.branches.extend(fresh);
            self.boxes.rounds += 1;
            return false;
        }
        stuck.extend(undecided.into_iter().filter_map(|index| Some(self.unions.get(index)?.place)));
        for place in stuck {
            for effect in [Effect::Narrower, Effect::Wider] {
                let detail = "may be taken for another branch on the wire";
                self.change(&own_code(), place, Kw::AnyOf, Action::Carried, effect, detail);
            }
        }
        self.note_guesses(lens);
        true
    }

    /// Records the branches whose values may be sent as another one's, as only a validator could tell them apart.
    fn note_guesses(&mut self, lens: &Lens) {
        let unions = std::mem::take(&mut self.unions);
        let mut guesses = GuessedBranches::new(lens, self.work);
        for Told { lens: union, branches, .. } in &unions {
            for branch in guesses.find_guessed(*union).into_iter().filter_map(|index| branches.get(index)) {
                let place = self.graph[*branch].place;
                let detail = "its values may be sent as another branch: what tells them apart cannot be asked";
                self.change(&own_code(), place, Kw::AnyOf, Action::Carried, Effect::Narrower, detail);
            }
        }
        self.unions = unions;
    }

    /// A branch that travels in an object of its own because it looks like another one.
    pub(super) fn lower_boxed(&mut self, branch: NodeId, (union, index): BranchKey) -> Option<Lowered<'d>> {
        if !self.boxes.branches.contains(&(union, index)) {
            return None;
        }
        let key = format!("option_{}", index + 1);
        let detail = format!("looks like another branch on the wire: travels under the key `{key}`");
        let place = self.graph[branch].place;
        self.change(&own_code(), place, Kw::AnyOf, Action::Carried, Effect::Same, detail);
        self.go_deeper();
        let lowered = self.lower(branch, Pos::Other);
        self.objects -= 1;
        Some(self.boxed(lowered, key))
    }
}
