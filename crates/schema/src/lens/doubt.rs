//! Branches that only a validator could tell apart: both ask of one value what a guard cannot, and not the same. Which of them is
//! right for the caller's value is then a guess.

use std::hash::BuildHasher;
use std::rc::Rc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};

use super::alike::{Comparer, Meeting, Side};
use super::guard::{Guard, GuardId, More};
use super::{Lens, LensId, Shape, Uses, format};
use crate::work::Work;

/// How many guards are looked at in one branch.
const MOST_GUARDS: usize = 2_000;

/// What is asked and cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Doubt<'l> {
    at: Way,
    what: What<'l>,
}

/// The way to a part of a value, as a number: spelled out it would cost more than all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Way(u64);

impl Way {
    const START: Self = Self(0);

    fn step(self, step: Step<'_>) -> Self {
        Self(FixedState::default().hash_one((self, step)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step<'s> {
    Key(&'s str),
    Index(usize),
    Item,
    Other,
    /// What holds only of some values is the same doubt only within the same guard.
    Within(GuardId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What<'l> {
    Format(&'l str),
    Pattern(&'l str),
    /// A multiple of the number of these bits.
    Multiple(u64),
    Unique,
    /// More than a guard holds.
    Unasked(GuardId),
    /// What was asked further up is asked again.
    Again(GuardId),
}

impl What<'_> {
    fn is_decided(self) -> bool {
        match self {
            Self::Format(name) => format::is_decided(name),
            Self::Again(_) => true,
            Self::Pattern(_) | Self::Multiple(_) | Self::Unique | Self::Unasked(_) => false,
        }
    }
}

/// The guards that ask what cannot be told, or have one below that does.
#[derive(Debug)]
struct Doubtful(Vec<bool>);

impl Doubtful {
    fn of(lens: &Lens) -> Self {
        let mut uses = Uses::default();
        let mut asking = Vec::new();
        for (index, guard) in lens.guards.iter().enumerate() {
            if guard.asks_what_cannot_be_told() {
                asking.push(index);
            }
            guard.each_inner(&mut |inner| uses.add(inner.index(), index));
        }
        if asking.is_empty() {
            Self(vec![false; lens.guards.len()])
        } else {
            Self(uses.all_above(asking, lens.guards.len()))
        }
    }

    fn has(&self, id: GuardId) -> bool {
        self.0.get(id.index()).copied().unwrap_or(true)
    }
}

/// A search of the unions of a lens for guesses. What is found in one is known in the next.
pub(crate) struct Guesses<'l> {
    lens: &'l Lens,
    doubtful: Doubtful,
    /// What guards ask that cannot be told.
    doubts: HashMap<GuardId, Rc<HashSet<Doubt<'l>>>>,
    comparer: Comparer<'l>,
}

impl<'l> Guesses<'l> {
    pub(crate) fn new(lens: &'l Lens, work: &'l Work) -> Self {
        Self { lens, doubtful: Doubtful::of(lens), doubts: HashMap::default(), comparer: Comparer::new(lens, work) }
    }

    /// The branches of a union that may be taken for a value that only a later one accepts, by their numbers.
    pub(crate) fn within(&mut self, id: LensId) -> Vec<usize> {
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
        if branches.iter().filter(|(_, guard)| self.doubtful.has(*guard)).count() < 2 {
            return Vec::new();
        }
        let doubts: Vec<Rc<HashSet<Doubt<'l>>>> = branches.iter().map(|(_, guard)| self.doubts(*guard)).collect();
        let asks = |own: &HashSet<Doubt<'_>>| own.iter().any(|doubt| !matches!(doubt.what, What::Again(_)));
        self.comparer.rest();
        let comparer = &mut self.comparer;
        let mut guessed = Vec::new();
        for (second, ((lens, guard), own)) in branches.iter().zip(&doubts).enumerate() {
            let mistaken = |((other_lens, other), theirs): (&(LensId, GuardId), &Rc<HashSet<Doubt<'_>>>)| {
                let decided = || own.iter().chain(theirs.iter()).all(|doubt| doubt.what.is_decided());
                other_lens != lens
                    && asks(own)
                    && asks(theirs)
                    && !decided()
                    && !theirs.is_subset(own)
                    && comparer.meet(Side::Of(LensId::SAME, Some(*other)), Side::Of(LensId::SAME, Some(*guard)))
                        != Meeting::Never
            };
            if branches.iter().zip(&doubts).take(second).any(mistaken) {
                guessed.push(second);
            }
        }
        guessed
    }

    fn doubts(&mut self, guard: GuardId) -> Rc<HashSet<Doubt<'l>>> {
        let (lens, doubtful, work) = (self.lens, &self.doubtful, self.comparer.work);
        let known = self.doubts.entry(guard).or_insert_with(|| {
            let (seen, found) = (HashSet::default(), HashSet::default());
            let mut search = Search { lens, doubtful, seen, left: MOST_GUARDS, work, found };
            search.look(guard, Way::START);
            Rc::new(search.found)
        });
        Rc::clone(known)
    }
}

struct Search<'l, 's> {
    lens: &'l Lens,
    doubtful: &'s Doubtful,
    seen: HashSet<GuardId>,
    left: usize,
    work: &'s Work,
    found: HashSet<Doubt<'l>>,
}

impl<'l> Search<'l, '_> {
    fn add(&mut self, at: Way, what: What<'l>) {
        self.found.insert(Doubt { at, what });
    }

    fn look(&mut self, id: GuardId, at: Way) {
        let Some(guard) = self.lens.guard(id).filter(|_| self.doubtful.has(id)) else { return };
        let Some(left) = self.left.checked_sub(1).filter(|_| self.work.spend(1)) else {
            return self.add(at, What::Unasked(id));
        };
        self.left = left;
        if !self.seen.insert(id) {
            return self.add(at, What::Again(id));
        }
        if guard.unasked.is_some() {
            self.add(at, What::Unasked(id));
        }
        for pattern in guard.patterns.iter().filter_map(|pattern| pattern.unusable()) {
            self.add(at, What::Pattern(pattern));
        }
        if guard.pattern_properties.iter().any(|(pattern, _)| pattern.unusable().is_some()) {
            self.add(at, What::Unasked(id));
        }
        if let Some(more) = &guard.more {
            for format in more.formats.iter().filter(|format| format::is_known(format)) {
                self.add(at, What::Format(format));
            }
            for step in more.multiples.iter().filter(|step| step.fract() != 0.0) {
                self.add(at, What::Multiple(step.to_bits()));
            }
            if more.unique {
                self.add(at, What::Unique);
            }
        }
        self.look_inside(id, guard, at);
    }

    fn look_inside(&mut self, id: GuardId, guard: &'l Guard, at: Way) {
        for (key, own) in &guard.properties {
            self.look(*own, at.step(Step::Key(key)));
        }
        for (index, own) in guard.prefix.iter().enumerate() {
            self.look(*own, at.step(Step::Index(index)));
        }
        guard.items.iter().for_each(|own| self.look(*own, at.step(Step::Item)));
        guard.additional.iter().for_each(|own| self.look(*own, at.step(Step::Other)));
        let within = at.step(Step::Within(id));
        for own in guard.conditional() {
            self.look(own, within);
        }
    }
}

impl Guard {
    /// The guards that only some values are asked, of those this one holds.
    fn conditional(&self) -> impl Iterator<Item = GuardId> {
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
        named.chain(others).chain(self.conditional()).for_each(visit);
    }

    /// Whether the guard itself leaves a doubt; [`Search::look`] says which.
    fn asks_what_cannot_be_told(&self) -> bool {
        let rare = |more: &More| {
            more.unique
                || more.formats.iter().any(|format| format::is_known(format))
                || more.multiples.iter().any(|step| step.fract() != 0.0)
        };
        let patterns = self.pattern_properties.iter().map(|(pattern, _)| pattern).chain(&self.patterns);
        self.unasked.is_some()
            || self.more.as_deref().is_some_and(rare)
            || patterns.into_iter().any(|pattern| pattern.unusable().is_some())
    }
}
