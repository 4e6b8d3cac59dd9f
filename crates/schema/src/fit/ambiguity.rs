//! Resolves ambiguous unions: branches that may be confused on the wire are found after everything is emitted, and get a tag
//! when it is emitted again.

use foldhash::HashSet;

use super::{Lowered, Lowerer, Position, own_code};
use crate::graph::NodeId;
use crate::keyword::Kw;
use crate::lens::{Ambiguities, GuessedBranches, Lens, LensId};
use crate::place::Place;
use polywire_report::{Action, Effect};

/// The limit of attempts.
const MAX_ROUNDS: usize = 8;

/// A branch of a union: the union's place, and the branch's index. Node ids differ between attempts.
type BranchKey = (Option<Place>, usize);

/// Branches that are wrapped in an object with a key of their own.
#[derive(Debug, Default)]
pub(super) struct TaggedBranches {
    branches: HashSet<BranchKey>,
    rounds: usize,
}

/// A union whose branches have different wire shapes or keys.
#[derive(Debug)]
pub(super) struct CarriedUnion {
    pub(super) place: Option<Place>,
    pub(super) lens: LensId,
    pub(super) branches: Vec<NodeId>,
}

impl<'d> Lowerer<'_, 'd, '_> {
    /// False where ambiguous branches were found and tagged: the schema must be emitted again. Ambiguities that tags cannot
    /// resolve are recorded.
    pub(super) fn resolve_ambiguity(&mut self, lens: &Lens) -> bool {
        if self.unions.is_empty() || self.exceeded_budget().is_some() {
            return true;
        }
        let unions: Vec<LensId> = self.unions.iter().map(|union| union.lens).collect();
        let Ambiguities { pairs, undecided } = lens.find_ambiguities(&unions, self.work);
        let mut unresolved = Vec::new();
        let mut fresh = HashSet::default();
        for pair in pairs {
            let Some(union) = self.unions.get(pair.union) else { continue };
            let keys = pair.branches.map(|index| (union.place, index));
            if keys.iter().any(|key| fresh.contains(key)) {
                continue;
            }
            match keys.into_iter().find(|key| !self.tagged.branches.contains(key)) {
                Some(key) if self.tagged.rounds < MAX_ROUNDS => _ = fresh.insert(key),
                _ => unresolved.extend(
                    pair.branches.first().and_then(|index| union.branches.get(*index)).map(|id| self.graph[*id].place),
                ),
            }
        }
        if !fresh.is_empty() {
            self.tagged.branches.extend(fresh);
            self.tagged.rounds += 1;
            return false;
        }
        unresolved.extend(undecided.into_iter().filter_map(|index| Some(self.unions.get(index)?.place)));
        for place in unresolved {
            for effect in [Effect::Narrower, Effect::Wider] {
                let detail = "may be taken for another branch on the wire";
                self.change(&own_code(), place, Kw::AnyOf, Action::Carried, effect, detail);
            }
        }
        self.record_guesses(lens);
        true
    }

    /// Records branches that only a validator could tell apart.
    fn record_guesses(&mut self, lens: &Lens) {
        let unions = std::mem::take(&mut self.unions);
        let mut guesses = GuessedBranches::new(lens, self.work);
        for CarriedUnion { lens: union, branches, .. } in &unions {
            for branch in guesses.find_guessed(*union).into_iter().filter_map(|index| branches.get(index)) {
                let place = self.graph[*branch].place;
                let detail = "its values may be sent as another branch: what tells them apart cannot be asked";
                self.change(&own_code(), place, Kw::AnyOf, Action::Carried, Effect::Narrower, detail);
            }
        }
        self.unions = unions;
    }

    /// Lowers a tagged branch.
    pub(super) fn lower_tagged(&mut self, branch: NodeId, (union, index): BranchKey) -> Option<Lowered<'d>> {
        if !self.tagged.branches.contains(&(union, index)) {
            return None;
        }
        let key = format!("option_{}", index + 1);
        let detail = format!("looks like another branch on the wire: travels under the key `{key}`");
        let place = self.graph[branch].place;
        self.change(&own_code(), place, Kw::AnyOf, Action::Carried, Effect::Same, detail);
        self.enter_object();
        let lowered = self.lower(branch, Position::Other);
        self.objects -= 1;
        Some(self.wrap_in_key(lowered, key))
    }
}
