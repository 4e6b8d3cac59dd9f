//! Finds branches that only a validator could tell apart: both have constraints that a guard cannot decide, and not the same
//! ones. Choosing one of them for the caller's value is a guess.

use std::hash::BuildHasher;
use std::rc::Rc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};

use super::guard::{Guard, GuardId, RareConstraints};
use super::overlap::{Comparer, GuardedShape, Overlap};
use super::{Dependents, Lens, LensId, Shape, format};
use crate::step_budget::StepBudget;

/// The limit of guards visited in one branch.
const MAX_GUARDS: usize = 2_000;

/// A constraint that a guard cannot decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct UndecidedConstraint<'l> {
    at: PathHash,
    what: ConstraintKind<'l>,
}

/// A path into a value, as a hash: paths as text would dominate the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PathHash(u64);

impl PathHash {
    const START: Self = Self(0);

    fn step(self, step: GuardStep<'_>) -> Self {
        Self(FixedState::default().hash_one((self, step)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum GuardStep<'s> {
    WireKey(&'s str),
    Index(usize),
    Item,
    Other,
    /// Conditional constraints are equal only within one guard.
    Within(GuardId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ConstraintKind<'l> {
    Format(&'l str),
    Pattern(&'l str),
    /// The bits of `multipleOf`.
    Multiple(u64),
    Unique,
    /// A constraint that the guard does not capture.
    Unasked(GuardId),
    /// A guard that encloses itself.
    Again(GuardId),
}

impl ConstraintKind<'_> {
    fn is_decided(self) -> bool {
        match self {
            Self::Format(name) => format::is_decided(name),
            Self::Again(_) => true,
            Self::Pattern(_) | Self::Multiple(_) | Self::Unique | Self::Unasked(_) => false,
        }
    }
}

/// The guards that have, or contain, an undecidable constraint.
#[derive(Debug)]
struct UndecidedGuards(Vec<bool>);

impl UndecidedGuards {
    fn of(lens: &Lens) -> Self {
        let mut uses = Dependents::default();
        let mut asking = Vec::new();
        for (index, guard) in lens.guards.iter().enumerate() {
            if guard.has_undecidable_constraint() {
                asking.push(index);
            }
            guard.each_inner(&mut |inner| uses.add(inner.index(), index));
        }
        if asking.is_empty() {
            Self(vec![false; lens.guards.len()])
        } else {
            Self(uses.all_dependents(asking, lens.guards.len()))
        }
    }

    fn has(&self, id: GuardId) -> bool {
        self.0.get(id.index()).copied().unwrap_or(true)
    }
}

/// The search for guessed branches in the unions of one lens, with a cache for all of them.
pub(crate) struct GuessedBranches<'l> {
    lens: &'l Lens,
    undecided_guards: UndecidedGuards,
    /// The undecided constraints of each guard.
    undecided: HashMap<GuardId, Rc<HashSet<UndecidedConstraint<'l>>>>,
    comparer: Comparer<'l>,
}

impl<'l> GuessedBranches<'l> {
    pub(crate) fn new(lens: &'l Lens, work: &'l StepBudget) -> Self {
        Self {
            lens,
            undecided_guards: UndecidedGuards::of(lens),
            undecided: HashMap::default(),
            comparer: Comparer::new(lens, work),
        }
    }

    /// The indices of the branches whose values may be encoded by an earlier branch.
    pub(crate) fn find_guessed(&mut self, id: LensId) -> Vec<usize> {
        let branches: Vec<(LensId, GuardId)> = match self.lens.shape(id) {
            Shape::Union(branches) => branches.iter().map(|own| (own.lens, own.guard)).collect(),
            // Each under a key of its own.
            Shape::Choice { branches, .. } => {
                (1..).map(LensId).zip(branches).map(|(key, (_, guard))| (key, *guard)).collect()
            }
            Shape::Same
            | Shape::Link(_)
            | Shape::Nullable(_)
            | Shape::NullIsAbsent(_)
            | Shape::Object(_)
            | Shape::Array { .. }
            | Shape::Tuple { .. }
            | Shape::Entries(_)
            | Shape::Wrapped(..)
            | Shape::AtMostOne(_)
            | Shape::Text
            | Shape::Labels(_) => return Vec::new(),
        };
        if branches.iter().filter(|(_, guard)| self.undecided_guards.has(*guard)).count() < 2 {
            return Vec::new();
        }
        let undecided: Vec<Rc<HashSet<UndecidedConstraint<'l>>>> =
            branches.iter().map(|(_, guard)| self.undecided(*guard)).collect();
        let asks = |own: &HashSet<UndecidedConstraint<'_>>| {
            own.iter().any(|undecided| !matches!(undecided.what, ConstraintKind::Again(_)))
        };
        self.comparer.reset_steps();
        let comparer = &mut self.comparer;
        let mut guessed = Vec::new();
        for (second, ((lens, guard), own)) in branches.iter().zip(&undecided).enumerate() {
            let may_be_mistaken =
                |((other_lens, other), theirs): (&(LensId, GuardId), &Rc<HashSet<UndecidedConstraint<'_>>>)| {
                    let decided = || own.iter().chain(theirs.iter()).all(|undecided| undecided.what.is_decided());
                    other_lens != lens
                        && asks(own)
                        && asks(theirs)
                        && !decided()
                        && !theirs.is_subset(own)
                        && comparer.overlap(
                            GuardedShape::Of(LensId::SAME, Some(*other)),
                            GuardedShape::Of(LensId::SAME, Some(*guard)),
                        ) != Overlap::Disjoint
                };
            if branches.iter().zip(&undecided).take(second).any(may_be_mistaken) {
                guessed.push(second);
            }
        }
        guessed
    }

    fn undecided(&mut self, guard: GuardId) -> Rc<HashSet<UndecidedConstraint<'l>>> {
        let (lens, undecided_guards, work) = (self.lens, &self.undecided_guards, self.comparer.work);
        let known = self.undecided.entry(guard).or_insert_with(|| {
            let (seen, found) = (HashSet::default(), HashSet::default());
            let mut search = ConstraintSearch { lens, undecided_guards, seen, left: MAX_GUARDS, work, found };
            search.visit(guard, PathHash::START);
            Rc::new(search.found)
        });
        Rc::clone(known)
    }
}

struct ConstraintSearch<'l, 's> {
    lens: &'l Lens,
    undecided_guards: &'s UndecidedGuards,
    seen: HashSet<GuardId>,
    left: usize,
    work: &'s StepBudget,
    found: HashSet<UndecidedConstraint<'l>>,
}

impl<'l> ConstraintSearch<'l, '_> {
    fn add(&mut self, at: PathHash, what: ConstraintKind<'l>) {
        self.found.insert(UndecidedConstraint { at, what });
    }

    fn visit(&mut self, id: GuardId, at: PathHash) {
        let Some(guard) = self.lens.guard(id).filter(|_| self.undecided_guards.has(id)) else { return };
        let Some(left) = self.left.checked_sub(1).filter(|_| self.work.spend(1)) else {
            return self.add(at, ConstraintKind::Unasked(id));
        };
        self.left = left;
        if !self.seen.insert(id) {
            return self.add(at, ConstraintKind::Again(id));
        }
        if guard.unasked.is_some() {
            self.add(at, ConstraintKind::Unasked(id));
        }
        for pattern in guard.patterns.iter().filter_map(|pattern| pattern.unsupported_text()) {
            self.add(at, ConstraintKind::Pattern(pattern));
        }
        if guard.pattern_properties.iter().any(|(pattern, _)| pattern.unsupported_text().is_some()) {
            self.add(at, ConstraintKind::Unasked(id));
        }
        if let Some(more) = &guard.more {
            for format in more.formats.iter().filter(|format| format::is_known(format)) {
                self.add(at, ConstraintKind::Format(format));
            }
            for step in more.multiples.iter().filter(|step| step.fract() != 0.0) {
                self.add(at, ConstraintKind::Multiple(step.to_bits()));
            }
            if more.unique {
                self.add(at, ConstraintKind::Unique);
            }
        }
        self.visit_children(id, guard, at);
    }

    fn visit_children(&mut self, id: GuardId, guard: &'l Guard, at: PathHash) {
        for (key, own) in &guard.properties {
            self.visit(*own, at.step(GuardStep::WireKey(key)));
        }
        for (index, own) in guard.prefix.iter().enumerate() {
            self.visit(*own, at.step(GuardStep::Index(index)));
        }
        guard.items.iter().for_each(|own| self.visit(*own, at.step(GuardStep::Item)));
        guard.additional.iter().for_each(|own| self.visit(*own, at.step(GuardStep::Other)));
        let within = at.step(GuardStep::Within(id));
        for own in guard.conditional_guards() {
            self.visit(own, within);
        }
    }
}

impl Guard {
    /// The inner guards that apply to some values only.
    fn conditional_guards(&self) -> impl Iterator<Item = GuardId> {
        let more = self.more.iter().flat_map(|more| {
            let conditions = more.conditions.iter().flat_map(|(when, then, other)| [Some(*when), *then, *other]);
            let contains = more.contains.iter().map(|(own, ..)| *own);
            let dependents = more.dependents.iter().map(|(_, own)| *own);
            contains.chain(dependents).chain(more.names.iter().copied()).chain(conditions.flatten())
        });
        let matching = self.pattern_properties.iter().map(|(_, own)| *own);
        self.all_unions().flatten().chain(&self.nots).copied().chain(matching).chain(more)
    }

    fn each_inner(&self, visit: &mut dyn FnMut(GuardId)) {
        let named = self.properties.iter().map(|(_, own)| *own);
        let others = self.prefix.iter().copied().chain(self.items).chain(self.additional);
        named.chain(others).chain(self.conditional_guards()).for_each(visit);
    }

    /// True of the guard itself, not of inner ones; [`ConstraintSearch::visit`] collects the constraints.
    fn has_undecidable_constraint(&self) -> bool {
        let rare = |more: &RareConstraints| {
            more.unique
                || more.formats.iter().any(|format| format::is_known(format))
                || more.multiples.iter().any(|step| step.fract() != 0.0)
        };
        let patterns = self.pattern_properties.iter().map(|(pattern, _)| pattern).chain(&self.patterns);
        self.unasked.is_some()
            || self.more.as_deref().is_some_and(rare)
            || patterns.into_iter().any(|pattern| pattern.unsupported_text().is_some())
    }
}
